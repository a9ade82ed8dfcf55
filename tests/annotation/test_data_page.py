"""The items of a study: browsed, searched and, in a draft of its own dataset, removed."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Tally
from annotation.services.items import items_of, remove_item
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from jobs.models import Job
from recruitment.services.launch_checks import launch_checks
from studies.models import Dataset, Generation, Instance, Study, Unit
from tests.annotation.annotators import annotator
from tests.confirming import post_confirmed
from tests.pages import codes_on, page_of
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(ruth):
    return make_study(instances=25, samples=1, member=ruth)


def data(study):
    return reverse("annotation:data", args=[study.pk])


def test_items_are_shown_page_by_page(client, study, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        first = client.get(data(study))
    assert page_of(first) == "data"
    assert [item.key for item in first.context["page"]] == [f"note-{i}" for i in range(20)]
    second = client.get(f"{data(study)}?page=2")
    assert len(second.context["page"].object_list) == 5
    assert "Text 24 1 0." in second.content.decode()


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("note-7", 1),
        ("kind-1", 12),
        ("kind-1 note-7", 1),
        ("source 24", 1),
        ("absent", 0),
        ("%", 0),
    ],
)
def test_items_are_searched(query, n, client, study):
    page = client.get(data(study), {"q": query})
    assert page.context["page"].paginator.count == n


@pytest.mark.parametrize("is_generated", [False, True])
def test_each_check_of_items_names_them_and_leads_to_a_list_of_them(is_generated, client, study):
    study.dataset.systems.update(language_model="a-model" if is_generated else "")
    of_one = Generation.objects.filter(instance__key="note-3", system__name="system-1")
    of_one.delete()
    Generation.objects.filter(instance__key="note-7").update(text="The same text for both.")
    plan_hits(study=study)
    checks = {check.code: check for check in launch_checks(study) if check.items}
    found = {"instances_left_out": "note-3", "identical_texts": "note-7"}
    assert found.keys() <= checks.keys()
    for code, key in found.items():
        assert f"instance {key}" in checks[code].sentence
        assert checks[code].where == ("metrics:generate-select" if is_generated else "studies:data")
        page = client.get(f"{data(study)}?{checks[code].items.partition('#')[0]}")
        assert [item.key for item in page.context["page"]] == [key]


def test_changed_copies_are_no_texts_of_the_researchers(client, study, ruth):
    prose = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."
    Generation.objects.update(text=prose)
    before = client.get(data(study)).context["texts"]
    degrade_copies(study=study, role=Unit.Role.GOLD, n=4)
    page = client.get(data(study))
    assert page.context["texts"] == before == Generation.objects.count() - 4
    assert {len(item.generations.all()) for item, _ in page.context["rows"]} == {2}
    Dataset.objects.update(created_by=ruth)
    stored = client.get(reverse("admin:studies_dataset_change", args=[study.dataset_id]))
    assert {len(one.generations.all()) for one in stored.context["page"]} == {2}
    listed = client.get(reverse("admin:studies_dataset_changelist"))
    assert listed.context["cl"].result_list[0].system_total == 2
    assert listed.context["title"] == "Datasets"


def test_an_item_is_removed_after_a_confirmation(client, study):
    address = reverse("annotation:remove-item", args=[study.pk])
    assert page_of(client.get(address, {"item": "note-3"})) == "confirm"
    assert Instance.objects.count() == 25
    post_confirmed(client, address, {"item": "note-3"})
    assert Instance.objects.count() == 24
    assert not Generation.objects.filter(instance__key="note-3").exists()


def test_a_plan_and_its_units_go_with_the_item(study):
    Generation.objects.update(text="Notes that leave nothing out are better than short notes are.")
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=25, seed=1)
    remove_item(study=study, key="note-3")
    assert not study.units.filter(role="main").exists()
    assert not Unit.objects.filter(instance__key="note-3").exists()


def test_reference_units_of_other_items_stay(study):
    Generation.objects.update(text="Notes that leave nothing out are better than short notes are.")
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=3, seed=1)
    used = set(study.units.filter(role="gold").values_list("instance__key", flat=True))
    key = next(f"note-{i}" for i in range(25) if f"note-{i}" not in used)
    remove_item(study=study, key=key)
    assert study.units.filter(role="gold").count() == 3


def test_items_of_an_opened_study_stay(ruth):
    study = make_open_study(instances=2, member=ruth)
    with refused("not_a_draft"):
        remove_item(study=study, key="note-0")


def test_items_of_a_dataset_that_another_study_uses_stay(client, study):
    Study.objects.create(title="Another", dataset=study.dataset)
    with refused("dataset_shared"):
        remove_item(study=study, key="note-0")
    assert "dataset_shared" in codes_on(client.get(data(study)))


def test_items_stay_while_a_job_works_on_them(study):
    Job.objects.create(kind="sampling", owner=study.pk)
    with refused("dataset_busy"):
        remove_item(study=study, key="note-0")


def test_an_item_that_is_not_there_is_refused(study):
    with refused("unknown_item"):
        remove_item(study=study, key="note-99")
    other = make_study(instances=30)
    assert items_of(other).filter(key="note-29").exists()
    with refused("unknown_item"):
        remove_item(study=study, key="note-29")


def test_only_members_see_the_items(client, study):
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.get(data(study)).status_code == 404
    address = reverse("annotation:remove-item", args=[study.pk])
    assert client.post(address, {"item": "note-3"}).status_code == 404


def test_items_are_filtered_in_a_table(client, ruth):
    study = make_open_study(
        instances=3, systems=3, comparisons_per_hit=1, ratings_per_hit=2, member=ruth
    )
    annotator(study).choose()
    listed = lambda **wanted: client.get(data(study), wanted).context["items"].paginator.count  # noqa: E731
    units = study.units.filter(role="main")
    assert listed() == units.count() == 9
    assert listed(system="system-1") == 6
    assert listed(instance="note-1") == listed(text="note-1") == 3
    assert listed(text="note-1 absent") == listed(text="%") == listed(role="gold") == 0
    assert listed(state="rated") + listed(state="unrated") == 9
    assert (listed(state="rated"), listed(state="contested")) == (1, 0)
    tally = Tally.objects.get()
    Tally.objects.create(unit=tally.unit, criterion=tally.criterion, label="other", n=2)
    page = client.get(data(study), {"state": "contested"})
    assert page.context["item_rows"] == [(tally.unit, (2, 3))]
    address = reverse("annotation:set-aside", args=[study.pk])
    answer = client.post(address, {"item": units[0].key, "aside": "1", "chosen": "state=aside"})
    assert answer.url.startswith(f"{data(study)}?state=aside#")
    assert listed(state="aside") == listed(state="told") == 1
    page = client.get(data(study), {"state": "aside"})
    ((unit, _),) = page.context["item_rows"]
    assert (unit.set_aside, unit.key) == (True, units[0].key)

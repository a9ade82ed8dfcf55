"""Templates of published protocols: each is valid, fills in every step, and can be opened."""

import pytest
from django.urls import reverse

from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import open_study
from studies.design import protocols as module
from studies.design.protocols import create_from_protocol, fill_in, protocol_named, protocols
from studies.models import (
    Generation,
    Membership,
    SelectedInstance,
    Study,
    StudyEvent,
    StudySystem,
    Unit,
)
from studies.services import use_dataset_systems
from tests.pages import codes_on
from tests.refusals import refused
from tests.studies.factories import EVERY_WARNING, make_dataset, make_study

pytestmark = pytest.mark.django_db
SLUGS = sorted(path.stem for path in module.FOLDER.glob("*.toml"))


def test_the_protocols_of_the_field_are_there():
    assert SLUGS == [
        "dhp-weights",
        "href",
        "mt-bench",
        "rag",
        "rag-pairs",
        "separability",
        "summeval",
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("slug", SLUGS)
def test_a_study_from_a_template_can_be_opened(slug, ruth):
    """Only what the template says is left to do is left: the data, and units of the test."""
    study = create_from_protocol(protocol=protocol_named(slug), owner=ruth)
    study.dataset = make_dataset(instances=60)
    study.save()
    use_dataset_systems(study=study)
    if hasattr(study, "selection"):
        study.selection.delete()  # nothing is scored here
    if hasattr(study, "screening"):
        for generation in Generation.objects.all():  # long enough to be degraded
            sentences = [f"Sentence {n} of {generation.pk} has words." for n in range(8)]
            Generation.objects.filter(pk=generation.pk).update(text=" ".join(sentences))
        degrade_copies(
            study=study, role=Unit.Role.QUALIFICATION, n=study.screening.qualification_units
        )
    study = Study.objects.get(pk=study.pk)
    plan_hits(study=study)
    errors = [check.code for check in launch_checks(study) if check.is_error]
    assert errors == []
    assert open_study(study=study, confirmed_warnings=EVERY_WARNING).status == "open"


@pytest.mark.parametrize("slug", SLUGS)
def test_what_a_template_says_is_what_the_study_has(slug, ruth):
    protocol = protocol_named(slug)
    study = create_from_protocol(protocol=protocol, owner=ruth)
    assert study.guidelines == protocol.guidelines
    assert {name: getattr(study, name) for name in protocol.settings} == protocol.settings
    assert [c.name for c in study.criteria.all()] == [row["name"] for row in protocol.criteria]
    assert study.comprehension.count() == len(protocol.comprehension)
    assert hasattr(study, "screening") == bool(protocol.screening)
    assert hasattr(study, "selection") == bool(protocol.selection)
    assert study.events.get().details == {"template": slug}
    assert list(study.members.all()) == [ruth]


def test_href_asks_for_nine_of_ten_and_four_ratings():
    protocol = protocol_named("href")
    screening = protocol.screening
    assert (screening["pass_mark"], screening["qualification_units"]) == (9, 10)
    assert protocol.settings["ratings_per_hit"] == 4


def test_filling_in_replaces_the_design_and_keeps_the_rest(ruth):
    study = make_study(member=ruth, ratings_per_hit=7)
    create_selected(study)
    fill_in(study=study, protocol=protocol_named("href"))
    fill_in(study=study, protocol=protocol_named("summeval"))
    study = Study.objects.get(pk=study.pk)
    assert (study.title, study.dataset_id is not None) == ("Which note is better?", True)
    assert study.study_systems.count() == 2
    assert study.ratings_per_hit == 3
    assert study.criteria.count() == 4
    assert not hasattr(study, "screening")
    assert study.comprehension.count() == 0
    assert not SelectedInstance.objects.filter(study=study).exists()


def create_selected(study: Study) -> None:
    a, b = StudySystem.objects.filter(study=study)
    SelectedInstance.objects.create(
        study=study,
        instance=study.dataset.instances.first(),
        system_a=a.system,
        system_b=b.system,
        phase="design",
        inclusion_probability=0.5,
    )


def test_a_planned_or_opened_study_keeps_its_design(ruth):
    study = make_study(member=ruth)
    plan_hits(study=study)
    with refused("already_planned"):
        fill_in(study=study, protocol=protocol_named("href"))
    open_study(study=study, confirmed_warnings=EVERY_WARNING)
    with refused("frozen_design"):
        fill_in(study=study, protocol=protocol_named("href"))
    assert not StudyEvent.objects.filter(verb="template").exists()
    assert [c.name for c in study.criteria.all()] == ["preference"]


def test_the_page_creates_a_study_of_the_researcher(client, ruth):
    page = client.get(reverse("studies:from-template"))
    for protocol in protocols():
        assert protocol.title in page.content.decode()
    answer = client.post(reverse("studies:from-template"), {"template": "rag"})
    study = Study.objects.get()
    assert answer.url == reverse("studies:data", args=[study.pk])
    assert Membership.objects.get().user == ruth


def test_an_unknown_template_is_refused(client, ruth):
    answer = client.post(reverse("studies:from-template"), {"template": "../settings"})
    assert answer.status_code == 404
    assert codes_on(answer) == {"no_such_template"}
    assert not Study.objects.exists()


def test_a_draft_is_asked_before_its_design_is_replaced(client, ruth):
    study = make_study(member=ruth)
    address = reverse("studies:use-template", args=[study.pk])
    asked = client.post(address, {"template": "summeval"})
    assert study.criteria.count() == 1
    client.post(address, {"template": "summeval", "confirmed": asked.context["token"]})
    assert study.criteria.count() == 4


def test_only_members_replace_a_design(client, ruth):
    study = make_study()
    assert client.post(reverse("studies:use-template", args=[study.pk])).status_code == 404
    client.logout()
    assert client.get(reverse("studies:from-template")).status_code == 302


def test_every_template_names_its_source_and_what_is_left():
    for protocol in protocols():
        assert any(year in protocol.source for year in ("2021", "2023", "2024"))
        assert protocol.steps_left

import re
import zipfile

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import HIT, Place
from jobs.models import Job
from studies.admin import StudyAdmin
from studies.models import Dataset, Membership, Screening, Study
from studies.models.settings import SETTINGS
from tests.annotation.places import take_place
from tests.confirming import post_confirmed
from tests.pages import codes_on, levels_on, numbers_in, send
from tests.studies.factories import make_dataset, make_open_study, make_participation, make_study
from tests.tiebreak.formats.bundles import FLAWS, make_bundle

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client) -> User:
    user = User.objects.create_user("ruth", password="p", is_staff=True)
    client.force_login(user)
    return user


def change(study: Study) -> str:
    return reverse("admin:studies_study_change", args=[study.pk])


def do(client, study: Study, verb: str):
    address = reverse("admin:studies_study_do", args=[study.pk, verb])
    return post_confirmed(client, address)


def form_of(study: Study, **values) -> dict[str, object]:
    """Return the fields of the change form as the page would send them."""
    return {
        "title": study.title,
        "dataset": study.dataset_id or "",
        **{name: given for name in SETTINGS if (given := getattr(study, name)) is not None},
        "criteria-TOTAL_FORMS": 0,
        "criteria-INITIAL_FORMS": 0,
        "study_systems-TOTAL_FORMS": 0,
        "study_systems-INITIAL_FORMS": 0,
        "screening-TOTAL_FORMS": 0,
        "screening-INITIAL_FORMS": 0,
        "comprehension-TOTAL_FORMS": 0,
        "comprehension-INITIAL_FORMS": 0,
        "memberships-TOTAL_FORMS": 0,
        "memberships-INITIAL_FORMS": 0,
        **values,
    }


@pytest.mark.thorough
def test_it_works(client, researcher):
    dataset = make_dataset(instances=2)
    Dataset.objects.update(created_by=researcher)
    blank = Study(title="New", dataset=dataset, guidelines="Read both.")
    values = form_of(
        blank,
        **{
            "criteria-TOTAL_FORMS": 1,
            "criteria-0-name": "preference",
            "criteria-0-position": 1,
            "criteria-0-question": "Which?",
            "criteria-0-reason": "none",
            "criteria-0-reason_length": 20,
            "criteria-0-scale": "preference:tie",
        },
    )
    response = client.post(reverse("admin:studies_study_add"), values)
    assert response.status_code == 302, response.context["errors"]
    study = Study.objects.get()
    assert study.memberships.get().user == researcher
    assert list(study.systems.values_list("name", flat=True)) == ["system-0", "system-1"]
    assert set(levels_on(do(client, study, "plan"))) == {"success"}
    assert study.hits.count() == 2
    assert set(levels_on(do(client, study, "open"))) == {"success"}
    page = client.get(change(study))
    assert page.context["progress"].places == 6
    for verb, status in (("pause", "paused"), ("close", "closed")):
        assert set(levels_on(do(client, study, verb))) == {"success"}
        study.refresh_from_db()
        assert study.status == status


def test_another_researchers_study_is_not_found(client, researcher):
    study = make_study(instances=1)
    assert (
        client.get(change(study)).status_code == 302
    )  # the admin redirects if there is no such object
    for name, args in (
        ("studies_study_do", [study.pk, "plan"]),
        ("studies_study_clone", [study.pk]),
    ):
        assert client.post(reverse(f"admin:{name}", args=args)).status_code == 404
    assert study.title not in client.get(reverse("admin:studies_study_changelist")).content.decode()
    assert HIT.objects.count() == 0


def test_verbs_need_a_post(client, researcher):
    study = make_study(member=researcher)
    assert client.get(reverse("admin:studies_study_do", args=[study.pk, "plan"])).status_code == 405


def test_a_refusal_is_shown(client, researcher):
    study = make_study(instances=1, member=researcher)
    address = reverse("admin:studies_study_do", args=[study.pk, "open"])
    assert codes_on(client.post(address, follow=True)) == {"not_planned"}


def test_an_open_studys_design_cannot_be_edited(client, researcher):
    study = make_open_study(instances=2, member=researcher)
    values = form_of(study, comparisons_per_hit=1, abandoned="units")
    assert send(client, change(study), values).status_code == 302
    study.refresh_from_db()
    assert (study.comparisons_per_hit, study.abandoned) == (5, "whole_hit")


def test_new_guidelines_are_a_new_version_from_the_next_assignment_on(client, researcher):
    study = make_open_study(instances=2, member=researcher)
    before = take_place(participation=make_participation(study, "ann"))
    send(client, change(study), form_of(study, guidelines="Read twice."))
    study.refresh_from_db()
    after = take_place(participation=make_participation(study, "bob"))
    assert (before.study_version.number, after.study_version.number) == (1, 2)
    assert after.study_version.guidelines == "Read twice."


def test_r_grows_with_its_places_and_never_shrinks(client, researcher):
    study = make_open_study(instances=2, ratings_per_hit=2, member=researcher)
    send(client, change(study), form_of(study, ratings_per_hit=3))
    assert Place.objects.filter(study=study).count() == 6
    study.refresh_from_db()
    answer = send(client, change(study), form_of(study, ratings_per_hit=1))
    form = answer.context["adminform"].form
    assert form.has_error("ratings_per_hit", code="ratings_per_hit_shrinks")
    assert Place.objects.filter(study=study).count() == 6


def test_a_clone_is_a_draft_of_its_own(client, researcher):
    study = make_open_study(instances=1, member=researcher)
    client.post(reverse("admin:studies_study_clone", args=[study.pk]))
    clone = Study.objects.exclude(pk=study.pk).get()
    assert (clone.status, clone.hits.count(), clone.seed != study.seed) == ("draft", 0, True)
    assert clone.criteria.count() == clone.memberships.count() == 1
    assert clone.systems.count() == 2


def test_an_unknown_scale_is_refused_with_what_is_allowed(client, researcher):
    study = make_study(member=researcher)
    criterion = study.criteria.get()
    values = form_of(
        study,
        **{
            "criteria-TOTAL_FORMS": 1,
            "criteria-INITIAL_FORMS": 1,
            "criteria-0-id": criterion.pk,
            "criteria-0-study": study.pk,
            "criteria-0-name": "preference",
            "criteria-0-position": 1,
            "criteria-0-question": "Which?",
            "criteria-0-reason": "none",
            "criteria-0-reason_length": 20,
            "criteria-0-scale": "stars",
        },
    )
    page = send(client, change(study), values)
    (form,) = [
        form
        for inline in page.context["inline_admin_formsets"]
        for form in inline.formset.forms
        if form.errors
    ]
    assert form.has_error("scale", code="unknown_scale")
    assert "preference:tie" in page.content.decode()


def test_a_dataset_shows_its_instances_and_generations(client, researcher):
    dataset = make_dataset(instances=3)
    Dataset.objects.update(created_by=researcher)
    page = client.get(reverse("admin:studies_dataset_change", args=[dataset.pk]))
    assert page.context["page"].paginator.count == 3
    assert "Text 2 1 4." in page.content.decode()


def test_every_row_on_a_studys_page_is_titled_by_what_it_is(client, researcher):
    study = make_study(instances=1, member=researcher)
    study.criteria.update(name="fluency")
    Screening.objects.create(study=study)
    study.comprehension.create(text="Which comes first?", choices="a\nb")
    html = client.get(change(study)).content.decode()
    titles = re.findall(r'<span class="inline_label">(.*?)</span>', html, re.S)
    rows = [" ".join(strip_tags(title).split()) for title in titles]
    named = [row for row in rows if not row.startswith("#")]  # rows to be added have a number
    assert named == [
        *("fluency", "system-0", "system-1", "ruth"),
        *(str(study.screening), "Which comes first?"),
    ]


def test_what_would_be_deleted_is_named(client, researcher):
    dataset = make_study(instances=1, systems=1, samples=1, member=researcher).dataset
    study = dataset.studies.get()
    study.channels.create(provider="panel")
    html = client.get(reverse("admin:studies_study_delete", args=[study.pk])).content.decode()
    for name in ("system-0", "ruth", str(study.channels.get())):
        assert f": {name}" in strip_tags(html)
    assert "Text 0 0 0." in str(dataset.instances.get().generations.get())


def test_lists_take_few_queries(client, researcher, django_assert_max_num_queries):
    for _ in range(6):
        Membership.objects.create(study=make_open_study(instances=2), user=researcher)
    with django_assert_max_num_queries(12):
        page = client.get(reverse("admin:studies_study_changelist"))
    places = re.findall(r'class="field-completed_places">(.*?)</td>', page.content.decode())
    assert [re.findall(r"\d+", cell) for cell in places] == [["0", "6"]] * 6
    with django_assert_max_num_queries(10):
        client.get(reverse("admin:studies_dataset_changelist"))


def upload(client, path):
    with path.open("rb") as file:
        return client.post(reverse("annotation:new-study"), {"file": file}, follow=True)


def zipped(folder, path):
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    return path


def test_a_bundle_is_uploaded(client, researcher, tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    page = upload(client, zipped(folder, tmp_path / "b.zip"))
    (message, *_) = page.context["messages"]
    assert (message.level_tag, numbers_in(message.message)) == ("success", {"3", "12"})
    assert Study.objects.get().memberships.get().user == researcher


def test_an_upload_with_flaws_says_line_and_reason_and_imports_nothing(
    client, researcher, tmp_path
):
    folder = make_bundle(tmp_path / "b")
    FLAWS["broken line"][0](folder)
    page = upload(client, zipped(folder, tmp_path / "b.zip"))
    assert page.context["form"].has_error("file", code="not_json")
    assert re.search(r"generations\.jsonl\D*13\b", page.content.decode())
    assert Dataset.objects.count() == 0


def test_the_similarity_is_one_of_those_there_are_or_stays_what_it_was(client, researcher):
    study = make_study(instances=1, member=researcher, similarity="of-an-older-tool")
    html = client.get(change(study)).content.decode()
    assert '<option value="bertscore_length_adjusted">' in html
    assert '<option value="of-an-older-tool" selected>' in html
    refused = send(client, change(study), form_of(study, similarity="rogue1"))
    assert refused.context["adminform"].form.has_error("similarity", code="invalid_choice")
    assert send(client, change(study), form_of(study, similarity="bleu")).status_code == 302
    study.refresh_from_db()
    assert study.similarity == "bleu"


def test_a_deleted_draft_takes_its_jobs_with_it(client, researcher):
    study = make_study(instances=1, member=researcher)
    kept = Job.objects.create(kind="scoring", owner="another")
    Job.objects.create(kind="scoring", owner=study.pk)
    address = reverse("admin:studies_study_delete", args=[study.pk])
    assert client.post(address, {"post": "yes"}).status_code == 302
    assert not Study.objects.filter(pk=study.pk).exists()
    assert list(Job.objects.all()) == [kept]


def test_a_setting_without_a_place_on_the_page_is_shown_under_other(
    client, researcher, monkeypatch
):
    study = make_study(instances=1, member=researcher)
    assert "Other" not in [title for title, _ in fieldsets_of(client, study)]
    without = [part for part in StudyAdmin.fieldsets if part[0] != "Payment"]
    monkeypatch.setattr(StudyAdmin, "fieldsets", without)
    title, options = fieldsets_of(client, study)[-1]
    assert title == "Other"
    assert options["fields"] == [
        *("budget", "currency", "minutes_per_hit", "promised_hourly_rate", "reward"),
    ]


def fieldsets_of(client, study: Study) -> list[tuple[str | None, dict[str, object]]]:
    return client.get(change(study)).context["adminform"].fieldsets


def test_a_symmetric_design_needs_an_even_number_of_ratings(client, researcher):
    study = make_study(instances=2, member=researcher, ratings_per_hit=3)
    page = reverse("admin:studies_study_change", args=[study.pk])
    response = client.post(page, form_of(study, pairing="symmetric"))
    form = response.context["adminform"].form
    assert form.has_error("ratings_per_hit", "symmetric_needs_even_ratings")

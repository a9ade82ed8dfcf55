import re
import zipfile

import pytest
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import HIT, Place
from jobs.models import Job
from studies.design.step_admin import StepAdmin
from studies.models import Dataset, InstanceSelection, Membership, SelectedInstance, Study
from studies.models.settings import SETTINGS
from studies.services import DESIGN
from tests.annotation.places import take_place
from tests.confirming import post_confirmed
from tests.pages import levels_on, numbers_in, send_step
from tests.studies.factories import make_dataset, make_open_study, make_participation, make_study
from tests.tiebreak.formats.bundles import FLAWS, make_bundle

pytestmark = pytest.mark.django_db


def step(name: str, study: Study) -> str:
    return reverse(name, args=[study.pk])


def do(client, study: Study, verb: str):
    return post_confirmed(client, reverse("recruitment:launch-action", args=[study.pk, verb]))


@pytest.mark.thorough
def test_it_works(client, ruth):
    dataset = make_dataset(instances=2)
    Dataset.objects.update(created_by=ruth)
    new = {"title": "New", "dataset": dataset.pk, "unit_kind": "comparison"}
    assert client.post(reverse("admin:studies_study_add"), new).status_code == 302
    study = Study.objects.get()
    assert study.memberships.get().user == ruth
    assert list(study.systems.values_list("name", flat=True)) == ["system-0", "system-1"]
    sent = send_step(client, step("studies:task", study), guidelines="Read both.")
    assert sent.status_code == 302
    assert set(levels_on(do(client, study, "plan"))) == {"success"}
    assert study.hits.count() == 2
    assert set(levels_on(do(client, study, "open"))) == {"success"}
    page = client.get(step("recruitment:launch", study))
    assert page.context["progress"].places == 6
    for verb, status in (("pause", "paused"), ("close", "closed")):
        assert set(levels_on(do(client, study, verb))) == {"success"}
        study.refresh_from_db()
        assert study.status == status


def test_another_researchers_study_is_not_found(client, ruth):
    study = make_study(instances=1)
    addresses = (
        reverse("admin:studies_study_change", args=[study.pk]),
        reverse("admin:studies_study_history", args=[study.pk]),
        reverse("recruitment:launch-action", args=[study.pk, "plan"]),
        reverse("recruitment:clone", args=[study.pk]),
    )
    for address in addresses:
        assert client.post(address).status_code == 404
    assert study.title not in client.get(reverse("admin:studies_study_changelist")).content.decode()
    assert HIT.objects.count() == 0


def test_the_form_of_all_settings_has_become_the_steps(client, ruth):
    """Its address and the one of its history still lead to what has taken their place."""
    study = make_study(instances=1, member=ruth)
    for old, new in (("change", "studies:data"), ("history", "studies:log")):
        address = reverse(f"admin:studies_study_{old}", args=[study.pk])
        for user in (ruth, User.objects.create_superuser(f"root-{old}")):
            client.force_login(user)
            assert client.get(address)["Location"] == step(new, study)


def steps() -> list[type[StepAdmin]]:
    found, classes = [], [StepAdmin]
    while classes:
        below = classes.pop().__subclasses__()
        classes += below
        found += [one for one in below if hasattr(one, "slug")]
    return found


def test_a_step_or_page_has_each_setting_and_each_row_of_a_study():
    shown = {name for one in steps() for name in flatten_fieldsets(one.fieldsets)}
    assert shown == {"title", "dataset", *SETTINGS}
    rows = {inline.model: inline for one in steps() for inline in one.inlines}
    assert set(DESIGN) - rows.keys() == {InstanceSelection, SelectedInstance}  # they are drawn
    for model, inline in rows.items():
        names = {field.name for field in model._meta.fields if field.editable}
        listed = (
            inline.fields or flatten_fieldsets(inline.fieldsets or ()) or inline.form.Meta.fields
        )
        assert names - {"id", "study"} == set(listed), model


def test_verbs_need_a_post(client, ruth):
    study = make_study(member=ruth)
    action = reverse("recruitment:launch-action", args=[study.pk, "plan"])
    assert client.get(action).status_code == 405


def test_a_refusal_is_shown(client, ruth):
    study = make_study(instances=1, systems=1, member=ruth)
    address = reverse("recruitment:launch-action", args=[study.pk, "plan"])
    assert levels_on(client.post(address, follow=True)) == ["error"]


def test_an_open_studys_design_cannot_be_edited(client, ruth):
    study = make_open_study(instances=2, member=ruth)
    size = step("recruitment:size", study)
    assert send_step(client, size, comparisons_per_hit=1, abandoned="units").status_code == 302
    study.refresh_from_db()
    assert (study.comparisons_per_hit, study.abandoned) == (5, "whole_hit")


def test_new_guidelines_are_a_new_version_from_the_next_assignment_on(client, ruth):
    study = make_open_study(instances=2, member=ruth)
    before = take_place(participation=make_participation(study, "ann"))
    send_step(client, step("studies:task", study), guidelines="Read twice.")
    study.refresh_from_db()
    after = take_place(participation=make_participation(study, "bob"))
    assert (before.study_version.number, after.study_version.number) == (1, 2)
    assert after.study_version.guidelines == "Read twice."


def test_r_grows_with_its_places_and_never_shrinks(client, ruth):
    study = make_open_study(instances=2, ratings_per_hit=2, member=ruth)
    size = step("recruitment:size", study)
    send_step(client, size, ratings_per_hit=3)
    assert Place.objects.filter(study=study).count() == 6
    form = send_step(client, size, ratings_per_hit=1).context["adminform"].form
    assert form.has_error("ratings_per_hit", code="ratings_per_hit_shrinks")
    assert Place.objects.filter(study=study).count() == 6


def test_a_clone_is_a_draft_of_its_own(client, ruth):
    study = make_open_study(instances=1, member=ruth)
    client.post(step("recruitment:clone", study))
    clone = Study.objects.exclude(pk=study.pk).get()
    assert (clone.status, clone.hits.count(), clone.seed != study.seed) == ("draft", 0, True)
    assert clone.criteria.count() == clone.memberships.count() == 1
    assert clone.systems.count() == 2


def test_an_unknown_scale_is_refused_with_what_is_allowed(client, ruth):
    study = make_study(member=ruth)
    scale = {"criteria-0-scale": "stars", "criteria-0-scale_card": "other"}
    page = send_step(client, step("studies:task", study), **scale)
    (form,) = [
        form
        for inline in page.context["inline_admin_formsets"]
        for form in inline.formset.forms
        if form.errors
    ]
    assert form.has_error("scale", code="unknown_scale")
    assert "preference:tie" in page.content.decode()


def test_a_dataset_shows_its_instances_and_generations(client, ruth):
    dataset = make_dataset(instances=3)
    Dataset.objects.update(created_by=ruth)
    page = client.get(reverse("admin:studies_dataset_change", args=[dataset.pk]))
    assert page.context["page"].paginator.count == 3
    assert "Text 2 1 4." in page.content.decode()


def test_what_would_be_deleted_is_named(client, ruth):
    dataset = make_study(instances=1, systems=1, samples=1, member=ruth).dataset
    study = dataset.studies.get()
    study.channels.create(provider="panel")
    html = client.get(reverse("admin:studies_study_delete", args=[study.pk])).content.decode()
    for name in ("system-0", "ruth", str(study.channels.get())):
        assert f": {name}" in strip_tags(html)
    assert "Text 0 0 0." in str(dataset.instances.get().generations.get())


def test_lists_take_few_queries(client, ruth, django_assert_max_num_queries):
    for _ in range(6):
        Membership.objects.create(study=make_open_study(instances=2), user=ruth)
    with django_assert_max_num_queries(12):
        page = client.get(reverse("admin:studies_study_changelist"))
    assert page.context["cl"].result_count == 6
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


def test_a_bundle_is_uploaded(client, ruth, tmp_path):
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    page = upload(client, zipped(folder, tmp_path / "b.zip"))
    (message, *_) = page.context["messages"]
    assert (message.level_tag, numbers_in(message.message)) == ("success", {"3", "12"})
    assert Study.objects.get().memberships.get().user == ruth


def test_an_upload_with_flaws_says_line_and_reason_and_imports_nothing(client, ruth, tmp_path):
    folder = make_bundle(tmp_path / "b")
    FLAWS["broken line"][0](folder)
    page = upload(client, zipped(folder, tmp_path / "b.zip"))
    assert page.context["form"].has_error("file", code="not_json")
    assert re.search(r"generations\.jsonl\D*13\b", page.content.decode())
    assert Dataset.objects.count() == 0


def test_the_similarity_is_one_of_those_there_are_or_stays_what_it_was(client, ruth):
    study = make_study(instances=1, member=ruth, similarity="of-an-older-tool")
    plan = step("recruitment:analysis-plan", study)
    html = client.get(plan).content.decode()
    assert '<option value="bertscore_length_adjusted">' in html
    assert '<option value="of-an-older-tool" selected>' in html
    refused = send_step(client, plan, similarity="rogue1")
    assert refused.context["adminform"].form.has_error("similarity", code="invalid_choice")
    assert send_step(client, plan, similarity="bleu").status_code == 302
    study.refresh_from_db()
    assert study.similarity == "bleu"


def test_a_deleted_draft_takes_its_jobs_with_it(client, ruth):
    study = make_study(instances=1, member=ruth)
    kept = Job.objects.create(kind="scoring", owner="another")
    Job.objects.create(kind="scoring", owner=study.pk)
    address = reverse("admin:studies_study_delete", args=[study.pk])
    assert client.post(address, {"post": "yes"}).status_code == 302
    assert not Study.objects.filter(pk=study.pk).exists()
    assert list(Job.objects.all()) == [kept]


def test_a_symmetric_design_needs_an_even_number_of_ratings(client, ruth):
    study = make_study(instances=2, member=ruth, ratings_per_hit=3)
    response = send_step(client, step("recruitment:size", study), pairing="symmetric")
    form = response.context["adminform"].form
    assert form.has_error("ratings_per_hit", "symmetric_needs_even_ratings")

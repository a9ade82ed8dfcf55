"""Simple raters made by mistake: deleted while they have not rated, excluded and reinstated later."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rater, Rating
from jobs.models import Job
from machine_raters.baselines.job import BaselineJob
from machine_raters.baselines.scored import Scored
from machine_raters.baselines.services import (
    delete_baseline,
    exclude_baseline,
    reinstate_baseline,
    start_baseline,
)
from machine_raters.baselines.storing import store_preferences
from machine_raters.juries.services import add_jury, possible_members, start_jury
from machine_raters.models import Abstention, Baseline
from machine_raters.models.exclusion import MAX_REASON
from metrics.exports.document.study_facts import deviation_table, exclusion_table
from metrics.results.selectors import source_of
from metrics.results.services import watermark
from studies.models import Membership, StudyEvent
from tests.annotation.tallies import recount, stored_tallies
from tests.api.clients import at, problem_of, program
from tests.machine_raters.baselines.test_baselines import add, open_study
from tests.pages import codes_on, page_of
from tests.refusals import refused
from tiebreak.report import build_report

pytestmark = pytest.mark.django_db
JSON = "application/json"
REASON = "the wrong rule"
SCALES = {"preference": "preference:tie"}


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    study = open_study(("abc", "ab"), ("a", "a b"), ("same", "even"))
    Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    return study


def without_ratings(study) -> Baseline:
    """Return a baseline that left all items unrated: on a scale without a tie, equal texts."""
    study.criteria.update(scale="preference")
    for instance in study.dataset.instances.all():
        instance.generations.update(text="same")
    return add(study, "longer")


def machines(study) -> dict:
    """Return the agreement with annotators of each machine rater in the report."""
    criteria = build_report(source_of(study).table, scales=SCALES).criteria
    return dict(criteria["preference"].all_units.machines) if criteria else {}


def test_one_that_has_not_rated_is_deleted_with_its_rater(study):
    baseline, ada = without_ratings(study), User.objects.get()
    assert Abstention.objects.count() == 3
    delete_baseline(baseline=baseline, by=ada)
    assert not Baseline.objects.exists()
    assert not Rater.objects.filter(pseudonym="longer").exists()
    event = study.events.get(verb=StudyEvent.Verb.DELETE_BASELINE)
    assert (event.by, event.details) == (ada, {"baseline": "longer"})
    assert add(study, "longer").name == "longer"


def test_one_that_has_rated_is_not_deleted(study):
    baseline = add(study, "longer")
    with refused("baseline_has_ratings"):
        delete_baseline(baseline=baseline)
    assert (Baseline.objects.count(), Rating.objects.count()) == (1, 3)
    assert not study.events.filter(verb=StudyEvent.Verb.DELETE_BASELINE).exists()


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
def test_one_at_work_is_neither_deleted_nor_excluded(study, status):
    rated, unrated = add(study, "shorter"), without_ratings(study)
    Job.objects.update(status=status)
    with refused("job_unfinished"):
        delete_baseline(baseline=unrated)
    with refused("job_unfinished"):
        exclude_baseline(baseline=rated, reason=REASON)
    Job.objects.update(status="stopped")
    delete_baseline(baseline=unrated)
    assert exclude_baseline(baseline=rated, reason=REASON) == 3


def test_excluded_ratings_leave_the_report_and_come_back(study):
    add(study, "shorter")
    baseline = add(study, "longer")
    before, marks = machines(study), [watermark(study)]
    assert [*before] == ["longer", "shorter"]
    assert exclude_baseline(baseline=baseline, reason=f"  {REASON} ") == 3
    assert [*machines(study)] == ["shorter"]
    marks.append(watermark(study))
    assert stored_tallies(study=study) == recount(study=study)
    assert sum(stored_tallies(study=study).values()) == 3
    assert reinstate_baseline(baseline=baseline) == 3
    marks.append(watermark(study))
    assert len({*marks}) == 3
    assert machines(study) == before
    assert stored_tallies(study=study) == recount(study=study)
    assert sum(stored_tallies(study=study).values()) == 6
    baseline.refresh_from_db()
    assert (baseline.excluded, baseline.excluded_reason) == (False, "")


def test_many_ratings_are_flagged_in_several_statements(study, monkeypatch):
    monkeypatch.setattr("machine_raters.services.exclusion.LOT", 2)
    baseline = add(study, "first")
    assert exclude_baseline(baseline=baseline, reason=REASON) == 6
    assert not Rating.objects.counted().exists()
    assert reinstate_baseline(baseline=baseline) == 6
    assert Rating.objects.counted().count() == 6


def test_what_is_excluded_or_reinstated_twice_changes_once(study):
    baseline = add(study, "longer")
    assert reinstate_baseline(baseline=baseline) == 0
    exclude_baseline(baseline=baseline, reason=REASON)
    assert exclude_baseline(baseline=baseline, reason="another reason") == 0
    baseline.refresh_from_db()
    assert baseline.excluded_reason == REASON
    reinstate_baseline(baseline=baseline)
    assert reinstate_baseline(baseline=baseline) == 0
    logged = study.events.filter(verb__endswith="e-baseline").order_by("pk")
    assert [(event.verb, event.details) for event in logged] == [
        ("exclude-baseline", {"baseline": "longer", "ratings": 3, "reason": REASON}),
        ("reinstate-baseline", {"baseline": "longer", "ratings": 3}),
    ]


def test_a_reason_is_needed_and_fits(study):
    baseline = add(study, "longer")
    with refused("no_reason"):
        exclude_baseline(baseline=baseline, reason=" ")
    with refused("reason_too_long"):
        exclude_baseline(baseline=baseline, reason="x" * (MAX_REASON + 1))
    assert not Rating.objects.filter(excluded=True).exists()
    exclude_baseline(baseline=baseline, reason="x" * MAX_REASON)


def test_an_excluded_one_rates_nothing_more(study):
    baseline = add(study, "longer")
    job = Job.objects.get()
    exclude_baseline(baseline=baseline, reason=REASON)
    with refused("baseline_excluded"):
        start_baseline(baseline=Baseline.objects.get())
    with refused("baseline_excluded"):
        list(BaselineJob().plan(job))
    with refused("baseline_excluded"):
        list(BaselineJob().run(job, {"units": []}))
    reinstate_baseline(baseline=baseline)
    assert start_baseline(baseline=Baseline.objects.get())


def test_a_worker_that_is_late_stores_nothing_for_an_excluded_one(study):
    """It read the baseline before the exclusion, and its job was stopped meanwhile."""
    baseline = without_ratings(study)
    baseline.abstentions.all().delete()
    exclude_baseline(baseline=baseline, reason=REASON)
    assert not baseline.excluded
    with refused("baseline_excluded"):
        store_preferences(baseline, [Scored(study.units.first(), "", (1, 2))])
    assert not Rating.objects.exists()


def test_a_jury_neither_chooses_an_excluded_member_nor_goes_on_with_it(study):
    for method in ("longer", "shorter"):
        add(study, method)
    members = list(possible_members(study))
    jury = add_jury(study=study, name="both", criterion=study.criteria.get(), members=members)
    decided = list(jury.rater.ratings.values_list("unit", "label"))
    exclude_baseline(baseline=Baseline.objects.get(name="longer"), reason=REASON)
    assert [rater.pseudonym for rater in possible_members(study)] == ["shorter"]
    with refused("member_excluded", naming="longer"):
        start_jury(jury=jury)
    assert list(Rating.objects.counted().filter(rater=jury.rater).values_list("unit", "label")) == (
        decided
    )


def test_exports_have_the_flag_and_the_reason(study, tmp_path):
    add(study, "shorter")
    exclude_baseline(baseline=add(study, "longer"), reason=REASON)
    flagged = {
        (row["rater"], row["excluded"], row["excluded_reason"]) for row in rating_rows(study)
    }
    assert flagged == {("longer", True, REASON), ("shorter", False, "")}
    export_study(study=study, out=tmp_path / "export")
    lines = (tmp_path / "export" / "machine_raters.jsonl").read_text().splitlines()
    rows = {row["rater"]: row for row in map(json.loads, lines)}
    stated = {name: (row["excluded"], row["excluded_reason"]) for name, row in rows.items()}
    assert stated == {"longer": (True, REASON), "shorter": (False, "")}
    imported = import_study(path=tmp_path / "export").study
    assert [*machines(imported)] == ["shorter"]
    again = Rating.objects.filter(unit__study=imported, excluded=True)
    assert set(again.values_list("excluded_reason", flat=True)) == {REASON}


def test_the_report_document_states_the_exclusion_and_its_end(study):
    baseline = add(study, "longer")
    exclude_baseline(baseline=baseline, reason=REASON)
    assert exclusion_table(study).rows == ((REASON, "1", "3"),)
    (row,) = deviation_table(study).rows
    assert (row[1], REASON in row[2]) == ("excluded a simple rater", True)
    reinstate_baseline(baseline=baseline)
    assert exclusion_table(study) is None
    assert [row[1] for row in deviation_table(study).rows][1:] == ["reinstated a simple rater"]


def act(client, baseline, action, **data):
    address = reverse(
        f"machine_raters:{action}-baseline", args=[baseline.study_id, baseline.public_id]
    )
    return client.post(address, data, follow=True)


def test_the_page_excludes_with_a_reason_and_reinstates(client, study):
    baseline = add(study, "longer")
    page = client.get(reverse("machine_raters:judges", args=[study.pk]))
    exclude = reverse("machine_raters:exclude-baseline", args=[study.pk, baseline.public_id])
    assert exclude in page.content.decode()
    assert page_of(client.get(exclude)) == "exclude"
    without = act(client, baseline, "exclude", reason=" ")
    assert (without.status_code, page_of(without)) == (400, "exclude")
    assert not Rating.objects.filter(excluded=True).exists()
    page = act(client, baseline, "exclude", reason=REASON)
    assert page_of(page) == "judges"
    assert REASON in page.content.decode()
    assert exclude not in page.content.decode()
    assert Rating.objects.filter(excluded=True).count() == 3
    assert codes_on(act(client, baseline, "start")) == {"baseline_excluded"}
    page = act(client, baseline, "reinstate")
    assert REASON not in page.content.decode()
    assert not Rating.objects.filter(excluded=True).exists()


def test_the_page_says_which_juries_have_decided_with_it(client, study):
    for method in ("longer", "shorter"):
        add(study, method)
    members = list(possible_members(study))
    add_jury(study=study, name="the bench", criterion=study.criteria.get(), members=members)
    baseline = Baseline.objects.get(name="longer")
    address = reverse("machine_raters:exclude-baseline", args=[study.pk, baseline.public_id])
    assert "the bench" in client.get(address).content.decode()


def test_the_page_refuses_an_exclusion_while_a_job_is_at_work(client, study):
    baseline = add(study, "longer")
    Job.objects.update(status="paused")
    page = act(client, baseline, "exclude", reason=REASON)
    assert page.status_code == 400
    errors = page.context["form"].errors.as_data()["__all__"]
    assert [error.code for error in errors] == ["job_unfinished"]
    assert page.context["form"]["reason"].value() == REASON


def test_the_page_deletes_one_that_has_not_rated(client, study):
    rated, unrated = add(study, "shorter"), without_ratings(study)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    addresses = [
        reverse("machine_raters:delete-baseline", args=[study.pk, one.public_id])
        for one in (rated, unrated)
    ]
    assert [address in page for address in addresses] == [False, True]
    assert codes_on(act(client, rated, "delete")) == {"baseline_has_ratings"}
    act(client, unrated, "delete")
    assert list(Baseline.objects.values_list("name", flat=True)) == ["shorter"]
    for action in ("delete", "exclude", "reinstate"):
        assert codes_on(act(client, unrated, action)) == {"no_such_baseline"}


def test_the_same_by_the_interface(study):
    ada = program(User.objects.get())
    rated, unrated = add(study, "shorter"), without_ratings(study)
    of_rated, of_unrated = ([study.pk, one.public_id] for one in (rated, unrated))
    assert problem_of(ada.delete(at("baseline", *of_rated))) == (409, "baseline_has_ratings")
    assert ada.delete(at("baseline", *of_unrated)).status_code == 204
    assert problem_of(ada.delete(at("baseline", *of_unrated))) == (404, "no_such_baseline")
    exclude = at("exclude-baseline", *of_rated)
    assert ada.post(exclude, {"reason": ""}, content_type=JSON).status_code == 400
    shown = ada.post(exclude, {"reason": REASON}, content_type=JSON).json()
    assert (shown["excluded"], shown["excluded_reason"]) == (True, REASON)
    [listed] = ada.get(at("baselines", study.pk)).json()
    assert listed == shown
    refused_start = ada.post(at("start-baseline", *of_rated))
    assert problem_of(refused_start) == (409, "baseline_excluded")
    shown = ada.post(at("reinstate-baseline", *of_rated)).json()
    assert (shown["excluded"], shown["excluded_reason"]) == (False, "")


@pytest.mark.parametrize("role", ["analyst", "stranger"])
def test_who_may_not_change_the_study_changes_nothing(client, study, role):
    eve = User.objects.create_user("eve", is_staff=True)
    if role != "stranger":
        Membership.objects.create(study=study, user=eve, role=role)
    status = 404 if role == "stranger" else 403
    client.force_login(eve)
    baseline = add(study, "longer")
    for action in ("delete", "exclude", "reinstate"):
        assert act(client, baseline, action, reason=REASON).status_code == status
    where = [study.pk, baseline.public_id]
    asked = program(eve)
    answers = [
        asked.delete(at("baseline", *where)),
        asked.post(at("exclude-baseline", *where), {"reason": REASON}, content_type=JSON),
        asked.post(at("reinstate-baseline", *where)),
    ]
    assert {answer.status_code for answer in answers} == {status}
    assert not Rating.objects.filter(excluded=True).exists()

"""Dry runs: bots rate a copy, and the page reports what happened to them."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Comment, Participation, Rater, Rating
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from jobs.models import Job
from jobs.worker import run_job
from recruitment.models import Channel
from recruitment.services import dry_runs
from recruitment.services.dry_runs import (
    DryRunOptions,
    copy_of,
    dry_runs_of,
    prepare_dry_run,
    remove_dry_run,
    start_dry_run,
)
from studies.models import (
    ComprehensionQuestion,
    Criterion,
    Generation,
    Membership,
    Screening,
    Study,
    Unit,
)
from tests.confirming import post_confirmed
from tests.pages import numbers_in
from tests.recruitment.simulation.test_bots import with_long_texts
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", password="x", is_staff=True)


def screened_study(**screening) -> Study:
    study = with_long_texts(make_study(instances=6, samples=1, comparisons_per_hit=1))
    Study.objects.filter(pk=study.pk).update(guidelines="Read both.")
    Criterion.objects.create(
        study=study, name="ease", question="Which is easier?", scale="preference:5", position=1
    )
    for role, n in ((Unit.Role.TRAINING, 1), (Unit.Role.QUALIFICATION, 2), (Unit.Role.GOLD, 2)):
        degrade_copies(study=study, role=role, n=n)
    wanted = {"training_units": 1, "qualification_units": 2, "pass_mark": 1, "check_rate": 0.5}
    Screening.objects.create(study=study, **wanted | screening)
    for n in range(2):
        ComprehensionQuestion.objects.create(
            study=study, text=f"Which {n}?", choices="a\nb\nc\nd", answer=n + 2
        )
    study.refresh_from_db()
    return study


def finished(study: Study, **options) -> Job:
    job = start_dry_run(study=study, options=DryRunOptions(**options))
    job.refresh_from_db()
    return job


def codes(job: Job) -> list[str]:
    return [conclusion["code"] for conclusion in job.result["conclusions"]]


def test_a_draft_is_taken_to_its_end_in_a_copy():
    study = screened_study()
    job = finished(study)
    assert (job.status, job.problem, job.result["conclusions"]) == ("done", "", [])
    copy = copy_of(job)
    assert copy.dry_run_of == study
    assert copy.title.endswith(dry_runs.DRY_RUN)
    assert copy.status == "closed"
    assert copy.places.exclude(completed_at=None).count() == copy.places.count() == job.done > 0
    assert not Rating.objects.filter(unit__study=copy, simulated=False).exists()
    assert len(job.result["pages"]) >= 6  # welcome, guidelines, training, test, task, end
    assert set(copy.participations.values_list("status", flat=True)) == {"finished"}


def test_no_simulated_rating_enters_the_study_itself():
    study = screened_study()
    plan_hits(study=study)
    before = Study.objects.filter(pk=study.pk).values().get()
    finished(study)
    assert not Rating.objects.filter(unit__study=study).exists()
    assert not study.participations.exists()
    assert not study.places.exclude(completed_at=None).exists()
    assert Study.objects.filter(pk=study.pk).values().get() == before


def test_a_study_that_people_rate_has_dry_runs_too():
    study = make_open_study(instances=2)
    make_participation(study)
    job = finished(study)
    assert job.status == "done"
    assert study.participations.count() == 1


def test_what_no_rater_can_pass_is_said():
    study = screened_study(pass_mark=2)
    job = finished(study, accuracy=0)
    assert job.status == "done"
    assert codes(job)[0] == "few_passed_comprehension"
    study.comprehension.all().delete()
    job = finished(study, accuracy=0)
    assert codes(job) == ["nobody_passed_qualification", "places_unfilled"]
    assert str(copy_of(job).places.count()) in job.result["conclusions"][1]["sentence"]
    assert job.result["raters"] == 10
    assert set(copy_of(job).participations.values_list("status", flat=True)) == {"screened_out"}


def test_places_that_too_few_raters_leave_open_are_said():
    study = make_study(instances=4, ratings_per_hit=3, hits_per_annotator=1)
    job = finished(study, raters=5)
    assert codes(job) == ["places_unfilled"]
    assert {"7", "12"} <= numbers_in(job.result["conclusions"][0]["sentence"])


def test_places_that_are_left_are_said():
    job = finished(make_study(instances=3, ratings_per_hit=1), drop_out=1.0)
    assert codes(job) == ["places_unfilled"]
    assert "3" in numbers_in(job.result["conclusions"][0]["sentence"])
    assert copy_of(job).participations.filter(assignments__status="active").exists()


def test_a_study_that_cannot_be_planned_says_why():
    study = make_study(instances=2)
    Generation.objects.all().delete()
    with refused("nothing_to_plan"):
        finished(study)


def test_a_run_that_was_broken_off_goes_on():
    study = make_study(instances=4, hits_per_annotator=1, ratings_per_hit=2)
    job = prepare_dry_run(study=study, options=DryRunOptions())
    run_job(job_id=job.pk)
    job.refresh_from_db()
    whole = job.result["raters"]
    again = prepare_dry_run(study=study, options=DryRunOptions(raters=3))
    run_job(job_id=again.pk)
    Study.objects.filter(pk=again.owner).update(status="open")
    Job.objects.filter(pk=again.pk).update(status="running", options=vars(DryRunOptions(raters=50)))
    again.chunks.update(status="waiting")
    run_job(job_id=again.pk)
    again.refresh_from_db()
    assert again.result["raters"] == whole == 8
    assert again.result["conclusions"] == []


def test_platforms_of_the_study_are_left_out_of_the_copy():
    study = make_study(instances=2)
    Channel.objects.create(study=study, provider="prolific", external_id="abc", secret="x")
    job = finished(study)
    assert job.result["conclusions"] == []
    assert not copy_of(job).channels.exists()


def test_people_who_find_a_dry_run_do_not_enter_it(client):
    study = make_study(instances=2)
    job = prepare_dry_run(study=study, options=DryRunOptions())
    plan_hits(study=copy_of(job))
    Study.objects.filter(pk=job.owner).update(status="open")
    answer = client.post(f"/s/{job.owner}/", {"choice": "agree", "version": 0})
    assert answer.status_code == 409
    assert not Participation.objects.exists()


def test_one_dry_run_of_a_study_at_a_time():
    study = make_study(instances=2)
    prepare_dry_run(study=study, options=DryRunOptions())
    with refused("dry_run_unfinished"):
        prepare_dry_run(study=study, options=DryRunOptions())
    other = make_study(instances=2)
    prepare_dry_run(study=other, options=DryRunOptions())


def test_a_dry_run_has_no_dry_run():
    job = finished(make_study(instances=2))
    with refused("is_dry_run"):
        prepare_dry_run(study=copy_of(job), options=DryRunOptions())


def test_the_page_starts_one_shows_it_and_leads_to_its_dashboard(client, ruth):
    study = make_study(instances=3, member=ruth)
    client.force_login(ruth)
    page = reverse("recruitment:dry-runs", args=[study.pk])
    assert page in client.get(reverse("recruitment:launch", args=[study.pk])).text
    form = {"raters": 20, "accuracy": 0.8, "position_bias": 0, "drop_out": 0}
    answer = client.post(page, form, follow=True)
    job = dry_runs_of(study).get()
    dashboard = reverse("metrics:dashboard", args=[job.owner])
    assert dashboard in answer.text
    ((_, progress),) = answer.context["runs"]
    assert (progress.completed, progress.places) == (9, 9)
    assert reverse("metrics:dashboard", args=[study.pk]) in client.get(dashboard).text
    assert (job.created_by, job.options["accuracy"]) == (ruth, 0.8)
    again = client.get(page).context["form"]
    assert (again["accuracy"].value(), again["raters"].value()) == (0.8, 20)


def test_the_page_shows_a_refused_form_as_it_was_filled_in(client, ruth):
    study = make_study(instances=3, member=ruth)
    client.force_login(ruth)
    page = reverse("recruitment:dry-runs", args=[study.pk])
    answer = client.post(page, {"raters": 20, "accuracy": 7, "position_bias": 0, "drop_out": 0})
    assert answer.status_code == 400
    assert 'value="7"' in answer.text
    assert not dry_runs_of(study).exists()


def test_a_run_under_way_is_polled_and_can_be_stopped(client, ruth):
    study = make_study(instances=3, member=ruth)
    job = prepare_dry_run(study=study, options=DryRunOptions())
    client.force_login(ruth)
    part = reverse("recruitment:dry-runs-part", args=[study.pk])
    assert part in client.get(part).text
    client.post(reverse("recruitment:stop-dry-run", args=[study.pk, job.public_id]))
    job.refresh_from_db()
    assert job.status == "stopped"
    assert "hx-get" not in client.get(part).text
    run_job(job_id=job.pk)
    assert not Rating.objects.exists()


def test_a_stopped_run_stops_in_the_middle_of_a_rater(monkeypatch):
    study = make_study(instances=60, comparisons_per_hit=1, ratings_per_hit=1)
    job = prepare_dry_run(study=study, options=DryRunOptions())
    monkeypatch.setattr("recruitment.services.dry_runs.PAGES_A_STEP", 5)
    whole = dry_runs._progress
    calls = []

    def counted(study):
        calls.append(study)
        if len(calls) == 3:
            Job.objects.filter(pk=job.pk).update(status="stopped", claim="")
        return whole(study)

    monkeypatch.setattr(dry_runs, "_progress", counted)
    run_job(job_id=job.pk)
    assert 0 < Rating.objects.count() < 60


def test_an_ended_run_can_be_deleted_and_nothing_else_goes(client, ruth, monkeypatch):
    monkeypatch.setattr(dry_runs, "COMMENT_SHARE", 1)
    study = screened_study(check_rate=0)
    Membership.objects.create(study=study, user=ruth)
    other = make_open_study(instances=1)
    make_participation(other)
    gone, kept = finished(study), finished(study)
    n = Rating.objects.filter(unit__study=copy_of(kept)).count()
    raters = Rater.objects.count() - copy_of(gone).participations.count()
    client.force_login(ruth)
    post_confirmed(client, reverse("recruitment:remove-dry-run", args=[study.pk, gone.public_id]))
    assert not Study.objects.filter(pk=gone.owner).exists()
    assert list(dry_runs_of(study)) == [kept]
    assert Rating.objects.count() == n
    assert (
        Comment.objects.count() == Comment.objects.filter(participation__study=kept.owner).count()
    )
    assert Comment.objects.exists()
    assert Rater.objects.count() == raters
    assert study.units.count() == 5


def test_a_run_under_way_is_not_deleted():
    job = prepare_dry_run(study=make_study(instances=2), options=DryRunOptions())
    with refused("dry_run_unfinished"):
        remove_dry_run(job=job)


def test_what_people_did_is_not_deleted_with_a_run():
    job = finished(make_study(instances=2))
    Participation.objects.filter(study=copy_of(job)).update(simulated=False)
    with refused("not_simulated"):
        remove_dry_run(job=job)
    assert Study.objects.filter(pk=job.owner).exists()


def test_strangers_see_no_dry_run(client):
    eve = User.objects.create_user("eve", password="x", is_staff=True)
    study = make_study(instances=2)
    job = prepare_dry_run(study=study, options=DryRunOptions())
    client.force_login(eve)
    for name, args in (
        ("dry-runs", [study.pk]),
        ("dry-runs-part", [study.pk]),
        ("dry-runs", [job.owner]),
    ):
        assert client.get(reverse(f"recruitment:{name}", args=args)).status_code == 404
    for name in ("stop-dry-run", "remove-dry-run"):
        address = reverse(f"recruitment:{name}", args=[study.pk, job.public_id])
        assert client.post(address).status_code == 404


def test_the_command_takes_a_dry_run_and_names_its_dashboard():
    study = make_study(instances=3)
    out = StringIO()
    call_command("simulate_raters", study.pk, "--dry-run", "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert report["dashboard"] == reverse("metrics:dashboard", args=[report["study"]])
    assert (report["answers"], report["conclusions"]) == (45, [])
    assert not study.participations.exists()


def test_the_command_says_why_a_dry_run_failed():
    study = make_study(instances=2)
    Generation.objects.all().delete()
    with pytest.raises(CommandError):
        call_command("simulate_raters", study.pk, "--dry-run", stdout=StringIO())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--raters", "0"),
        ("--raters", "-4"),
        ("--hits", "-1"),
        ("--seconds", "nan"),
        ("--seconds", "1e308"),
    ],
)
def test_the_command_refuses_what_no_bot_can_do_before_it_copies_anything(option, value):
    study = make_study(instances=2)
    with pytest.raises(CommandError, match=option):
        call_command("simulate_raters", study.pk, "--dry-run", option, value)
    assert Study.objects.count() == 1

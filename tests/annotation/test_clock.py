"""Leases follow only the database's clock, even on hosts whose clocks are wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.counts import study_counts
from annotation.models import Assignment, HITUnit, Participation, Place, Rating, ScreeningAttempt
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.places import NoWorkLeft, why_no_work
from annotation.services.ratings import Answer
from annotation.services.screening import begin_stage
from jobs.clock import database_now
from jobs.services import LEASE, requeue_stale_jobs
from jobs.worker import run_job
from studies.models import Study
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.services.test_screening import study_with
from tests.jobs.factories import make_job
from tests.studies.factories import make_open_study, make_participation, make_study

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
TRUE_CLOCK = timezone.now
CLOCK = "st"  # statement_timestamp() or strftime()


@contextmanager
def host_clock_off_by(offset: timedelta) -> Iterator[None]:
    """Set a web host's clock wrong by `offset`. The database's clock stays right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: TRUE_CLOCK() + offset)
        yield


def answer(assignment: Assignment, hit_unit: HITUnit, label: str = "1") -> Rating:
    return submit_rating(
        assignment=assignment,
        hit_unit=hit_unit,
        criterion=assignment.hit.study.criteria.get(),
        answer=Answer(label, f"key-{hit_unit.pk}-{label}"),
    )


def hit_units(assignment: Assignment) -> list[HITUnit]:
    return list(assignment.hit.hit_units.all())


def is_about_now(moment: datetime | None) -> bool:
    return moment is not None and abs(moment - datetime.now(UTC)) < timedelta(minutes=2)


def one_place(**design) -> Study:
    return make_open_study(instances=1, comparisons_per_hit=2, ratings_per_hit=1, **design)


def test_the_databases_clock_is_not_the_hosts():
    with host_clock_off_by(HOUR):
        assert is_about_now(database_now())
        assert not is_about_now(timezone.now())


@pytest.mark.parametrize("abandoned", Study.Abandoned.values)
def test_a_host_an_hour_ahead_takes_no_live_place(abandoned):
    study = one_place(abandoned=abandoned)
    held = take_place(participation=make_participation(study, "ann"))
    bob = make_participation(study, "bob")
    with host_clock_off_by(HOUR):
        assert isinstance(why_no_work(bob), NoWorkLeft)
        with pytest.raises(NoWorkLeft):
            take_place(participation=bob)
    assert Place.objects.get().assignment == held


def test_an_answer_at_a_host_an_hour_ahead_ends_no_lease():
    study = one_place()
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    lapsed = take_place(participation=ann)
    Place.objects.update(lease_until=database_now() - timedelta(minutes=1))
    held = take_place(participation=bob)
    with host_clock_off_by(HOUR):
        for hit_unit in hit_units(
            lapsed
        ):  # a complete set takes a free place, but this place is not free
            answer(lapsed, hit_unit)
    place = Place.objects.get()
    assert (place.assignment, place.completed_at) == (held, None)
    assert Rating.objects.filter(assignment=lapsed, surplus=True).count() == 2


@pytest.mark.parametrize("offset", [HOUR, -HOUR])
def test_a_lease_runs_as_long_whichever_host_gave_it(offset):
    study = one_place(lease_minutes=30)
    with host_clock_off_by(offset):
        held = take_place(participation=make_participation(study))
        first_lease = Place.objects.get().lease_until
        rating = answer(held, hit_units(held)[0])
        renewed = Place.objects.get().lease_until
    for lease in (first_lease, renewed):
        assert is_about_now(lease - timedelta(minutes=30))
    assert is_about_now(rating.created_at)


@pytest.mark.parametrize("offset", [HOUR, -HOUR])
def test_a_lapsed_place_is_free_to_a_host_with_another_clock(offset):
    study = one_place()
    take_place(participation=make_participation(study, "ann"))
    Place.objects.update(lease_until=database_now() - timedelta(seconds=5))
    with host_clock_off_by(offset):
        take_place(participation=make_participation(study, "bob"))
    assert is_about_now(Place.objects.get().lease_until - timedelta(minutes=30))


def test_work_comes_back_only_where_a_place_is_free_by_the_databases_clock():
    study = one_place()
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    done = take_place(participation=ann)
    for hit_unit in hit_units(done):
        answer(done, hit_unit)
    exclude_work(participation=ann, status=Participation.Status.RETURNED)
    held = take_place(participation=bob)
    with host_clock_off_by(HOUR):
        reinstate_work(participation=ann)
    assert Place.objects.get().assignment == held


def test_live_places_are_counted_by_the_databases_clock():
    study = one_place()
    take_place(participation=make_participation(study))
    with host_clock_off_by(HOUR):
        assert study_counts(study).live == 1


@pytest.mark.parametrize("offset", [HOUR, -HOUR])
def test_a_test_passed_at_a_host_with_another_clock_is_valid_as_long(offset):
    study = study_with(test=2, pass_mark=1, valid_days=1)
    ann = make_participation(study)
    with host_clock_off_by(offset):
        test = begin_stage(participation=ann)
        for hit_unit in hit_units(test):
            answer(test, hit_unit)
    attempt = ScreeningAttempt.objects.get()
    assert is_about_now(attempt.created_at)
    assert is_about_now(attempt.valid_until - timedelta(days=1))


def test_a_host_an_hour_ahead_takes_no_live_job(monkeypatch):
    monkeypatch.setattr("jobs.services.send", lambda job: pytest.fail("queued twice"))
    study, now = make_study(instances=1), database_now()
    job = make_job(study, status="running", lease_until=now + LEASE, sent_at=now)
    with host_clock_off_by(HOUR):
        assert requeue_stale_jobs() == 0
        assert not run_job(job_id=job.pk)
    assert job.chunks.get().claim == "another"


def test_a_save_at_a_host_costs_no_statement_for_the_clock():
    study = make_open_study(instances=2, comparisons_per_hit=2)
    ann = make_participation(study)
    with CaptureQueriesContext(connection) as asked:
        held = take_place(participation=ann)
        answer(held, hit_units(held)[0])
    alone = [sql for query in asked if (sql := query["sql"].strip()).startswith(f"SELECT {CLOCK}")]
    assert len(asked) > 4
    assert alone == []
    with CaptureQueriesContext(connection) as asked:
        database_now()
    assert asked[0]["sql"].startswith(f"SELECT {CLOCK}")

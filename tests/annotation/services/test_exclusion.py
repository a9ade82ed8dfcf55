"""Work that is excluded and reinstated, while each HIT always has exactly R responses."""

import pytest
from django.utils import timezone

from annotation.hot_path_sql import find_work_of
from annotation.models import Assignment, Participation, Place, Rater, Rating
from annotation.selectors import missing_units
from annotation.services.exclusion import exclude_work, reinstate_work
from recruitment.models import Channel, Submission
from recruitment.platforms import PlatformReport, SubmissionStatus
from recruitment.services.platform_sync import apply_reports
from studies.models import Study
from tests.annotation.annotators import annotator, form_of
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.services.test_ratings import LATER, START, answer, answer_all
from tests.annotation.tallies import recount, stored_tallies
from tests.pages import codes_on
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db


def check_exact(study: Study) -> None:
    """Check that a completed place has an answer to each unit, and that tallies equal a recount."""
    for place in study.places.select_related("hit"):
        assert place.completed_at is None or not missing_units(place)
    assert stored_tallies(study=study) == recount(study=study)


def told(participation: Participation, *standings: SubmissionStatus) -> None:
    channel = Channel.objects.get_or_create(study=participation.study, provider="prolific")[0]
    Rater.objects.filter(pk=participation.rater_id).update(provider="prolific")
    Participation.objects.filter(pk=participation.pk).update(provider="prolific")
    Submission.objects.update(channel=channel)
    person, submission = participation.rater.external_id, participation.submission_id
    for submission_status in standings:
        report = PlatformReport(
            submission_id=submission,
            external_id=person,
            status=str(submission_status),
            submission_status=submission_status,
        )
        apply_reports(channel=channel, reports=[report], now=timezone.now())
    participation.refresh_from_db()


def test_a_set_completed_during_its_exclusion_counts_when_reinstated():
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann = make_participation(study, "ann")
    assignment = take_place(participation=ann, now=START)
    *first, last = hit_units_of(assignment)
    for hit_unit in first:
        answer(assignment, hit_unit)
    exclude_work(participation=ann, status="timed_out", now=START)
    answer(Assignment.objects.get(pk=assignment.pk), last)  # from a page that was still open
    assert not Rating.objects.counted().exists()
    reinstate_work(participation=ann, now=START)
    assert Rating.objects.counted().count() == len(first) + 1
    assert Place.objects.get().completed_at
    assert Assignment.objects.get().status == "completed"
    check_exact(study)


def test_repeating_the_last_answer_completes_a_full_set():
    study = make_open_study(instances=1, ratings_per_hit=1, comparisons_per_hit=2)
    assignment = take_place(participation=make_participation(study, "ann"), now=START)
    for hit_unit in hit_units_of(assignment):
        answer(assignment, hit_unit, "0")
    # Reinstated work may be in this state: all units are answered, and the place is held.
    Assignment.objects.update(status="active", completed_at=None)
    Place.objects.update(completed_at=None, remaining=1, lease_until=LATER)
    answer(Assignment.objects.get(), hit_units_of(assignment)[-1], "0")
    assert Place.objects.get().completed_at
    assert Rating.objects.count() == 2
    check_exact(study)


def test_by_units_work_that_comes_back_completes_its_place():
    study = make_open_study(instances=1, ratings_per_hit=1, abandoned="units")
    ann, bob = annotator(study), annotator(study)
    for _ in range(5):
        ann.choose()
    exclude_work(participation=ann.participation, status="timed_out")
    reinstate_work(participation=ann.participation)
    assert Place.objects.get().completed_at
    assert Rating.objects.counted().count() == 5
    assert codes_on(bob.here()) == {"no_work_left"}
    check_exact(study)


def test_by_units_a_complete_place_lacks_what_is_withdrawn():
    study = make_open_study(instances=1, ratings_per_hit=1, abandoned="units")
    ann, bob, eve = (make_participation(study, name) for name in ("ann", "bob", "eve"))
    left = take_place(participation=ann, now=START)
    answer(left, hit_units_of(left)[0])
    answer_all(take_place(participation=bob, now=LATER), now=LATER)
    assert Place.objects.get().completed_at
    exclude_work(participation=ann, status="returned", now=LATER)
    place = Place.objects.get()
    assert (place.completed_at, place.remaining) == (None, 1)
    check_exact(study)
    taken = take_place(participation=eve, now=LATER)
    assert len(hit_units_of(taken)) == 1  # only the missing unit
    answer_all(taken, now=LATER)
    assert Place.objects.get().completed_at
    assert Rating.objects.counted().count() == 5
    check_exact(study)


@pytest.mark.parametrize(
    "out", [SubmissionStatus.TIMED_OUT, SubmissionStatus.REJECTED, SubmissionStatus.RETURNED]
)
def test_who_is_excluded_stays_so_whatever_the_platform_says(out):
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann = make_participation(study, "ann")
    answer_all(take_place(participation=ann, now=START))
    exclude_work(participation=ann, status="excluded")
    told(ann, out, SubmissionStatus.SUBMITTED)
    assert ann.status == "excluded"
    assert Place.objects.get().completed_at is None
    check_exact(study)
    reinstate_work(participation=ann)
    assert Rating.objects.counted().count() == 5
    check_exact(study)


def test_who_is_excluded_after_a_return_comes_back_with_their_work():
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann = make_participation(study, "ann")
    answer_all(take_place(participation=ann, now=START))
    told(ann, SubmissionStatus.RETURNED)
    exclude_work(participation=ann, status="excluded")
    assert set(Rating.objects.values_list("excluded_reason", flat=True)) == {"excluded"}
    reinstate_work(participation=ann)
    assert Rating.objects.counted().count() == 5
    check_exact(study)


def test_an_answer_that_meets_a_withdrawal_completes_nothing():
    study = make_open_study(instances=1, ratings_per_hit=1, comparisons_per_hit=1)
    ann = make_participation(study, "ann")
    assignment = take_place(participation=ann, now=START)
    read_before = find_work_of(assignment.public_id, ann.public_id, study.pk)
    exclude_work(participation=ann, status="returned", now=START)
    answer(read_before, hit_units_of(assignment)[0])
    assert not Rating.objects.counted().exists()
    assert Rating.objects.get().excluded_reason == "returned"
    assert Place.objects.get().completed_at is None


def test_the_page_says_nothing_odd_to_whom_was_taken_back():
    study = make_open_study(instances=2, ratings_per_hit=1, comparisons_per_hit=1)
    ann = annotator(study)
    ann.choose()
    exclude_work(participation=ann.participation, status="timed_out")
    reinstate_work(participation=ann.participation)
    assert form_of(ann.here()).choices

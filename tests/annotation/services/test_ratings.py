from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone

from annotation.messages import LATE, SURPLUS
from annotation.models import Assignment, HITUnit, Place, Rating
from annotation.selectors import is_a_first
from annotation.services.places import NoWorkLeft
from annotation.services.ratings import Answer, RatingResult
from annotation.services.tallies import set_flags
from recruitment.services.lifecycle import close_study, pause_study, reopen_study
from studies.models import Study
from studies.models.event import AppendOnly
from tests.annotation.answers import submit_rating, submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

START = timezone.now()
LATER = START + timedelta(minutes=31)


def answer(assignment: Assignment, hit_unit: HITUnit, label="1", key=None, now=START) -> Rating:
    criterion = assignment.hit.study.criteria.get()
    shown = Answer(shown_label=label, client_key=key or f"{hit_unit.pk}-{label}")
    return submit_rating(
        assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=shown, now=now
    )


def answer_all(assignment: Assignment, now=START) -> None:
    for hit_unit in hit_units_of(assignment):
        answer(assignment, hit_unit, now=now)


def check_counts(study: Study) -> None:
    """Check that no unit has more than R counted ratings, and that tallies equal a recount."""
    assert stored_tallies(study=study) == +recount(study=study)
    for hit in study.hits.all():
        counted = Rating.objects.counted().filter(unit__hits=hit, repeat=0).order_by()
        per_unit = counted.values("unit", "criterion").annotate(n=Count("pk"))
        assert all(row["n"] <= study.ratings_per_hit for row in per_unit)


def test_it_works():
    study = make_open_study(instances=1, ratings_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=START)
    answer_all(assignment)
    place = Place.objects.get()
    assert place.completed_at == START
    assert place.assignment.status == "completed"
    assert Rating.objects.counted().count() == 5
    assert {rating.study_version.number for rating in Rating.objects.all()} == {1}
    check_counts(study)


def test_a_preference_is_stored_in_system_order():
    study = make_open_study(instances=3, ratings_per_hit=2)
    for name in ("ann", "bob"):
        participation = make_participation(study, name)
        for _ in range(3):
            answer_all(take_place(participation=participation, now=START))
    for rating in Rating.objects.select_related("assignment"):
        hit_unit = HITUnit.objects.get(hit=rating.assignment.hit_id, unit=rating.unit_id)
        first = is_a_first(rating.assignment, hit_unit)
        assert rating.label == ("-1" if not first else "1")
        assert rating.side_a == ("left" if first else "right")
    assert Rating.objects.filter(side_a="left").count() == 15


def test_the_same_answer_again_changes_nothing():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    hit_unit = hit_units_of(assignment)[0]
    first = answer(assignment, hit_unit, key="k1")
    assert answer(assignment, hit_unit, key="k1") == first
    assert answer(assignment, hit_unit, key="k2") == first
    assert Rating.objects.count() == 1


def test_a_changed_answer_supersedes_and_a_replay_of_the_old_one_does_not():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    hit_unit = hit_units_of(assignment)[0]
    old = answer(assignment, hit_unit, "-1", key="k1")
    new = answer(assignment, hit_unit, "1", key="k2")
    answer(assignment, hit_unit, "-1", key="k1")
    old.refresh_from_db()
    assert old.superseded
    assert new.supersedes == old
    assert list(Rating.objects.filter(superseded=False)) == [new]
    check_counts(study)


def submit(assignment: Assignment, hit_unit: HITUnit, label="1", key="k") -> RatingResult:
    criteria = assignment.hit.study.criteria.all()
    answers = {criterion: Answer(label, key) for criterion in criteria}
    return submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers, now=START)


def test_the_result_says_what_became_of_each_answer():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    hit_unit = hit_units_of(assignment)[0]
    criterion = study.criteria.get()
    results = [submit(assignment, hit_unit, label) for label in ("1", "1", "-1")]
    outcomes = [result.answers[criterion].outcome for result in results]
    assert outcomes == ["saved", "repeated", "corrected"]
    first, again, changed = (result.answers[criterion].rating for result in results)
    assert first == again
    assert changed.supersedes == first


def test_the_result_shows_the_progress_and_the_end_of_the_hit():
    study = make_open_study(instances=2, comparisons_per_hit=2)
    assignment = take_place(participation=make_participation(study), now=START)
    one, two = (submit(assignment, hit_unit) for hit_unit in hit_units_of(assignment))
    assert (one.progress.index, one.progress.answered, one.progress.of) == (1, 1, 2)
    assert (one.progress.is_answered, one.progress.answered) == (True, 1)
    assert (two.progress.index, two.progress.answered, two.progress.previous) == (2, 2, 1)
    assert (two.progress.is_answered, two.progress.answered) == (True, two.progress.of)
    assert (two.note, two.next_position) == (None, None)


def test_an_answer_that_was_set_aside_as_late_can_be_sent_again():
    """The browser repeats a request whose reply was lost before the study reopened."""
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    hit_unit = hit_units_of(assignment)[0]
    close_study(study=study)
    assert submit(assignment, hit_unit).note == LATE
    reopen_study(study=study)
    again = submit(assignment, hit_unit)
    assert (again.note, again.progress.is_answered) == (None, False)


def test_what_is_not_on_the_scale_is_refused():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    with refused("not_a_label"):
        answer(assignment, hit_units_of(assignment)[0], "7")
    assert Rating.objects.count() == 0


def test_ratings_are_append_only():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    rating = answer(assignment, hit_units_of(assignment)[0])
    for change in (
        lambda: Rating.objects.update(label="0"),
        lambda: Rating.objects.all().delete(),
        rating.delete,
        rating.save,
        lambda: rating.save(update_fields=["label"]),
    ):
        with pytest.raises(AppendOnly):
            change()


def test_one_current_rating_is_the_databases_own_rule():
    study = make_open_study(instances=1)
    assignment = take_place(participation=make_participation(study), now=START)
    rating = answer(assignment, hit_units_of(assignment)[0])
    rating.pk, rating._state.adding = None, True
    with pytest.raises(IntegrityError), transaction.atomic():
        rating.save()


def test_an_annotator_keeps_their_place_until_it_is_done():
    study = make_open_study(instances=3)
    ann = make_participation(study)
    first = take_place(participation=ann, now=START)
    assert take_place(participation=ann, now=LATER) == first
    answer_all(first, now=LATER)
    assert take_place(participation=ann, now=LATER) != first


def test_no_annotator_gets_a_hit_twice():
    study = make_open_study(instances=3, ratings_per_hit=3)
    ann = make_participation(study)
    seen = set()
    for _ in range(3):
        assignment = take_place(participation=ann, now=START)
        seen.add(assignment.hit_id)
        answer_all(assignment)
    assert len(seen) == 3
    with refused("no_work_left"):
        take_place(participation=ann, now=START)


def test_the_limit_per_annotator_holds():
    study = make_open_study(instances=3, hits_per_annotator=1)
    ann = make_participation(study)
    answer_all(take_place(participation=ann, now=START))
    with refused("limit_reached"):
        take_place(participation=ann, now=START)


def test_each_annotator_meets_the_hits_in_an_order_of_their_own():
    study = make_open_study(instances=8, ratings_per_hit=4)
    orders = []
    for name in "abcd":
        participation = make_participation(study, name)
        order = []
        for _ in range(8):
            assignment = take_place(participation=participation, now=START)
            order.append(
                (assignment.hit_id, tuple(hit_unit.pk for hit_unit in hit_units_of(assignment)))
            )
            answer_all(assignment)
        orders.append(tuple(order))
        positions = list(
            participation.assignments.order_by("pk").values_list("position", flat=True)
        )
        assert positions == list(range(1, 9))
    assert len(set(orders)) == 4


def test_a_lapsed_place_is_offered_again_whole_and_the_fragment_is_flagged():
    study = make_open_study(instances=1, ratings_per_hit=1)
    left = take_place(participation=make_participation(study, "ann"), now=START)
    answer(left, hit_units_of(left)[0])
    with pytest.raises(NoWorkLeft):
        take_place(participation=make_participation(study, "bob"), now=START)
    taken = take_place(participation=make_participation(study, "bob"), now=LATER)
    assert taken.place == Place.objects.get()
    assert Rating.objects.get().partial
    assert len(hit_units_of(taken)) == 5
    check_counts(study)


def test_by_units_only_what_is_missing_is_offered_and_the_rest_counts():
    study = make_open_study(instances=1, ratings_per_hit=1, abandoned="units")
    left = take_place(participation=make_participation(study, "ann"), now=START)
    done = hit_units_of(left)[0]
    answer(left, done)
    taken = take_place(participation=make_participation(study, "bob"), now=LATER)
    assert done not in hit_units_of(taken)
    assert len(hit_units_of(taken)) == 4
    answer_all(taken, now=LATER)
    assert Place.objects.get().completed_at == LATER
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_a_late_answer_takes_its_own_place_if_that_is_still_free():
    study = make_open_study(instances=1, ratings_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=START)
    answer_all(assignment, now=LATER)
    assert Place.objects.get().completed_at == LATER
    assert Rating.objects.counted().count() == 5


def test_a_late_set_takes_another_free_place_of_the_hit():
    study = make_open_study(instances=1, ratings_per_hit=2)
    late = take_place(participation=make_participation(study, "ann"), now=START)
    answer(late, hit_units_of(late)[0])
    lost_place = Place.objects.get(assignment=late)
    other = take_place(participation=make_participation(study, "bob"), now=START)
    Place.objects.filter(assignment=other).update(lease_until=LATER + timedelta(hours=1))
    take_place(participation=make_participation(study, "cy"), now=LATER)
    Place.objects.filter(assignment=other).update(assignment=None, lease_until=None)
    assert Rating.objects.get().partial
    answer_all(late, now=LATER)
    late.refresh_from_db()
    assert late.status == "completed"
    assert late.place != lost_place
    assert Rating.objects.counted().filter(assignment=late).count() == 5
    check_counts(study)


def test_a_late_set_without_a_free_place_is_surplus():
    study = make_open_study(instances=1, ratings_per_hit=1)
    late = take_place(participation=make_participation(study, "ann"), now=START)
    answer(late, hit_units_of(late)[0])
    answer_all(take_place(participation=make_participation(study, "bob"), now=LATER), now=LATER)
    assert submit(late, hit_units_of(late)[1]).note == SURPLUS
    answer_all(late, now=LATER)
    assert Rating.objects.filter(assignment=late, surplus=True, partial=False).count() == 5
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_by_units_a_late_answer_without_a_free_place_is_surplus():
    study = make_open_study(instances=1, ratings_per_hit=1, abandoned="units")
    late = take_place(participation=make_participation(study, "ann"), now=START)
    hit_units = hit_units_of(late)
    answer(late, hit_units[0])
    answer_all(take_place(participation=make_participation(study, "bob"), now=LATER), now=LATER)
    assert answer(late, hit_units[1], now=LATER).surplus
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_by_units_no_unit_of_a_place_is_answered_twice():
    """After a late answer filled a lapsed place, the place's holder answers the same unit."""
    study = make_open_study(instances=1, ratings_per_hit=2, abandoned="units")
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    of_ann = take_place(participation=ann, now=START)
    of_bob = take_place(participation=bob, now=START)
    # Ann's place is the only free one as long as Bob holds his place. Then Bob's lease ends, too.
    Place.objects.filter(assignment=of_bob).update(lease_until=LATER + timedelta(hours=1))
    take_place(participation=make_participation(study, "cy"), now=LATER)
    Place.objects.filter(assignment=of_bob).update(lease_until=START)
    unit = of_bob.hit.hit_units.first()
    late = answer(of_ann, unit, now=LATER)
    again = answer(of_bob, unit, now=LATER)
    assert late.place == of_bob.place
    assert not late.surplus
    assert again.surplus
    check_counts(study)


def test_who_left_may_come_back_to_the_hit_when_its_place_is_free_again():
    study = make_open_study(instances=1, ratings_per_hit=1)
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    first = take_place(participation=ann, now=START)
    answer(first, hit_units_of(first)[0])
    take_place(participation=bob, now=LATER)
    again = take_place(participation=ann, now=LATER + timedelta(minutes=31))
    assert again == first
    assert Rating.objects.counted().count() == 1
    assert Assignment.objects.filter(rater=ann.rater).count() == 1
    check_counts(study)


def test_a_paused_study_lets_holders_finish_and_accepts_no_newcomers():
    study = make_open_study(instances=2)
    ann, bob = make_participation(study, "ann"), make_participation(study, "bob")
    held = take_place(participation=ann, now=START)
    pause_study(study=study)
    assert take_place(participation=ann, now=START) == held
    answer_all(held)
    for participation in (ann, bob):
        with refused("study_paused"):
            take_place(participation=participation, now=START)


def test_answers_after_closing_are_stored_as_late_and_complete_nothing():
    study = make_open_study(instances=1, ratings_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=START)
    first, second, *_ = hit_units_of(assignment)
    before = answer(assignment, first, "-1")
    close_study(study=study)
    correction = answer(assignment, first, "1")
    answer_all(assignment)
    before.refresh_from_db()
    assert not before.superseded
    assert correction.late
    assert correction.superseded
    assert Rating.objects.get(unit=second.unit).late
    assert Place.objects.get().completed_at is None
    check_counts(study)


def test_flags_take_ratings_out_of_the_tallies_and_back():
    study = make_open_study(instances=1, ratings_per_hit=1)
    answer_all(take_place(participation=make_participation(study), now=START))
    full = stored_tallies(study=study)
    set_flags(ratings=Rating.objects.all(), excluded=True, excluded_reason="asked to leave")
    assert stored_tallies(study=study) == {}
    set_flags(ratings=Rating.objects.all(), excluded=False, excluded_reason="")
    assert stored_tallies(study=study) == full
    check_counts(study)


def test_several_criteria_complete_a_unit_together():
    study = make_open_study(instances=1, ratings_per_hit=1)
    study.criteria.create(name="fluency", question="Which reads better?", scale="preference")
    assignment = take_place(participation=make_participation(study), now=START)
    answer_all_but = hit_units_of(assignment)
    for criterion in study.criteria.all():
        assert Place.objects.get().completed_at is None
        for hit_unit in answer_all_but:
            submit_rating(
                assignment=assignment,
                hit_unit=hit_unit,
                criterion=criterion,
                answer=Answer(shown_label="1", client_key="k"),
                now=START,
            )
    assert Place.objects.get().completed_at == START
    check_counts(study)

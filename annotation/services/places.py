"""Places: exactly R, by one conditional update, whoever comes and whenever they leave."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from annotation.hot_path_sql import (
    FreePlace,
    Person,
    complete_place,
    hold_place,
    insert,
    lock_free_place,
    lock_person,
    lock_places_of,
)
from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.selectors import AnnotatorProgress, missing_units, unmet_check
from annotation.services.addresses import TOO_MANY_PEOPLE, has_room
from annotation.services.tallies import set_flags
from studies.freshness import changes_noted
from studies.models import Study
from tiebreak.errors import DomainError


class NotCleared(DomainError):
    """Guidelines, a test or the platform's word stand between this annotator and a place."""


class NoWorkLeft(DomainError):
    """This annotator is given no more work, now or for good: the end page says why."""


@dataclass(frozen=True)
class Work:
    """An assignment with a live place, whether it was made just now, and its annotator's share.

    `has_left` says that they began HITs before and did not complete all of them.
    """

    assignment: Assignment
    is_new: bool
    share: AnnotatorProgress
    has_left: bool = False


def take_place(*, participation: Participation, now: datetime | None = None) -> Assignment:
    """The assignment of `find_work`."""
    return find_work(participation=participation, now=now).assignment


def find_work(*, participation: Participation, now: datetime | None = None) -> Work:
    """The annotator's live assignment, or a new one on the free place that is wanted most.

    Before: consent was given and every stage passed. After: one active assignment of this participation holds a place
    whose lease runs from now, by the database's clock unless ``now`` is given; whoever let the
    place lapse keeps their answers, flagged.
    The participation needs no more than its public id. Raises `NoWorkLeft`,
    `NotCleared`, or `DomainError` where the study takes nobody in.
    Locks: participation, a place or all of a HIT by number, HIT, assignment, tallies; every
    service keeps this order.
    """
    try:
        return _find_work(participation, now, wait=False)
    except (_NoneAtHand, IntegrityError):
        # Anew, because what was locked and found to be taken must not stay locked. Of two tabs,
        # the one that waited for the lock finds the place that the quicker one took.
        return _find_work(participation, now, wait=True)


class _NoneAtHand(Exception):
    """Every free place is busy: wait for them, one may turn out to be free."""


@changes_noted()
def _find_work(participation: Participation, now: datetime | None, *, wait: bool) -> Work:
    person = lock_person(participation.public_id, now)
    study = person.study
    _check_may_work(person)
    share = AnnotatorProgress(
        person.hits_completed, min(study.hits_per_annotator or person.hits_total, person.hits_total)
    )
    if person.held is not None and study.status != Study.Status.CLOSED:
        _extend(person, person.held)
        return Work(person.held, is_new=False, share=share)
    _check_is_open(study)
    _check_limits(person)
    # Busy rows are skipped first, so that nobody queues behind another.
    free = lock_free_place(person, wait=wait)
    if free is None and not wait:
        raise _NoneAtHand
    if free is None:
        raise NoWorkLeft("no_work_left", EVERY_PLACE_TAKEN)
    assignment = _assign(free, person)
    is_new = free.abandoned_assignment_id is None
    return Work(
        assignment, is_new=is_new, share=share, has_left=person.hits_started > person.hits_completed
    )


EVERY_PLACE_TAKEN = (
    "There is no work left for you in this study: every place is taken or done. Thank you."
)


@transaction.atomic
def has_work(participation: Participation, now: datetime | None = None) -> bool:
    """Whether a place is held, or free for them at once; none is taken."""
    return _why_no_place(lock_person(participation.public_id, now)) is None


@transaction.atomic
def why_no_work(participation: Participation, now: datetime | None = None) -> DomainError | None:
    """What `find_work` would refuse this annotator with; None if it would not. Takes no place."""
    person = lock_person(participation.public_id, now)
    try:
        _check_may_work(person)
        if person.held is None or person.study.status == Study.Status.CLOSED:
            _check_is_open(person.study)
    except DomainError as refusal:
        return refusal
    return _why_no_place(person)


def _why_no_place(person: Person) -> NoWorkLeft | None:
    if person.held is not None:
        return None
    try:
        _check_limits(person)
    except NoWorkLeft as refusal:
        return refusal
    if lock_free_place(person, wait=False) is None:
        return NoWorkLeft("no_work_left", EVERY_PLACE_TAKEN)
    return None


@dataclass(frozen=True)
class LockedPlaces:
    """Of a HIT's locked places the one that an assignment holds, or else the free ones."""

    held: Place | None
    free: list[Place]
    now: datetime


def lock_places(*, assignment: Assignment, now: datetime | None = None) -> LockedPlaces:
    """Lock the HIT's places; ``now`` stands in for the database's clock, which decides.

    Free ones of the same parity come first, so that sides stay balanced. All are locked, by
    number: that makes one writer at a time on the answers and tallies of a HIT, and a row that
    is locked and then found to be another's would stay locked anyway. The assignment's study is
    read anew with them.
    """
    locked = lock_places_of(assignment.hit_id, now)
    if locked.study is not None:
        assignment.hit.study = locked.study
    own = (place for place in locked.places if place.assignment_id == assignment.pk)
    held = next(own, None)
    if held is not None:
        return LockedPlaces(held, [], locked.now)
    free = [place for place in locked.places if place.is_free(locked.now)]
    free.sort(key=lambda place: place.parity != assignment.parity)
    return LockedPlaces(None, free, locked.now)


def hand_over(*, place: Place, assignment: Assignment) -> None:
    """Give a locked free place to an assignment, and flag what its lapsed holder left behind.

    With `whole_hit` the fragment leaves the statistics, and whatever the new holder answered
    before counts from now on. With `units` answers stay where they are: the place needs only
    what is missing.
    """
    lapsed = place.assignment_id
    place.assignment = assignment
    lock_hit(assignment)
    if lapsed not in (None, assignment.pk):
        held_by = Assignment.objects.select_for_update().get(pk=lapsed)
        held_by.status = Assignment.Status.ABANDONED
        held_by.save(update_fields=["status"])
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        return
    if lapsed not in (None, assignment.pk):
        move_ratings(lapsed, place=None, partial=True)
    move_ratings(assignment.pk, place=place, partial=False)


def place_for_unit(places: list[Place], rating: Rating) -> Place | None:
    """With `units`, the first place that nobody else has given this answer to yet.

    That goes for one's own place too: while its lease was over, a late answer may have come.
    """
    same = Rating.objects.counted().filter(
        unit=rating.unit_id, repeat=rating.repeat, criterion=rating.criterion
    )
    others = same.filter(place__in=places).exclude(assignment=rating.assignment)
    filled = set(others.values_list("place_id", flat=True))
    return next((place for place in places if place.pk not in filled), None)


def lock_hit(assignment: Assignment) -> None:
    """One at a time of those who hold single places of a HIT and touch its ratings."""
    HIT.objects.select_for_update().get(pk=assignment.hit_id)


def extend_lease(*, place: Place, study: Study, now: datetime) -> None:
    """Hold a locked place for another whole lease."""
    place.lease_until = lease_end(study, now)
    hold_place(place)


def lease_end(study: Study, now: datetime) -> datetime:
    """Until when a place is held if nothing more is heard."""
    return now + timedelta(minutes=study.lease_minutes)


CLOSED_DOORS: dict[str, str] = {
    Study.Status.DRAFT: "This study has not begun yet. Please come back when you are invited.",
    Study.Status.PAUSED: "This study is paused: no new work is given out now. What you answered"
    " is saved; please come back later.",
    Study.Status.CLOSED: "This study is closed. What you answered is saved. Thank you.",
}


# To whom nothing of theirs can be saved yet.
CLOSED_TO_NEWCOMERS: dict[str, str] = {
    Study.Status.DRAFT: CLOSED_DOORS[Study.Status.DRAFT],
    Study.Status.PAUSED: "This study is paused, so nobody new is let in just now. Please come back"
    " later. If a platform sent you and your time there runs out, return your submission: that"
    " costs you nothing.",
    Study.Status.CLOSED: "This study is closed, so nobody new can take part. Thank you for your"
    " interest. If a platform sent you, please return your submission there: that costs you"
    " nothing.",
}


def _check_is_open(study: Study) -> None:
    if study.status == Study.Status.CLOSED:
        raise NoWorkLeft(f"study_{study.status}", CLOSED_DOORS[study.status])
    if study.status != Study.Status.OPEN:
        raise DomainError(f"study_{study.status}", CLOSED_DOORS[study.status])


def _check_may_work(person: Person) -> None:
    if person.participation.status != Participation.Status.ACTIVE:
        raise NoWorkLeft(
            "participation_ended",
            "Your part in this study has ended, and what you answered is saved. Thank you.",
        )
    if not person.is_cleared:
        raise NotCleared("not_cleared", "A step is missing before the first task: please take it.")


def _check_limits(person: Person) -> None:
    study = person.study
    if study.hits_per_annotator is not None and person.hits_completed >= study.hits_per_annotator:
        raise NoWorkLeft(
            "limit_reached", "You have done all the work that one person may do here. Thank you."
        )
    if study.hits_per_day is not None and _done_today(person) >= study.hits_per_day:
        raise NoWorkLeft(
            "daily_limit",
            "You have done all the work that one person may do here in a day. Thank you; from"
            " midnight (UTC) on there may be more.",
        )
    if study.most_answers is not None or study.most_answers_per_day is not None:
        _check_budget(study, person.now)
    if person.participation.address:
        _check_unconfirmed(person)


def _done_today(person: Person) -> int:
    own = Assignment.objects.filter(
        rater=person.participation.rater_id, hit__study=person.study, hit__kind=HIT.Kind.MAIN
    )
    return own.filter(completed_at__gte=_midnight(person.now)).count()


def _check_budget(study: Study, now: datetime) -> None:
    """Count what is done and what is held, one taker at a time, so that none comes on top."""
    Study.objects.select_for_update().get(pk=study.pk)
    places = Place.objects.filter(study=study)
    held = places.filter(completed_at__isnull=True, lease_until__gt=now).count()
    done = places.filter(completed_at__isnull=False)
    if study.most_answers is not None and done.count() + held >= study.most_answers:
        raise NoWorkLeft("budget_spent", "The study has all the answers it asked for. Thank you.")
    today = done.filter(completed_at__gte=_midnight(now))
    if study.most_answers_per_day is not None and (
        today.count() + held >= study.most_answers_per_day
    ):
        raise NoWorkLeft(
            "daily_budget_spent",
            "The study has all the answers it asked for today. Thank you; from midnight (UTC) on"
            " there may be more.",
        )


def _check_unconfirmed(person: Person) -> None:
    """Of people whom no platform confirms only so many work from one address, or at once.

    The latter are counted without a lock: a few who come in the same moment may be more.
    """
    own, study = person.participation, person.study
    # Whoever worked before was let in by this, and need not be counted with every HIT.
    if not person.hits_started and not has_room(study, address=own.address, rater_id=own.rater_id):
        raise NoWorkLeft("too_many_from_address", TOO_MANY_PEOPLE)
    if person.held_unconfirmed >= study.unconfirmed_leases:
        raise NoWorkLeft(
            "too_many_at_once",
            "Too many people work here at this moment, so no work is given out now. Please try"
            " again in some minutes.",
        )


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _extend(person: Person, held: Assignment) -> None:
    """Write the lease again when a tenth of it is gone: a page view need not cost a write."""
    end = lease_end(person.study, person.now)
    late = end - (end - person.now) / 10
    if person.lease_until is None or person.lease_until < late:
        own = Place.objects.filter(assignment=held, completed_at__isnull=True)
        own.update(lease_until=end)


def _assign(free: FreePlace, person: Person) -> Assignment:
    """The rater's one assignment on this HIT: new, or the one they once left, reopened."""
    place = free.place
    assignment = (
        _new(place, person)
        if free.abandoned_assignment_id is None
        else _reopened(free.abandoned_assignment_id, place, person)
    )
    if free.abandoned_assignment_id is None and place.assignment_id is None:
        place.assignment = assignment
    else:
        hand_over(place=place, assignment=assignment)
    place.lease_until = lease_end(person.study, person.now)
    hold_place(place)
    return assignment


def _new(place: Place, person: Person) -> Assignment:
    assignment = Assignment(
        hit=place.hit,
        rater_id=person.participation.rater_id,
        participation=person.participation,
        study_version_id=person.version_id,
        parity=place.parity,
        position=person.hits_started + 1,
        check_unit_id=unmet_check(person, place.hit_id) if person.check_rate else None,
    )
    insert(assignment)
    return assignment


def _reopened(left: int, place: Place, person: Person) -> Assignment:
    assignment = Assignment.objects.get(pk=left)
    assignment.hit, assignment.participation = place.hit, person.participation
    assignment.status = Assignment.Status.ACTIVE
    assignment.save(update_fields=["status", "participation"])
    return assignment


def complete_if_full(place: Place | None, assignment: Assignment, now: datetime) -> bool:
    """With `units`, a place is complete when every unit has been answered for it, by whomever."""
    if place is None or place.completed_at is not None or missing_units(place):
        return False
    if place.assignment is None:
        place.assignment = assignment
    close_assignment(place.assignment, now)
    complete_place(place, now)
    return True


def close_assignment(assignment: Assignment, now: datetime) -> None:
    assignment.status, assignment.completed_at = Assignment.Status.COMPLETED, now
    assignment.save(update_fields=["status", "completed_at"])


def move_ratings(assignment_id: int, *, place: Place | None, partial: bool) -> None:
    ratings = Rating.objects.filter(assignment=assignment_id)
    set_flags(ratings=ratings, partial=partial)
    ratings.update(place=place)

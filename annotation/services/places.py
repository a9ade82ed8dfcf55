"""Gives out places so that each HIT gets exactly R complete responses whatever annotators do.

`whole_hit` and `units` are the two ways in which a study offers abandoned HITs again.
"""

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
from annotation.messages import (
    BUDGET_SPENT,
    DAILY_BUDGET_SPENT,
    DAILY_LIMIT,
    LIMIT_REACHED,
    NO_WORK_LEFT,
    NOT_CLEARED,
    PARTICIPATION_ENDED,
    STUDY_NOT_OPEN,
    TOO_MANY_AT_ONCE,
    TOO_MANY_PEOPLE,
)
from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.models.rating import RatingQuerySet
from annotation.selectors import (
    AnnotatorProgress,
    gold_check_for,
    may_go_back,
    missing_units,
    mixes_in_checks,
)
from annotation.services.addresses import has_room
from annotation.services.tallies import set_flags
from studies.freshness import changes_noted
from studies.models import Study, Unit
from tiebreak.errors import DomainError


class NotCleared(DomainError):
    """The annotator must first read guidelines, pass a test, or be confirmed by the platform."""


class NoWorkLeft(DomainError):
    """The annotator gets no more work, for now or for good; the end page explains why."""


@dataclass(frozen=True)
class Work:
    """An assignment that holds a place, whether it was just created, and the annotator's progress.

    `has_unfinished` is true if the annotator started earlier HITs and did not complete all of them.
    `previous` is the public id of the task completed before, if its answers can be corrected.
    """

    assignment: Assignment
    is_new: bool
    progress: AnnotatorProgress
    has_unfinished: bool = False
    previous: str = ""


def find_work(*, participation: Participation, now: datetime | None = None) -> Work:
    """Return the annotator's current assignment, or a new one on the most urgent free place.

    The annotator must have given consent and passed every screening stage. Afterwards exactly one
    active assignment of this participation holds a place, and its lease starts now, by the
    database's clock unless ``now`` is passed. If the lease of a previous holder ran out, their
    answers are kept and flagged. Of ``participation``, only the public id is used.

    Raises `NoWorkLeft`, `NotCleared`, or `DomainError` if the study is not open.
    Takes locks in the order that every service keeps: participation, one place or all places of a
    HIT by number, HIT, assignment, tallies.
    """
    try:
        return _find_work(participation, now, wait=False)
    except (_AllLocked, IntegrityError):
        # Retry in a new transaction so that rows which turned out to be taken are unlocked.
        # With two tabs, the slower one now finds the place that the faster one took.
        return _find_work(participation, now, wait=True)


class _AllLocked(Exception):
    """All free places are locked by others; waiting for their locks may still yield a place."""


@changes_noted()
def _find_work(participation: Participation, now: datetime | None, *, wait: bool) -> Work:
    person = lock_person(participation.public_id, now)
    study = person.study
    _check_may_work(person)
    progress = AnnotatorProgress(
        person.hits_completed,
        min(person.most_tasks or person.hits_total, person.hits_total),
        person.items_opened,
    )
    previous = (person.last_task or "") if may_go_back(study) else ""
    if person.held is not None and study.status != Study.Status.CLOSED:
        _extend(person, person.held)
        return Work(person.held, is_new=False, progress=progress, previous=previous)
    _check_is_open(study)
    _check_limits(person)
    # Skip locked rows on the first attempt so that annotators do not queue behind one another.
    # What somebody met as a gold check is a task for them only where no other is left.
    is_unmet = person.check_rate > 0 and not wait
    free = lock_free_place(person, wait=wait, is_unmet=is_unmet)
    if free is None and not wait:
        raise _AllLocked
    if free is None:
        raise NoWorkLeft("no_work_left", NO_WORK_LEFT)
    return Work(
        _assign(free, person),
        is_new=free.abandoned_assignment_id is None,
        progress=progress,
        has_unfinished=person.hits_started > person.hits_completed,
        previous=previous,
    )


@transaction.atomic
def why_no_work(participation: Participation) -> DomainError | None:
    """Return the error that `find_work` would raise for this annotator, or None. Takes no place."""
    person = lock_person(participation.public_id)
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
        return NoWorkLeft("no_work_left", NO_WORK_LEFT)
    return None


@dataclass(frozen=True)
class LockedPlaces:
    """The locked place that an assignment holds, or the HIT's free places if it holds none."""

    held: Place | None
    free: list[Place]
    now: datetime

    @property
    def usable(self) -> list[Place]:
        """The places that the assignment's answers may fill."""
        return self.free if self.held is None else [self.held]


def lock_places(*, assignment: Assignment, now: datetime | None = None) -> LockedPlaces:
    """Lock all places of the assignment's HIT; ``now`` overrides the database's clock.

    Free places with the assignment's parity come first, which keeps sides balanced. Locking all
    places in the order of their numbers allows only one writer at a time on the answers and tallies
    of a HIT. The assignment's study is re-read in the same statement.
    """
    locked = lock_places_of(assignment.hit_id, now)
    if locked.study is not None:
        assignment.hit.study = locked.study
    held = next((place for place in locked.places if place.assignment_id == assignment.pk), None)
    if held is not None:
        return LockedPlaces(held, [], locked.now)
    free = [place for place in locked.places if place.is_free(locked.now)]
    free.sort(key=lambda place: place.parity != assignment.parity)
    return LockedPlaces(None, free, locked.now)


def hand_over(*, place: Place, assignment: Assignment) -> None:
    """Give a locked free place to an assignment, and flag the previous holder's answers.

    With `whole_hit`, the previous holder's partial answers leave the statistics, and any earlier
    answers of the new holder count from now on. With `units`, answers stay with the place, so the
    new holder only rates the units that have no answer yet.
    """
    previous = place.assignment_id
    place.assignment = assignment
    # One transaction at a time holds single places of a HIT and changes its ratings.
    HIT.objects.select_for_update().get(pk=assignment.hit_id)
    if previous not in (None, assignment.pk):
        previous_holder = Assignment.objects.select_for_update().get(pk=previous)
        previous_holder.status = Assignment.Status.ABANDONED
        previous_holder.save(update_fields=["status"])
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        return
    if previous not in (None, assignment.pk):
        move_ratings(previous, place=None, partial=True)
    move_ratings(assignment.pk, place=place, partial=False)


def note_opened(assignment: Assignment, position: int) -> None:
    """Note which unit of a HIT was opened so that answers to those before it stay from now on.

    Only needed in studies with gold checks. If answers stayed where a HIT ends and not within one,
    trying to correct them would show which units share a HIT.
    """
    if position > assignment.opened and mixes_in_checks(assignment.hit.study):
        later = Assignment.objects.filter(pk=assignment.pk, opened__lt=position)
        later.update(opened=position)


def place_for_unit(places: list[Place], rating: Rating) -> Place | None:
    """Return the first place for which nobody else has answered the rating's question yet.

    It is used with `units` only. The annotator's own place is also checked, because someone else
    may have answered for it after its lease ran out.
    """
    same_question = Rating.objects.counted().filter(
        unit=rating.unit_id, repeat=rating.repeat, criterion=rating.criterion
    )
    others = same_question.filter(place__in=places).exclude(assignment=rating.assignment)
    filled = set(others.values_list("place_id", flat=True))
    return next((place for place in places if place.pk not in filled), None)


def extend_lease(*, place: Place, study: Study, now: datetime) -> None:
    """Renew the lease of a locked place for its full length."""
    place.lease_until = lease_end(study, now)
    hold_place(place)


def lease_end(study: Study, now: datetime) -> datetime:
    """Return when a lease that starts now runs out unless it is renewed."""
    return now + timedelta(minutes=study.lease_minutes)


def _check_is_open(study: Study) -> None:
    if study.status == Study.Status.CLOSED:
        raise NoWorkLeft(f"study_{study.status}", STUDY_NOT_OPEN[study.status])
    if study.status != Study.Status.OPEN:
        raise DomainError(f"study_{study.status}", STUDY_NOT_OPEN[study.status])


def _check_may_work(person: Person) -> None:
    if person.participation.status != Participation.Status.ACTIVE:
        raise NoWorkLeft("participation_ended", PARTICIPATION_ENDED)
    if not person.is_cleared:
        raise NotCleared("not_cleared", NOT_CLEARED)


def _check_limits(person: Person) -> None:
    study = person.study
    if person.most_tasks is not None and person.hits_completed >= person.most_tasks:
        raise NoWorkLeft("limit_reached", LIMIT_REACHED)
    if study.hits_per_day is not None and _completed_today(person) >= study.hits_per_day:
        raise NoWorkLeft("daily_limit", DAILY_LIMIT)
    if study.most_answers is not None or study.most_answers_per_day is not None:
        _check_budget(study, person.now)
    if person.participation.address:
        _check_unconfirmed(person)


def _completed_today(person: Person) -> int:
    assignments = Assignment.objects.filter(
        rater=person.participation.rater_id, hit__study=person.study, hit__kind=HIT.Kind.MAIN
    )
    return assignments.filter(completed_at__gte=_midnight(person.now)).count()


def _check_budget(study: Study, now: datetime) -> None:
    """Raise `NoWorkLeft` if completed and held places use up the study's budget.

    Locks the study so that simultaneous requests cannot exceed the budget.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    places = Place.objects.filter(study=study)
    held = places.filter(completed_at__isnull=True, lease_until__gt=now).count()
    completed = places.filter(completed_at__isnull=False)
    if study.most_answers is not None and completed.count() + held >= study.most_answers:
        raise NoWorkLeft("budget_spent", BUDGET_SPENT)
    today = completed.filter(completed_at__gte=_midnight(now))
    if study.most_answers_per_day is not None and (
        today.count() + held >= study.most_answers_per_day
    ):
        raise NoWorkLeft("daily_budget_spent", DAILY_BUDGET_SPENT)


def _check_unconfirmed(person: Person) -> None:
    """Limit how many unverified annotators work from one address, and how many at the same time.

    The second limit is counted without a lock, so simultaneous requests may exceed it slightly.
    """
    participation, study = person.participation, person.study
    # An annotator who already started a HIT passed this check then.
    if not person.hits_started and not has_room(
        study, address=participation.address, rater_id=participation.rater_id
    ):
        raise NoWorkLeft("too_many_from_address", TOO_MANY_PEOPLE)
    if person.held_unconfirmed >= study.unconfirmed_leases:
        raise NoWorkLeft("too_many_at_once", TOO_MANY_AT_ONCE)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _extend(person: Person, held: Assignment) -> None:
    """Renew the lease once a tenth of it has passed so that most page views write nothing."""
    end = lease_end(person.study, person.now)
    renew_below = end - (end - person.now) / 10
    # The place of a task of which only the gold check is open is complete, and has no lease.
    if person.lease_until is not None and person.lease_until < renew_below:
        places = Place.objects.filter(assignment=held, completed_at__isnull=True)
        places.update(lease_until=end)


def _assign(free: FreePlace, person: Person) -> Assignment:
    """Return the rater's only assignment on this HIT, either a new one or a reopened one."""
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
        check_unit_id=gold_check_for(person, place.hit_id) if person.check_rate else None,
    )
    insert(assignment)
    return assignment


def _reopened(assignment_id: int, place: Place, person: Person) -> Assignment:
    assignment = Assignment.objects.get(pk=assignment_id)
    assignment.hit, assignment.participation = place.hit, person.participation
    assignment.status = Assignment.Status.ACTIVE
    assignment.save(update_fields=["status", "participation"])
    return assignment


def complete_if_full(place: Place | None, assignment: Assignment, now: datetime) -> bool:
    """With `units`, complete the place once every unit has an answer for it, from any annotator."""
    if place is None or place.completed_at is not None or missing_units(place):
        return False
    if place.assignment is None:
        place.assignment = assignment
    close_assignment(place.assignment, now)
    ratings = Rating.objects.counted().filter(place=place)
    if is_offered_again(assignment.hit.study, ratings):
        offer_again(place, ratings)
    else:
        complete_place(place, now)
    return True


def is_offered_again(study: Study, answers: RatingQuerySet) -> bool:
    """Whether a task with these answers goes to another annotator: no item of it got a label."""
    if study.unlabelled_tasks != Study.UnlabelledTasks.REPLACED:
        return False
    labelled = answers.filter(superseded=False, nonresponse="", unit__role=Unit.Role.MAIN)
    return not labelled.exists()


def offer_again(place: Place, answers: RatingQuerySet) -> None:
    """Free a locked place whose answers, which stay counted, have no label."""
    answers.update(place=None)
    place.assignment = place.lease_until = None
    hold_place(place)


def complete_set(
    assignment: Assignment, place: Place | None, now: datetime, *, is_check_open: bool = False
) -> None:
    """Complete the place of a HIT whose units are answered. Without one, flag the answers as surplus.

    The answers count and are paid whether or not the gold check among them is ever answered. While it
    is open, the assignment stays active, so that the annotator meets the check before another HIT.
    """
    status = Assignment.Status.ACTIVE if is_check_open else Assignment.Status.COMPLETED
    close_assignment(assignment, now, status)
    rows = Rating.objects.filter(assignment=assignment)
    if place is None:
        set_flags(ratings=rows, partial=False, surplus=True)
    elif is_offered_again(assignment.hit.study, rows):
        set_flags(ratings=rows, partial=False)
        if place.assignment_id == assignment.pk and not is_check_open:
            offer_again(place, rows)
    elif place.assignment_id != assignment.pk or place.completed_at is None:
        if place.assignment_id != assignment.pk:
            hand_over(place=place, assignment=assignment)
        complete_place(place, now)


def close_assignment(
    assignment: Assignment, now: datetime, status: str = Assignment.Status.COMPLETED
) -> None:
    assignment.status, assignment.completed_at = status, now
    assignment.save(update_fields=["status", "completed_at"])


def move_ratings(assignment_id: int, *, place: Place | None, partial: bool) -> None:
    ratings = Rating.objects.filter(assignment=assignment_id)
    set_flags(ratings=ratings, partial=partial)
    ratings.update(place=place)

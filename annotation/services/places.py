"""Places: exactly R, by one conditional update, whoever comes and whenever they leave."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    F,
    FilteredRelation,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.models.hit import PlaceQuerySet
from annotation.selectors import Share
from annotation.services.tallies import set_flags
from studies.errors import DomainError
from studies.models import Study, StudyVersion

# A lease is written again when so much of it is gone: a page view need not cost a write.
EXTEND_AFTER = 0.1


class NoWorkLeft(DomainError):
    """There is no place for this annotator: the study has all it needs, or they did their share."""


@dataclass(frozen=True)
class Work:
    """An assignment with a live place, whether it was made just now, and its annotator's share."""

    assignment: Assignment
    is_new: bool
    share: Share


def take_place(*, participation: Participation, now: datetime | None = None) -> Assignment:
    """The assignment of `find_work`."""
    return find_work(participation=participation, now=now).assignment


def find_work(*, participation: Participation, now: datetime | None = None) -> Work:
    """The annotator's live assignment, or a new one on the free place that is wanted most.

    Before: consent was given. After: one active assignment of this participation holds a place
    whose lease runs from now; whoever let the place lapse keeps their answers, flagged.
    The participation needs no more than its public id. Raises `NoWorkLeft`, or `DomainError`
    where the study takes nobody in.
    Locks: participation, a place or all of a HIT by number, HIT, assignment, tallies; every
    service keeps this order.
    """
    now = now or timezone.now()
    try:
        return _find_work(participation, now)
    except IntegrityError:
        # Another tab was quicker while this one waited for the lock: its place is theirs.
        return _find_work(participation, now)


@transaction.atomic
def _find_work(participation: Participation, now: datetime) -> Work:
    person = _locked(participation)
    study = person.study
    _check_may_work(person.participation)
    if person.held is not None and study.status != Study.Status.CLOSED:
        _extend(person.held.place, study, now)
        return Work(person.held, is_new=False, share=person.share)
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", CLOSED_DOORS[study.status])
    _check_limit(person)
    place = _claim(person, now)
    if place is None:
        raise NoWorkLeft(
            "no_work_left",
            "There is no work left for you in this study: every place is taken or done. Thank you.",
        )
    assignment, is_new = _assign(place, person, now)
    return Work(assignment, is_new, person.share)


def lock_places(*, assignment: Assignment, now: datetime) -> tuple[Place | None, list[Place]]:
    """Lock the HIT's places; return the one the assignment holds, or else the free ones.

    Free ones of the same parity come first, so that sides stay balanced. All are locked, by
    number: that makes one writer at a time on the answers and tallies of a HIT, and a row that
    is locked and then found to be another's would stay locked anyway. The assignment's study is
    read anew with them.
    """
    locked = Place.objects.select_for_update(of=("self",)).filter(hit=assignment.hit_id)
    places = list(locked.select_related("study").order_by("number"))
    if places:
        assignment.hit.study = places[0].study
    held = next((place for place in places if place.assignment_id == assignment.pk), None)
    if held is not None:
        return held, []
    free = [place for place in places if place.is_free(now)]
    return None, sorted(free, key=lambda place: place.parity != assignment.parity)


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
        _move(lapsed, place=None, partial=True)
    _move(assignment.pk, place=place, partial=False)


def lock_hit(assignment: Assignment) -> None:
    """One at a time of those who hold single places of a HIT and touch its ratings."""
    HIT.objects.select_for_update().get(pk=assignment.hit_id)


def complete_place(*, place: Place, now: datetime) -> None:
    """Mark a locked place done, under its present holder; all places of the HIT are locked."""
    place.completed_at, place.lease_until = now, None
    own = Q(pk=place.pk)
    Place.objects.filter(hit=place.hit_id).update(
        remaining=F("remaining") - 1,
        completed_at=Case(When(own, then=now), default=F("completed_at")),
        lease_until=Case(When(own, then=None), default=F("lease_until")),
        assignment=Case(
            When(own, then=place.assignment_id),
            default=F("assignment"),
            output_field=BigIntegerField(),
        ),
    )


def extend_lease(*, place: Place, study: Study, now: datetime) -> None:
    """Hold a locked place for another whole lease."""
    place.lease_until = lease_end(study, now)
    place.save(update_fields=["lease_until"])


def lease_end(study: Study, now: datetime) -> datetime:
    """Until when a place is held if nothing more is heard."""
    return now + timedelta(minutes=study.lease_minutes)


CLOSED_DOORS: dict[str, str] = {
    Study.Status.DRAFT: "This study has not begun yet. Please come back when you are invited.",
    Study.Status.PAUSED: "This study is paused: no new work is given out now. What you answered"
    " is saved; please come back later.",
    Study.Status.CLOSED: "This study is closed. What you answered is saved. Thank you.",
}


@dataclass(frozen=True)
class _Person:
    """A locked participation and all that deciding about a place needs to know of it.

    `held` is the assignment whose place is still theirs, its lease run out or not; `done` how
    many HITs the rater completed in the study, `met` how many they began.
    """

    participation: Participation
    study: Study
    held: Assignment | None
    done: int
    met: int
    hits: int
    version_id: int | None

    @property
    def share(self) -> Share:
        return Share(self.done, min(self.study.hits_per_annotator or self.hits, self.hits))


# The type checker does not know that an annotated relation can be followed.
_KNOWN_OF_PERSON: Any = ("study", "active__hit", "active__place", "active__study_version")


def _locked(participation: Participation) -> _Person:
    own = Assignment.objects.filter(rater=OuterRef("rater"), hit__study=OuterRef("study"))
    latest = StudyVersion.objects.filter(study=OuterRef("study")).order_by("-number")
    last = HIT.objects.filter(study=OuterRef("study")).order_by("-number")
    active = FilteredRelation(
        "assignments", condition=Q(assignments__status=Assignment.Status.ACTIVE)
    )
    found: Any = (
        Participation.objects.select_for_update(of=("self",))
        .annotate(active=active, latest=Subquery(latest.values("pk")[:1]))
        .annotate(hits=Coalesce(Subquery(last.values("number")[:1]), 0))
        .annotate(done=_count(own.filter(status=Assignment.Status.COMPLETED)), met=_count(own))
        .select_related(*_KNOWN_OF_PERSON)
        .get(public_id=participation.public_id)
    )
    held = getattr(found, "active", None)
    place = getattr(held, "place", None)
    if held is not None and (place is None or place.completed_at is not None):
        held = None
    if held is not None:
        held.participation, held.hit.study = found, found.study
    return _Person(found, found.study, held, found.done, found.met, found.hits, found.latest)


def _count(rows: "QuerySet[Assignment]") -> Coalesce:
    counted = rows.order_by().values("rater").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _check_may_work(person: Participation) -> None:
    if person.consented_at is None:
        raise DomainError("no_consent", "Please read and accept the consent page first.")
    if person.status != Participation.Status.ACTIVE:
        raise DomainError(
            "participation_ended",
            "Your part in this study has ended, and what you answered is saved. Thank you.",
        )
    if person.guidelines_read_at is None:
        raise DomainError("guidelines_unread", "Please read the guidelines first.")


def _check_limit(person: _Person) -> None:
    limit = person.study.hits_per_annotator
    if limit is not None and person.done >= limit:
        raise NoWorkLeft(
            "limit_reached", "You have done all the work that one person may do here. Thank you."
        )


def _extend(place: Place, study: Study, now: datetime) -> None:
    end = lease_end(study, now)
    gone = timedelta(minutes=study.lease_minutes * EXTEND_AFTER)
    if place.lease_until is None or end - place.lease_until > gone:
        Place.objects.filter(pk=place.pk, completed_at__isnull=True).update(lease_until=end)


def _claim(person: _Person, now: datetime) -> Place | None:
    """Lock one free place of a HIT this rater has not worked on, of those wanted most.

    Busy rows are skipped first, so that annotators do not queue behind one another. When
    nothing is found that way, the busy ones are waited for: one may turn out to be free. Rows
    that turn out taken stay locked, hence the savepoint, and one order for all who wait.
    """
    free = _free_for(person, now)
    if not connection.features.has_select_for_update_skip_locked:
        return free.order_by("remaining", "draw").first()
    savepoint = transaction.savepoint()
    in_turn = free.select_for_update(skip_locked=True, of=("self",))
    place = in_turn.order_by("remaining", "draw").first()
    if place is not None:
        return place
    transaction.savepoint_rollback(savepoint)
    return free.select_for_update(of=("self",)).order_by("pk").first()


def _own_work(person: _Person) -> "QuerySet[Assignment]":
    """The rater's work on the HIT of the place at hand."""
    rater = person.participation.rater_id
    return Assignment.objects.filter(hit=OuterRef("hit"), rater=rater, run="", order="")


def _free_for(person: _Person, now: datetime) -> PlaceQuerySet:
    """Free places of HITs that are new to the rater, each with their own earlier work on it."""
    met = _own_work(person)
    if person.study.abandoned == Study.Abandoned.WHOLE_HIT:
        met = met.exclude(status=Assignment.Status.ABANDONED)  # they may come back to it
    return (
        Place.objects.free(now)
        .filter(~Exists(met), study=person.study)
        .annotate(left=Subquery(_own_work(person).values("pk")[:1]))
        .select_related("hit")
    )


def _assign(place: Any, person: _Person, now: datetime) -> tuple[Assignment, bool]:
    """The rater's one assignment on this HIT: new, or the one they once left, reopened."""
    place.hit.study = person.study
    is_new = place.left is None
    assignment = _new(place, person) if is_new else _reopened(place, person)
    if is_new and place.assignment_id is None:
        place.assignment = assignment
    else:
        hand_over(place=place, assignment=assignment)
    place.lease_until = lease_end(person.study, now)
    place.save(update_fields=["assignment", "lease_until"])
    return assignment, is_new


def _new(place: Place, person: _Person) -> Assignment:
    return Assignment.objects.create(
        hit=place.hit,
        rater_id=person.participation.rater_id,
        participation=person.participation,
        study_version_id=person.version_id,
        parity=place.parity,
        position=person.met + 1,
    )


def _reopened(place: Any, person: _Person) -> Assignment:
    assignment = Assignment.objects.get(pk=place.left)
    assignment.hit, assignment.participation = place.hit, person.participation
    assignment.status = Assignment.Status.ACTIVE
    assignment.save(update_fields=["status", "participation"])
    return assignment


def _move(assignment_id: int, *, place: Place | None, partial: bool) -> None:
    ratings = Rating.objects.filter(assignment=assignment_id)
    set_flags(ratings=ratings, partial=partial)
    ratings.update(place=place)

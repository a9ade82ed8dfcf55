"""Places: exactly R, by one conditional update, whoever comes and whenever they leave."""

import random
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.models.hit import PlaceQuerySet
from annotation.services.planning import DRAW_LIMIT
from annotation.services.tallies import set_flags
from studies.errors import DomainError
from studies.models import Study


class NoWorkLeft(DomainError):
    """There is no place for this annotator: the study has all it needs, or they did their share."""


@transaction.atomic
def take_place(*, participation: Participation, now: datetime | None = None) -> Assignment:
    """The annotator's live assignment, or a new one on the next free place.

    Before: consent was given. After: one active assignment of this participation holds a place
    whose lease runs from now; whoever let the place lapse keeps their answers, flagged.
    Raises `NoWorkLeft`, or `DomainError` where the study takes nobody in.
    Locks: participation, places by number, HIT, assignment, tallies; every service keeps this
    order, and the HIT's lock is what makes the order of its tallies harmless.
    """
    now = now or timezone.now()
    participation = Participation.objects.select_for_update().get(pk=participation.pk)
    _check_may_work(participation)
    study = Study.objects.get(pk=participation.study_id)
    held = _held_assignment(participation)
    if held is not None and study.status != Study.Status.CLOSED:
        Place.objects.filter(assignment=held).update(lease_until=lease_end(study, now))
        return held
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", CLOSED_DOORS[study.status])
    _check_limit(participation, study)
    place = _claim(participation, study, now)
    if place is None:
        raise NoWorkLeft(
            "no_work_left",
            "There is no work left for you in this study: every place is taken or done. Thank you.",
        )
    return _assign(place, participation, study, now)


def lock_places(*, assignment: Assignment, now: datetime) -> tuple[Place | None, list[Place]]:
    """Lock the HIT's places; return the one the assignment holds, or else the free ones.

    Free ones of the same parity come first, so that sides stay balanced. All are locked, by
    number, because a row that is locked and then found to be another's would stay locked.
    """
    locked = Place.objects.select_for_update().filter(hit=assignment.hit_id).order_by("number")
    places = list(locked)
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
    """One writer at a time on the ratings and tallies of a HIT."""
    HIT.objects.select_for_update().get(pk=assignment.hit_id)


def _move(assignment_id: int, *, place: Place | None, partial: bool) -> None:
    ratings = Rating.objects.filter(assignment=assignment_id)
    set_flags(ratings=ratings, partial=partial)
    ratings.update(place=place)


def lease_end(study: Study, now: datetime) -> datetime:
    """Until when a place is held if nothing more is heard."""
    return now + timedelta(minutes=study.lease_minutes)


CLOSED_DOORS: dict[str, str] = {
    Study.Status.DRAFT: "This study has not begun yet. Please come back when you are invited.",
    Study.Status.PAUSED: "This study is paused: no new work is given out now. What you answered"
    " is saved; please come back later.",
    Study.Status.CLOSED: "This study is closed. What you answered is saved. Thank you.",
}


def _check_may_work(participation: Participation) -> None:
    if participation.consented_at is None:
        raise DomainError("no_consent", "Please read and accept the consent page first.")
    if participation.status != Participation.Status.ACTIVE:
        raise DomainError(
            "participation_ended",
            "Your part in this study has ended, and what you answered is saved. Thank you.",
        )


def _check_limit(participation: Participation, study: Study) -> None:
    limit = study.hits_per_annotator
    if limit is None:
        return
    done = Assignment.objects.filter(
        rater=participation.rater_id, hit__study=study, status=Assignment.Status.COMPLETED
    ).count()
    if done >= limit:
        raise NoWorkLeft(
            "limit_reached", "You have done all the work that one person may do here. Thank you."
        )


def _held_assignment(participation: Participation) -> Assignment | None:
    """The assignment whose place is still this person's, its lease run out or not."""
    return (
        Assignment.objects.filter(
            participation=participation,
            status=Assignment.Status.ACTIVE,
            place__completed_at__isnull=True,
            place__isnull=False,
        )
        .select_related("hit", "study_version")
        .first()
    )


def _claim(participation: Participation, study: Study, now: datetime) -> Place | None:
    """Lock one free place of a HIT this rater has not worked on.

    Busy rows are skipped first, so that annotators do not queue behind one another. When
    nothing is found that way, the busy ones are waited for: one may turn out to be free. Rows
    that turn out taken stay locked, hence the savepoint, and one order for all who wait.
    """
    free = _free_for(participation, study, now)
    can_skip = connection.features.has_select_for_update_skip_locked
    savepoint = transaction.savepoint()
    in_turn = free.select_for_update(skip_locked=can_skip).order_by("draw")
    pivot = _pivot(participation)
    place = in_turn.filter(draw__gte=pivot).first() or in_turn.filter(draw__lt=pivot).first()
    if place is not None or not can_skip:
        return place
    transaction.savepoint_rollback(savepoint)
    return free.select_for_update().order_by("pk").first()


def _free_for(participation: Participation, study: Study, now: datetime) -> PlaceQuerySet:
    met = Assignment.objects.filter(hit=OuterRef("hit"), rater=participation.rater_id)
    if study.abandoned == Study.Abandoned.WHOLE_HIT:
        met = met.exclude(status=Assignment.Status.ABANDONED)  # they may come back to it
    return Place.objects.free(now).filter(~Exists(met), study=study)


def _pivot(participation: Participation) -> int:
    """Where in the draw this annotator looks next: their own random walk, reproducible."""
    step = participation.assignments.count()
    return random.Random(f"{participation.order_seed}:{step}").randrange(DRAW_LIMIT)


def _assign(place: Place, participation: Participation, study: Study, now: datetime) -> Assignment:
    """The rater's one assignment on this HIT: new, or the one they once left, reopened."""
    assignment, created = Assignment.objects.get_or_create(
        hit=place.hit,
        rater_id=participation.rater_id,
        run="",
        order="",
        defaults={
            "participation": participation,
            "study_version": study.versions.order_by("-number").first(),
            "parity": place.parity,
            "position": participation.assignments.count() + 1,
        },
    )
    if not created:
        assignment.status = Assignment.Status.ACTIVE
        assignment.participation = participation
        assignment.save(update_fields=["status", "participation"])
    hand_over(place=place, assignment=assignment)
    place.lease_until = lease_end(study, now)
    place.save(update_fields=["assignment", "lease_until"])
    return assignment

"""Work that leaves the count, by the platform's word or the researcher's, and comes back."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import F

from annotation.hot_path_sql import complete_place
from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.selectors import worksheet
from annotation.services.places import (
    complete_if_full,
    hand_over,
    lock_places,
    move_ratings,
    place_for_unit,
)
from annotation.services.tallies import set_flags
from studies.clock import database_now
from studies.freshness import changes_noted
from studies.models import Study, StudyEvent
from studies.services import record_event

# A participation in one of these states fills no place.
OUT = (
    Participation.Status.RETURNED,
    Participation.Status.REJECTED,
    Participation.Status.TIMED_OUT,
    Participation.Status.EXCLUDED,
)


@changes_noted()
def exclude_work(
    *,
    participation: Participation,
    status: str,
    now: datetime | None = None,
    by: User | None = None,
) -> int:
    """Take all of a participation's ratings out of the count and free its places, at once.

    ``status`` is one of `OUT`, and the reason that the ratings carry from now on. Returns how
    many assignments it took out; the same again changes nothing. Who is excluded stays excluded,
    whatever a platform says of them later; that is logged, by nobody where a rule did it.
    """
    now = now or database_now()
    participation = _locked(participation)
    before = participation.status
    if before == Participation.Status.EXCLUDED:
        return 0
    if before in OUT:
        out = Rating.objects.filter(assignment__participation=participation, excluded_reason=before)
        set_flags(ratings=out, excluded_reason=status)
    participation.status, participation.finished_at = status, participation.finished_at or now
    participation.save(update_fields=["status", "finished_at"])
    main = participation.assignments.filter(hit__kind=HIT.Kind.MAIN)
    counted = main.exclude(status=Assignment.Status.EXCLUDED)
    assignments = list(counted.select_related("hit__study").order_by("hit"))
    for assignment in assignments:
        held = lock_places(assignment=assignment, now=now).held
        for place in _filled_by(assignment, held):
            _release(place)
        own = Rating.objects.filter(assignment=assignment)
        set_flags(ratings=own, excluded=True, excluded_reason=status)
        assignment.status = Assignment.Status.EXCLUDED
        assignment.save(update_fields=["status"])
    if status == Participation.Status.EXCLUDED:
        details = {"annotator": participation.rater.pseudonym, "hits": len(assignments)}
        study = participation.study
        record_event(study=study, verb=StudyEvent.Verb.EXCLUDE, by=by, details=details)
    return len(assignments)


@changes_noted()
def stop_work(*, participation: Participation, status: str, now: datetime | None = None) -> bool:
    """End a participation where it stands: what is complete counts, the HIT in work is left.

    False where it had ended already; then nothing changes.
    """
    now = now or database_now()
    participation = _locked(participation)
    if participation.status != Participation.Status.ACTIVE:
        return False
    participation.status, participation.finished_at = status, now
    if status == Participation.Status.LEFT:
        participation.left_at = now
    participation.save(update_fields=["status", "finished_at", "left_at"])
    active = participation.assignments.filter(status=Assignment.Status.ACTIVE)
    for assignment in active.select_related("hit__study").order_by("hit"):
        _leave(assignment, now)
    return True


def _filled_by(assignment: Assignment, held: Place | None) -> list[Place]:
    """The place it holds; with `units` also complete ones that lack something without it."""
    places = [held] if held is not None else []
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        done = Place.objects.filter(hit=assignment.hit_id, completed_at__isnull=False)
        counted = Rating.objects.counted().filter(assignment=assignment)
        others = done.exclude(assignment=assignment).filter(ratings__in=counted)
        places += others.distinct()
    return places


def _leave(assignment: Assignment, now: datetime) -> None:
    """Free the place of a HIT that is not complete; its answers stay as a fragment."""
    held = lock_places(assignment=assignment, now=now).held
    if held is not None:
        _release(held)
        if assignment.hit.study.abandoned == Study.Abandoned.WHOLE_HIT:
            move_ratings(assignment.pk, place=None, partial=True)
    assignment.status = Assignment.Status.ABANDONED
    assignment.save(update_fields=["status"])


@changes_noted()
def reinstate_work(*, participation: Participation, now: datetime | None = None) -> int:
    """Undo `withdraw_work`: ratings count again where their place, or another, is still free.

    What finds no place any more is surplus. Returns how many assignments came back.
    """
    now = now or database_now()
    participation = _locked(participation)
    reason = participation.status
    if reason not in OUT:
        return 0
    if participation.left_at is not None:
        participation.status = Participation.Status.LEFT
    else:
        participation.status, participation.finished_at = Participation.Status.ACTIVE, None
    participation.save(update_fields=["status", "finished_at"])
    out = participation.assignments.filter(status=Assignment.Status.EXCLUDED)
    assignments = list(out.select_related("hit__study").order_by("hit"))
    for assignment in assignments:
        free = lock_places(assignment=assignment, now=now).free
        own = Rating.objects.filter(assignment=assignment, excluded_reason=reason)
        set_flags(ratings=own, excluded=False, excluded_reason="")
        if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
            _reinstate_units(assignment, free, now)
        else:
            _reinstate_set(assignment, next(iter(free), None), now)
    return len(assignments)


def _locked(participation: Participation) -> Participation:
    return Participation.objects.select_for_update().get(pk=participation.pk)


def _release(place: Place) -> None:
    """Free a locked place; if it was completed, its HIT lacks one more."""
    if place.completed_at is not None:
        Place.objects.filter(hit=place.hit_id).update(remaining=F("remaining") + 1)
    Place.objects.filter(pk=place.pk).update(assignment=None, lease_until=None, completed_at=None)


def _reinstate_set(assignment: Assignment, place: Place | None, now: datetime) -> None:
    own = Rating.objects.filter(assignment=assignment)
    # An open page may have brought the last answers after the work was withdrawn.
    is_complete = worksheet(assignment).first_open is None
    if is_complete and place is not None:
        hand_over(place=place, assignment=assignment)
        complete_place(place, now)
    elif is_complete:
        set_flags(ratings=own, surplus=True)
    else:
        set_flags(ratings=own, partial=True)
    assignment.status = Assignment.Status.COMPLETED if is_complete else Assignment.Status.ABANDONED
    assignment.completed_at = assignment.completed_at or (now if is_complete else None)
    assignment.save(update_fields=["status", "completed_at"])


def _reinstate_units(assignment: Assignment, free: list[Place], now: datetime) -> None:
    """Each answer takes the first place that still lacks it; what is full then is done."""
    for rating in Rating.objects.filter(assignment=assignment, superseded=False):
        place = place_for_unit(free, rating)
        one = Rating.objects.filter(pk=rating.pk)
        set_flags(ratings=one, surplus=place is None)
        one.update(place=place)
    done = Assignment.Status.COMPLETED if assignment.completed_at else Assignment.Status.ABANDONED
    Assignment.objects.filter(pk=assignment.pk).update(status=done)
    for place in free:
        complete_if_full(place, assignment, now)

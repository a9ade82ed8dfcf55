"""Excludes work from the results, stops participations, and reinstates excluded work.

`whole_hit` and `units` are the two ways in which a study offers abandoned HITs again.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import F

from annotation.hot_path_sql import complete_place
from annotation.models import HIT, Assignment, Participation, Place, Rating
from annotation.selectors import worksheet
from annotation.services.places import (
    complete_if_full,
    complete_set,
    extend_lease,
    hand_over,
    is_offered_again,
    lock_places,
    move_ratings,
    place_for_unit,
)
from annotation.services.tallies import set_flags
from jobs.clock import database_now
from studies.freshness import changes_noted
from studies.models import Study, StudyEvent
from studies.services import record_event

# A participation with one of these statuses holds no place, and its ratings do not count.
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
    reason: str = "",
) -> int:
    """Exclude all ratings of a participation and free its places.

    ``status`` is one of `OUT`; the ratings store it as their reason. Returns the number of
    assignments that were excluded; repeating the call changes nothing. An excluded participation
    stays excluded, whatever status a platform reports later. Exclusions are logged with the
    ``reason`` that a researcher stated; ``by`` is None if a rule of the study caused them.
    """
    now = now or database_now()
    participation = _locked(participation)
    earlier = participation.status
    if earlier == Participation.Status.EXCLUDED:
        return 0
    if earlier in OUT:
        ratings = Rating.objects.filter(
            assignment__participation=participation, excluded_reason=earlier
        )
        set_flags(ratings=ratings, excluded_reason=status)
    if earlier not in OUT:
        participation.earlier_status = earlier
    participation.status, participation.finished_at = status, participation.finished_at or now
    participation.save(update_fields=["status", "earlier_status", "finished_at"])
    main = participation.assignments.filter(hit__kind=HIT.Kind.MAIN)
    counted = main.exclude(status=Assignment.Status.EXCLUDED)
    assignments = list(counted.select_related("hit__study").order_by("hit"))
    for assignment in assignments:
        held = lock_places(assignment=assignment, now=now).held
        for place in _filled_by(assignment, held):
            release(place)
        ratings = Rating.objects.filter(assignment=assignment)
        set_flags(ratings=ratings, excluded=True, excluded_reason=status)
        assignment.earlier_status = assignment.status
        assignment.status = Assignment.Status.EXCLUDED
        assignment.save(update_fields=["status", "earlier_status"])
    if status == Participation.Status.EXCLUDED:
        details = {
            "annotator": participation.rater.pseudonym,
            "hits": len(assignments),
            "reason": reason,
        }
        study = participation.study
        record_event(study=study, verb=StudyEvent.Verb.EXCLUDE, by=by, details=details)
    return len(assignments)


@changes_noted()
def stop_work(*, participation: Participation, status: str, now: datetime | None = None) -> bool:
    """End an active participation: completed HITs count, and the current HIT is abandoned.

    Returns False and changes nothing if the participation had already ended.
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
    """Return the held place and, with `units`, completed places that use this work's answers."""
    places = [held] if held is not None else []
    if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
        completed = Place.objects.filter(hit=assignment.hit_id, completed_at__isnull=False)
        counted = Rating.objects.counted().filter(assignment=assignment)
        others = completed.exclude(assignment=assignment).filter(ratings__in=counted)
        places += others.distinct()
    return places


def _leave(assignment: Assignment, now: datetime) -> None:
    """Free the place of an incomplete HIT, and keep its answers (with `whole_hit`, as partial).

    A HIT of which only the gold check is open counts.
    """
    held = lock_places(assignment=assignment, now=now).held
    assignment.refresh_from_db(fields=["status", "completed_at"])
    if assignment.status != Assignment.Status.ACTIVE:  # the last answer came before the lock
        return
    if held is not None and assignment.check_unit_id and worksheet(assignment).is_rated:
        complete_set(assignment, held, assignment.completed_at or now)
        return
    if held is not None:
        release(held)
        if assignment.hit.study.abandoned == Study.Abandoned.WHOLE_HIT:
            move_ratings(assignment.pk, place=None, partial=True)
    assignment.status = Assignment.Status.ABANDONED
    assignment.save(update_fields=["status"])


@changes_noted()
def reinstate_work(*, participation: Participation, now: datetime | None = None) -> int:
    """Undo `exclude_work`: ratings count again if their place, or another one, is still free.

    Ratings without a free place become surplus. Anyone who was working goes on with the same HIT if
    it has a free place. Returns the number of reinstated assignments.
    """
    now = now or database_now()
    participation = _locked(participation)
    reason = participation.status
    if reason not in OUT:
        return 0
    participation.status = participation.earlier_status or Participation.Status.ACTIVE
    if participation.status == Participation.Status.ACTIVE:
        participation.finished_at = None
    participation.earlier_status = ""
    participation.save(update_fields=["status", "earlier_status", "finished_at"])
    excluded = participation.assignments.filter(status=Assignment.Status.EXCLUDED)
    assignments = list(excluded.select_related("hit__study").order_by("hit"))
    for assignment in assignments:
        free = lock_places(assignment=assignment, now=now).free
        earlier, assignment.earlier_status = assignment.earlier_status, ""
        assignment.save(update_fields=["earlier_status"])
        goes_on = earlier == Assignment.Status.ACTIVE and participation.finished_at is None
        ratings = Rating.objects.filter(assignment=assignment, excluded_reason=reason)
        set_flags(ratings=ratings, excluded=False, excluded_reason="")
        if assignment.hit.study.abandoned == Study.Abandoned.UNITS:
            _reinstate_units(assignment, free, now, goes_on=goes_on)
        else:
            _reinstate_set(assignment, next(iter(free), None), now, goes_on=goes_on)
    return len(assignments)


def _locked(participation: Participation) -> Participation:
    return Participation.objects.select_for_update().get(pk=participation.pk)


def release(place: Place) -> None:
    """Free a locked place. If it was complete, its HIT needs one more answer."""
    if place.completed_at is not None:
        Place.objects.filter(hit=place.hit_id).update(remaining=F("remaining") + 1)
    Place.objects.filter(pk=place.pk).update(assignment=None, lease_until=None, completed_at=None)


def _reinstate_set(
    assignment: Assignment, place: Place | None, now: datetime, *, goes_on: bool
) -> None:
    ratings = Rating.objects.filter(assignment=assignment)
    # The last answers may have arrived from an open page after the exclusion.
    sheet = worksheet(assignment)
    is_complete, is_over = sheet.is_rated, sheet.first_open is None or not goes_on
    if not is_complete and place is not None and goes_on:
        _go_on(assignment, place, now)
        return
    if is_complete and is_offered_again(assignment.hit.study, ratings):
        set_flags(ratings=ratings, partial=False)
    elif is_complete and place is not None:
        hand_over(place=place, assignment=assignment)
        complete_place(place, assignment.completed_at or now)
    elif is_complete:
        set_flags(ratings=ratings, surplus=True)
    else:
        set_flags(ratings=ratings, partial=True)
    assignment.status = Assignment.Status.COMPLETED if is_complete else Assignment.Status.ABANDONED
    if is_complete and place is not None and not is_over:
        assignment.status = Assignment.Status.ACTIVE
    assignment.completed_at = assignment.completed_at or (now if is_complete else None)
    assignment.save(update_fields=["status", "completed_at"])


def _go_on(assignment: Assignment, place: Place, now: datetime) -> None:
    hand_over(place=place, assignment=assignment)
    extend_lease(place=place, study=assignment.hit.study, now=now)
    assignment.status = Assignment.Status.ACTIVE
    assignment.save(update_fields=["status"])


def _reinstate_units(
    assignment: Assignment, free: list[Place], now: datetime, *, goes_on: bool
) -> None:
    """Give each answer the first place that still needs it, and complete places that are full."""
    for rating in Rating.objects.filter(assignment=assignment, superseded=False):
        place = place_for_unit(free, rating)
        row = Rating.objects.filter(pk=rating.pk)
        set_flags(ratings=row, surplus=place is None)
        row.update(place=place)
    status = Assignment.Status.COMPLETED if assignment.completed_at else Assignment.Status.ABANDONED
    Assignment.objects.filter(pk=assignment.pk).update(status=status)
    ended = assignment.completed_at or now
    unfilled = [place for place in free if not complete_if_full(place, assignment, ended)]
    if goes_on and unfilled:
        _go_on(assignment, unfilled[0], now)

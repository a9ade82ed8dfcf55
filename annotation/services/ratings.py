"""The way of a rating: one transaction from the form to the tally."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotation.models import Assignment, HITUnit, Participation, Place, Rating
from annotation.models.rating import RatingQuerySet
from annotation.selectors import is_a_first, missing_units, worksheet
from annotation.services.places import hand_over, lease_end, lock_hit, lock_places
from annotation.services.tallies import TallyKey, set_flags, shift_tallies, tally_key
from studies.errors import DomainError
from studies.models import Criterion, Study


@dataclass(frozen=True)
class Answer:
    """What the page sends: a label as shown (−1 first, +1 second), and how it was given."""

    shown_label: str
    client_key: str
    layout: str = ""
    position: int | None = None
    duration_ms: int | None = None


@transaction.atomic
def submit_rating(
    *,
    assignment: Assignment,
    seat: HITUnit,
    criterion: Criterion,
    answer: Answer,
    now: datetime | None = None,
) -> Rating:
    """Keep one answer, exactly once, and complete the HIT with the last one.

    The same answer again, or the same client key with the same label, returns the stored row. A
    changed answer supersedes. Without a live place the answer is kept and flagged. Raises `DomainError` if the label is not of the scale.
    Locks as `take_place` does.
    """
    now = now or timezone.now()
    if assignment.participation_id is not None:
        Participation.objects.select_for_update().get(pk=assignment.participation_id)
    held, free = lock_places(assignment=assignment, now=now)
    lock_hit(assignment)
    assignment = _locked(assignment)
    study = assignment.hit.study
    label = _label_in_system_order(answer, assignment, seat, criterion)
    given = list(_answers(assignment, seat, criterion))
    stored = _stored(given, answer, label)
    if stored is not None:
        return stored
    if held is not None and held.completed_at is None:
        held.lease_until = lease_end(study, now)
        held.save(update_fields=["lease_until"])
    by_units = study.abandoned == Study.Abandoned.UNITS
    rating = _new_rating(assignment, seat, criterion, answer)
    place = _place_for_unit([held] if held else free, rating) if by_units else held
    rating.label, rating.place, rating.created_at = label, place, now
    earlier = next((each for each in given if not each.superseded), None)
    _flag(rating, earlier, study)
    _append(rating, earlier)
    if rating.late:
        return rating
    if by_units:
        _complete_place(place, assignment, now)
    elif assignment.status != Assignment.Status.COMPLETED:
        _complete_set(assignment, place or next(iter(free), None), now)
    return rating


def _complete_set(assignment: Assignment, place: Place | None, now: datetime) -> None:
    """One person's complete set completes its place; without one it is kept as surplus."""
    if worksheet(assignment).first_open is not None:
        return
    _close_assignment(assignment, now)
    if place is None:
        own = Rating.objects.filter(assignment=assignment)
        set_flags(ratings=own, partial=False, surplus=True)
        return
    if place.assignment_id != assignment.pk:
        hand_over(place=place, assignment=assignment)
    _close_place(place, now)


def _complete_place(place: Place | None, assignment: Assignment, now: datetime) -> None:
    """With `units`, a place is complete when every unit has been answered for it, by whomever."""
    if place is None or place.completed_at is not None or missing_units(place):
        return
    if place.assignment is None:
        place.assignment = assignment
    _close_assignment(place.assignment, now)
    _close_place(place, now)


def _close_assignment(assignment: Assignment, now: datetime) -> None:
    assignment.status, assignment.completed_at = Assignment.Status.COMPLETED, now
    assignment.save(update_fields=["status", "completed_at"])


def _close_place(place: Place, now: datetime) -> None:
    place.completed_at, place.lease_until = now, None
    place.save(update_fields=["assignment", "completed_at", "lease_until"])


def _label_in_system_order(
    answer: Answer, assignment: Assignment, seat: HITUnit, criterion: Criterion
) -> str:
    scale = criterion.parsed_scale
    try:
        label = scale.parse_label(answer.shown_label)
    except ValueError as error:
        sentence = f"Please choose one of the answers. ({error})"
        raise DomainError("not_a_label", sentence, status=400) from error
    if scale.kind == "preference" and isinstance(label, int) and not is_a_first(assignment, seat):
        label = -label
    return str(label)


def _locked(assignment: Assignment) -> Assignment:
    """The assignment under its lock, and in the same query all that is read of it."""
    return (
        Assignment.objects.select_for_update(of=("self",))
        .select_related("hit__study", "participation", "rater")
        .get(pk=assignment.pk)
    )


def _answers(assignment: Assignment, seat: HITUnit, criterion: Criterion) -> RatingQuerySet:
    """Every answer of this assignment to this question, corrected ones included."""
    return Rating.objects.filter(
        assignment=assignment, unit=seat.unit_id, repeat=seat.repeat, criterion=criterion
    ).select_related("rater")


def _stored(given: list[Rating], answer: Answer, label: str) -> Rating | None:
    """The row that already says this: the current one, or the one this very request once made."""
    for rating in given:
        is_this = not rating.superseded or rating.client_key == answer.client_key
        if rating.label == label and is_this:
            return rating
    return None


def _place_for_unit(places: list[Place], rating: Rating) -> Place | None:
    """With `units`, the first place that nobody else has given this answer to yet.

    That goes for one's own place too: while its lease was over, a late answer may have come.
    """
    same = Rating.objects.counted().filter(
        unit=rating.unit_id, repeat=rating.repeat, criterion=rating.criterion
    )
    others = same.filter(place__in=places).exclude(assignment=rating.assignment)
    filled = set(others.values_list("place_id", flat=True))
    return next((place for place in places if place.pk not in filled), None)


def _new_rating(
    assignment: Assignment, seat: HITUnit, criterion: Criterion, answer: Answer
) -> Rating:
    participation = assignment.participation
    return Rating(
        assignment=assignment,
        rater=assignment.rater,
        unit_id=seat.unit_id,
        criterion=criterion,
        repeat=seat.repeat,
        study_version_id=assignment.study_version_id,
        side_a="left" if is_a_first(assignment, seat) else "right",
        layout=answer.layout,
        position=answer.position,
        duration_ms=answer.duration_ms,
        client_key=answer.client_key,
        simulated=participation is not None and participation.simulated,
    )


def _flag(rating: Rating, earlier: Rating | None, study: Study) -> None:
    """After closing an answer is late. Without a place it is a fragment, or one too many."""
    rating.late = study.status == Study.Status.CLOSED
    if rating.assignment.status == Assignment.Status.COMPLETED and earlier is not None:
        for field in ("surplus", "partial", "excluded", "excluded_reason", "place"):
            setattr(rating, field, getattr(earlier, field))
    elif rating.place is None:
        rating.partial = study.abandoned == Study.Abandoned.WHOLE_HIT
        rating.surplus = not rating.partial


def _append(rating: Rating, earlier: Rating | None) -> None:
    """Insert, superseding the earlier answer, unless the new one came after closing."""
    shifts: Counter[TallyKey] = Counter()
    if earlier is not None and rating.late:
        rating.superseded = True
    elif earlier is not None:
        shifts[tally_key(earlier)] -= int(earlier.is_counted)
        earlier.superseded = True
        earlier.save(update_fields=["superseded"])
        rating.supersedes = earlier
    rating.save()
    shifts[tally_key(rating)] += int(rating.is_counted)
    if rating.repeat == 0:
        shift_tallies(shifts)

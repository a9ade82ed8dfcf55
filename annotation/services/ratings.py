"""The way of a rating: one transaction from the form to the tally."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from annotation.hot_path_sql import complete_place, insert, ratings_of
from annotation.models import Assignment, HITUnit, Participation, Place, Rating
from annotation.selectors import is_a_first, worksheet
from annotation.services.places import (
    close_assignment,
    complete_if_full,
    extend_lease,
    hand_over,
    lock_places,
    place_for_unit,
)
from annotation.services.screening import act_on_checks, grade_stage
from annotation.services.tallies import TallyKey, apply_tally_deltas, set_flags, tally_key
from studies.freshness import changes_noted
from studies.models import Criterion, Study
from tiebreak.errors import DomainError, InvalidInput


@dataclass(frozen=True)
class Answer:
    """What the page sends: a label as shown (−1 first, +1 second), and how it was given."""

    shown_label: str
    client_key: str
    layout: str = ""
    position: int | None = None
    duration_ms: int | None = None


def submit_rating(
    *,
    assignment: Assignment,
    hit_unit: HITUnit,
    criterion: Criterion,
    answer: Answer,
    now: datetime | None = None,
) -> Rating:
    """Keep one answer, see `submit_ratings`; returns the row that says it now."""
    rows = submit_ratings(
        assignment=assignment, hit_unit=hit_unit, answers={criterion: answer}, now=now
    )
    label = _label_in_system_order(answer, assignment, hit_unit, criterion)
    given = [row for row in rows if row.is_answer_to(hit_unit, criterion) and row.label == label]
    stored = _stored(given, answer, label)
    assert stored is not None
    return stored


def submit_ratings(
    *,
    assignment: Assignment,
    hit_unit: HITUnit,
    answers: Mapping[Criterion, Answer],
    now: datetime | None = None,
) -> list[Rating]:
    """Keep all answers to one unit or none, each exactly once; the HIT's last complete it.

    The same answer again, or the same client key with the same label, changes nothing. A
    changed answer supersedes. Without a live place an answer is kept and flagged. Returns every
    row of the assignment. Raises `DomainError` if a label is not of its scale. Locks the HIT's
    places, which is what everything that touches the answers of a HIT waits for. A check is judged
    when its HIT is done: until then a slip can be put right, and nothing tells which unit it was.
    """
    desk = _submit(assignment, hit_unit, answers, now)
    # After that transaction: who is excluded loses places, and those are locked in another order.
    if assignment.participation is not None and _is_checked(assignment):
        act_on_checks(participation=assignment.participation, now=desk.now)
    return desk.written


def _is_checked(assignment: Assignment) -> bool:
    """Whether it carried a check and is done; by units, others may have done it meanwhile."""
    done = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.COMPLETED)
    return assignment.check_unit_id is not None and done.exists()


@changes_noted()
def _submit(
    assignment: Assignment,
    hit_unit: HITUnit,
    answers: Mapping[Criterion, Answer],
    now: datetime | None,
) -> "_Desk":
    desk = _Desk(assignment, now)
    is_done = False
    for criterion, answer in answers.items():
        is_done |= desk.keep(hit_unit, criterion, answer)
    if desk.held is not None and desk.held.completed_at is None and not is_done:
        extend_lease(place=desk.held, study=desk.study, now=desk.now)
    return desk


class _Desk:
    """One assignment's answers while its HIT's places are locked."""

    def __init__(self, assignment: Assignment, now: datetime | None) -> None:
        self.assignment = assignment
        self.is_test = bool(assignment.stage)
        if self.is_test:
            own = Assignment.objects.select_for_update().filter(pk=assignment.pk)
            locked_at: datetime = own.annotate(locked_at=Now()).get().locked_at
            now = now or locked_at
        locked = lock_places(assignment=assignment, now=now)
        self.held, self.free, self.now = locked.held, locked.free, locked.now
        self.written = ratings_of(assignment)
        self.study = assignment.hit.study
        self.by_units = self.study.abandoned == Study.Abandoned.UNITS

    def keep(self, hit_unit: HITUnit, criterion: Criterion, answer: Answer) -> bool:
        """Keep one answer; whether it completed a place."""
        label = _label_in_system_order(answer, self.assignment, hit_unit, criterion)
        given = [each for each in self.written if each.is_answer_to(hit_unit, criterion)]
        if _stored(given, answer, label) is not None:
            return self._finish_what_is_whole()
        rating = _new_rating(self.assignment, hit_unit, criterion, answer)
        rating.label, rating.created_at = label, self.now
        rating.place = self._place_for(rating)
        earlier = next((each for each in given if not each.superseded), None)
        if not self.is_test:
            _flag(rating, earlier, self.study)
        is_out = self.assignment.status == Assignment.Status.EXCLUDED
        if is_out:
            rating.excluded, rating.excluded_reason = True, _why_out(self.assignment)
        _append(rating, earlier)
        self.written.append(rating)
        return not rating.late and not is_out and self._complete(rating.place)

    def _finish_what_is_whole(self) -> bool:
        """Sent again, an answer may find its set whole and its place taken back, but not done."""
        is_over = self.study.status == Study.Status.CLOSED
        is_out = self.assignment.status == Assignment.Status.EXCLUDED
        return self.held is not None and not is_over and not is_out and self._complete(self.held)

    def _place_for(self, rating: Rating) -> Place | None:
        if self.is_test or not self.by_units:
            return self.held
        return place_for_unit([self.held] if self.held else self.free, rating)

    def _complete(self, place: Place | None) -> bool:
        if self.is_test:
            return _complete_test(self.assignment, self.written, self.now)
        if self.by_units:
            return complete_if_full(place, self.assignment, self.now)
        if self.assignment.status == Assignment.Status.COMPLETED:
            return False
        place = place or next(iter(self.free), None)
        return complete_set(self.assignment, self.written, place, self.now)


def _complete_test(assignment: Assignment, written: list[Rating], now: datetime) -> bool:
    is_over = assignment.status == Assignment.Status.COMPLETED
    if is_over or worksheet(assignment, written).first_open is not None:
        return False
    close_assignment(assignment, now)
    grade_stage(assignment=assignment, now=now)
    return True


def complete_set(
    assignment: Assignment, written: list[Rating], place: Place | None, now: datetime
) -> bool:
    """One person's complete set completes its place; without one it is kept as surplus."""
    if worksheet(assignment, written).first_open is not None:
        return False
    close_assignment(assignment, now)
    if place is None:
        own = Rating.objects.filter(assignment=assignment)
        set_flags(ratings=own, partial=False, surplus=True)
        return True
    if place.assignment_id != assignment.pk:
        hand_over(place=place, assignment=assignment)
    complete_place(place, now)
    return True


def _why_out(assignment: Assignment) -> str:
    """As it is now: who sent this was read before their work was withdrawn."""
    own = Participation.objects.filter(assignments=assignment)
    return str(own.values_list("status", flat=True).first() or "")


def _label_in_system_order(
    answer: Answer, assignment: Assignment, hit_unit: HITUnit, criterion: Criterion
) -> str:
    scale = criterion.parsed_scale
    try:
        label = scale.parse_label(answer.shown_label)
    except InvalidInput as error:
        sentence = f"Please choose one of the answers. ({error})"
        raise DomainError("not_a_label", sentence, status=400) from error
    if (
        scale.kind == "preference"
        and isinstance(label, int)
        and not is_a_first(assignment, hit_unit)
    ):
        label = -label
    return str(label)


def _stored(given: list[Rating], answer: Answer, label: str) -> Rating | None:
    """The row that already says this: the current one, or the one this very request once made."""
    for rating in given:
        is_this = not rating.superseded or rating.client_key == answer.client_key
        if rating.label == label and is_this:
            return rating
    return None


def _new_rating(
    assignment: Assignment, hit_unit: HITUnit, criterion: Criterion, answer: Answer
) -> Rating:
    participation = assignment.participation
    return Rating(
        assignment=assignment,
        rater=assignment.rater,
        unit_id=hit_unit.unit_id,
        criterion=criterion,
        repeat=hit_unit.repeat,
        study_version_id=assignment.study_version_id,
        side_a="left" if is_a_first(assignment, hit_unit) else "right",
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
    insert(rating)
    shifts[tally_key(rating)] += int(rating.is_counted)
    if rating.repeat == 0:
        apply_tally_deltas(shifts)

"""Saves ratings in one transaction, from the submitted answer to the tallies."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from annotation.hot_path_sql import complete_place, insert, ratings_of
from annotation.messages import NOT_A_LABEL
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
    """An answer as the page submits it: the label as shown, and metadata.

    In the label of a preference, −1 is the first text and +1 the second.
    """

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
    """Save one answer as `submit_ratings` does, and return the rating that holds it."""
    rows = submit_ratings(
        assignment=assignment, hit_unit=hit_unit, answers={criterion: answer}, now=now
    )
    label = _label_in_system_order(answer, assignment, hit_unit, criterion)
    matching = [row for row in rows if row.is_answer_to(hit_unit, criterion) and row.label == label]
    stored = _stored(matching, answer, label)
    assert stored is not None
    return stored


def submit_ratings(
    *,
    assignment: Assignment,
    hit_unit: HITUnit,
    answers: Mapping[Criterion, Answer],
    now: datetime | None = None,
) -> list[Rating]:
    """Save all answers to one unit, or none, each exactly once; the last ones complete the HIT.

    Sending the current answer again, or a client key with the same label, changes nothing. A
    changed answer supersedes the earlier one. If the assignment no longer holds a place, an answer
    is kept and flagged. Returns all ratings of the assignment. Raises `DomainError` if a label is
    not on its scale.

    Locks the HIT's places, as does everything that changes the answers of a HIT. A gold check is
    graded only when its HIT is complete. Until then an answer can be corrected, and the annotator
    cannot tell which unit is the check.
    """
    locked = _submit(assignment, hit_unit, answers, now)
    # The action has a transaction of its own, because exclusion locks places in another order.
    if assignment.participation is not None and _completed_with_check(assignment):
        act_on_checks(participation=assignment.participation, now=locked.now)
    return locked.ratings


def _completed_with_check(assignment: Assignment) -> bool:
    """Whether the assignment has a gold check and is complete, according to the database.

    With `units`, another annotator's answer may have completed it in the meantime.
    """
    completed = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.COMPLETED)
    return assignment.check_unit_id is not None and completed.exists()


@changes_noted()
def _submit(
    assignment: Assignment,
    hit_unit: HITUnit,
    answers: Mapping[Criterion, Answer],
    now: datetime | None,
) -> "_LockedAnswers":
    locked = _LockedAnswers(assignment, now)
    is_completed = False
    for criterion, answer in answers.items():
        is_completed |= locked.save(hit_unit, criterion, answer)
    if locked.held is not None and locked.held.completed_at is None and not is_completed:
        extend_lease(place=locked.held, study=locked.study, now=locked.now)
    return locked


class _LockedAnswers:
    """One assignment's answers while the places of its HIT are locked."""

    def __init__(self, assignment: Assignment, now: datetime | None) -> None:
        self.assignment = assignment
        self.is_test = bool(assignment.stage)
        if self.is_test:
            rows = Assignment.objects.select_for_update().filter(pk=assignment.pk)
            locked_at: datetime = rows.annotate(locked_at=Now()).get().locked_at
            now = now or locked_at
        locked = lock_places(assignment=assignment, now=now)
        self.held, self.free, self.now = locked.held, locked.free, locked.now
        self.ratings = ratings_of(assignment)
        self.study = assignment.hit.study
        self.by_units = self.study.abandoned == Study.Abandoned.UNITS

    def save(self, hit_unit: HITUnit, criterion: Criterion, answer: Answer) -> bool:
        """Save one answer, and return whether it completed a place."""
        label = _label_in_system_order(answer, self.assignment, hit_unit, criterion)
        earlier = [row for row in self.ratings if row.is_answer_to(hit_unit, criterion)]
        if _stored(earlier, answer, label) is not None:
            return self._complete_if_held()
        rating = _new_rating(self.assignment, hit_unit, criterion, answer)
        rating.label, rating.created_at = label, self.now
        rating.place = self._place_for(rating)
        current = next((row for row in earlier if not row.superseded), None)
        if not self.is_test:
            _flag(rating, current, self.study)
        is_excluded = self.assignment.status == Assignment.Status.EXCLUDED
        if is_excluded:
            rating.excluded, rating.excluded_reason = True, _exclusion_reason(self.assignment)
        _append(rating, current)
        self.ratings.append(rating)
        return not rating.late and not is_excluded and self._complete(rating.place)

    def _complete_if_held(self) -> bool:
        """Complete the held place after a repeated answer, if all answers are there by now."""
        is_closed = self.study.status == Study.Status.CLOSED
        is_excluded = self.assignment.status == Assignment.Status.EXCLUDED
        if self.held is None or is_closed or is_excluded:
            return False
        return self._complete(self.held)

    def _place_for(self, rating: Rating) -> Place | None:
        if self.is_test or not self.by_units:
            return self.held
        return place_for_unit([self.held] if self.held else self.free, rating)

    def _complete(self, place: Place | None) -> bool:
        if self.is_test:
            return _complete_test(self.assignment, self.ratings, self.now)
        if self.by_units:
            return complete_if_full(place, self.assignment, self.now)
        if self.assignment.status == Assignment.Status.COMPLETED:
            return False
        place = place or next(iter(self.free), None)
        return complete_set(self.assignment, self.ratings, place, self.now)


def _complete_test(assignment: Assignment, ratings: list[Rating], now: datetime) -> bool:
    is_completed = assignment.status == Assignment.Status.COMPLETED
    if is_completed or worksheet(assignment, ratings).first_open is not None:
        return False
    close_assignment(assignment, now)
    grade_stage(assignment=assignment, now=now)
    return True


def complete_set(
    assignment: Assignment, ratings: list[Rating], place: Place | None, now: datetime
) -> bool:
    """If all units are answered, complete the place. Without a place, flag the set as surplus."""
    if worksheet(assignment, ratings).first_open is not None:
        return False
    close_assignment(assignment, now)
    if place is None:
        rows = Rating.objects.filter(assignment=assignment)
        set_flags(ratings=rows, partial=False, surplus=True)
        return True
    if place.assignment_id != assignment.pk:
        hand_over(place=place, assignment=assignment)
    complete_place(place, now)
    return True


def _exclusion_reason(assignment: Assignment) -> str:
    """Read the participation's current status, because the loaded one predates the exclusion."""
    participations = Participation.objects.filter(assignments=assignment)
    return str(participations.values_list("status", flat=True).first() or "")


def _label_in_system_order(
    answer: Answer, assignment: Assignment, hit_unit: HITUnit, criterion: Criterion
) -> str:
    scale = criterion.parsed_scale
    try:
        label = scale.parse_label(answer.shown_label)
    except InvalidInput as error:
        raise DomainError("not_a_label", NOT_A_LABEL.format(error), status=400) from error
    if (
        scale.kind == "preference"
        and isinstance(label, int)
        and not is_a_first(assignment, hit_unit)
    ):
        label = -label
    return str(label)


def _stored(earlier: list[Rating], answer: Answer, label: str) -> Rating | None:
    """Return the rating that holds this answer, if it is current or from the same request."""
    for rating in earlier:
        is_same = not rating.superseded or rating.client_key == answer.client_key
        if rating.label == label and is_same:
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
    """Flag an answer as late if the study is closed, or as partial or surplus if it has no place.

    A correction of a completed HIT takes over the flags of the earlier answer.
    """
    rating.late = study.status == Study.Status.CLOSED
    if rating.assignment.status == Assignment.Status.COMPLETED and earlier is not None:
        for field in ("surplus", "partial", "excluded", "excluded_reason", "place"):
            setattr(rating, field, getattr(earlier, field))
    elif rating.place is None:
        rating.partial = study.abandoned == Study.Abandoned.WHOLE_HIT
        rating.surplus = not rating.partial


def _append(rating: Rating, earlier: Rating | None) -> None:
    """Insert the answer, which supersedes the earlier one unless it came after the study closed."""
    deltas: Counter[TallyKey] = Counter()
    if earlier is not None and rating.late:
        rating.superseded = True
    elif earlier is not None:
        deltas[tally_key(earlier)] -= int(earlier.is_counted)
        earlier.superseded = True
        earlier.save(update_fields=["superseded"])
        rating.supersedes = earlier
    insert(rating)
    deltas[tally_key(rating)] += int(rating.is_counted)
    if rating.repeat == 0:
        apply_tally_deltas(deltas)

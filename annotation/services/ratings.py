"""Saves ratings in one transaction, from the submitted answer to the tallies."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from annotation.hot_path_sql import complete_place, insert, ratings_of
from annotation.messages import (
    EXCLUDED,
    LATE,
    LEFT,
    LEFT_WITHOUT_TASK,
    NO_ANSWER,
    NOT_A_LABEL,
    NOT_OFFERED,
    REASON_TOO_LONG,
    REASON_TOO_SHORT,
    RELEASED,
    SURPLUS,
    TASK_STAYS,
    Note,
)
from annotation.models import Assignment, HITUnit, Participation, Place, Rating, ScreeningAttempt
from annotation.selectors import (
    PAID_TASK,
    UnitProgress,
    Worksheet,
    is_a_first,
    mixes_in_checks,
    nonresponses_of,
)
from annotation.services.places import (
    close_assignment,
    complete_if_full,
    complete_set,
    extend_lease,
    hand_over,
    lock_places,
    place_for_unit,
)
from annotation.services.screening import act_on_checks, grade_stage, training_feedback
from annotation.services.tallies import TallyKey, apply_tally_deltas, tally_key
from studies.freshness import changes_noted
from studies.models import Criterion, Study
from studies.models.bounds import MAX_REASON
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.nonresponse import BROKEN


@dataclass(frozen=True)
class Answer:
    """An answer as the page submits it: the label as shown, and metadata.

    In the label of a preference, −1 is the first text and +1 the second. A nonresponse has the
    label "".
    """

    shown_label: str
    client_key: str
    # What was answered in place of a label.
    nonresponse: str = ""
    reason: str = ""
    layout: str = ""
    position: int | None = None
    duration_ms: int | None = None


class Outcome(StrEnum):
    """What became of an answer."""

    SAVED = "saved"
    # It differs from an earlier answer.
    CORRECTED = "corrected"
    # It was stored before.
    REPEATED = "repeated"


class StoredAnswer(NamedTuple):
    """The row that holds an answer, and whether this submission inserted it."""

    rating: Rating
    outcome: Outcome


@dataclass(frozen=True)
class RatingResult:
    """What became of the answers to one unit, with everything that the page shows afterwards."""

    answers: Mapping[Criterion, StoredAnswer]
    progress: UnitProgress
    # Says why the newest answer may not be counted.
    note: Note | None
    # In training, the answers to this unit, and whether each is right.
    feedback: Sequence[tuple[Rating, bool]]
    # The unit to show next: this one again in training, for the feedback, else the first open one.
    next_position: int | None


def submit_ratings(
    *,
    sheet: Worksheet,
    position: int,
    answers: Mapping[Criterion, Answer],
    now: datetime | None = None,
) -> RatingResult:
    """Save all answers to one unit, or none, each exactly once; the last ones complete the HIT.

    Sending the current answer again, or a client key with the same label, changes nothing. A
    changed answer supersedes the earlier one. If the assignment no longer holds a place, an answer
    is kept and flagged. A unit that is reported as broken is so for all criteria. Of the worksheet,
    only the units are used. Raises `DomainError` if there is no answer, if a label is not on its
    scale, or if a required reason is too short.

    Locks the HIT's places, as does everything that changes the answers of a HIT. A correction of a
    completed HIT takes over the earlier answer's place and flags, so nothing else changes: neither
    R nor pay. A gold check is graded only when its HIT is complete. Until then an answer can be
    corrected, and the annotator cannot tell which unit is the check. Therefore a study with gold
    checks refuses corrections of a unit once the next has been opened, in the same HIT or another.
    """
    if not answers:
        raise DomainError("no_answer", NO_ANSWER, status=400)
    broken = next((one for one in answers.values() if one.nonresponse == BROKEN), None)
    if broken is not None:
        answers = {c: answers.get(c, broken) for c in sheet.criteria}
        answers = {
            c: replace(one, shown_label="", nonresponse=BROKEN) for c, one in answers.items()
        }
    work = _submit(sheet, position, answers, now)
    # The action has its own transaction, because exclusion locks places in another order.
    if sheet.assignment.participation is not None and _completed_with_check(sheet.assignment):
        act_on_checks(participation=sheet.assignment.participation, now=work.now)
    return _result(work, position)


def _completed_with_check(assignment: Assignment) -> bool:
    """Whether the assignment has a gold check and is complete, according to the database.

    With `units`, another annotator's answer may have completed it in the meantime.
    """
    completed = Assignment.objects.filter(pk=assignment.pk, status=Assignment.Status.COMPLETED)
    return assignment.check_unit_id is not None and completed.exists()


def _result(work: "_LockedAnswers", position: int) -> RatingResult:
    is_training = work.assignment.stage == ScreeningAttempt.Stage.TRAINING
    return RatingResult(
        answers=work.stored,
        progress=work.sheet.progress_at(position),
        note=_note(work.ratings, work.assignment.participation),
        feedback=training_feedback(work.sheet, position),
        next_position=position if is_training else None,
    )


def _note(ratings: Iterable[Rating], participation: Participation | None) -> Note | None:
    """Return the note for the newest answer if it was saved but may not be counted."""
    current = (rating for rating in ratings if not rating.superseded)
    newest = max(current, key=lambda rating: rating.pk, default=None)
    if newest is None or newest.is_counted:
        return None
    if newest.late:
        return LATE
    if newest.excluded:
        return EXCLUDED
    has_left = participation is not None and participation.status == Participation.Status.LEFT
    return LEFT if has_left else SURPLUS


@changes_noted()
def _submit(
    sheet: Worksheet, position: int, answers: Mapping[Criterion, Answer], now: datetime | None
) -> "_LockedAnswers":
    work = _LockedAnswers(sheet, position, now)
    hit_unit = sheet.hit_units[position]
    # Corrections first, so that what completes the task is saved last.
    current = work.sheet.current[position]
    ordered = sorted(answers.items(), key=lambda given: given[0].pk not in current)
    completed = [work.save(hit_unit, criterion, answer) for criterion, answer in ordered]
    held = work.places.held
    if held is not None and held.completed_at is None and not any(completed):
        extend_lease(place=held, study=work.study, now=work.now)
    return work


class _LockedAnswers:
    """One assignment's answers while the places of its HIT are locked."""

    def __init__(self, sheet: Worksheet, position: int, now: datetime | None) -> None:
        self.assignment = sheet.assignment
        self.is_test = bool(self.assignment.stage)
        if self.is_test:
            rows = Assignment.objects.select_for_update().filter(pk=self.assignment.pk)
            locked_at: datetime = rows.annotate(locked_at=Now()).get().locked_at
            now = now or locked_at
        self.places = lock_places(assignment=self.assignment, now=now)
        self.now = self.places.now
        stored = ratings_of(self.assignment)
        self.ratings = stored.rows
        self.sheet = sheet.with_ratings(self.ratings)
        self.study = self.assignment.hit.study
        is_past = stored.opened > position and position in self.sheet.answered
        self.stays = (stored.is_earlier or is_past) and mixes_in_checks(self.study)
        self.by_units = self.study.abandoned == Study.Abandoned.UNITS and not self.is_test
        self.is_excluded = self.assignment.status == Assignment.Status.EXCLUDED
        self.stored: dict[Criterion, StoredAnswer] = {}

    def save(self, hit_unit: HITUnit, criterion: Criterion, answer: Answer) -> bool:
        """Save one answer, and return whether it completed a place."""
        if criterion.reason == Criterion.Reason.NONE:
            answer = replace(answer, reason="")
        label = self._label(hit_unit, criterion, answer)
        earlier = [row for row in self.ratings if row.is_answer_to(hit_unit, criterion)]
        stored = _stored(earlier, answer, label)
        if stored is not None:
            self.stored[criterion] = StoredAnswer(stored, Outcome.REPEATED)
            return self._complete_if_held()
        if self.stays:
            raise DomainError("task_stays", TASK_STAYS)
        self._check_not_released()
        rating = _new_rating(self.assignment, hit_unit, criterion, answer)
        rating.label, rating.created_at = label, self.now
        current = next((row for row in earlier if not row.superseded), None)
        if not self.is_test:  # a test has no places, and its answers never enter the statistics
            self._flag(rating, current)
        _append(rating, current)
        outcome = Outcome.SAVED if current is None else Outcome.CORRECTED
        self.stored[criterion] = StoredAnswer(rating, outcome)
        self.ratings.append(rating)
        self.sheet = self.sheet.with_ratings(self.ratings)
        completed = not rating.late and not self.is_excluded and self._complete(rating.place)
        is_paid_only = rating.late or self.by_units
        if is_paid_only and self.sheet.is_rated and not self.is_excluded:
            # It is paid even if its answers do not count.
            open_tasks = Assignment.objects.filter(pk=self.assignment.pk, completed_at=None)
            open_tasks.update(completed_at=self.now)
        return completed

    def _label(self, hit_unit: HITUnit, criterion: Criterion, answer: Answer) -> str | None:
        """Return the label of an answer, None for a nonresponse, or refuse the answer."""
        if len(answer.reason) > MAX_REASON:
            raise DomainError("reason_too_long", REASON_TOO_LONG, status=400)
        if not answer.nonresponse:
            is_required = criterion.reason == Criterion.Reason.REQUIRED
            if is_required and len(answer.reason) < criterion.reason_length:
                sentence = REASON_TOO_SHORT.format(criterion.reason_length)
                raise DomainError("reason_too_short", sentence, status=400)
            return _label_in_system_order(answer, self.assignment, hit_unit, criterion)
        if answer.nonresponse not in nonresponses_of(self.assignment):
            raise DomainError("not_a_label", NOT_A_LABEL.format(NOT_OFFERED), status=400)
        return None

    def _check_not_released(self) -> None:
        """Refuse an answer to a task that was taken away with the person's place in the study.

        Someone else may have that place, so nobody could pay for the task. Those who left after a
        completed task keep theirs.
        """
        is_over = self.assignment.status == Assignment.Status.COMPLETED
        if self.places.held is not None or self.is_test or is_over:
            return
        status = Participation.Status
        person = Participation.objects.filter(assignments=self.assignment)
        if person.filter(status=status.RELEASED).exists():
            raise DomainError("released", RELEASED)
        paid = Assignment.objects.filter(PAID_TASK, participation=OuterRef("pk"))
        if person.filter(~Exists(paid), status=status.LEFT).exists():
            raise DomainError("left", LEFT_WITHOUT_TASK)

    def _flag(self, rating: Rating, earlier: Rating | None) -> None:
        """Set the place of an answer, and flag it if it is late, without a place, or excluded.

        A correction of a completed HIT takes over the flags of the earlier answer.
        """
        places = self.places
        rating.place = place_for_unit(places.usable, rating) if self.by_units else places.held
        rating.late = self.study.status == Study.Status.CLOSED
        if self.assignment.status == Assignment.Status.COMPLETED and earlier is not None:
            for field in ("surplus", "partial", "excluded", "excluded_reason", "place"):
                setattr(rating, field, getattr(earlier, field))
            if rating.label is not None and rating.place is None and earlier.is_counted:
                self._return_to(next(iter(places.usable), None), rating)
        elif rating.place is None:
            rating.surplus, rating.partial = self.by_units, not self.by_units
        if self.is_excluded:
            # The status is read now, because the loaded participation predates the exclusion.
            statuses = Participation.objects.filter(assignments=self.assignment)
            reason = statuses.values_list("status", flat=True).first() or ""
            rating.excluded, rating.excluded_reason = True, reason

    def _return_to(self, place: Place | None, rating: Rating) -> None:
        """Fill the place of a task that was offered again, now that it has a label; if nobody has it."""
        if rating.late:
            return
        rating.surplus, rating.place = place is None, place
        if place is not None:
            hand_over(place=place, assignment=self.assignment)
            Rating.objects.filter(assignment=self.assignment, superseded=False).update(place=place)
            complete_place(place, self.now)

    def _complete_if_held(self) -> bool:
        """Complete the held place after a repeated answer, if all answers are there by now."""
        is_closed = self.study.status == Study.Status.CLOSED
        if self.places.held is None or is_closed or self.is_excluded:
            return False
        return self._complete(self.places.held)

    def _complete(self, place: Place | None) -> bool:
        if self.by_units:
            return complete_if_full(place, self.assignment, self.now)
        is_completed = self.assignment.status == Assignment.Status.COMPLETED
        if is_completed or not self.sheet.is_rated:
            return False
        if self.is_test:
            close_assignment(self.assignment, self.now)
            grade_stage(assignment=self.assignment, now=self.now)
        else:
            is_check_open = self.places.held is not None and self.sheet.first_open is not None
            place = next(iter(self.places.usable), None)
            complete_set(self.assignment, place, self.now, is_check_open=is_check_open)
        return True


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


def _stored(earlier: list[Rating], answer: Answer, label: str | None) -> Rating | None:
    """Return the rating that holds this answer, if it is current or from the same request."""
    given = label, answer.nonresponse, answer.reason
    for rating in earlier:
        is_same = not rating.superseded or rating.client_key == answer.client_key
        if (rating.label, rating.nonresponse, rating.reason) == given and is_same:
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
        nonresponse=answer.nonresponse,
        reason=answer.reason,
        layout=answer.layout,
        position=answer.position,
        duration_ms=answer.duration_ms,
        client_key=answer.client_key,
        simulated=participation is not None and participation.simulated,
    )


def _append(rating: Rating, earlier: Rating | None) -> None:
    """Insert the answer, which supersedes the earlier one unless it came after the study closed."""
    deltas: Counter[TallyKey] = Counter()
    if earlier is not None and rating.late:
        rating.superseded = True
    elif earlier is not None:
        deltas[tally_key(earlier)] -= int(earlier.is_tallied)
        earlier.superseded = True
        earlier.save(update_fields=["superseded"])
        rating.supersedes = earlier
    insert(rating)
    deltas[tally_key(rating)] += int(rating.is_tallied)
    apply_tally_deltas(deltas)

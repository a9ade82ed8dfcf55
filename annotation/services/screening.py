"""Screening: the steps before the first HIT, and the gold checks mixed into HITs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, OuterRef, Q
from django.db.models.functions import Coalesce

from annotation.messages import NO_TRY_LEFT, SCREENING_INCOMPLETE, TOO_MANY_PEOPLE, UNANSWERED
from annotation.models import HIT, Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import Worksheet, has_any, reference_units
from annotation.services.addresses import has_room
from annotation.services.exclusion import exclude_work, stop_work
from annotation.services.planning import hits_to_collect
from annotation.services.reference_units import ROLES
from jobs.clock import database_now
from studies.design.steps import count_of
from studies.models import Criterion, Screening, Study, Unit
from tiebreak.errors import DomainError, InvalidInput


class Step(StrEnum):
    """The next step that an annotator must complete before getting a place."""

    CONFIRMATION = "confirmation"
    GUIDELINES = "guidelines"
    COMPREHENSION = "comprehension"
    TRAINING = "training"
    QUALIFICATION = "qualification"
    NONE = "none"


def next_step(participation: Participation, now: datetime | None = None) -> Step:
    """Return the first step that is not complete. Reads only."""
    now = now or database_now()
    if participation.confirmed_at is None:
        return Step.CONFIRMATION
    if participation.guidelines_read_at is None:
        return Step.GUIDELINES
    return next(_open_stages(participation, now), Step.NONE)


def _open_stages(participation: Participation, now: datetime) -> Iterator[Step]:
    study, screening = participation.study, screening_of(participation.study)
    attempts = participation.screening_attempts.filter(is_passed=True)
    passed = set(attempts.values_list("stage", flat=True))
    if ScreeningAttempt.Stage.COMPREHENSION not in passed and study.comprehension.exists():
        yield Step.COMPREHENSION
    if screening is None:
        return
    if screening.training_units and ScreeningAttempt.Stage.TRAINING not in passed:
        yield Step.TRAINING
    if screening.qualification_units and not is_qualified(participation, screening, now):
        yield Step.QUALIFICATION


@dataclass(frozen=True)
class Shortfall:
    """A role with too few reference units, with the numbers of units needed and present."""

    role: Unit.Role
    needed: int
    present: int


class ScreeningProblems(NamedTuple):
    """Why nobody could pass: roles with too few reference units, and a pass mark that is too high."""

    shortfalls: list[Shortfall]
    is_pass_mark_too_high: bool


def screening_problems(study: Study) -> ScreeningProblems:
    """Return what keeps annotators from passing the screening.

    A test or training needs as many units as one attempt shows; later attempts may reuse units.
    Gold checks need one unit if failures are only recorded. Otherwise they need as many units as an
    annotator must fail before action is taken, because no annotator sees the same check twice.
    """
    screening = screening_of(study)
    if screening is None:
        return ScreeningProblems([], is_pass_mark_too_high=False)
    needed = reference_units_required(screening)
    present = {role: len(reference_units(study, role)) for role, n in needed.items() if n}
    short = [Shortfall(role, needed[role], n) for role, n in present.items() if n < needed[role]]
    shown = screening.qualification_units
    return ScreeningProblems(short, is_pass_mark_too_high=0 < shown < screening.pass_mark)


def reference_units_needed(study: Study) -> dict[Unit.Role, int]:
    """Return how many reference units of each role to make: no annotator runs out of gold checks."""
    screening = screening_of(study)
    if screening is None:
        return {}
    required = reference_units_required(screening)
    gold = Unit.Role.GOLD
    return required | {gold: max(required[gold], ceil(gold_checks_met(study, screening)))}


@dataclass(frozen=True)
class RoleCount:
    """How many reference units of a role there are, and how many the screening needs."""

    role: Unit.Role
    title: str
    present: int
    needed: int

    @property
    def is_short(self) -> bool:
        return self.present < self.needed

    @property
    def unmet(self) -> int:
        """How many gold checks there are beyond what one annotator can meet."""
        is_met = self.role == Unit.Role.GOLD and self.needed
        return max(0, self.present - self.needed) if is_met else 0


def role_counts(study: Study) -> list[RoleCount]:
    """Return how many reference units of each role there are, and how many to make."""
    references = study.units.exclude(role=Unit.Role.MAIN).order_by()
    rows = references.values_list("role").annotate(n=Count("pk"))
    present, needed = dict(rows), reference_units_needed(study)
    return [
        RoleCount(role, name, present.get(role, 0), needed.get(role, 0))
        for role, name in ROLES.items()
    ]


def reference_units_required(screening: Screening) -> dict[Unit.Role, int]:
    """Return the least numbers, with which annotators can pass, or fail and be acted on."""
    return {
        Unit.Role.TRAINING: screening.training_units,
        Unit.Role.QUALIFICATION: screening.qualification_units,
        Unit.Role.GOLD: _gold_checks_required(screening),
    }


def _gold_checks_required(screening: Screening) -> int:
    if not screening.check_rate:
        return 0
    has_action = screening.check_action != Screening.CheckAction.RECORD
    return screening.checks_failed if has_action else 1


def check_screening_can_be_passed(study: Study) -> None:
    """Raise `DomainError` if nobody can pass so that nobody is asked for consent in vain."""
    stages = {Unit.Role.TRAINING, Unit.Role.QUALIFICATION}
    problems = screening_problems(study)
    is_short = any(shortfall.role in stages for shortfall in problems.shortfalls)
    if is_short or problems.is_pass_mark_too_high:
        raise DomainError("screening_incomplete", SCREENING_INCOMPLETE)


def gold_checks_met(study: Study, screening: Screening) -> float:
    """Return the average number of gold checks for an annotator who completes all HITs they may.

    If there are fewer reference units, an annotator's last HITs contain no checks.
    """
    return float(screening.check_rate * tasks_each(study)) if screening.check_rate else 0


def tasks_each(study: Study) -> int:
    """Return how many HITs one annotator may complete; 0 until HITs can be planned."""
    try:
        return study.hits_each(hits_to_collect(study))
    except (DomainError, InvalidInput):
        return 0


def screening_of(study: Study) -> Screening | None:
    return Screening.objects.filter(study=study).first()


def is_qualified(participation: Participation, screening: Screening, now: datetime) -> bool:
    """Whether the rater passed a test, in this study or the one it accepts, that is still valid."""
    studies = [participation.study_id]
    if screening.accepts_from_id is not None:
        studies.append(screening.accepts_from_id)
    valid = Q(valid_until__isnull=True) | Q(valid_until__gt=now)
    return ScreeningAttempt.objects.filter(
        valid,
        rater=participation.rater_id,
        study__in=studies,
        stage=ScreeningAttempt.Stage.QUALIFICATION,
        is_passed=True,
    ).exists()


def has_passed_test(assignment: Assignment) -> bool:
    """Whether the participation began with the test of its study, and passed it."""
    attempts = ScreeningAttempt.objects.filter(participation=assignment.participation_id)
    stage = ScreeningAttempt.Stage.QUALIFICATION
    return attempts.filter(stage=stage, is_passed=True).exists()


def clear_participation(*, participation: Participation, now: datetime | None = None) -> Step:
    """Allow a participation to take places once every step is complete. Returns the next step."""
    now = now or database_now()
    step = next_step(participation, now)
    if step == Step.NONE and participation.cleared_at is None:
        participation.cleared_at = now
        participation.save(update_fields=["cleared_at"])
    return step


@transaction.atomic
def answer_comprehension(
    *, participation: Participation, answers: Mapping[int, int], now: datetime | None = None
) -> ScreeningAttempt:
    """Grade one attempt at the comprehension questions. Failing the last one screens out.

    ``answers`` maps a question's id to the number of the chosen option, counted from 1. Raises
    `DomainError` if an answer is missing or no attempt is left.
    """
    now = now or database_now()
    participation = Participation.objects.select_for_update().get(pk=participation.pk)
    questions = list(participation.study.comprehension.all())
    if any(question.pk not in answers for question in questions):
        raise DomainError("unanswered", UNANSWERED, status=400)
    if tries_left(participation, ScreeningAttempt.Stage.COMPREHENSION) == 0:
        raise DomainError("no_try_left", NO_TRY_LEFT)
    right = sum(answers[question.pk] == question.answer for question in questions)
    stored = {str(question.pk): answers[question.pk] for question in questions}
    score = Score(right, of=len(questions), needed=len(questions))
    return _record_attempt(participation, ScreeningAttempt.Stage.COMPREHENSION, score, now, stored)


@transaction.atomic
def begin_stage(*, participation: Participation, now: datetime | None = None) -> Assignment | None:
    """Return the assignment of the current training or test, and create it for a new attempt.

    Returns None if the last attempt failed and the annotator has not asked for another attempt.
    Raises `DomainError` if too many people have already worked from this internet address.
    """
    now = now or database_now()
    participation = Participation.objects.select_for_update().get(pk=participation.pk)
    step = next_step(participation, now)
    if step not in STAGES or participation.status != Participation.Status.ACTIVE:
        return None
    active = participation.assignments.filter(status=Assignment.Status.ACTIVE, run__gt="")
    assignment = active.select_related("hit__study", "participation").first()
    if assignment is not None:
        return assignment
    if participation.screening_attempts.filter(stage=step).exists() and not participation.retries:
        return None
    if not has_room(
        participation.study, address=participation.address, rater_id=participation.rater_id
    ):
        raise DomainError("too_many_from_address", TOO_MANY_PEOPLE)
    return _new_try(participation, step)


def request_another_try(*, participation: Participation) -> None:
    """Let the annotator repeat a failed stage if an attempt is left."""
    step = next_step(participation)
    if step not in STAGES or tries_left(participation, ScreeningAttempt.Stage(step.value)) == 0:
        raise DomainError("no_try_left", NO_TRY_LEFT)
    Participation.objects.filter(pk=participation.pk).update(retries=True)


STAGES = {Step.TRAINING, Step.QUALIFICATION}
MOST_DOTS = 6


def tries_left(participation: Participation, stage: ScreeningAttempt.Stage) -> int | None:
    """Return how many attempts an annotator has left, or None if there is no limit."""
    screening = screening_of(participation.study) or Screening()
    limit = {
        ScreeningAttempt.Stage.COMPREHENSION: screening.comprehension_tries,
        ScreeningAttempt.Stage.TRAINING: None,
        ScreeningAttempt.Stage.QUALIFICATION: screening.qualification_tries,
    }[stage]
    if limit is None:
        return None
    used = ScreeningAttempt.objects.filter(
        rater=participation.rater_id, study=participation.study_id, stage=stage
    )
    return max(0, limit - used.count())


def grade_stage(*, assignment: Assignment, now: datetime) -> ScreeningAttempt:
    """Grade a finished training or test by unit, in the transaction of the last answer."""
    participation = assignment.participation
    assert participation is not None
    verdicts = by_unit(judged(assignment)).values()
    screening = screening_of(assignment.hit.study) or Screening()
    stage = ScreeningAttempt.Stage(assignment.stage)
    needed = screening.pass_mark if stage == ScreeningAttempt.Stage.QUALIFICATION else 0
    score = Score(sum(verdicts), of=len(verdicts), needed=needed)
    return _record_attempt(participation, stage, score, now, {})


def by_unit(answers: Iterable[tuple[Rating, bool]]) -> dict[int, bool]:
    """Return for each unit whether all answers to its known criteria are right."""
    verdicts: dict[int, bool] = {}
    for row, right in answers:
        verdicts[row.unit_id] = verdicts.get(row.unit_id, True) and right
    return verdicts


def judged(assignment: Assignment) -> list[tuple[Rating, bool]]:
    """Return the current answers that have a known label, and whether each is right."""
    rows = assignment.ratings.filter(superseded=False)
    rows = rows.select_related("unit", "criterion").order_by("pk")
    return [(row, is_right(row)) for row in rows if row.criterion.name in row.unit.known_labels]


def training_feedback(sheet: Worksheet, position: int) -> list[tuple[Rating, bool]]:
    """Return the answers to a training unit, and whether each is right, once all are given."""
    is_training = sheet.assignment.stage == ScreeningAttempt.Stage.TRAINING
    if not is_training or position not in sheet.answered:
        return []
    unit = sheet.hit_units[position].unit_id
    return [(row, right) for row, right in judged(sheet.assignment) if row.unit_id == unit]


def is_right(rating: Rating) -> bool:
    """Whether an answer matches the known label. For a preference, only the side has to match."""
    known = str(rating.unit.known_labels[rating.criterion.name])
    if rating.label is None or rating.criterion.parsed_scale.kind != "preference":
        return rating.label == known
    return _side(rating.label) == _side(known)


def _side(label: str) -> str | int:
    try:
        value = int(label)
    except ValueError:
        return label
    return (value > 0) - (value < 0)


@dataclass(frozen=True)
class Score:
    """The number of correctly answered units or questions, the total number, and the pass mark."""

    right: int
    of: int
    needed: int


@dataclass(frozen=True)
class CheckRecord:
    """One annotator's results on gold checks so far."""

    right: int
    failed: int

    @property
    def of(self) -> int:
        return self.right + self.failed

    @property
    def dots(self) -> tuple[str, str]:
        """A filled dot for each check that was passed and an empty one for each other, if they are few."""
        return ("●" * self.right, "○" * self.failed) if self.of <= MOST_DOTS else ("", "")


def check_record(participation: Participation) -> CheckRecord:
    """Return a participation's results on gold checks, by unit.

    A check counts once all its known criteria are answered; it is passed if all answers are right.
    """
    records = check_records(participation.study_id, raters=[participation.rater_id])
    return records.get(participation.rater_id, CheckRecord(0, 0))


def check_records(
    study_id: str, *, raters: Collection[int] | None = None
) -> dict[int, CheckRecord]:
    """Return gold-check results by rater, for the whole study or for some raters.

    An answer without a label costs nothing: a check with one counts only if another answer is wrong.
    """
    rows = Rating.objects.filter(
        assignment__hit__study=study_id, unit__role="gold", superseded=False
    ).select_related("unit", "criterion")
    answers: dict[int, list[Rating]] = defaultdict(list)
    for row in rows if raters is None else rows.filter(rater__in=raters):
        if row.criterion.name in row.unit.known_labels:
            answers[row.rater_id].append(row)
    if not answers:
        return {}
    names = {criterion.name for criterion in Criterion.objects.filter(study=study_id)}
    return {rater_id: _record(rows, names) for rater_id, rows in answers.items()}


def _record(answers: list[Rating], criteria: set[str]) -> CheckRecord:
    answered: dict[int, set[str]] = defaultdict(set)
    for row in answers:
        answered[row.unit_id].add(row.criterion.name)
    complete = [
        row for row in answers if answered[row.unit_id] >= criteria & row.unit.known_labels.keys()
    ]
    undecided = {row.unit_id for row in complete if row.nonresponse}
    labelled = by_unit((row, is_right(row)) for row in complete if not row.nonresponse)
    verdicts = [right for unit, right in labelled.items() if unit not in undecided or not right]
    return CheckRecord(right=sum(verdicts), failed=len(verdicts) - sum(verdicts))


def unanswered_checks() -> Coalesce:
    """Return, for a query of participations, how many gold checks of counted tasks have no answer."""
    answers = Rating.objects.filter(assignment=OuterRef("pk"), unit=OuterRef("check_unit"))
    done = Assignment.objects.filter(completed_at__isnull=False, check_unit__isnull=False)
    left = done.exclude(status=Assignment.Status.ACTIVE).exclude(has_any(answers))
    return count_of(left.filter(participation=OuterRef("pk")))


def act_on_checks(*, participation: Participation, now: datetime | None = None) -> None:
    """Take the study's action if the annotator failed too many gold checks.

    Calling this function again changes nothing.
    """
    now = now or database_now()
    screening = screening_of(participation.study)
    if screening is None or screening.check_action == Screening.CheckAction.RECORD:
        return
    if check_record(participation).failed < screening.checks_failed:
        return
    action = screening.check_action
    if action == Screening.CheckAction.WARN:
        unwarned = Participation.objects.filter(pk=participation.pk, warned_at__isnull=True)
        unwarned.update(warned_at=now)
    elif action == Screening.CheckAction.STOP:
        stop_work(participation=participation, status=Participation.Status.STOPPED, now=now)
    else:
        exclude_work(participation=participation, status=Participation.Status.EXCLUDED, now=now)


def _new_try(participation: Participation, step: Step) -> Assignment:
    check_screening_can_be_passed(participation.study)
    hit = HIT.objects.get(study=participation.study_id, kind=step.value, number=1)
    earlier_tries = Assignment.objects.filter(
        hit=hit, rater=participation.rater_id, participation__isnull=False
    ).count()
    assignment = Assignment.objects.create(
        hit=hit,
        rater_id=participation.rater_id,
        participation=participation,
        run=f"{step.value}:{earlier_tries + 1}",
        position=earlier_tries + 1,
    )
    Participation.objects.filter(pk=participation.pk).update(retries=False)
    return assignment


def _record_attempt(
    participation: Participation,
    stage: ScreeningAttempt.Stage,
    score: Score,
    now: datetime,
    answers: dict[str, int],
) -> ScreeningAttempt:
    screening = screening_of(participation.study)
    days = screening.valid_days if screening else None
    attempt = ScreeningAttempt.objects.create(
        participation=participation,
        rater_id=participation.rater_id,
        study_id=participation.study_id,
        stage=stage,
        number=participation.screening_attempts.filter(stage=stage).count() + 1,
        correct=score.right,
        of=score.of,
        is_passed=score.right >= score.needed,
        answers=answers,
        valid_until=now + timedelta(days=days) if days else None,
        created_at=now,
    )
    if attempt.is_passed:
        clear_participation(participation=participation, now=now)
    elif tries_left(participation, stage) == 0:
        active = Participation.objects.filter(
            pk=participation.pk, status=Participation.Status.ACTIVE
        )
        active.update(status=Participation.Status.SCREENED_OUT, finished_at=now)
    return attempt

"""The steps before the first HIT, and the checks mixed in with it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from django.db import transaction
from django.db.models import Q

from annotation.hot_path_sql import insert
from annotation.models import HIT, Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import reference_units
from annotation.services.addresses import TOO_MANY_PEOPLE, has_room
from annotation.services.exclusion import exclude_work, stop_work
from studies.clock import database_now
from studies.models import Criterion, Screening, Study, Unit
from tiebreak.errors import DomainError


class Step(StrEnum):
    """What an annotator has to take next before they may have a place."""

    CONFIRMATION = "confirmation"
    GUIDELINES = "guidelines"
    COMPREHENSION = "comprehension"
    TRAINING = "training"
    QUALIFICATION = "qualification"
    NONE = "none"


def next_step(participation: Participation, now: datetime | None = None) -> Step:
    """The first step that was not taken. Reads only."""
    now = now or database_now()
    if participation.confirmed_at is None:
        return Step.CONFIRMATION
    if participation.guidelines_read_at is None:
        return Step.GUIDELINES
    return next(_open_stages(participation, now), Step.NONE)


def _open_stages(participation: Participation, now: datetime) -> Iterator[Step]:
    study, screening = participation.study, screening_of(participation.study)
    screening_attempts = participation.screening_attempts.filter(is_passed=True)
    passed = set(screening_attempts.values_list("stage", flat=True))
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
    """Reference units of one role: how many the screening needs, and how many can be used."""

    role: Unit.Role
    needed: int
    present: int


def reference_unit_shortfalls(study: Study) -> list[Shortfall]:
    """The roles with fewer reference units than the screening asks for; none: all is there.

    A test or a training needs as many units as one try shows. Tries may share units: later ones
    show others as far as there are any. Gold checks need one unit, or as many as have to be
    failed before something follows, because nobody meets a check twice.
    """
    screening = screening_of(study)
    if screening is None:
        return []
    needed = {
        Unit.Role.TRAINING: screening.training_units,
        Unit.Role.QUALIFICATION: screening.qualification_units,
        Unit.Role.GOLD: _gold_checks_needed(screening),
    }
    present = {role: len(reference_units(study, role)) for role, n in needed.items() if n}
    return [Shortfall(role, needed[role], n) for role, n in present.items() if n < needed[role]]


def _gold_checks_needed(screening: Screening) -> int:
    if not screening.check_rate:
        return 0
    has_action = screening.check_action != Screening.CheckAction.RECORD
    return screening.checks_failed if has_action else 1


def is_pass_mark_reachable(study: Study) -> bool:
    """Whether one try at the test shows as many units as have to be right."""
    screening = screening_of(study)
    if screening is None or not screening.qualification_units:
        return True
    return screening.pass_mark <= screening.qualification_units


def check_screening_can_be_passed(study: Study) -> None:
    """Raise `DomainError` where nobody could pass: then nobody is asked for their consent."""
    stages = {Unit.Role.TRAINING, Unit.Role.QUALIFICATION}
    is_short = any(shortfall.role in stages for shortfall in reference_unit_shortfalls(study))
    if is_short or not is_pass_mark_reachable(study):
        raise DomainError("screening_incomplete", INCOMPLETE)


INCOMPLETE = (
    "The researchers still have to complete the first part of this study. Please come back later"
    " by the same link."
)


def gold_checks_expected(study: Study) -> int:
    """How many gold checks an annotator meets who does all HITs they may, on average.

    With fewer units than that, whoever works long meets no more checks towards the end.
    """
    screening = screening_of(study)
    hits = study.hits.main().count()
    most = min(study.hits_per_annotator or hits, hits)
    return ceil(screening.check_rate * most) if screening else 0


def screening_of(study: Study) -> Screening | None:
    return Screening.objects.filter(study=study).first()


def is_qualified(participation: Participation, screening: Screening, now: datetime) -> bool:
    """Whether a passed test of this rater is still valid, here or where this study accepts it."""
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


def clear_participation(*, participation: Participation, now: datetime | None = None) -> Step:
    """Let a participation take places once every step was taken. Returns the next step."""
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
    """Judge one try at the questions about the guidelines; the last one in vain screens out.

    ``answers`` maps a question's id to the number of the choice, from 1. Raises `DomainError`
    if one is missing or no try is left.
    """
    now = now or database_now()
    participation = Participation.objects.select_for_update().get(pk=participation.pk)
    questions = list(participation.study.comprehension.all())
    if any(question.pk not in answers for question in questions):
        raise DomainError("unanswered", UNANSWERED, status=400)
    if tries_left(participation, ScreeningAttempt.Stage.COMPREHENSION) == 0:
        raise DomainError("no_try_left", "There is no try left at these questions.")
    right = sum(answers[question.pk] == question.answer for question in questions)
    given = {str(question.pk): answers[question.pk] for question in questions}
    score = Score(right, of=len(questions), needed=len(questions))
    return _judge(participation, ScreeningAttempt.Stage.COMPREHENSION, score, now, given)


UNANSWERED = "Please answer every question."


@transaction.atomic
def begin_stage(*, participation: Participation, now: datetime | None = None) -> Assignment | None:
    """The assignment of the training or test at hand, made when a new try begins.

    None where the last try was judged, failed, and another one has to be asked for. Raises
    `DomainError` where as many people as may have worked from this address.
    """
    now = now or database_now()
    participation = Participation.objects.select_for_update().get(pk=participation.pk)
    step = next_step(participation, now)
    if step not in STAGES or participation.status != Participation.Status.ACTIVE:
        return None
    active = participation.assignments.filter(status=Assignment.Status.ACTIVE, run__gt="")
    found = active.select_related("hit__study", "participation").first()
    if found is not None:
        return found
    if participation.screening_attempts.filter(stage=step).exists() and not participation.retries:
        return None
    own = participation
    if not has_room(own.study, address=own.address, rater_id=own.rater_id):
        raise DomainError("too_many_from_address", TOO_MANY_PEOPLE)
    return _new_try(participation, step)


def ask_for_another_try(*, participation: Participation) -> None:
    """Begin the stage that was failed anew, where a try is left."""
    step = next_step(participation)
    if step not in STAGES or tries_left(participation, ScreeningAttempt.Stage(step.value)) == 0:
        raise DomainError("no_try_left", "There is no try left.")
    Participation.objects.filter(pk=participation.pk).update(retries=True)


STAGES = {Step.TRAINING, Step.QUALIFICATION}


def tries_left(participation: Participation, stage: ScreeningAttempt.Stage) -> int | None:
    """How many tries an annotator has left; None where there is no limit."""
    screening = screening_of(participation.study) or Screening()
    most = {
        ScreeningAttempt.Stage.COMPREHENSION: screening.comprehension_tries,
        ScreeningAttempt.Stage.TRAINING: None,
        ScreeningAttempt.Stage.QUALIFICATION: screening.qualification_tries,
    }[stage]
    if most is None:
        return None
    used = ScreeningAttempt.objects.filter(
        rater=participation.rater_id, study=participation.study_id, stage=stage
    )
    return max(0, most - used.count())


def grade_stage(*, assignment: Assignment, now: datetime) -> ScreeningAttempt:
    """Judge a finished training or test, unit by unit. In the answer's transaction."""
    participation = assignment.participation
    assert participation is not None
    verdicts = by_unit(judged(assignment)).values()
    screening = screening_of(assignment.hit.study) or Screening()
    stage = ScreeningAttempt.Stage(assignment.stage)
    needed = screening.pass_mark if stage == ScreeningAttempt.Stage.QUALIFICATION else 0
    score = Score(sum(verdicts), of=len(verdicts), needed=needed)
    return _judge(participation, stage, score, now, {})


def by_unit(answers: Iterable[tuple[Rating, bool]]) -> dict[int, bool]:
    """Whether a unit is right: all answers on its known criteria have to be."""
    verdicts: dict[int, bool] = {}
    for row, right in answers:
        verdicts[row.unit_id] = verdicts.get(row.unit_id, True) and right
    return verdicts


def judged(assignment: Assignment) -> list[tuple[Rating, bool]]:
    """The current answers on units whose label is known, and whether each is right."""
    rows = Rating.objects.filter(assignment=assignment, superseded=False)
    rows = rows.select_related("unit", "criterion").order_by("pk")
    return [(row, is_right(row)) for row in rows if row.criterion.name in row.unit.known_labels]


def is_right(rating: Rating) -> bool:
    """Of a preference the known side counts, however strongly it was said."""
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
    """Units or questions answered right, of how many, and how many are needed to pass."""

    right: int
    of: int
    needed: int


@dataclass(frozen=True)
class CheckRecord:
    """One annotator's checks so far."""

    right: int
    failed: int

    @property
    def of(self) -> int:
        return self.right + self.failed


def check_record(participation: Participation) -> CheckRecord:
    """By unit: a check is passed when every known criterion of it was answered right.

    It enters the record once all of them were answered.
    """
    own = check_records(participation.study_id, rater=participation.rater_id)
    return own.get(participation.rater_id, CheckRecord(0, 0))


def check_records(study_id: str, *, rater: int | None = None) -> dict[int, CheckRecord]:
    """The same of everybody in a study, or of one, by rater."""
    rows = Rating.objects.filter(
        assignment__hit__study=study_id, unit__role="gold", superseded=False
    ).select_related("unit", "criterion")
    names = {criterion.name for criterion in Criterion.objects.filter(study=study_id)}
    answers: dict[int, list[Rating]] = defaultdict(list)
    for row in rows if rater is None else rows.filter(rater=rater):
        if row.criterion.name in row.unit.known_labels:
            answers[row.rater_id].append(row)
    return {person: _record(own, names) for person, own in answers.items()}


def _record(answers: list[Rating], criteria: set[str]) -> CheckRecord:
    given: dict[int, set[str]] = defaultdict(set)
    for row in answers:
        given[row.unit_id].add(row.criterion.name)
    whole = [
        (row, is_right(row))
        for row in answers
        if given[row.unit_id] >= criteria & row.unit.known_labels.keys()
    ]
    verdicts = by_unit(whole).values()
    return CheckRecord(right=sum(verdicts), failed=len(verdicts) - sum(verdicts))


def act_on_checks(*, participation: Participation, now: datetime | None = None) -> None:
    """What the study wants done with who failed too many checks. The same again does no more."""
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
    before = Assignment.objects.filter(
        hit=hit, rater=participation.rater_id, participation__isnull=False
    ).count()
    assignment = Assignment(
        hit=hit,
        rater_id=participation.rater_id,
        participation=participation,
        run=f"{step.value}:{before + 1}",
        position=before + 1,
    )
    insert(assignment)
    Participation.objects.filter(pk=participation.pk).update(retries=False)
    return assignment


def _judge(
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
        out = Participation.objects.filter(pk=participation.pk, status=Participation.Status.ACTIVE)
        out.update(status=Participation.Status.SCREENED_OUT, finished_at=now)
    return attempt

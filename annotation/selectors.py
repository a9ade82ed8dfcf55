"""Read-only queries: an assignment's units, their order and sides, and annotators' progress."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.lookups import IsNull

from annotation.balancing import spaced
from annotation.gold_checks import draw_gold_check, placed_check, with_check
from annotation.hot_path_sql import Person, find_work_of, units_of_hit
from annotation.models import (
    HIT,
    Assignment,
    HITUnit,
    Participation,
    Place,
    Rater,
    Rating,
    ScreeningAttempt,
)
from annotation.models.rating import RatingQuerySet
from studies.models import Criterion, Screening, Study, StudyEvent, Unit
from tiebreak.errors import InvalidInput
from tiebreak.scales import BAD, Scale


def criteria_of(study: Study) -> tuple[Criterion, ...]:
    """Return the study's criteria in order. They are cached once the study opens."""
    if study.opened_at is None:
        return tuple(study.criteria.all())
    return _frozen_criteria(study.pk, study.opened_at)


@lru_cache(maxsize=256)
def _frozen_criteria(study_id: str, _opened_at: datetime) -> tuple[Criterion, ...]:
    return tuple(Criterion.objects.filter(study=study_id))


def is_a_first(assignment: Assignment, hit_unit: HITUnit) -> bool:
    """Whether system A is shown first, by the HIT unit's side bit and the parity of the place."""
    return int(hit_unit.side_bit) ^ assignment.parity == 0


def units_by_position(assignment: Assignment) -> dict[int, HITUnit]:
    """Return the units that this assignment has to answer, by position in the annotator's order.

    If abandoned work is offered by units, the units that earlier holders answered are left out.
    Positions stay fixed while others answer some of the units, because the order of the whole HIT
    is drawn first and then filtered. Therefore an answer that arrives after its place was lost
    still refers to the right unit.
    """
    hit_units = list(units_of_hit(assignment.hit))
    if assignment.stage:
        usable = {
            unit.pk for unit in reference_units(assignment.hit.study, Unit.Role(assignment.stage))
        }
        hit_units = [hit_unit for hit_unit in hit_units if hit_unit.unit_id in usable]
        return dict(enumerate(_units_of_try(hit_units, assignment), start=1))
    hit_units = _random_order(hit_units, assignment, _seeded_random(assignment, "order"))
    filled = _filled_by_others(assignment)
    return {
        n: hit_unit for n, hit_unit in enumerate(hit_units, start=1) if hit_unit.pk not in filled
    }


def _units_of_try(hit_units: list[HITUnit], assignment: Assignment) -> list[HITUnit]:
    """Return as many units as the stage needs. Each attempt starts where the last one ended."""
    size = Screening.objects.values_list(f"{assignment.stage}_units", flat=True)
    n = min(size.get(study=assignment.hit.study), len(hit_units))
    _seeded_random(assignment, "stage").shuffle(hit_units)
    start = (assignment.try_number - 1) * n
    return [hit_units[(start + i) % len(hit_units)] for i in range(n)]


def _random_order(
    hit_units: list[HITUnit], assignment: Assignment, rng: random.Random
) -> list[HITUnit]:
    originals = [hit_unit for hit_unit in hit_units if not hit_unit.repeat]
    check = None
    if assignment.check_unit_id is not None:
        check = placed_check(assignment, criteria_of(assignment.hit.study))
        originals += [] if check.is_at_edge else [check.hit_unit]
    of_unit = {hit_unit.unit_id: hit_unit for hit_unit in originals}
    repeats = [(of_unit[hit_unit.unit_id], hit_unit) for hit_unit in hit_units if hit_unit.repeat]
    distance = assignment.hit.study.repeat_distance
    order = spaced(originals, repeats, distance=distance, rng=rng)
    if check is None:
        return order
    return with_check(order, check, _seeded_random(assignment, "check-edge"))


def _seeded_random(assignment: Assignment, purpose: str) -> random.Random:
    seed = assignment.participation.order_seed if assignment.participation else ""
    return random.Random(f"{seed}:{assignment.hit_id}:{purpose}")


def gold_check_for(person: Person, hit_id: int) -> int | None:
    """Return the id of a gold check for this HIT and annotator, or None if none was drawn."""
    return draw_gold_check(person, hit_id, reference_units(person.study, Unit.Role.GOLD))


def mixes_in_checks(study: Study) -> bool:
    """Whether some HITs of the study contain a gold check.

    Annotators then count items and do not learn where a task ends, because a task with one more
    item than others would say that one of them is a gold check.
    """
    return _sizes(study).check_rate > 0


def has_test(study: Study) -> bool:
    return _sizes(study).test > 0


def marks_differences(study: Study) -> bool:
    """Whether annotators can have the words marked in which two texts differ.

    In a pair of a text and its changed copy, the mark is the change: it gives the right answer of a gold
    check and of an item of the test. So no item of a study with such pairs offers it.
    """
    if not mixes_in_checks(study) and not has_test(study):
        return True
    units = study.units.filter(role__in=(Unit.Role.GOLD, Unit.Role.QUALIFICATION))
    return not units.filter(texts__system__is_control=True).exists()


class _Sizes(NamedTuple):
    """The share of HITs with a gold check, and the number of items in the test."""

    check_rate: float = 0.0
    test: int = 0


def _sizes(study: Study) -> _Sizes:
    """Return what the screening asks for. Cached once the study opens."""
    if study.opened_at is None:
        return _stored_sizes(study.pk)
    return _frozen_sizes(study.pk, study.opened_at)


def _stored_sizes(study_id: str) -> _Sizes:
    rows = Screening.objects.filter(study=study_id).order_by()
    stored = rows.values_list("check_rate", "qualification_units").first()
    return _Sizes(*stored) if stored else _Sizes()


@lru_cache(maxsize=256)
def _frozen_sizes(study_id: str, _opened_at: datetime) -> _Sizes:
    return _stored_sizes(study_id)


def reference_units(study: Study, role: Unit.Role) -> list[Unit]:
    """Return the usable reference units of this role, in the order in which they were created.

    A usable unit has a known label for at least one of the study's criteria, and all its known
    labels are valid on their scales. Some units may not be usable, because a draft's criteria can
    be renamed after units were created.
    """
    scales = {criterion.name: criterion.parsed_scale for criterion in criteria_of(study)}
    units = study.units.filter(role=role)
    if role != Unit.Role.GOLD:
        units = units.filter(hit_units__hit__kind=role.value)
    candidates = units.only("study", "instance", "known_labels").order_by("pk")
    return [unit for unit in candidates if _is_usable(unit, scales)]


def _is_usable(unit: Unit, scales: Mapping[str, Scale]) -> bool:
    labels = {name: label for name, label in unit.known_labels.items() if name in scales}
    try:
        for name, label in labels.items():
            scales[name].parse_label(label)
    except InvalidInput:
        return False
    return bool(labels)


def missing_units(place: Place) -> set[int]:
    """Return the ids of the HIT units for which the place has no complete counted answer yet."""
    hit_units = set(place.hit.hit_units.values_list("pk", flat=True))
    return hit_units - _answered_units(place.hit, Rating.objects.counted().filter(place=place))


def _answered_units(hit: HIT, ratings: RatingQuerySet) -> set[int]:
    criteria = {criterion.pk for criterion in criteria_of(hit.study)}
    answered: dict[tuple[int, int], set[int]] = defaultdict(set)
    rows = ratings.filter(superseded=False).values_list("unit_id", "repeat", "criterion_id")
    for unit, repeat, criterion in rows:
        answered[unit, repeat].add(criterion)
    hit_units = hit.hit_units.values_list("pk", "unit_id", "repeat")
    return {pk for pk, unit, repeat in hit_units if answered[unit, repeat] >= criteria}


def _filled_by_others(assignment: Assignment) -> set[int]:
    if assignment.hit.study.abandoned != Study.Abandoned.UNITS:
        return set()  # with `whole_hit`, a place has answers from its holder only
    place = Place.objects.filter(assignment=assignment).first()
    if place is None:
        return set()
    others = Rating.objects.counted().filter(place=place).exclude(assignment=assignment)
    return _answered_units(assignment.hit, others)


@dataclass(frozen=True)
class UnitProgress:
    """An annotator's progress in a HIT, seen from one of its units.

    `previous` and `following` are positions; only an answered unit can follow.
    """

    index: int
    # The number of units in the HIT.
    of: int
    # Whether to say which unit of its HIT this is, and to lead from one to another.
    is_numbered: bool = True
    # The number of answered units.
    answered: int = 0
    # How many of the criteria asked about this unit have an answer.
    stored: int = 0
    asked: int = 0
    is_answered: bool = False
    # `training` or `qualification`, or empty in any other HIT.
    stage: str = ""
    previous: int | None = None
    following: int | None = None
    # The public id of the assignment.
    task: str = ""

    @property
    def next_label(self) -> str:
        """What the button says that leads on: the last one of a test ends it."""
        is_last = self.stage == ScreeningAttempt.Stage.QUALIFICATION and self.index == self.of
        return "Finish the test" if is_last else "Next"


@dataclass(frozen=True)
class Worksheet:
    """An assignment's units by position, with the annotator's current answers.

    `current` contains the current ratings by position and criterion.
    """

    assignment: Assignment
    criteria: tuple[Criterion, ...]
    hit_units: dict[int, HITUnit]
    current: dict[int, dict[int, Rating]]

    def with_ratings(self, ratings: Iterable[Rating]) -> "Worksheet":
        """Return the same units with these answers."""
        positions = {(unit.unit_id, unit.repeat): n for n, unit in self.hit_units.items()}
        current: dict[int, dict[int, Rating]] = {n: {} for n in self.hit_units}
        for rating in ratings:
            position = positions.get((rating.unit_id, rating.repeat))
            if position is not None and not rating.superseded:
                current[position][rating.criterion_id] = rating
        return replace(self, current=current)

    @cached_property
    def answered(self) -> set[int]:
        """The positions of the units with an answer to every criterion."""
        asked = {criterion.pk for criterion in self.criteria}
        return {n for n, answers in self.current.items() if answers.keys() >= asked}

    @property
    def first_open(self) -> int | None:
        return next((n for n in self.hit_units if n not in self.answered), None)

    @property
    def is_rated(self) -> bool:
        """Whether every unit of the HIT is answered; the gold check among them may still be open."""
        open_units = {unit.unit_id for n, unit in self.hit_units.items() if n not in self.answered}
        return open_units <= {self.assignment.check_unit_id}

    def progress_at(self, position: int) -> UnitProgress:
        positions = list(self.hit_units)
        index = positions.index(position)
        stage = self.assignment.stage
        is_numbered = bool(stage) or not mixes_in_checks(self.assignment.hit.study)
        following = next((n for n in positions[index + 1 :] if n in self.answered), None)
        return UnitProgress(
            index=index + 1,
            of=len(positions),
            is_numbered=is_numbered,
            answered=len(self.answered),
            stored=len(self.current[position]),
            asked=len(self.criteria),
            is_answered=position in self.answered,
            stage=stage,
            # Links between two units would show that they belong together.
            previous=positions[index - 1] if index and is_numbered else None,
            following=following if is_numbered else None,
            task=self.assignment.public_id,
        )


def worksheet(assignment: Assignment, ratings: Iterable[Rating] | None = None) -> Worksheet:
    """Return the assignment's worksheet. Pass its `ratings` if they are already loaded."""
    if ratings is None:
        ratings = Rating.objects.filter(assignment=assignment, superseded=False)
    criteria, hit_units = criteria_of(assignment.hit.study), units_by_position(assignment)
    return Worksheet(assignment, criteria, hit_units, current={}).with_ratings(ratings)


def worksheet_of(assignment_id: str, participation: Participation) -> Worksheet | None:
    """Return a worksheet without its answers by the assignment's public id, if it is theirs."""
    assignment = find_work_of(assignment_id, participation.public_id, participation.study_id)
    return None if assignment is None else worksheet(assignment, ())


def nonresponses_of(assignment: Assignment) -> tuple[str, ...]:
    """Return the answers that may be given in place of a label. Practice and tests need labels."""
    return () if assignment.stage else assignment.hit.study.allowed_nonresponses


def as_shown(label: str, *, criterion: Criterion, a_first: bool) -> str:
    """Return a stored label as the annotator saw it. A preference refers to the sides shown."""
    is_sided = criterion.parsed_scale.kind == "preference" and label != BAD
    return str(-int(label)) if is_sided and not a_first else label


def task_to_correct(participation: Participation, task: str | None) -> Assignment | None:
    """Return one of the annotator's tasks whose answers can be corrected; by default, the latest.

    Tasks before the latest stay as they are once the study is closed, and in studies with gold
    checks, which are graded when a task is complete.
    """
    if participation.status != Participation.Status.ACTIVE:
        return None
    latest = latest_assignment(participation)
    if latest is None or task in (None, latest.public_id):
        return latest
    return _completed_main(participation).filter(public_id=task).first()


def may_go_back(study: Study) -> bool:
    """Whether annotators may correct tasks before their latest."""
    return study.status != Study.Status.CLOSED and not mixes_in_checks(study)


def _completed_main(participation: Participation) -> QuerySet[Assignment]:
    """Return the completed HITs of this visit that can be corrected, the earliest first."""
    if not may_go_back(participation.study):
        return Assignment.objects.none()
    completed = participation.assignments.filter(status=Assignment.Status.COMPLETED, run="")
    return completed.select_related("hit", "study_version").order_by("completed_at", "pk")


@dataclass(frozen=True)
class TaskPosition:
    """A task among those of one annotator, or an item in studies with gold checks.

    Items have no exact `total`: it depends on how many gold checks will be drawn. `previous` is the
    public id of the task to which *Previous* leads from the first unit, or "".
    """

    number: int
    total: int
    previous: str = ""

    @property
    def percent_done(self) -> int:
        """Rounded down, so that it is full after the last answer only."""
        return 100 * (self.number - 1) // max(self.total, 1)


def position_among_tasks(
    sheet: Worksheet, position: int, progress: "AnnotatorProgress", previous: str = ""
) -> TaskPosition:
    """Return the position of a unit's task, or of the unit itself in studies with gold checks."""
    study, number = sheet.assignment.hit.study, progress.completed + 1
    if sheet.assignment.stage or not mixes_in_checks(study):
        return TaskPosition(number, progress.total, previous)
    number = progress.items + position
    return TaskPosition(number, max(number, expected_items(study, progress.total)))


def expected_items(study: Study, tasks: int) -> int:
    """Return about how many units these HITs have, gold checks included."""
    per_task = study.comparisons_per_hit + study.repeats_per_hit + _sizes(study).check_rate
    return ceil(tasks * per_task)


def task_position_of(sheet: Worksheet, position: int) -> TaskPosition:
    assignment, participation = sheet.assignment, sheet.assignment.participation
    assert participation is not None
    study, earlier = participation.study, Q(status=Assignment.Status.COMPLETED)
    if assignment.completed_at is not None:
        earlier &= Q(completed_at__lt=assignment.completed_at)
    rated = Assignment.objects.filter(rater=participation.rater_id, hit__in=study.hits.main())
    before = rated.filter(earlier).aggregate(n=Count("pk"), items=Sum("opened", default=0))
    progress = AnnotatorProgress(before["n"], progress_of(participation).total, before["items"])
    return position_among_tasks(sheet, position, progress, _task_before(assignment, participation))


def _task_before(assignment: Assignment, participation: Participation) -> str:
    if assignment.stage:
        return ""
    tasks = list(_completed_main(participation).values_list("public_id", flat=True))
    at = tasks.index(assignment.public_id) if assignment.public_id in tasks else len(tasks)
    return str(tasks[at - 1]) if at else ""


def latest_assignment(participation: Participation) -> Assignment | None:
    """Return the assignment in progress, or else the last completed one, which can be corrected."""
    states = (Assignment.Status.ACTIVE, Assignment.Status.COMPLETED)
    latest_first = F("completed_at").desc(nulls_first=True)
    return (
        participation.assignments.filter(status__in=states)
        .select_related("hit", "study_version")
        .order_by(latest_first, "-pk")
        .first()
    )


def lost_previous_place(assignment: Assignment) -> bool:
    """Whether the annotator's previous HIT was given to someone else before it was complete."""
    previous = Assignment.objects.filter(
        participation=assignment.participation_id, position=assignment.position - 1, run=""
    )
    return previous.filter(status=Assignment.Status.ABANDONED).exists()


@dataclass(frozen=True)
class AnnotatorProgress:
    """One annotator's progress in a study: HITs completed, and the most that they may complete.

    `items` counts the units of the completed HITs, in studies with gold checks.
    """

    completed: int
    total: int
    items: int = 0


# An answered task is paid, even if its answers came late, are surplus or were excluded. People's training
# and tests are runs, so no HIT is looked up.
PAID_TASK = Q(completed_at__isnull=False, run="")


def has_any(rows: QuerySet[Any]) -> IsNull:
    """Whether there is a row that refers to the outer row, found through its index for each of those.

    For `Exists` inside a larger condition PostgreSQL would first read the table of all studies. Nothing
    is read of the row itself, which an index may not have.
    """
    return IsNull(Subquery(rows.order_by().annotate(any=Value(1)).values("any")[:1]), False)


def erased_people(study: Study) -> int:
    """Return how many people of a study were erased at their request."""
    took_part = Exists(study.participations.filter(rater=OuterRef("pk")))
    rated = Exists(Rating.objects.filter(rater=OuterRef("pk"), unit__study=study))
    at_request = Q(erased_at__isnull=False, kept_days__isnull=True)
    return Rater.objects.filter(took_part | rated, at_request).count()


def exclusions(study: Study, **entry: object) -> dict[str, StudyEvent]:
    """Return by pseudonym the log's last exclusion of each annotator: when, by whom and why."""
    events = study.events.filter(verb=StudyEvent.Verb.EXCLUDE, **entry).order_by("pk")
    return {event.details["annotator"]: event for event in events.select_related("by")}


def hits_of_visit(participation: Participation) -> int:
    """Return the number of HITs completed in this submission, which determines its payment."""
    main = participation.assignments.filter(hit__kind=HIT.Kind.MAIN)
    completed = main.filter(completed_at__isnull=False)
    return completed.exclude(status=Assignment.Status.EXCLUDED).count()


def checked_items_of_visit(participation: Participation) -> int:
    """Return how many items somebody answered who counted items; 0 where pages count tasks."""
    if not mixes_in_checks(participation.study):
        return 0
    rows = Rating.objects.filter(
        assignment__participation=participation, assignment__run="", superseded=False
    )
    return rows.order_by().values("assignment", "unit", "repeat").distinct().count()


def progress_of(participation: Participation) -> AnnotatorProgress:
    study = participation.study
    main = Assignment.objects.filter(rater=participation.rater_id, hit__in=study.hits.main())
    hits = study.hits.main().last_number()
    return AnnotatorProgress(
        completed=main.filter(status=Assignment.Status.COMPLETED).count(),
        total=min(participation.most_tasks or hits, hits),
    )

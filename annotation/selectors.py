"""What is so: the annotator's seats, their order and sides, a study's progress."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import F

from annotation.balancing import spaced
from annotation.gold_checks import check_seat, drawn_check, with_check
from annotation.hot_path_sql import Person, seats_of_hit
from annotation.models import HIT, Assignment, HITUnit, Participation, Place, Rating
from annotation.models.rating import RatingQuerySet
from studies.models import Criterion, Screening, Study, Unit
from tiebreak.errors import InvalidInput
from tiebreak.scales import BAD, Scale


def criteria_of(study: Study) -> tuple[Criterion, ...]:
    """The study's criteria in order. Once it was opened they stand, and are read once."""
    if study.opened_at is None:
        return tuple(study.criteria.all())
    return _standing_criteria(study.pk, study.opened_at)


@lru_cache(maxsize=256)
def _standing_criteria(study_id: str, _opened_at: datetime) -> tuple[Criterion, ...]:
    return tuple(Criterion.objects.filter(study=study_id))


def is_a_first(assignment: Assignment, hit_unit: HITUnit) -> bool:
    """Whether system A is shown first: the seat's bit xor the parity of the place."""
    return int(hit_unit.side_bit) ^ assignment.parity == 0


def hit_units_of(assignment: Assignment) -> list[HITUnit]:
    """The seats this assignment is to fill, in this annotator's own random order.

    Where abandoned work is offered by units, those that an earlier holder of the place answered
    are left out.
    """
    return list(numbered_seats(assignment).values())


def numbered_seats(assignment: Assignment) -> dict[int, HITUnit]:
    """The same by number: a seat keeps its number whoever answers the others meanwhile.

    So the HIT's whole order is drawn first and then thinned: an answer that arrives after its
    place was lost still names the seat it was given for.
    """
    hit_units = list(seats_of_hit(assignment.hit))
    if assignment.stage:
        usable = {
            unit.pk for unit in reference_units(assignment.hit.study, Unit.Role(assignment.stage))
        }
        hit_units = [hit_unit for hit_unit in hit_units if hit_unit.unit_id in usable]
        return dict(enumerate(_drawn_for_try(hit_units, assignment), start=1))
    hit_units = _drawn_order(hit_units, assignment, _own_random(assignment, "order"))
    filled = _filled_by_others(assignment)
    return {
        n: hit_unit for n, hit_unit in enumerate(hit_units, start=1) if hit_unit.pk not in filled
    }


def _drawn_for_try(hit_units: list[HITUnit], assignment: Assignment) -> list[HITUnit]:
    """So many of the stage's units as it asks for; each try goes on where the last one ended."""
    size = Screening.objects.values_list(f"{assignment.stage}_units", flat=True)
    n = min(size.get(study=assignment.hit.study), len(hit_units))
    _own_random(assignment, "stage").shuffle(hit_units)
    start = (assignment.try_number - 1) * n
    return [hit_units[(start + i) % len(hit_units)] for i in range(n)]


def _drawn_order(
    hit_units: list[HITUnit], assignment: Assignment, rng: random.Random
) -> list[HITUnit]:
    originals = [hit_unit for hit_unit in hit_units if not hit_unit.repeat]
    check = check_seat(assignment, _own_random(assignment, "check-side"))
    if check is not None and not check.is_at_edge:
        originals.append(check.hit_unit)
    of_unit = {hit_unit.unit_id: hit_unit for hit_unit in originals}
    repeats = [(of_unit[hit_unit.unit_id], hit_unit) for hit_unit in hit_units if hit_unit.repeat]
    distance = assignment.hit.study.repeat_distance
    order = spaced(originals, repeats, distance=distance, rng=rng)
    if check is None:
        return order
    return with_check(order, check, _own_random(assignment, "check-edge"))


def _own_random(assignment: Assignment, purpose: str) -> random.Random:
    seed = assignment.participation.order_seed if assignment.participation else ""
    return random.Random(f"{seed}:{assignment.hit_id}:{purpose}")


def unmet_check(person: Person, hit_id: int) -> int | None:
    """A gold check for this HIT and annotator, where the draw says that it carries one."""
    return drawn_check(person, hit_id, reference_units(person.study, Unit.Role.GOLD))


def mixes_in_checks(study: Study) -> bool:
    """Whether some HITs of the study carry a check. Once it was opened that stands."""
    if study.opened_at is None:
        return _has_checks(study.pk)
    return _standing_checks(study.pk, study.opened_at)


def _has_checks(study_id: str) -> bool:
    return Screening.objects.filter(study=study_id, check_rate__gt=0).exists()


@lru_cache(maxsize=256)
def _standing_checks(study_id: str, _opened_at: datetime) -> bool:
    return _has_checks(study_id)


def reference_units(study: Study, role: Unit.Role) -> list[Unit]:
    """The units of this role that an answer can be judged on, in the order they were made.

    One has a known label for at least one of the study's criteria, each of its criterion's
    scale: criteria of a draft can be renamed after the units were made.
    """
    scales = {criterion.name: criterion.parsed_scale for criterion in criteria_of(study)}
    units = study.units.filter(role=role)
    if role != Unit.Role.GOLD:
        units = units.filter(hit_units__hit__kind=role.value)
    known = units.only("study", "instance", "known_labels").order_by("pk")
    return [unit for unit in known if _can_be_judged(unit, scales)]


def _can_be_judged(unit: Unit, scales: Mapping[str, Scale]) -> bool:
    known = {name: label for name, label in unit.known_labels.items() if name in scales}
    try:
        for name, label in known.items():
            scales[name].parse_label(label)
    except InvalidInput:
        return False
    return bool(known)


def missing_units(place: Place) -> set[int]:
    """The seats of a place's HIT that nobody's counted answers fill for it yet."""
    hit_units = set(place.hit.hit_units.values_list("pk", flat=True))
    return hit_units - _full_seats(place.hit, Rating.objects.counted().filter(place=place))


def _full_seats(hit: HIT, ratings: RatingQuerySet) -> set[int]:
    criteria = {criterion.pk for criterion in criteria_of(hit.study)}
    answered: dict[tuple[int, int], set[int]] = defaultdict(set)
    rows = ratings.filter(superseded=False).values_list("unit_id", "repeat", "criterion_id")
    for unit, repeat, criterion in rows:
        answered[unit, repeat].add(criterion)
    hit_units = hit.hit_units.values_list("pk", "unit_id", "repeat")
    return {pk for pk, unit, repeat in hit_units if answered[unit, repeat] >= criteria}


def _filled_by_others(assignment: Assignment) -> set[int]:
    if assignment.hit.study.abandoned != Study.Abandoned.UNITS:
        return set()  # a place that is offered whole keeps nobody else's answers
    place = Place.objects.filter(assignment=assignment).first()
    if place is None:
        return set()
    others = Rating.objects.counted().filter(place=place).exclude(assignment=assignment)
    return _full_seats(assignment.hit, others)


@dataclass(frozen=True)
class Worksheet:
    """An assignment as its page shows it: the annotator's seats by number, and their answers."""

    assignment: Assignment
    criteria: tuple[Criterion, ...]
    hit_units: dict[int, HITUnit]
    labels: dict[tuple[int, int], dict[int, str]]

    def labels_of(self, number: int) -> dict[int, str]:
        """The current labels of a seat by criterion, in system order as stored; "" is unparsed."""
        hit_unit = self.hit_units[number]
        return self.labels.get((hit_unit.unit_id, hit_unit.repeat), {})

    def is_answered(self, number: int) -> bool:
        return self.labels_of(number).keys() >= {criterion.pk for criterion in self.criteria}

    @property
    def announced(self) -> tuple[int, int]:
        """The fewest and the most units that a HIT like this one has: the same with a check or
        without, so that the number tells nobody which it is."""
        assignment, n = self.assignment, len(self.hit_units)
        if assignment.stage or not mixes_in_checks(assignment.hit.study):
            return n, n
        checks = {hit_unit.unit_id for hit_unit in self.hit_units.values()} & {
            assignment.check_unit_id
        }
        return n - len(checks), n - len(checks) + 1

    @property
    def answered(self) -> int:
        return sum(map(self.is_answered, self.hit_units))

    @property
    def first_open(self) -> int | None:
        return next((number for number in self.hit_units if not self.is_answered(number)), None)


def worksheet(assignment: Assignment, ratings: Iterable[Rating] | None = None) -> Worksheet:
    """The worksheet; `ratings` are the assignment's, where the caller has them at hand."""
    labels: dict[tuple[int, int], dict[int, str]] = defaultdict(dict)
    if ratings is None:
        ratings = Rating.objects.filter(assignment=assignment, superseded=False)
    for rating in ratings:
        if not rating.superseded:
            labels[rating.unit_id, rating.repeat][rating.criterion_id] = rating.label or ""
    return Worksheet(
        assignment=assignment,
        criteria=criteria_of(assignment.hit.study),
        hit_units=numbered_seats(assignment),
        labels=dict(labels),
    )


def as_shown(label: str, *, criterion: Criterion, a_first: bool) -> str:
    """A stored label as its annotator saw it: a preference turns with the sides."""
    is_sided = criterion.parsed_scale.kind == "preference" and label != BAD
    return str(-int(label)) if is_sided and not a_first else label


def latest_assignment(participation: Participation) -> Assignment | None:
    """The HIT in work, or else the one just completed, which may still be corrected."""
    states = (Assignment.Status.ACTIVE, Assignment.Status.COMPLETED)
    latest_first = F("completed_at").desc(nulls_first=True)
    return (
        participation.assignments.filter(status__in=states)
        .select_related("hit", "study_version")
        .order_by(latest_first, "-pk")
        .first()
    )


def lost_last(assignment: Assignment) -> bool:
    """Whether the HIT before this one went to somebody else before it was complete."""
    before = Assignment.objects.filter(
        participation=assignment.participation_id, position=assignment.position - 1, run=""
    )
    return before.filter(status=Assignment.Status.ABANDONED).exists()


@dataclass(frozen=True)
class AnnotatorProgress:
    """One annotator's progress in a study: HITs done, and how many there are for them at most."""

    done: int
    of: int


def hits_of_visit(participation: Participation) -> int:
    """HITs completed in this one submission: what it is paid for."""
    own = participation.assignments.filter(hit__kind=HIT.Kind.MAIN)
    return own.filter(status=Assignment.Status.COMPLETED).count()


def progress_of(participation: Participation) -> AnnotatorProgress:
    study, completed = participation.study, Assignment.Status.COMPLETED
    own = Assignment.objects.filter(rater=participation.rater_id, hit__in=study.hits.main())
    last = study.hits.main().order_by("-number").values_list("number", flat=True).first() or 0
    return AnnotatorProgress(
        own.filter(status=completed).count(), min(study.hits_per_annotator or last, last)
    )

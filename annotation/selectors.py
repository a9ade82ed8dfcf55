"""What is so: the annotator's seats, their order and sides, a study's progress."""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import F

from annotation.balancing import spaced
from annotation.models import (
    HIT,
    Assignment,
    HITUnit,
    Participation,
    Place,
    Rating,
    Screening,
)
from annotation.models.rating import RatingQuerySet
from annotation.statements import Person, seats_of_hit
from metrics.stats.scales import BAD
from studies.models import Criterion, Study, Unit


def criteria_of(study: Study) -> tuple[Criterion, ...]:
    """The study's criteria in order. Once it was opened they stand, and are read once."""
    if study.opened_at is None:
        return tuple(study.criteria.all())
    return _standing_criteria(study.pk, study.opened_at)


@lru_cache(maxsize=256)
def _standing_criteria(study_id: str, _opened_at: datetime) -> tuple[Criterion, ...]:
    return tuple(Criterion.objects.filter(study=study_id))


def is_a_first(assignment: Assignment, seat: HITUnit) -> bool:
    """Whether system A is shown first: the seat's bit xor the parity of the place."""
    return int(seat.side_bit) ^ assignment.parity == 0


def seats_of(assignment: Assignment) -> list[HITUnit]:
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
    seats = list(seats_of_hit(assignment.hit))
    if assignment.stage:
        return dict(enumerate(_drawn_for_try(seats, assignment), start=1))
    seats = _drawn_order(seats, assignment, _own_random(assignment, "order"))
    filled = _filled_by_others(assignment)
    return {n: seat for n, seat in enumerate(seats, start=1) if seat.pk not in filled}


def _drawn_for_try(seats: list[HITUnit], assignment: Assignment) -> list[HITUnit]:
    """So many of the stage's units as it asks for; each try goes on where the last one ended."""
    size = Screening.objects.values_list(f"{assignment.stage}_units", flat=True)
    n = min(size.get(study=assignment.hit.study), len(seats))
    _own_random(assignment, "stage").shuffle(seats)
    start = (assignment.try_number - 1) * n
    return [seats[(start + i) % len(seats)] for i in range(n)]


def _drawn_order(seats: list[HITUnit], assignment: Assignment, rng: random.Random) -> list[HITUnit]:
    originals = [seat for seat in seats if not seat.repeat]
    if assignment.check_unit_id is not None:
        originals.append(_check_seat(assignment))
    of_unit = {seat.unit_id: seat for seat in originals}
    repeats = [(of_unit[seat.unit_id], seat) for seat in seats if seat.repeat]
    distance = assignment.hit.study.repeat_distance
    return spaced(originals, repeats, distance=distance, rng=rng)


def _check_seat(assignment: Assignment) -> HITUnit:
    """A seat for this annotator alone, of a unit whose answer is known."""
    rng = _own_random(assignment, "check-side")
    bit = bool(rng.getrandbits(1))
    assert assignment.check_unit_id is not None
    return HITUnit(hit=assignment.hit, unit_id=assignment.check_unit_id, side_bit=bit)


def _own_random(assignment: Assignment, purpose: str) -> random.Random:
    seed = assignment.participation.order_seed if assignment.participation else ""
    return random.Random(f"{seed}:{assignment.hit_id}:{purpose}")


def unmet_check(person: Person, hit_id: int) -> int | None:
    """A unit with a known answer for this HIT, by the rate's draw; nobody meets one twice."""
    own = person.participation
    rng = random.Random(f"{own.order_seed}:{hit_id}:check")
    if rng.random() >= person.check_rate:
        return None
    met = Assignment.objects.filter(rater=own.rater_id, check_unit__isnull=False)
    gold = Unit.objects.filter(study=own.study_id, role=Unit.Role.GOLD)
    unmet = gold.exclude(pk__in=met.values("check_unit")).order_by("pk")
    found = list(unmet.values_list("pk", flat=True))
    return rng.choice(found) if found else None


def missing_units(place: Place) -> set[int]:
    """The seats of a place's HIT that nobody's counted answers fill for it yet."""
    seats = set(place.hit.hit_units.values_list("pk", flat=True))
    return seats - _full_seats(place.hit, Rating.objects.counted().filter(place=place))


def _full_seats(hit: HIT, ratings: RatingQuerySet) -> set[int]:
    criteria = {criterion.pk for criterion in criteria_of(hit.study)}
    answered: dict[tuple[int, int], set[int]] = defaultdict(set)
    rows = ratings.filter(superseded=False).values_list("unit_id", "repeat", "criterion_id")
    for unit, repeat, criterion in rows:
        answered[unit, repeat].add(criterion)
    seats = hit.hit_units.values_list("pk", "unit_id", "repeat")
    return {pk for pk, unit, repeat in seats if answered[unit, repeat] >= criteria}


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
    seats: dict[int, HITUnit]
    labels: dict[tuple[int, int], dict[int, str]]

    def labels_of(self, number: int) -> dict[int, str]:
        """The current labels of a seat by criterion, in system order as stored; "" is unparsed."""
        seat = self.seats[number]
        return self.labels.get((seat.unit_id, seat.repeat), {})

    def is_answered(self, number: int) -> bool:
        return self.labels_of(number).keys() >= {criterion.pk for criterion in self.criteria}

    @property
    def answered(self) -> int:
        return sum(map(self.is_answered, self.seats))

    @property
    def first_open(self) -> int | None:
        return next((number for number in self.seats if not self.is_answered(number)), None)


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
        seats=numbered_seats(assignment),
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
class Share:
    """One annotator's progress in a study: HITs done, and how many there are for them at most."""

    done: int
    of: int


def hits_of_visit(participation: Participation) -> int:
    """HITs completed in this one submission: what it is paid for."""
    own = participation.assignments.filter(hit__kind=HIT.Kind.MAIN)
    return own.filter(status=Assignment.Status.COMPLETED).count()


def share_of(participation: Participation) -> Share:
    study, completed = participation.study, Assignment.Status.COMPLETED
    own = Assignment.objects.filter(rater=participation.rater_id, hit__in=study.hits.main())
    last = study.hits.main().order_by("-number").values_list("number", flat=True).first() or 0
    return Share(own.filter(status=completed).count(), min(study.hits_per_annotator or last, last))

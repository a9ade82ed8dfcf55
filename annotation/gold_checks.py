"""Gold checks in HITs: which unit to use, and at which position it does not stand out."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from annotation.hot_path_sql import Person
from annotation.models import HIT, Assignment, HITUnit
from studies.models import Criterion, Study, Unit
from tiebreak.errors import InvalidInput


def draw_gold_check(person: Person, hit_id: int, gold: Sequence[Unit]) -> int | None:
    """Decide whether the rater's next HIT gets a gold check, and return the unit's id.

    No annotator sees the same check twice. If all units of the HIT share one instance, a check on
    that instance is preferred so that the source text stays the same. Otherwise a check on an
    instance that the annotator has not met is preferred, or else on one that the HIT does not contain.
    """
    participation = person.participation
    rng = random.Random(f"{participation.order_seed}:{hit_id}:check")
    instances = _instances_of(hit_id)
    share_one = _share_one(instances)
    fitting = [unit for unit in gold if (unit.instance_id in instances) == share_one]
    rate = person.check_rate
    if share_one:
        rate = _rate_by_instance(person, gold, has_fitting=bool(fitting))
    if not has_check(participation.order_seed, person.hits_started, rate):
        return None
    rater = participation.rater_id
    met = set() if share_one else _met(rater, person.study)
    new = [unit for unit in fitting if unit.instance_id not in met]
    unseen = _unseen(new, rater) or _unseen(fitting, rater) or _unseen(gold, rater)
    return rng.choice(unseen) if unseen else None


def has_check(seed: str, task: int, rate: float) -> bool:
    """Whether a rater's task, counted from 0, has a gold check, which it has with probability `rate`.

    Each row of as many tasks as have one check on average has at least one, at random positions, so
    that nobody meets none by chance, and nobody can foresee the next. Their number in a row is rounded
    at random, and over rows it differs from the expected one by less than 1.
    """
    if not rate:
        return False
    size = ceil(1 / rate - 1e-9)
    row, position = divmod(task, size)
    start = random.Random(f"{seed}:checks").random()
    n = floor(rate * size * (row + 1) + start) - floor(rate * size * row + start)
    return position in random.Random(f"{seed}:{row}:checks").sample(range(size), n)


def _unseen(gold: Sequence[Unit], rater: int) -> list[int]:
    with_check = Assignment.objects.filter(rater=rater, check_unit__isnull=False)
    seen = set(with_check.values_list("check_unit", flat=True))
    return [unit.pk for unit in gold if unit.pk not in seen]


def _met(rater: int, study: Study) -> set[int | None]:
    """Return the instances of the tasks that a rater was given."""
    given = HIT.objects.main().filter(study=study, assignments__rater=rater)
    units = HITUnit.objects.filter(hit__in=given, repeat=0)
    return set(units.values_list("unit__instance", flat=True))


def _rate_by_instance(person: Person, gold: Sequence[Unit], *, has_fitting: bool) -> float:
    """Return the rate for this HIT: higher if there is a check on its instance, lower otherwise.

    The average over all HITs equals the study's check rate.
    """
    hits = HIT.objects.main().filter(study=person.study)
    fitting_hits = hits.filter(instance__in={unit.instance_id for unit in gold}).count()
    share = fitting_hits / max(person.hits_total, 1)
    if has_fitting:
        return min(1.0, person.check_rate / share) if share else person.check_rate
    return max(0.0, (person.check_rate - share) / (1 - share)) if share < 1 else 0.0


@dataclass(frozen=True)
class PlacedCheck:
    """A gold check in one annotator's HIT.

    `is_at_edge` is true if all other units share one instance that differs from the check's.
    The check then comes first or last, because elsewhere it would separate the other units.
    """

    hit_unit: HITUnit
    is_at_edge: bool


def expected_side(labels: Mapping[str, str], criteria: Iterable[Criterion]) -> int:
    """Return −1 if system A is expected to be preferred, 1 for B, and 0 if neither is.

    The first criterion with an expected preference decides.
    """
    for criterion in criteria:
        try:
            scale, label = criterion.parsed_scale, labels.get(criterion.name)
            side = 0 if label is None else scale.side_of(scale.parse_label(label))
        except InvalidInput:  # the criterion of a draft was changed after the unit was made
            continue
        if side:
            return side
    return 0


def placed_check(assignment: Assignment, criteria: Iterable[Criterion]) -> PlacedCheck:
    """Place the assignment's check so that an annotator's right answers are on both sides in turn.

    The side is drawn for each first check of two; otherwise, someone who always prefers one side
    might pass or fail by chance.
    """
    unit, participation = assignment.check_unit_id, assignment.participation
    assert unit is not None
    with_check = Assignment.objects.filter(participation=participation, check_unit__isnull=False)
    earlier = with_check.filter(position__lt=assignment.position).count()
    seed = participation.order_seed if participation else ""
    is_left = random.Random(f"{seed}:{earlier // 2}:check-side").getrandbits(1) ^ earlier % 2
    instance, labels = Unit.objects.values_list("instance_id", "known_labels").get(pk=unit)
    is_b = expected_side(labels, criteria) > 0
    # System A is first if the side bit equals the parity of the place.
    hit_unit = HITUnit(
        hit=assignment.hit, unit_id=unit, side_bit=bool(assignment.parity ^ is_left ^ (not is_b))
    )
    instances = _instances_of(assignment.hit_id)
    return PlacedCheck(hit_unit, is_at_edge=_share_one(instances) and instance not in instances)


def with_check(order: list[HITUnit], check: PlacedCheck, rng: random.Random) -> list[HITUnit]:
    """Return the order, with the check moved to the start or the end if it must be at an edge.

    If other annotators may complete the place, the check is never last, because it might then never
    be shown.
    """
    by_units = check.hit_unit.hit.study.abandoned == Study.Abandoned.UNITS
    others = [hit_unit for hit_unit in order if hit_unit is not check.hit_unit]
    is_first = by_units or rng.random() < 0.5
    if check.is_at_edge:
        return [check.hit_unit, *others] if is_first else [*others, check.hit_unit]
    return [check.hit_unit, *others] if by_units and order[-1] is check.hit_unit else order


def _instances_of(hit_id: int) -> list[int | None]:
    """Return the instance of each planned unit of a HIT."""
    hit_units = HITUnit.objects.filter(hit=hit_id, repeat=0)
    return list(hit_units.values_list("unit__instance", flat=True))


def _share_one(instances: Sequence[int | None]) -> bool:
    return len(instances) > 1 and len(set(instances)) == 1

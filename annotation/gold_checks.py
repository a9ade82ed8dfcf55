"""Gold checks inside a HIT: which unit, and where it stands, so that it looks like any other."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.hot_path_sql import Person
from annotation.models import HIT, Assignment, HITUnit
from studies.models import Study, Unit


def drawn_check(person: Person, hit_id: int, gold: Sequence[Unit]) -> int | None:
    """One of the ``gold`` units for this HIT, by the rate's draw; nobody meets one twice.

    Where all units of a HIT are of one instance, so is its check, if there is one of it: then
    its source is no other. Where they are of many, it is of yet another.
    """
    own = person.participation
    rng = random.Random(f"{own.order_seed}:{hit_id}:check")
    instances = _instances_of(hit_id)
    fitting = [unit for unit in gold if _fits(unit, instances)]
    rate = person.check_rate
    if _share_one(instances):
        rate = _rate_by_instance(person, gold, has_own=bool(fitting))
    if rng.random() >= rate:
        return None
    unmet = _unmet(fitting, own.rater_id) or _unmet(gold, own.rater_id)
    return rng.choice(unmet) if unmet else None


def _unmet(gold: Sequence[Unit], rater: int) -> list[int]:
    met = Assignment.objects.filter(rater=rater, check_unit__isnull=False)
    known = set(met.values_list("check_unit", flat=True))
    return [unit.pk for unit in gold if unit.pk not in known]


def _fits(unit: Unit, instances: Sequence[int | None]) -> bool:
    return (unit.instance_id in instances) == _share_one(instances)


def _rate_by_instance(person: Person, gold: Sequence[Unit], *, has_own: bool) -> float:
    """As many checks as the rate says, as many of them as can be where a HIT's instance has one."""
    hits = HIT.objects.main().filter(study=person.study)
    with_own = hits.filter(instance__in={unit.instance_id for unit in gold}).count()
    share = with_own / max(person.hits_total, 1)
    if has_own:
        return min(1.0, person.check_rate / share) if share else person.check_rate
    return max(0.0, (person.check_rate - share) / (1 - share)) if share < 1 else 0.0


@dataclass(frozen=True)
class CheckSeat:
    """A seat for one annotator alone, of a unit whose answer is known.

    It stands at an edge of the HIT where all other units are of one instance that is not its
    own: anywhere else it would break their row.
    """

    hit_unit: HITUnit
    is_at_edge: bool


def check_seat(assignment: Assignment, rng: random.Random) -> CheckSeat | None:
    unit = assignment.check_unit_id
    if unit is None:
        return None
    hit_unit = HITUnit(hit=assignment.hit, unit_id=unit, side_bit=bool(rng.getrandbits(1)))
    instances = _instances_of(assignment.hit_id)
    own = Unit.objects.values_list("instance_id", flat=True).get(pk=unit)
    return CheckSeat(hit_unit, is_at_edge=_share_one(instances) and own not in instances)


def with_check(order: list[HITUnit], check: CheckSeat, rng: random.Random) -> list[HITUnit]:
    """The drawn order with the check at its edge, where it has to stand there.

    Where others may complete the place it is never last: nobody would come to it any more.
    """
    by_units = check.hit_unit.hit.study.abandoned == Study.Abandoned.UNITS
    others = [hit_unit for hit_unit in order if hit_unit is not check.hit_unit]
    is_first = by_units or rng.random() < 0.5
    if check.is_at_edge:
        return [check.hit_unit, *others] if is_first else [*others, check.hit_unit]
    return [check.hit_unit, *others] if by_units and order[-1] is check.hit_unit else order


def _instances_of(hit_id: int) -> list[int | None]:
    """The instance of each unit that was planned for a HIT."""
    hit_units = HITUnit.objects.filter(hit=hit_id, repeat=0)
    return list(hit_units.values_list("unit__instance", flat=True))


def _share_one(instances: Sequence[int | None]) -> bool:
    return len(instances) > 1 and len(set(instances)) == 1

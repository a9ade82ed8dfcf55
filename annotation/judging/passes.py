"""Which items a judge is asked about, how often, and in which order of the two texts."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from django.db.models import QuerySet

from annotation.judging.prompts import A_FIRST, B_FIRST
from annotation.models import HIT, Judge, Rating
from studies.models import Unit


@dataclass(frozen=True)
class Pass:
    """One question to a judge: an item, the order of its texts, and the number of the answer."""

    unit: int
    order: str
    run: str


def units_of(judge: Judge) -> QuerySet[Unit]:
    """Return the planned main items that have texts."""
    planned = Unit.objects.filter(
        hit_units__hit__study=judge.study_id,
        hit_units__hit__kind=HIT.Kind.MAIN,
        hit_units__repeat=0,
        role=Unit.Role.MAIN,
        generation_a__isnull=False,
    )
    return planned.order_by("pk")


def drawn_units(judge: Judge) -> list[int]:
    """Return the keys of the items to rate: all, or a random sample that depends on the seed."""
    keys = list(units_of(judge).values_list("pk", flat=True))
    if judge.units is None or judge.units >= len(keys):
        return keys
    return sorted(Random(f"{judge.seed}:{judge.name}").sample(keys, judge.units))


def passes_per_unit(judge: Judge) -> int:
    return judge.runs * (2 if judge.orders == Judge.Orders.BOTH else 1)


def passes(judge: Judge, units: Iterable[Unit]) -> Iterator[tuple[Unit, Pass]]:
    for unit in units:
        for order in orders_of(judge, unit):
            for run in range(1, judge.runs + 1):
                yield unit, Pass(unit.pk, order, str(run))


def orders_of(judge: Judge, unit: Unit) -> tuple[str, ...]:
    """Return the orders in which the texts are shown; a single text has one, without a name."""
    if unit.generation_b_id is None:
        return ("",)
    if judge.orders == Judge.Orders.BOTH:
        return (A_FIRST, B_FIRST)
    return (A_FIRST if seed_of(judge, unit, "order") % 2 else B_FIRST,)


def answered(judge: Judge, units: Collection[int]) -> set[Pass]:
    """Return what the judge has answered already, and is therefore never asked again."""
    ratings = Rating.objects.filter(
        rater=judge.rater, criterion=judge.criterion, unit__in=units, superseded=False
    ).values_list("unit", "assignment__order", "assignment__run")
    return {Pass(*row) for row in ratings}


def seed_of(judge: Judge, unit: Unit, *parts: str) -> int:
    """Return a seed that depends only on the judge's seed, the item and the parts."""
    text = ":".join([str(judge.seed), unit.key, *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

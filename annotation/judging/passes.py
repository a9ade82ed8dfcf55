"""Which items a judge is asked about, how often, and in which order of the two texts."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.judging.prompts import A_FIRST, B_FIRST
from annotation.models import HIT, Baseline, HITUnit, Judge, Rating
from studies.models import Study, Unit


@dataclass(frozen=True)
class Pass:
    """One question to a judge: an item, the order of its texts, and the number of the answer."""

    unit: int
    order: str
    run: str


def items_of(study: Study) -> QuerySet[Unit]:
    """Return the study's planned main items that have texts."""
    planned = HITUnit.objects.filter(unit=OuterRef("pk"), hit__kind=HIT.Kind.MAIN, repeat=0)
    with_texts = study.units.filter(role=Unit.Role.MAIN, generation_a__isnull=False)
    return with_texts.filter(Exists(planned)).order_by("pk")


def drawn_units(judge: Judge) -> list[int]:
    """Return the keys of the items to rate: all, or a random sample that depends on the seed."""
    keys = list(items_of(judge.study).values_list("pk", flat=True))
    if judge.units is None or judge.units >= len(keys):
        return keys
    return sorted(Random(f"{judge.seed}:{judge.name}").sample(keys, judge.units))


@dataclass(frozen=True)
class Items:
    """How many items a study has for judges. All of them have two texts, or all have one."""

    number: int
    are_pairs: bool

    @classmethod
    def of(cls, study: Study) -> "Items":
        counts = items_of(study).aggregate(n=Count("pk"), pairs=Count("generation_b"))
        return cls(counts["n"], counts["pairs"] > 0)

    def passes(self, judge: Judge) -> int:
        """Return how often a judge is asked in all."""
        rated = self.number if judge.units is None else min(self.number, judge.units)
        has_both_orders = self.are_pairs and judge.orders == Judge.Orders.BOTH
        return rated * judge.runs * (2 if has_both_orders else 1)


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


def seed_of(rater: Judge | Baseline, unit: Unit, *parts: str) -> int:
    """Return a seed that depends only on the rater's seed, the item and the parts."""
    text = ":".join([str(rater.seed), unit.key, *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1

"""Which items a judge is asked about, how often, and in which order of the two texts."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from django.db.models import Count, Exists, F, OuterRef, QuerySet

from annotation.models import HIT, HITUnit, Rating
from machine_raters.models import Baseline, Judge, JudgeCriterion
from studies.models import Study, Unit
from tiebreak.asking.prompts import A_FIRST, B_FIRST
from tiebreak.asking.samples import seed_for

# The orders in which the texts of an item are shown, by the item's key.
Orders = Mapping[int, tuple[str, ...]]


@dataclass(frozen=True)
class Pass:
    """One question to a judge: an item, the order of its texts, and the number of the answer."""

    unit: int
    order: str
    run: str


def items_of(study: Study) -> QuerySet[Unit]:
    """Return the study's planned main items that have texts."""
    planned = HITUnit.objects.filter(unit=OuterRef("pk"), hit__kind=HIT.Kind.MAIN, repeat=0)
    with_texts = study.units.filter(role=Unit.Role.MAIN, text_a__generation__isnull=False)
    return with_texts.filter(Exists(planned)).order_by("pk")


@dataclass(frozen=True)
class Items:
    """How many items a study has for judges. All of them have two texts, or all have one."""

    number: int
    are_pairs: bool

    @classmethod
    def of(cls, study: Study) -> "Items":
        counts = items_of(study).aggregate(n=Count("pk"), pairs=Count("text_b__generation"))
        return cls(counts["n"], counts["pairs"] > 0)

    def passes(self, judge: Judge) -> int:
        """Return how often a judge is asked in all, by all of its criteria."""
        has_both_orders = self.are_pairs and judge.comparisons != Judge.Schedule.NO_REPEAT
        comparisons = self.number * (2 if has_both_orders else 1)
        budget = comparisons if judge.budget is None else judge.budget
        return min(comparisons, budget) * judge.runs * len(judge.questions.all())


def comparisons_of(judge: Judge) -> Orders:
    """Return the items that a judge is asked about, with the orders of their texts.

    With a budget, the comparisons are drawn by the judge's seed alone: judges with the same seed,
    schedule and budget get the same, and items that are planned later change few of them.
    """
    rows = items_of(judge.study).values_list("pk", "key", "text_b__generation")
    ranked = [
        (_rank(judge, key, order), pk, order)
        for pk, key, b in rows
        for order in _orders(judge, key, is_pair=b is not None)
    ]
    if judge.budget is not None:
        ranked = sorted(ranked)[: judge.budget]
    orders: dict[int, tuple[str, ...]] = {}
    for _, pk, order in sorted(ranked, key=itemgetter(1, 2)):
        orders[pk] = (*orders.get(pk, ()), order)
    return orders


def tried_items(judge: Judge, number: int) -> list[int]:
    """Return the keys of a few of the judge's items, of as many instances as there are.

    They are drawn with the judge's seed, so a judge is tried on the same items each time.
    """
    rows, asked = items_of(judge.study), comparisons_of(judge)
    drawn = sorted(
        (_number(judge, key, "try"), pk, instance)
        for pk, key, instance in rows.values_list("pk", "key", "instance")
        if pk in asked
    )
    turns, earlier = list[tuple[int, int]](), Counter[int | None]()
    for _, pk, instance in drawn:
        turns.append((earlier[instance], pk))
        earlier[instance] += 1
    # The first item of each instance, then the second of each. The sort keeps the order of the draw.
    return [pk for _, pk in sorted(turns, key=itemgetter(0))[:number]]


def _orders(judge: Judge, key: str, *, is_pair: bool) -> tuple[str, ...]:
    """Return the orders that may be drawn; a single text has one, without a name."""
    if not is_pair:
        return ("",)
    if judge.comparisons != Judge.Schedule.NO_REPEAT:
        return (A_FIRST, B_FIRST)
    return (A_FIRST if _number(judge, key, "order") % 2 else B_FIRST,)


def _rank(judge: Judge, key: str, order: str) -> int:
    # The two orders of a symmetric pair have the same rank, so both are drawn or none.
    by_order = judge.comparisons == Judge.Schedule.RANDOM
    return _number(judge, key, "draw", order) if by_order else _number(judge, key, "draw")


def passes(judge: Judge, units: Iterable[Unit], orders: Orders) -> Iterator[tuple[Unit, Pass]]:
    """Yield each question about these units: a comparison, as often as the judge is asked."""
    for unit in units:
        for order in orders[unit.pk]:
            for run in range(1, judge.runs + 1):
                yield unit, Pass(unit.pk, order, str(run))


def answered(question: JudgeCriterion, units: Collection[int]) -> set[Pass]:
    """Return what the judge has answered already, and is therefore never asked again.

    Sums have no index, so these few units are looked up, and not all that the judge has rated so far.
    """
    theirs = {"by": question.judge.rater_id, "of": question.criterion_id}
    ratings = (
        Rating.objects.filter(unit__in=units, superseded=False)
        .alias(by=F("rater") + 0, of=F("criterion") + 0)
        .filter(**theirs)
        .values_list("unit", "assignment__order", "assignment__run")
    )
    return {Pass(*row) for row in ratings}


def seed_of(rater: Judge | Baseline, unit: Unit, *parts: str) -> int:
    """Return a seed that depends only on the rater's seed, the item and the parts."""
    return _number(rater, unit.key, *parts)


def _number(rater: Judge | Baseline, *parts: str) -> int:
    return seed_for(rater.seed, *parts)

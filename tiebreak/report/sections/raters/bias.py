"""Position and length bias of all human raters together, and of each machine."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.model.raters import Bias, BiasSection
from tiebreak.report.needs import is_preference
from tiebreak.report.registry import section
from tiebreak.report.scopes import of_drawn
from tiebreak.stats import Estimate, two_way_interval, undefined
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.independence import drop_unreliable_interval, effective_size
from tiebreak.stats.raters.bias import effect_within, length_bias, position_bias

# Presentation orders of a machine's pass: system A's text first, or system B's text first.
A_FIRST, B_FIRST = "ab", "ba"


# Why an effect is not distinguished from a preference for a system, which two tests of one heading share.
ALWAYS_FIRST = (
    "In each pair of systems the same one was always shown first, so a preference for a position cannot"
    " be distinguished from one for a system. Show each system of a pair first in half of the items."
)
ALWAYS_LONGER = (
    "In each pair of systems the same one always has the longer text, so a preference for longer texts"
    " cannot be distinguished from one for a system."
)


@section(
    "bias",
    "Position and length bias",
    question="raters",
    takes=(),
    needs=is_preference,
)
def bias_section(criterion: Criterion) -> BiasSection:
    raters = criterion.rows["rater"]
    spoken_of = in_population(criterion)
    machines = {
        name: _biases(
            criterion,
            ~criterion.is_human & (raters == name) & spoken_of[criterion.unit],
            DesignWeights.of(criterion, machine.is_answered & spoken_of),
        )
        for name, machine in criterion.machines.items()
    }
    is_human, design = criterion.is_human, DesignWeights.of(criterion)
    of_humans = _biases(criterion, is_human, design)
    tests = sum(bias.has_interval for bias in vars(of_humans).values())
    at_once = _biases(criterion, is_human, design, level=1 - (1 - CONFIDENCE_LEVEL) / max(1, tests))
    return BiasSection(**vars(of_humans), machines=machines, simultaneous=at_once)


def _biases(
    criterion: Criterion,
    mask: NDArray[np.bool_],
    design: DesignWeights | None,
    level: float = CONFIDENCE_LEVEL,
) -> Bias:
    """Return the biases of the ratings in a mask, weighted if their instances were drawn."""
    labelled = mask & (criterion.label >= 0)
    rows = criterion.rows.select(labelled)
    signs = np.nan_to_num(np.sign(criterion.strength[labelled]))
    longer = np.sign(
        characters(rows["chars_b"], rows["text_b"]) - characters(rows["chars_a"], rows["text_a"])
    )
    _, raters = rows.ranked("rater")
    sample = _Sample(criterion, criterion.unit[labelled], raters, signs, design, level)
    return Bias(
        position=sample.bias(position_bias, first_shown(rows), 0.5, ALWAYS_FIRST),
        length=sample.bias(length_bias, np.nan_to_num(longer), 1.0, ALWAYS_LONGER),
    )


def first_shown(rows: RatingTable) -> NDArray[np.int64]:
    """Return −1 for rows that showed system A first, 1 for system B first, and 0 if unknown.

    The side comes from the column ``side_a`` or, if that is empty, from a machine's presentation
    order.
    """
    side, order = rows["side_a"].astype(str), np.char.lower(rows["order"].astype(str))
    by_side = np.where(np.isin(side, ["left", "first"]), -1, np.isin(side, ["right", "second"]) * 1)
    by_order = np.where(order == A_FIRST, -1, (order == B_FIRST) * 1)
    return np.asarray(np.where(side != "", by_side, by_order), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Ratings of people or of one machine: units, raters, the sign of each, and weights after a draw."""

    criterion: Criterion
    units: NDArray[np.int64]
    raters: NDArray[np.int64]
    signs: NDArray[np.float64]
    design: DesignWeights | None
    level: float

    def bias(
        self,
        statistic: Callable[..., Estimate],
        condition: NDArray[Any],
        scale: float,
        unidentified: str,
    ) -> Estimate:
        """Return the effect of a condition within pairs of systems, from −scale to scale.

        Ratings without a preference, or whose condition is 0, are excluded, and so are those of
        pairs with one condition.
        """
        entered = self.signs * condition != 0
        if not entered.any():
            return statistic(0, 0)
        entered &= self._is_varied(np.where(entered, condition, 0))
        if not entered.any():
            return undefined(unidentified)
        n, units = int(entered.sum()), self.units[entered]
        weights = np.ones(n) if self.design is None else self.design.of_units[units]
        pairs, turned = self._pairs
        effect, contributions, information = effect_within(
            (self.signs * turned)[entered],
            (condition * turned)[entered],
            pairs[entered],
            weights,
        )
        preferred = round((1 + effect) / 2 * n)
        alone = statistic(preferred, n - preferred, confidence_level=self.level)
        alone = replace(alone, value=scale * effect)
        return self._with_interval(alone, scale, entered, scale * contributions, information)

    def _with_interval(
        self,
        alone: Estimate,
        scale: float,
        entered: NDArray[np.bool_],
        contributions: NDArray[np.float64],
        information: NDArray[np.float64],
    ) -> Estimate:
        """Return an effect, given with Wilson's interval, with the widest one that the ratings support."""
        units, instances = self.units[entered], self.criterion.clusters[self.units[entered]]
        size = effective_size(np.bincount(instances, information))
        alone = drop_unreliable_interval(alone, size)
        if not alone.has_interval:
            return alone
        widened = partial(
            two_way_interval,
            contributions,
            instances,
            weights=information,
            bounds=(-scale, scale),
            raters_per_value=1,
            confidence_level=self.level,
        )
        # That interval counts ratings as independent, which the two orders of a unit are not: what a
        # judge with firm opinions says for the first text in one order, it takes back in the other.
        point = replace(alone, low=alone.value, high=alone.value)
        of_these = widened(np.full(len(units), -1), narrow=point)
        if self.design is not None:
            of_these = of_drawn(of_these, covers=bool(self.design.covers[units].all()))
        return widened(self.raters[entered], narrow=of_these)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pair of systems of each rating, and −1 where its unit names the second one first."""
        a, b = self.criterion.systems
        names = np.stack([np.where(a > b, b, a), np.where(a > b, a, b)])
        code = np.unique(names, axis=1, return_inverse=True)[1].ravel()
        return code[self.units], np.where(a > b, -1, 1)[self.units]

    def _is_varied(self, condition: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which ratings belong to pairs of systems that have both conditions."""
        pairs, turned = self._pairs
        both = [np.bincount(pairs, condition * turned == sign) > 0 for sign in (-1, 1)]
        return np.asarray((both[0] & both[1])[pairs])


def characters(column: NDArray[Any], texts: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers of characters from a column, or the texts' lengths where it is empty."""
    counts = column.astype(float)
    lengths = np.array([len(text) if text else np.nan for text in texts], dtype=float)
    return np.where(np.isnan(counts), lengths, counts)

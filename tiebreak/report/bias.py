"""Position and length bias of all human raters together, and of each machine."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.model import Bias, BiasSection
from tiebreak.stats import Estimate, two_way_mean
from tiebreak.stats.bias import length_bias, position_bias
from tiebreak.stats.groups import n_distinct
from tiebreak.stats.independence import Bounds, drop_unreliable_interval

# Presentation orders of a machine's pass: system A's text first, or system B's text first.
A_FIRST, B_FIRST = "ab", "ba"


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
    of_humans = _biases(criterion, criterion.is_human, DesignWeights.of(criterion))
    return BiasSection(**vars(of_humans), machines=machines)


def _biases(criterion: Criterion, mask: NDArray[np.bool_], design: DesignWeights | None) -> Bias:
    """Return the biases of the ratings in a mask, weighted if their instances were drawn."""
    labelled = mask & (criterion.label >= 0)
    rows = criterion.rows.select(labelled)
    signs = np.nan_to_num(np.sign(criterion.strength[labelled]))
    first = first_shown(rows)
    longer = np.sign(
        characters(rows["chars_b"], rows["text_b"]) - characters(rows["chars_a"], rows["text_a"])
    )
    longer = np.nan_to_num(longer)
    _, raters = rows.ranked("rater")
    sample = _Sample(criterion, criterion.unit[labelled], raters, design)
    return Bias(
        position=sample.bias(position_bias, signs * first / 2),
        length=sample.bias(length_bias, signs * longer),
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
    """Ratings of people or of one machine: their units, raters, and weights after a draw."""

    criterion: Criterion
    units: NDArray[np.int64]
    raters: NDArray[np.int64]
    design: DesignWeights | None

    def bias(
        self, statistic: Callable[[int, int], Estimate], values: NDArray[np.float64]
    ) -> Estimate:
        """Return the mean of values, which are positive for ratings in the bias's direction.

        Ratings with the value 0 do not enter.
        """
        entered = values != 0
        values, units, raters = values[entered], self.units[entered], self.raters[entered]
        instances = self.criterion.clusters[units]
        estimate = statistic(int((values > 0).sum()), int((values < 0).sum()))
        estimate = drop_unreliable_interval(estimate, n_distinct(instances))
        weights, most = None, float(np.abs(values).max(initial=0))
        bounds = (-most, most)
        if self.design is not None and estimate.is_defined:
            weighted = self.design.mean(values, units, self.criterion, bounds)
            estimate = replace(weighted, n=estimate.n)
            weights = self.design.of_units[units]
        if not estimate.has_interval:
            return estimate
        if weights is None:
            estimate = _over_instances(estimate, values, instances, bounds)
        return two_way_mean(
            values, instances, raters, narrow=estimate, weights=weights, bounds=bounds
        )


def _over_instances(
    estimate: Estimate, values: NDArray[np.float64], instances: NDArray[np.int64], bounds: Bounds
) -> Estimate:
    """Return the bias with the interval for new instances and these raters.

    Wilson's interval counts ratings as independent, which the two orders of a unit are not: what a
    judge with firm opinions says for the first text in one order, it takes back in the other.
    """
    point = replace(estimate, low=estimate.value, high=estimate.value)
    unknown = np.full(len(values), -1)
    return two_way_mean(values, instances, unknown, narrow=point, bounds=bounds)


def characters(column: NDArray[Any], texts: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers of characters from a column, or the texts' lengths where it is empty."""
    counts = column.astype(float)
    lengths = np.array([len(text) if text else np.nan for text in texts], dtype=float)
    return np.where(np.isnan(counts), lengths, counts)

"""Weights of units, such as inverse inclusion probabilities, in statistics that are sums over units.

A row of counts ends with a code for the weight of its units so that units with different weights are
never reduced to the same row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.bootstrap import AnyStatistic, Mean, RowStatistic, first_feature, ratio
from tiebreak.stats.core.counts import distinct_rows
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    check_positive,
    check_same_length,
)

Name = TypeVar("Name")

# Features of a weighted statistic that precede those of the unweighted one.
_ADDED = 3


@dataclass(frozen=True, eq=False)
class UnitWeights:
    """A code for each unit, which is the last column of its row, and the weight of each code."""

    codes: IntArray
    values: FloatArray

    @classmethod
    def of(cls, weights: npt.ArrayLike, split: npt.ArrayLike | None = None) -> "UnitWeights":
        """Return the weights of units; units with different numbers in ``split`` differ in code."""
        weight = as_numbers(weights, name="weights")
        check_positive(weight)
        number = np.zeros(len(weight)) if split is None else np.asarray(split, dtype=np.float64)
        rows, codes, _, _ = distinct_rows(np.column_stack([number, weight]))
        return cls(codes, rows[:, 1])

    def statistic(self, unweighted: AnyStatistic, ratings: slice | None = None) -> AnyStatistic:
        """Return a statistic in which each unit's features are multiplied by its weight.

        Before `value` corrects for a small sample, the sums are scaled to Kish's effective number of
        ratings, so n − 1 becomes W − Σ w² / W, where W = Σ w over ratings. This is exact for α:
        the mean squared distance of two different ratings, weighted by the product of their weights,
        is that of all ratings divided by 1 − Σ w² / W². ``ratings`` are the columns with counts of
        ratings; without them, every unit has the same number.
        """
        if len(np.unique(self.values)) < 2:
            return unweighted  # so that equal weights change no digit
        if isinstance(unweighted, RowStatistic):
            return self._of_rows(unweighted)
        statistic, reason_of, mean = unweighted, unweighted.reason_of, unweighted.mean

        def features(rows: IntArray) -> FloatArray:
            parts = statistic.features(rows)
            n, weight = statistic.n(parts), self.values[rows[:, -1]]
            size = (n > 0) * (1 if ratings is None else rows[:, ratings].sum(axis=1))
            return np.column_stack([n, weight * size, weight**2 * size, weight[:, None] * parts])

        def value(sums: FloatArray) -> FloatArray:
            scale = np.nan_to_num(ratio(sums[..., 1], sums[..., 2]))
            return statistic.value(scale[..., None] * sums[..., _ADDED:])

        return replace(
            statistic,
            width=statistic.width + _ADDED,
            features=features,
            value=value,
            n=first_feature,
            mean=mean and Mean(mean.numerator + _ADDED, mean.denominator + _ADDED, mean.bounds),
            reason_of=reason_of and (lambda sums: reason_of(sums[..., _ADDED:])),
        )

    def _of_rows(self, statistic: RowStatistic) -> RowStatistic:
        def bind(rows: IntArray) -> Callable[[FloatArray], FloatArray]:
            value_of, weight = statistic.bind(rows), self.values[rows[:, -1]]
            return lambda counts: value_of(counts * weight)

        return replace(statistic, bind=bind)


def with_codes(rows: npt.ArrayLike, weights: UnitWeights | None) -> IntArray:
    """Return the rows of units, with the codes of their weights as a last column, if there are any."""
    matrix = np.asarray(rows)
    if weights is None:
        return matrix
    check_same_length(rows=matrix, weights=weights.codes)
    return np.column_stack([matrix, weights.codes])


def relative(weights: npt.ArrayLike | None, *, length: int) -> FloatArray:
    """Return weights above 0 as shares of the largest, so that equal ones are exactly 1 and change no digit."""
    if weights is None:
        return np.ones(length)
    of_units = UnitWeights.of(weights)
    check_same_length(units=np.empty(length), weights=of_units.codes)
    return np.asarray(of_units.values[of_units.codes] / of_units.values.max(initial=0.0))


def weighted(
    statistics: Mapping[Name, AnyStatistic],
    weights: UnitWeights | None,
    ratings: slice | None = None,
) -> dict[Name, AnyStatistic]:
    """Return the statistics with weights, or as they are without; see `UnitWeights.statistic`."""
    if weights is None:
        return dict(statistics)
    return {name: weights.statistic(one, ratings) for name, one in statistics.items()}

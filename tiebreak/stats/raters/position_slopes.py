"""How an outcome changes with the position of a rating in its rater's sequence, such as by fatigue."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.independence import MIN_CLUSTERS, effective_size, too_few_clusters
from tiebreak.stats.core.results import (
    NEW_INSTANCES,
    NEW_RATERS,
    Estimate,
    NarrowerInterval,
    undefined,
)
from tiebreak.stats.core.two_way import MIN_RATERS
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_resampling,
    check_same_length,
)

ONE_POSITION = "No rater has ratings at two positions."
NO_VARIATION = "There is no interval because the outcome does not vary."
OF_INSTANCES = "linearised, over {instances} instances, t"
OF_BOTH = "linearised, over {instances:,} instances and {raters:,} raters, t"


def position_slope(
    values: npt.ArrayLike,
    positions: npt.ArrayLike,
    raters: npt.ArrayLike,
    instances: npt.ArrayLike,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Estimate by how much an outcome changes from one position to the next, within raters.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Outcome of each rating, such as its agreement with others or the logarithm of its duration.
    positions : array_like of float, shape (n_ratings,)
        Position of each rating in its rater's sequence.
    raters, instances : array_like, shape (n_ratings,)
        Rater and instance of each rating.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        Change of the outcome for each position. With three raters or more, the interval applies to
        new raters and new instances, with that for these raters in ``narrower``. It is undefined if
        no rater has ratings at two positions. There is no interval for fewer than 10 instances.

    Raises
    ------
    InvalidInput
        If a number is not finite, or the vectors differ in length.

    Notes
    -----
    The slope is Σ x y / Σ x², where x and y are the deviations of position and outcome from the means
    of the rater. So raters who differ, or who stop early, do not bend it. But it is confounded with
    the items if all raters see the same items in the same order. Each rating contributes
    x (y − slope · x) / Σ x². The variance is the sum over instances of their squared contributions,
    plus the same over raters, minus the same over cells of an instance and a rater, but not below the
    part of the instances (Cameron, Gelbach and Miller 2011, eq. 2.11). The degrees of freedom are
    the raters', which count as their effective number by Σ x² (Kish 1965), minus 1.

    Examples
    --------
    >>> slope = position_slope([1, 2, 3, 5, 6, 7], [1, 2, 3] * 2, [0] * 3 + [1] * 3, [0, 1, 2] * 2)
    >>> slope.value
    1.0
    """
    check_resampling(0, confidence_level, None)
    value, position = as_numbers(values, name="values"), as_numbers(positions, name="positions")
    rater = as_groups(raters, length=len(value), name="raters")
    instance = as_groups(instances, length=len(value), name="instances")
    check_same_length(values=value, positions=position)
    x, y = _within(position, rater), _within(value, rater)
    total = float(x @ x)
    n = n_distinct(rater)
    if not total > 0:
        return undefined(ONE_POSITION, n)
    slope = float(x @ y) / total
    n_instances = n_distinct(instance)
    if n_instances < MIN_CLUSTERS:
        return Estimate(slope, n=n, reason=too_few_clusters(n_instances))
    spread = _Spread(x * (y - slope * x) / total, rater, instance, x * x)
    return _with_interval(Estimate(slope, n=n), spread, confidence_level)


def _within(values: FloatArray, rater: IntArray) -> FloatArray:
    """Return the deviations from each rater's mean."""
    if not len(values):
        return values
    means = np.bincount(rater, values) / np.maximum(np.bincount(rater), 1)
    return np.asarray(values - means[rater])


@dataclass(frozen=True, eq=False)
class _Spread:
    """Contributions of ratings to the slope, their raters and instances, and their leverage."""

    contribution: FloatArray
    rater: IntArray
    instance: IntArray
    leverage: FloatArray

    @property
    def n_instances(self) -> int:
        return n_distinct(self.instance)

    @property
    def n_raters(self) -> int:
        return n_distinct(self.rater)

    def variance_by(self, group: IntArray) -> float:
        """Return the variance of the slope if only these groups are independent."""
        sums = np.bincount(numbered(group), self.contribution)
        return float(sums @ sums) * len(sums) / max(len(sums) - 1, 1)

    @property
    def of_instances(self) -> tuple[float, float]:
        """Variance and degrees of freedom for new instances."""
        return self.variance_by(self.instance), self.n_instances - 1

    @property
    def of_both(self) -> tuple[float, float]:
        """Variance and degrees of freedom for new instances and new raters."""
        cells = self.instance * (int(self.rater.max()) + 1) + self.rater
        by_instance = self.variance_by(self.instance)
        beside = self.variance_by(self.rater) - self.variance_by(cells)
        raters = effective_size(np.bincount(self.rater, self.leverage))
        return by_instance + max(0.0, beside), max(1.0, min(raters, self.n_instances) - 1)


def _with_interval(slope: Estimate, spread: _Spread, confidence_level: float) -> Estimate:
    variance, freedom = spread.of_instances
    if not variance > 0:
        return replace(slope, reason=NO_VARIATION)
    counts = {"instances": spread.n_instances, "raters": spread.n_raters}
    low, high = _ends(slope.value, variance, freedom, confidence_level)
    inner = NarrowerInterval(low, high, NEW_INSTANCES, OF_INSTANCES.format(**counts))
    if spread.n_raters < MIN_RATERS:
        return replace(
            slope,
            low=low,
            high=high,
            standard_error=sqrt(variance),
            method=inner.method,
            stated_scope=NEW_INSTANCES,
        )
    variance, freedom = spread.of_both
    low, high = _ends(slope.value, variance, freedom, confidence_level)
    return replace(
        slope,
        low=min(low, inner.low),
        high=max(high, inner.high),
        standard_error=sqrt(variance),
        method=OF_BOTH.format(**counts),
        stated_scope=NEW_RATERS,
        narrower=(inner,),
    )


def _ends(
    value: float, variance: float, freedom: float, confidence_level: float
) -> tuple[float, float]:
    half_width = float(scipy.stats.t.ppf((1 + confidence_level) / 2, freedom)) * sqrt(variance)
    return value - half_width, value + half_width

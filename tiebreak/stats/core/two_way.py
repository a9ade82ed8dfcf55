"""Intervals that allow for two sources of sampling error, instances and raters.

Raters are left out one at a time. A bootstrap over raters would draw some raters twice and count
their agreement with themselves. Source: Cameron, Gelbach and Miller 2011, for the sum of variances.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.independence import (
    EXACT,
    LOGIT,
    SHARE,
    Bounds,
    differs,
    effective_size,
    exact_interval,
    logit_interval,
)
from tiebreak.stats.core.results import NAN, Estimate, NarrowerInterval, Scope
from tiebreak.stats.core.validation import FloatArray, IntArray, check_positive, check_same_length

# The spread among two raters says next to nothing about others.
MIN_RATERS = 3
DRAWN = ("dataset", "selected")


def two_way_mean(
    values: npt.ArrayLike,
    instances: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    narrow: Estimate,
    weights: npt.ArrayLike | None = None,
    bounds: Bounds = SHARE,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Give a mean over ratings the widest interval that its ratings support.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating, within `bounds`.
    instances : array_like of int, shape (n_ratings,)
        Instance of each rating, as codes from 0.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, as codes from 0, or −1 if it is unknown.
    narrow : Estimate
        The mean with an interval for these raters, which is kept with the wider one.
    weights : array_like of float, shape (n_ratings,), optional
        Weight of each rating, above 0, such as the inverse of the probability with which its instance
        was drawn; 1 by default. `narrow` must have the weighted mean as its value.
    bounds : (float, float), default (0, 1)
        Least and greatest possible value.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        See `two_way_interval`.

    Raises
    ------
    InvalidInput
        If the vectors differ in length, or a value or weight is out of bounds.

    See Also
    --------
    two_way_interval : The same for any statistic.

    Notes
    -----
    The contribution of a rating is its weighted deviation from the mean, so a mean changes by
    −Σᵣ/(W − wᵣ) if a group r of ratings is left out, where Σᵣ is the sum of the group's
    contributions, wᵣ of its weights, and W of all weights.

    Examples
    --------
    >>> narrow = Estimate(0.5, 0.3, 0.7, n=12)
    >>> values, instances, raters = [0, 0, 1, 1] * 6, [k // 2 for k in range(24)], [0, 1, 2] * 8
    >>> wide = two_way_mean(values, instances, raters, narrow=narrow)
    >>> wide.scope.raters, wide.narrower[0].high
    ('new', 0.7)
    """
    value, (low, high) = np.asarray(values, dtype=np.float64), bounds
    weight = np.ones(len(value)) if weights is None else np.asarray(weights, dtype=np.float64)
    check_same_length(values=value, weights=weight)
    if value.size and not (low <= value.min() and value.max() <= high):
        raise InvalidInput("out_of_range", f"values must be from {low:g} to {high:g}.")
    check_positive(weight)
    centre = float(weight @ value) / weight.sum() if value.size else 0.0
    return two_way_interval(
        weight * (value - centre),
        instances,
        raters,
        narrow=narrow,
        weights=weight,
        bounds=bounds,
        raters_per_value=1,
        confidence_level=confidence_level,
    )


def two_way_interval(
    contributions: npt.ArrayLike,
    instances: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    narrow: Estimate,
    weights: npt.ArrayLike | None = None,
    bounds: Bounds | None = None,
    raters_per_value: int = 0,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Give a statistic the widest interval that its ratings support.

    Parameters
    ----------
    contributions : array_like of float, shape (n_ratings,)
        Contribution of each rating to the statistic, times the total weight of all ratings. The sum
        of all contributions is 0. The statistic changes by about −Σᵣ/(W − wᵣ) if a group r of ratings
        is left out, where Σᵣ is the sum of the group's contributions, wᵣ of its weights, and W of all
        weights.
    instances : array_like of int, shape (n_ratings,)
        Instance of each rating, as codes from 0.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, as codes from 0, or −1 if it is unknown.
    narrow : Estimate
        The statistic with an interval for these raters, which is kept with the wider one.
    weights : array_like of float, shape (n_ratings,), optional
        Weight of each rating; 1 by default.
    bounds : (float, float), optional
        Least and greatest possible value, which the interval stays within. Without bounds, or if the
        value is not strictly between them, the interval is symmetric.
    raters_per_value : int, default 0
        If the statistic is a mean of values within `bounds`, the number of raters that one value
        needs, such as 2 for agreement. If no instance differs from another, there is an interval then.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        The same value. With three raters or more the interval applies to new raters and to new
        instances (or the instances that those of `narrow` were drawn from), with the interval of
        `narrow`, which is never longer, in ``narrower``. With fewer, it applies to these raters. If
        `narrow` has no interval, or already applies as widely, it is returned as it is.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    two_way_mean : Computes the contributions to a mean.
    agreement_contributions : Computes the contributions to agreement statistics.

    Notes
    -----
    Three jackknife variances are combined: instances + raters − cells of an instance and a rater
    (Cameron, Gelbach and Miller 2011, eq. 2.11), and the result is not allowed below the part of the
    instances. The degrees of freedom are Satterthwaite's (1946), in which groups of unequal weight
    count as their effective number (Kish 1965). With bounds, the interval is computed on the logit
    scale. If no instance differs, it is Clopper and Pearson's (1934) over the instances or the groups
    of raters for one value, whichever are fewer: as many values share neither an instance nor a rater.

    Examples
    --------
    >>> narrow = Estimate(0.5, 0.3, 0.7, n=12)
    >>> contributions = [-0.5, -0.5, 0.5, 0.5] * 6
    >>> instances, raters = [k // 2 for k in range(24)], [0, 1, 2] * 8
    >>> two_way_interval(contributions, instances, raters, narrow=narrow).scope.raters
    'new'
    """
    contribution = np.asarray(contributions, dtype=np.float64)
    instance, rater = np.asarray(instances, np.int64), np.asarray(raters, np.int64)
    weight = (
        np.ones(len(contribution)) if weights is None else np.asarray(weights, dtype=np.float64)
    )
    check_same_length(contributions=contribution, instances=instance, raters=rater, weights=weight)
    if not narrow.has_interval:
        return narrow
    groupings = Groupings.of(weight, instance, rater)
    return groupings.widened(
        contribution,
        narrow=narrow,
        bounds=bounds,
        raters_per_value=raters_per_value,
        confidence_level=confidence_level,
    )


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of ratings: the group of each, and the weight of all ratings outside of each group.

    `n_effective` is the effective number of groups. If no two ratings share a group, `code` is None.
    """

    code: IntArray | None
    rest: FloatArray
    n_weighted: int
    n_effective: float

    @classmethod
    def of(cls, weight: FloatArray, group: IntArray) -> "Groups":
        code = numbered(group)
        weights = np.bincount(code, weight)
        is_single = len(weights) == len(group) and bool((group[1:] > group[:-1]).all())
        is_weighted = weights > 0
        rest = np.where(is_weighted, weight.sum() - weights, 0.0)
        return cls(
            None if is_single else code, rest, int(is_weighted.sum()), effective_size(weights)
        )

    def jackknife(self, contribution: FloatArray) -> float:
        """Return the delete-one-group variance."""
        if not self.n_weighted:
            return 0.0
        sums = contribution if self.code is None else np.bincount(self.code, contribution)
        change = np.divide(sums, self.rest, out=np.zeros(len(sums)), where=self.rest > 0)
        return (self.n_weighted - 1) / self.n_weighted * float(change @ change)


@dataclass(frozen=True, eq=False)
class Groupings:
    """The instances of ratings, and their raters and cells of both unless raters are too few."""

    instances: Groups
    raters: Groups | None
    cells: Groups | None

    @classmethod
    def of(cls, weight: FloatArray, instance: IntArray, rater: IntArray) -> "Groupings":
        instances, is_known = Groups.of(weight, instance), not (rater < 0).any()
        if not is_known or n_distinct(rater) < MIN_RATERS:
            return cls(instances, None, None)
        cells = instance * (int(rater.max()) + 1) + rater
        return cls(instances, Groups.of(weight, rater), Groups.of(weight, cells))

    def widened(
        self,
        contribution: FloatArray,
        *,
        narrow: Estimate,
        bounds: Bounds | None,
        raters_per_value: int = 0,
        confidence_level: float = CONFIDENCE_LEVEL,
    ) -> Estimate:
        """Return the estimate with the widest interval that these contributions support."""
        spread = Spread.of(contribution, self, raters_per_value) if narrow.has_interval else None
        return narrow if spread is None else spread.widened(narrow, bounds, confidence_level)


@dataclass(frozen=True)
class Spread:
    """Variance of a statistic, its degrees of freedom, and how it was computed."""

    variance: float
    freedom: float
    method: str
    has_raters: bool

    @classmethod
    def of(
        cls, contribution: FloatArray, groupings: Groupings, raters_per_value: int = 0
    ) -> "Spread | None":
        """Return the spread, or None if nothing wider than these instances can be said.

        The spread of a mean whose instances do not differ is 0, and its freedom is their number.
        """
        of_instances, of_raters = groupings.instances, groupings.raters
        by_instance, n_instances = of_instances.jackknife(contribution), of_instances.n_effective
        is_alike = not differs(by_instance)
        if n_instances <= 1 or (is_alike and not raters_per_value):
            return None
        groups = f"{len(of_instances.rest):,} instances"
        groups += f" and {len(of_raters.rest):,} raters" if of_raters else ""
        if is_alike:
            raters = of_raters.n_effective / raters_per_value if of_raters else inf
            method = f"{EXACT} over {groups}"
            return cls(0.0, min(n_instances, raters), method, has_raters=bool(of_raters))
        method = f"jackknife over {groups}, t{{scale}}"
        if of_raters is None or groupings.cells is None:
            return cls(by_instance, n_instances - 1, method, has_raters=False)
        by_rater = of_raters.jackknife(contribution)
        by_cell = groupings.cells.jackknife(contribution)
        return cls.of_parts(
            (by_instance, by_rater, by_cell), (n_instances, of_raters.n_effective), method
        )

    @classmethod
    def of_parts(
        cls, variances: tuple[float, float, float], sizes: tuple[float, float], method: str
    ) -> "Spread":
        """Return the spread, given the variances by instance, by rater and by cell.

        ``sizes`` are the effective numbers of instances and of raters.
        """
        variance, freedom = pooled_variance(variances, sizes)
        return cls(float(variance), float(freedom), method, has_raters=True)

    def widened(self, narrow: Estimate, bounds: Bounds | None, confidence_level: float) -> Estimate:
        """Return an estimate with the interval of this spread, if that applies more widely."""
        scope = self.scope(narrow.scope)
        if scope == narrow.scope:
            return narrow
        low, high, scale = self.interval(narrow.value, bounds, confidence_level)
        stays = NarrowerInterval(narrow.low, narrow.high, narrow.scope, narrow.method)
        return replace(
            narrow,
            low=min(low, narrow.low),
            high=max(high, narrow.high),
            standard_error=sqrt(self.variance) or NAN,
            method=self.method.format(scale=scale),
            stated_scope=scope,
            narrower=(stays,) if self.has_raters else (),
        )

    def scope(self, narrow: Scope) -> Scope:
        """Return who the interval applies to, given who the narrower one applies to."""
        instances = narrow.instances if narrow.instances in DRAWN else "new"
        return Scope(instances, "new" if self.has_raters else "these")

    def interval(
        self, value: float, bounds: Bounds | None, confidence_level: float
    ) -> tuple[float, float, str]:
        """Return the interval around a value, and the name of the scale that it was made on."""
        if not self.variance and bounds is not None:
            return *exact_interval(value, self.freedom, bounds, confidence_level), ""
        quantile = float(scipy.special.stdtrit(self.freedom, (1 + confidence_level) / 2))
        half_width = quantile * sqrt(self.variance)
        if bounds is None or not bounds[0] < value < bounds[1]:
            return value - half_width, value + half_width, ""
        return *logit_interval(value, half_width, bounds), LOGIT


def pooled_variance(
    variances: Sequence[npt.ArrayLike], sizes: Sequence[npt.ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """Return the variance and its degrees of freedom, of one study or of many together."""
    by_instance, by_rater, by_cell = (np.asarray(part, np.float64) for part in variances)
    variance = by_instance + np.maximum(0.0, by_rater - by_cell)
    instances, raters = (np.asarray(size, np.float64) - 1 for size in sizes)
    return variance, np.maximum(
        1.0, variance**2 / (by_instance**2 / instances + by_rater**2 / raters)
    )

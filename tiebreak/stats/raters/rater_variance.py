"""How much raters differ in what they prefer, apart from the chance in their answers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct, numbered, pair_sums
from tiebreak.stats.core.independence import drop_unreliable_interval, effective_size
from tiebreak.stats.core.results import NEW_RATERS, Estimate, undefined
from tiebreak.stats.core.two_way import MIN_RATERS
from tiebreak.stats.core.validation import FloatArray, IntArray, as_groups, as_numbers

ONE_RATER = (
    "Fewer than two annotators rated, so whether others would agree is not known. Collect ratings from at"
    " least three annotators."
)
NO_REPEATS = (
    "No annotator rated two instances of one pair of systems, so what an annotator prefers cannot be told"
    " from chance. Let each annotator rate several instances."
)
TOO_FEW_RATERS = "There is no interval because two annotators say next to nothing about others; it needs at least three."
TOO_ALIKE = "There is no interval because the annotators differ less than chance alone would make them differ."
MOST = 0.25  # the variance of a value that is 0 or 1 with equal probability
_LEAST = 1e-12  # below it, an error variance is a rounding error


@dataclass(frozen=True)
class RaterVariance:
    """How much raters differ, and how many there are.

    See Also
    --------
    rater_variance : Computes it.
    """

    variance: Estimate
    """Variance of the raters' own mean values, from 0; for win shares at most ¼. Its square root is
    the standard deviation by which raters differ."""
    raters: int
    """Number of raters."""
    effective_raters: float
    """Number of raters with equal loads that would say as much about other raters."""


@dataclass(frozen=True, eq=False)
class _Group:
    """The mean value of each rater in one group, and the error variance of each mean."""

    means: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, y: FloatArray, rater: IntArray, instance: IntArray) -> "_Group | None":
        """Return the means, or None if they say nothing about how raters differ.

        There is one value for each instance and rater. Where raters rate the same instances, these do
        not make their means differ: only a part of the variance between instances is in the error.
        """
        rater = numbered(rater)
        n, (apart, same_rater) = np.bincount(rater), pair_sums(y, rater)
        if len(n) < 2 or not same_rater:
            return None
        of_instance, of_all = pair_sums(y, instance), pair_sums(y, np.zeros_like(rater))
        within_rater = apart / same_rater
        instance_variance = 0.0
        unrelated = of_all - of_instance - (apart, same_rater)
        if of_instance[1] and unrelated[1] > 0:
            difference = unrelated[0] / unrelated[1] - of_instance[0] / of_instance[1]
            instance_variance = min(max(difference, 0.0), within_rater)
        sizes = np.bincount(instance)
        differing = (len(n) - float(sizes @ sizes) / len(y)) / (len(n) - 1)
        error = within_rater - instance_variance * (1 - differing)
        return cls(np.bincount(rater, y) / n, max(error, _LEAST) / n)

    def spread(self, variance: float) -> float:
        """Return the weighted sum of squared deviations, χ² distributed if this is the variance."""
        weight = 1 / (variance + self.errors)
        centre = float(weight @ self.means) / weight.sum()
        return float(weight @ (self.means - centre) ** 2)


def rater_variance(
    values: npt.ArrayLike,
    *,
    raters: npt.ArrayLike,
    instances: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    free_groups: int | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> RaterVariance:
    """Estimate the variance of what raters prefer (the component rater × system).

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating from 0 to 1: whether the first system of its pair won, ½ for a tie.
    raters, instances : array_like, shape (n_ratings,)
        Rater and instance of each rating.
    groups : array_like, shape (n_ratings,), optional
        Pair of systems of each rating. Raters are compared within pairs only.
    free_groups : int, optional
        Number of groups in which raters may differ independently, such as one less than there are
        systems; by default all.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    RaterVariance
        The variance is 0 if raters differ no more than by chance, and undefined if there is only one
        rater or none rated two instances of a group. It has no interval with fewer than three raters or
        ten instances, or if raters differ less than chance explains.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    variance_components : Also separates instances, units and ratings.

    Notes
    -----
    A rater j with the mean ȳⱼ over nⱼ instances has the error variance vⱼ = c / nⱼ, where c is the variance
    within raters without the part of instances that raters share. If τ² is the variance between raters,
    Q(τ²) = Σ (ȳⱼ − ȳ)² / (τ² + vⱼ), with ȳ weighted alike, is distributed as χ² with k − 1 degrees of
    freedom. The value solves Q = k − 1 (Paule and Mandel 1982), and the interval has all τ² for which Q is
    within the quantiles (Viechtbauer 2007). Groups add up. If fewer vary freely, Q and its degrees of
    freedom are multiplied by their share (Satterthwaite 1946, for effects that are differences of systems').

    Examples
    --------
    >>> values = [1] * 18 + [0] * 2 + [1] * 10 + [0] * 10 + [1] * 2 + [0] * 18
    >>> found = rater_variance(values, raters=[k // 20 for k in range(60)], instances=[*range(60)])
    >>> round(found.variance.value, 2), found.effective_raters
    (0.15, 3.0)
    """
    y = as_numbers(values, name="values")
    rater = as_groups(raters, length=len(y), name="raters")
    instance = as_groups(instances, length=len(y), name="instances")
    group = (
        np.zeros(len(y), np.int64)
        if groups is None
        else as_groups(groups, length=len(y), name="groups")
    )
    y, group, instance, rater = _cells(y, group, instance, rater)
    loads = np.bincount(rater)
    numbers = len(loads), effective_size(loads)
    if len(loads) < 2:
        return RaterVariance(undefined(ONE_RATER, n=n_distinct(instance)), *numbers)
    parts = [part for part in _groups(y, group, instance, rater) if part]
    if not parts:
        return RaterVariance(undefined(NO_REPEATS, n=n_distinct(instance)), *numbers)
    share = 1.0 if free_groups is None else min(1.0, free_groups / len(parts))
    point = _estimate(parts, share, confidence_level)
    point = replace(point, n=n_distinct(instance))
    if len(loads) < MIN_RATERS:
        point = Estimate(point.value, n=point.n, reason=TOO_FEW_RATERS)
    return RaterVariance(drop_unreliable_interval(point, point.n), *numbers)


def _cells(
    y: FloatArray, group: IntArray, instance: IntArray, rater: IntArray
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return one mean value for each group, instance and rater, because these ratings are alike."""
    wide = (int(instance.max(initial=0)) + 1, int(rater.max(initial=0)) + 1)
    keys, cell = np.unique((group * wide[0] + instance) * wide[1] + rater, return_inverse=True)
    rest, of_rater = np.divmod(keys, wide[1])
    return np.bincount(cell, y) / np.bincount(cell), *np.divmod(rest, wide[0]), of_rater


def _groups(
    y: FloatArray, group: IntArray, instance: IntArray, rater: IntArray
) -> Iterator[_Group | None]:
    ends = np.flatnonzero(np.diff(group)) + 1  # cells are sorted by group
    for kept in np.split(np.arange(len(y)), ends):
        yield _Group.of(y[kept], rater[kept], numbered(instance[kept]))


def _estimate(parts: list[_Group], share: float, confidence_level: float) -> Estimate:
    freedom = sum(len(part.means) - 1 for part in parts)

    def at(target: float) -> float:
        def excess(variance: float) -> float:
            return sum(part.spread(variance) for part in parts) - target

        if excess(0) <= 0:
            return 0.0
        if excess(MOST) >= 0:
            return MOST
        return float(scipy.optimize.brentq(excess, 0, MOST, xtol=1e-10))

    tail, of = (1 - confidence_level) / 2, share * freedom
    smallest, largest = (float(scipy.stats.chi2.ppf(q, of)) / share for q in (tail, 1 - tail))
    value, low, high = at(freedom), at(largest), at(smallest)
    raters = max(len(part.means) for part in parts)
    if not high:
        return Estimate(value, reason=TOO_ALIKE)
    return Estimate(
        value, low, high, method=f"Q profile over {raters} raters", stated_scope=NEW_RATERS
    )

"""Simultaneous statements about many means: the level of each interval, and sets of ranks.

Means over ratings that share instances and raters vary together. In comments, a change is what leaving
a group of ratings out does to a mean, so sums of products of changes are jackknife covariances.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL, generator_for
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.core.independence import MIN_CLUSTERS, differs, effective_size, exact_interval
from tiebreak.stats.core.joint_intervals import Linearised
from tiebreak.stats.core.two_way import MIN_RATERS
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    check_resampling,
    check_same_length,
)

# Above this number of comparisons, simulating them takes long, and Bonferroni's level is used.
MAX_COMPARISONS = 200
_NUMBERS, _MIN_DRAWS = 1_000_000, 10_000


@dataclass(frozen=True, eq=False)
class RatedMean:
    """Ratings with a mean.

    See Also
    --------
    joint_confidence_level, rank_sets : What several means are for.
    """

    values: npt.ArrayLike
    """Value of each rating; float, shape (n_ratings,)."""
    instances: npt.ArrayLike
    raters: npt.ArrayLike
    """Instance and rater of each rating, as codes from 0 that all means share; a rater is −1 if it
    is unknown; int, shape (n_ratings,)."""
    weights: npt.ArrayLike | None = None
    """Weight of each rating, above 0; 1 by default; float, shape (n_ratings,)."""


@dataclass(frozen=True)
class RankSet:
    """Ranks that a system may have.

    See Also
    --------
    rank_sets : Computes them.
    """

    best: int
    """1 plus the number of systems that are shown to be better."""
    worst: int
    """Number of all systems minus the number of those that are shown to be worse."""

    def __str__(self) -> str:
        return f"{self.best} to {self.worst}" if self.best < self.worst else str(self.best)


def joint_confidence_level(
    means: Sequence[RatedMean], *, confidence_level: float = CONFIDENCE_LEVEL
) -> float:
    """Return the level of single intervals of means that hold simultaneously with another level.

    Parameters
    ----------
    means : sequence of RatedMean
        The means.
    confidence_level : float, default 0.95
        Probability with which all intervals hold simultaneously, in (0, 1).

    Returns
    -------
    float
        Level of each interval (`two_way_mean`). It is at most Bonferroni's, and equal to it for more
        than 200 means.

    Raises
    ------
    InvalidInput
        If the vectors of a mean differ in length, or the level is not between 0 and 1.

    See Also
    --------
    rank_sets : Uses such intervals of all differences.

    Notes
    -----
    The level is that at which the largest of all abs(Z) is exceeded, where Z is normal with the
    correlations of the means (max-t). The covariance is instances + raters − cells of both (Cameron, Gelbach and Miller 2011, eq.
    2.11), projected to positive semidefinite. Few raters overstate correlations, so they are multiplied
    by ν / (ν + m), with m means and ν the fewest degrees of freedom of any. Each interval keeps the t
    quantile for its own degrees of freedom; the common denominators of a multivariate t would only make
    intervals shorter. The simulation has a fixed seed and 1,000,000 / m draws, at least 10,000, so
    the probability with which all intervals hold has a standard error of at most 0.0022 from it.

    Examples
    --------
    >>> mean = RatedMean([0, 1] * 20, list(range(40)), [-1] * 40)
    >>> 0.95 < joint_confidence_level([mean, mean]) < 0.975
    True
    """
    check_resampling(0, confidence_level, None)
    if len(means) < 2:
        return confidence_level
    return joint_level(Joint.of(means), confidence_level)


def rank_sets(
    means: Mapping[str, RatedMean], *, confidence_level: float = CONFIDENCE_LEVEL
) -> dict[str, RankSet]:
    """Return the ranks that each system may have, simultaneously with a confidence level.

    Parameters
    ----------
    means : mapping of str to RatedMean
        The ratings of each system, whose mean it is ranked by; higher is better.
    confidence_level : float, default 0.95
        Probability with which all sets contain the true ranks simultaneously, in (0, 1).

    Returns
    -------
    dict of str to RankSet
        Set of ranks of each system. A system with fewer than 10 effective instances is not shown to
        differ from any.

    Raises
    ------
    InvalidInput
        If the vectors of a mean differ in length, or the level is not between 0 and 1.

    See Also
    --------
    joint_confidence_level : Explains the level of each interval.
    shared_ranks : Ranks by overlap of single intervals.

    Notes
    -----
    A system is shown to be better than another if the interval of the difference of their means lies
    above 0, where the intervals of all differences hold simultaneously (Mogstad, Romano, Shaikh and Wilhelm
    2024, section 3).

    Examples
    --------
    >>> instances, raters = list(range(40)), [-1] * 40
    >>> good = RatedMean([1] * 39 + [0], instances, raters)
    >>> poor = RatedMean([0] * 39 + [1], instances, raters)
    >>> rank_sets({"good": good, "poor": poor})["good"]
    RankSet(best=1, worst=1)
    """
    check_resampling(0, confidence_level, None)
    names, m = list(means), len(means)
    if m < 2:
        return {name: RankSet(1, 1) for name in names}
    return joint_rank_sets(names, Joint.of(list(means.values())), confidence_level)


def joint_rank_sets(
    names: Sequence[str], joint: "Joint", confidence_level: float
) -> dict[str, RankSet]:
    """Return the rank sets of systems by values that are estimated together, in the order of names."""
    m = len(names)
    pairs = list(combinations(range(m), 2))
    differences = joint.differences(pairs)
    shown = np.zeros((m, m), dtype=np.bool_)  # row better than column
    signs = _signs(differences, joint_level(differences, confidence_level))
    for (first, second), sign in zip(pairs, signs, strict=True):
        shown[first, second], shown[second, first] = sign > 0, sign < 0
    better, worse = shown.sum(axis=0), shown.sum(axis=1)
    return {name: RankSet(1 + int(better[k]), m - int(worse[k])) for k, name in enumerate(names)}


@dataclass(frozen=True, eq=False)
class Joint:
    """Means or differences of means, shape (m,).

    `covariances` are the jackknife covariances of the means by instance, rater and cell, and
    `contrasts`, shape (means, m), the differences. `n_instances` and `n_raters` are effective numbers,
    shape (m,).
    """

    value: FloatArray
    covariances: tuple[FloatArray, FloatArray, FloatArray]
    contrasts: FloatArray
    n_instances: FloatArray
    n_raters: FloatArray

    @classmethod
    def of(cls, means: Sequence[RatedMean]) -> "Joint":
        samples = [_Sample.of(mean) for mean in means]
        value = np.array([sample.mean for sample in samples])
        by_instance, n_instances = _covariance(samples, lambda sample: sample.instance)
        by_rater = by_cell = np.zeros_like(by_instance)
        n_raters = np.full(len(samples), np.inf)
        if all(sample.n_raters >= MIN_RATERS for sample in samples):
            raters = 1 + max(int(sample.rater.max()) for sample in samples)
            by_rater, n_raters = _covariance(samples, lambda sample: sample.rater)
            by_cell, _ = _covariance(samples, lambda one: one.instance * raters + one.rater)
        parts = (by_instance, by_rater, by_cell)
        return cls(value, parts, np.eye(len(samples)), n_instances, n_raters)

    @classmethod
    def of_fit(cls, fitted: Linearised) -> "Joint":
        """Return parameters that were fitted together, such as Bradley–Terry strengths."""
        values, sizes = fitted.values, fitted.sizes
        return cls(values, fitted.covariances, np.eye(len(values)), *sizes)

    def differences(self, pairs: Sequence[tuple[int, int]]) -> "Joint":
        """Return the first mean of each pair minus the second."""
        contrasts = np.zeros((len(self.value), len(pairs)))
        for column, (first, second) in enumerate(pairs):
            contrasts[first, column], contrasts[second, column] = 1, -1
        fewest = [
            np.where(contrasts != 0, n[:, None], np.inf).min(axis=0)
            for n in (self.n_instances, self.n_raters)
        ]
        return Joint(self.value @ contrasts, self.covariances, contrasts, *fewest)

    @cached_property
    def variance(self) -> FloatArray:
        instance, rater, cell = self._variances
        return np.asarray(instance + np.maximum(0, rater - cell))

    @cached_property
    def freedom(self) -> FloatArray:
        """Satterthwaite's degrees of freedom, at least 1."""
        instance, rater, _ = self._variances
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = instance**2 / (self.n_instances - 1) + rater**2 / (self.n_raters - 1)
            freedom = self.variance**2 / parts
        return np.maximum(1.0, np.where(np.isfinite(freedom), freedom, 1.0))

    @cached_property
    def _variances(self) -> list[FloatArray]:
        return [((part @ self.contrasts) * self.contrasts).sum(axis=0) for part in self.covariances]

    @property
    def correlation(self) -> FloatArray:
        """Correlations, from the covariance without its negative eigenvalues."""
        instance, rater, cell = self.covariances
        covariance = self.contrasts.T @ (instance + rater - cell) @ self.contrasts
        values, vectors = np.linalg.eigh(covariance)
        projected = (vectors * np.maximum(values, 0)) @ vectors.T
        scale = np.sqrt(np.maximum(np.diag(projected), np.finfo(float).tiny))
        correlation = np.clip(projected / np.outer(scale, scale), -1, 1)
        np.fill_diagonal(correlation, 1)
        return np.asarray(correlation)


@dataclass(frozen=True, eq=False)
class _Sample:
    value: FloatArray
    instance: IntArray
    rater: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, mean: RatedMean) -> "_Sample":
        value = as_numbers(mean.values, name="values")
        weight = np.ones(len(value)) if mean.weights is None else np.asarray(mean.weights, float)
        instance, rater = (np.asarray(c, dtype=np.int64) for c in (mean.instances, mean.raters))
        check_same_length(values=value, instances=instance, raters=rater, weights=weight)
        return cls(value, instance, rater, weight)

    @property
    def mean(self) -> float:
        return float(self.weight @ self.value / self.weight.sum()) if len(self.value) else 0.0

    @property
    def n_raters(self) -> int:
        """Number of raters; 0 if one is unknown."""
        return 0 if (self.rater < 0).any() else n_distinct(self.rater)

    def changes(self, group_of: IntArray) -> "_Changes":
        code = numbered(group_of)
        group = np.zeros(int(code.max(initial=-1)) + 1, dtype=np.int64)
        group[code] = group_of
        weights = np.bincount(code, self.weight, len(group))
        sums = np.bincount(code, self.weight * (self.value - self.mean), len(group))
        rest = self.weight.sum() - weights
        n = int((weights > 0).sum())
        change = np.divide(sums, rest, out=np.zeros(len(group)), where=rest > 0)
        scale = np.sqrt((n - 1) / n) if n else 0.0
        return _Changes(group, scale * change, effective_size(weights[weights > 0]))


@dataclass(frozen=True, eq=False)
class _Changes:
    """What leaving each group out does to a mean; the squares add up to its variance."""

    group: IntArray
    change: FloatArray
    n_effective: float


def _covariance(
    samples: Sequence[_Sample], group_of: Callable[[_Sample], IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the delete-one-group covariance of the means, and the effective numbers of groups.

    The changes are sparse, because a rating concerns two of many systems.
    """
    all_codes = numbered(np.concatenate([group_of(sample) for sample in samples]))
    ends = np.cumsum([len(sample.value) for sample in samples])
    columns = [
        sample.changes(codes)
        for sample, codes in zip(samples, np.split(all_codes, ends[:-1]), strict=True)
    ]
    rows = np.concatenate([column.group for column in columns])
    column_of = np.repeat(np.arange(len(columns)), [len(column.group) for column in columns])
    data = np.concatenate([column.change for column in columns])
    changes = scipy.sparse.csc_array(
        (data, (rows, column_of)), shape=(int(all_codes.max(initial=-1)) + 1, len(columns))
    )
    return (changes.T @ changes).toarray(), np.array([column.n_effective for column in columns])


def joint_level(joint: Joint, confidence_level: float) -> float:
    m = len(joint.value)
    bonferroni = 1 - (1 - confidence_level) / max(m, 1)
    if not 1 < m <= MAX_COMPARISONS:
        return bonferroni
    freedom = float(joint.freedom.min())
    shrunk = joint.correlation * freedom / (freedom + m)
    np.fill_diagonal(shrunk, 1)
    # Along the last axis, which is short, maxima take several times as long.
    largest = np.abs(np.linalg.cholesky(shrunk) @ _draws(m).T).max(axis=0)
    critical = float(np.quantile(largest, confidence_level))
    return min(bonferroni, 2 * NormalDist().cdf(critical) - 1)


# The draws are the same each time, and take three times as long as what is computed from them.
@lru_cache(maxsize=4)
def _draws(m: int) -> FloatArray:
    draws = generator_for(0, "max-t").standard_normal((max(_MIN_DRAWS, _NUMBERS // m), m))
    draws.setflags(write=False)
    return draws


def _signs(differences: Joint, level: float) -> IntArray:
    """Return 1 or −1 for differences that are shown to be above or below 0, and 0 for others."""
    quantile = scipy.stats.t.ppf((1 + level) / 2, differences.freedom)
    half_width = quantile * np.sqrt(differences.variance)
    has_enough = differences.n_instances >= MIN_CLUSTERS
    is_shown = has_enough & (np.abs(differences.value) > half_width)
    fewest = np.minimum(differences.n_instances, differences.n_raters)
    for k in np.flatnonzero(is_shown & ~np.vectorize(differs)(differences.variance)):
        low, high = exact_interval(differences.value[k], fewest[k], (-1, 1), level)
        is_shown[k] = not low <= 0 <= high
    return np.asarray(np.sign(differences.value) * is_shown, dtype=np.int64)

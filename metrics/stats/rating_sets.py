"""Rating sets: one rater's N ratings of one instance, and how far they point one way.

Source: Ghosh et al. 2024 (SEPARABILITY), eqs. 4 and 7, figures 6–8.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.stats.agreement import ratio
from metrics.stats.bootstrap import Array, Statistic, cluster_sums, estimate
from metrics.stats.counts import Patterns
from metrics.stats.results import Estimate
from metrics.stats.separability import range_edges, range_of

NO_SETS = "no complete rating set"


@dataclass(frozen=True)
class RatingSets:
    """Estimates over rating sets; the shares are of all complete sets.

    `zero` (consistency 0) = `contradictory` (both a −1 and a +1) + `all_ties`.
    """

    consistency: Estimate
    zero: Estimate
    contradictory: Estimate
    all_ties: Estimate
    perfect: Estimate
    preference_strength: Estimate


@dataclass(frozen=True)
class SeparabilityRange:
    """Mean consistency of the sets whose instance lies in a range of separability."""

    low: float
    high: float
    n: int
    consistency: Estimate


def consistency(ratings: ArrayLike) -> float:
    """Consistency of one rating set: 0 if both −1 and +1 occur, else the mean of |r|.

    Source: eq. 4. All ties give 0 too.

    Examples
    --------
    >>> consistency([1, 0, 1, 1, 0]), consistency([1, -1, 1]), consistency([0, 0])
    (0.6, 0.0, 0.0)
    """
    signs = np.sign(np.asarray(ratings, dtype=float))
    if len(signs) == 0:
        return float("nan")
    if signs.min() < 0 < signs.max():
        return 0.0
    return float(np.abs(signs).mean())


def rating_sets(
    against: ArrayLike,
    ties: ArrayLike,
    favour: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> RatingSets:
    """Summaries over rating sets, instances resampled.

    Parameters
    ----------
    against, ties, favour : (S sets,) whole numbers
        How many of a set's ratings were for system A (−1), ties, and for system B (+1).
    clusters : (S,) codes
        The instance of each set.
    """
    features = set_features(against, ties, favour)
    names = ("consistency", "zero", "contradictory", "all_ties", "perfect", "preference_strength")
    statistics = {
        name: Statistic(slice(0, None), _mean_of(index), NO_SETS, len(features))
        for index, name in enumerate(names)
    }
    patterns = Patterns(np.zeros((0, 0), dtype=np.int64), np.arange(len(features)))
    found = estimate(
        cluster_sums(features, patterns, clusters),
        statistics,
        replicates=replicates,
        confidence_level=confidence_level,
        rng=rng,
    )
    return RatingSets(**found)


def consistency_by_separability(
    set_consistency: ArrayLike,
    separability: ArrayLike,
    *,
    clusters: ArrayLike,
    ranges: int = 4,
    edges: ArrayLike | None = None,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> list[SeparabilityRange]:
    """Mean consistency per equal-width range of the observed separability (figure 8).

    Sets whose instance has no separability (NaN) are in no range. Instances are resampled.
    """
    c, delta = np.asarray(set_consistency, dtype=float), np.asarray(separability, dtype=float)
    codes = np.asarray(clusters)
    bounds = range_edges(delta, ranges) if edges is None else np.asarray(edges, dtype=float)
    which = range_of(delta, bounds)
    found = []
    for index in range(len(bounds) - 1):
        inside = which == index
        features = np.column_stack([c[inside], np.ones(int(inside.sum()))])
        patterns = Patterns(np.zeros((0, 0), dtype=np.int64), np.arange(len(features)))
        statistic = Statistic(slice(0, 2), ratio, NO_SETS, len(features))
        mean = estimate(
            cluster_sums(features, patterns, codes[inside]),
            {"consistency": statistic},
            replicates=replicates,
            confidence_level=confidence_level,
            rng=rng,
        )["consistency"]
        found.append(
            SeparabilityRange(float(bounds[index]), float(bounds[index + 1]), len(features), mean)
        )
    return found


def set_features(against: ArrayLike, ties: ArrayLike, favour: ArrayLike) -> Array:
    """(S, 7): consistency, zero, contradictory, all ties, perfect, strength, and 1."""
    a, t, b = (np.asarray(x, dtype=float) for x in (against, ties, favour))
    size = a + t + b
    if np.any(size <= 0):
        raise ValueError("against, ties and favour must add to at least one rating per set")
    contradictory = (a > 0) & (b > 0)
    c = np.where(contradictory, 0.0, (a + b) / size)
    return np.column_stack(
        [c, c == 0, contradictory, (a + b) == 0, c == 1, (b - a) / size, np.ones_like(c)]
    ).astype(float)


def _mean_of(column: int):  # type: ignore[no-untyped-def]
    def mean(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return ratio(sums[..., [column, -1]])

    return mean

"""One bootstrap for every statistic: additive sums per cluster, and a function of their total.

A statistic is written as features (what each unit adds) and a value (a function of the sums). A
multinomial over clusters aggregates to one over distinct cluster sums, so identical clusters
collapse and the replicates cost the number of distinct ones. This is exact, not approximate.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from metrics.stats.counts import Patterns
from metrics.stats.results import NAN, Estimate
from metrics.stats.validation import check_clusters, check_confidence

Array = NDArray[np.float64]
# Sums of shape (..., S) to values of shape (...).
Value = Callable[[Array], Array]

MAX_UNDEFINED = 0.05
BATCH_CELLS = 2_000_000


@dataclass(frozen=True)
class Sums:
    """Distinct cluster sums (D, S), how many clusters have each (D,), and what was resampled."""

    rows: Array
    multiplicity: NDArray[np.int64]
    resampling: str

    @property
    def total(self) -> Array:
        return np.asarray(self.multiplicity @ self.rows, dtype=float)


@dataclass(frozen=True)
class Statistic:
    """A value function over a block of feature columns.

    `reason` says why the value is undefined where it is NaN; `bias_corrected` is for statistics
    that cannot be negative.
    """

    columns: slice
    value: Value
    reason: str
    n: int
    bias_corrected: bool = False


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator that depends only on the seed and the names, on any machine."""
    text = "\x1f".join([str(seed), *names]).encode()
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(text, digest_size=16).digest()))


def cluster_sums(features: Array, patterns: Patterns, clusters: ArrayLike | None = None) -> Sums:
    """Sum the features (P, S) of each unit's pattern per cluster, and collapse equal clusters.

    `clusters` is one code per unit; None makes each unit its own cluster. The result does not
    depend on the order of units: each cluster adds its patterns in sorted order.
    """
    codes = check_clusters(clusters, len(patterns.index))
    if codes is None:
        present, times = np.unique(patterns.index, return_counts=True)
        return Sums(features[present], times.astype(np.int64), "unit")
    order = np.lexsort((patterns.index, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    if len(starts) == 0:
        return Sums(np.zeros((0, features.shape[1])), np.zeros(0, dtype=np.int64), "instance")
    sums = np.add.reduceat(features[patterns.index[order]], starts, axis=0)
    rows, times = np.unique(sums, axis=0, return_counts=True)
    return Sums(rows, times.astype(np.int64), "instance")


def replicate_sums(
    sums: Sums, *, replicates: int, rng: np.random.Generator, batch: int | None = None
) -> Array:
    """The total sums (replicates, S) of resampled clusters; memory is bounded by `batch`."""
    clusters, distinct = int(sums.multiplicity.sum()), len(sums.multiplicity)
    totals = np.empty((replicates, sums.rows.shape[1]))
    step = batch or max(1, BATCH_CELLS // max(distinct, 1))
    shares = sums.multiplicity / max(clusters, 1)
    for start in range(0, replicates, step):
        stop = min(start + step, replicates)
        weights = rng.multinomial(clusters, shares, size=stop - start)
        totals[start:stop] = weights @ sums.rows
    return totals


def estimate(
    sums: Sums,
    statistics: Mapping[str, Statistic],
    *,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> dict[str, Estimate]:
    """Every statistic with its percentile interval, all on the same replicates.

    Without an `rng`, or with no replicates or no cluster, there is no interval. Replicates where
    a statistic is undefined are left out; where they are over 5%, the interval is NaN and the
    reason says so.
    """
    check_confidence(confidence_level)
    resampled = None
    if rng is not None and replicates > 0 and len(sums.multiplicity) > 0:
        resampled = replicate_sums(sums, replicates=replicates, rng=rng, batch=batch)
    with np.errstate(all="ignore"):
        return {
            name: _one(statistic, sums, resampled, confidence_level)
            for name, statistic in statistics.items()
        }


def _one(
    statistic: Statistic, sums: Sums, resampled: Array | None, confidence_level: float
) -> Estimate:
    value = float(statistic.value(sums.total[statistic.columns]))
    if np.isnan(value):
        return Estimate(NAN, n=statistic.n, reason=statistic.reason)
    if resampled is None:
        return Estimate(value, n=statistic.n)
    return interval(
        value,
        statistic.value(resampled[:, statistic.columns]),
        n=statistic.n,
        method=f"percentile bootstrap over {sums.resampling}s",
        confidence_level=confidence_level,
        bias_corrected=statistic.bias_corrected,
    )


def interval(
    value: float,
    replicates: Array,
    *,
    n: int,
    method: str,
    confidence_level: float = 0.95,
    bias_corrected: bool = False,
) -> Estimate:
    """An estimate from its replicates (R,), NaN among them counted.

    With `bias_corrected` the percentiles are moved down by twice the bootstrap's bias and cut at
    0: the plug-in of a statistic that cannot be negative is too high, and its replicates doubly.
    """
    defined = replicates[~np.isnan(replicates)]
    if len(defined) < (1 - MAX_UNDEFINED) * len(replicates):
        share = 1 - len(defined) / len(replicates)
        reason = f"no interval: undefined in {share:.0%} of the replicates"
        return Estimate(value, n=n, method=method, reason=reason)
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    if bias_corrected:
        shift = 2 * (float(defined.mean()) - value)
        low, high = max(0.0, low - shift), max(0.0, high - shift)
        method += ", shifted by twice the bias"
    error = float(defined.std(ddof=1)) if len(defined) > 1 else NAN
    return Estimate(value, float(low), float(high), error, n, method)


def normal_quantile(confidence_level: float) -> float:
    """The two-sided quantile z of the standard normal."""
    return float(ndtri(0.5 + check_confidence(confidence_level) / 2))

"""One engine for every statistic: additive sums over clusters, resampled.

A statistic is a pair: ``features`` gives each distinct unit row its additive sums, and ``value``
turns summed features into the number, for one sample or for thousands of replicates at once.
Clusters are resampled with replacement; identical clusters are one row with a multiplicity, so
that a replicate is a multinomial weight vector times a matrix. Exact, because a multinomial over
clusters aggregates to a multinomial over their distinct rows.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, TypedDict, Unpack

import numpy as np

from metrics.stats.counts import Patterns, distinct_rows
from metrics.stats.results import NAN, Estimate, undefined
from metrics.stats.validation import FloatArray, IntArray, check_resampling

REPLICATES = 10_000
CONFIDENCE_LEVEL = 0.95
MOST_UNDEFINED = 0.05
_BATCH_ELEMENTS = 2**21
# A binomial costs about as much as three drawn indices: below this ratio indices are cheaper.
_UNITS_PER_ROW = 3

Interval = Literal["percentile", "bias-corrected"]
RngFor = Callable[[str], np.random.Generator]


class Resampling(TypedDict, total=False):
    """The keyword options that every statistic passes on to the engine."""

    replicates: int
    confidence_level: float
    rng: np.random.Generator | None
    batch: int | None


def first_feature(sums: FloatArray) -> FloatArray:
    """The number of units that entered: by convention the first feature."""
    return sums[..., 0]


@dataclass(frozen=True)
class Statistic:
    """A number as a function of additive sums.

    ``features`` maps distinct unit rows (P, C) to (P, S = ``width``); ``value`` maps sums (..., S) to (...),
    NaN where undefined; ``n`` maps sums to the number of units that entered. ``empty`` is the
    reason where none did, ``reason`` why the value is undefined all the same.
    """

    width: int
    features: Callable[[IntArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]
    empty: str
    reason: str
    n: Callable[[FloatArray], FloatArray] = first_feature
    interval: Interval = "percentile"


def generator_for(seed: int, *names: str) -> np.random.Generator:
    """The generator of one statistic, the same on every machine.

    >>> int(generator_for(0, "preference", "all").integers(1000))
    394
    """
    # Lengths keep ("ab", "c") and ("a", "bc") apart.
    text = "".join(f"{len(name)}:{name}" for name in (str(seed), *names))
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient, NaN where the denominator is 0."""
    top, bottom = np.broadcast_arrays(numerator, denominator)
    quotient = np.full(top.shape, NAN)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


def on_columns(statistic: Statistic, columns: slice) -> Statistic:
    """The statistic of some columns of wider rows."""

    def features(rows: IntArray) -> FloatArray:
        return statistic.features(rows[:, columns])

    return replace(statistic, features=features)


def difference(first: Statistic, second: Statistic) -> Statistic:
    """``first − second`` on the same rows, so that both see the same replicates."""

    def features(rows: IntArray) -> FloatArray:
        return np.concatenate([first.features(rows), second.features(rows)], axis=1)

    def value(sums: FloatArray) -> FloatArray:
        return first.value(sums[..., : first.width]) - second.value(sums[..., first.width :])

    def n(sums: FloatArray) -> FloatArray:
        left, right = sums[..., : first.width], sums[..., first.width :]
        return np.minimum(first.n(left), second.n(right))

    width = first.width + second.width
    return Statistic(width, features, value, second.empty, second.reason, n)


def estimate(
    statistic: Statistic,
    patterns: Patterns,
    *,
    replicates: int = REPLICATES,
    confidence_level: float = CONFIDENCE_LEVEL,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> Estimate:
    """The statistic of the sample with its bootstrap interval.

    Without ``rng``, or with 0 replicates, there is no interval. ``batch`` bounds how many
    replicates are in memory at once.
    """
    check_resampling(replicates, confidence_level, batch)
    features = statistic.features(patterns.rows)
    # From units and not from clusters, so that the value is the same whatever is resampled.
    total = patterns.unit_counts.astype(np.float64) @ features
    n = round(float(statistic.n(total)))
    if n == 0:
        return undefined(statistic.empty)
    value = float(statistic.value(total))
    if np.isnan(value):
        return undefined(statistic.reason, n)
    if rng is None or replicates == 0:
        return Estimate(value, n=n)
    if patterns.n_clusters < 2:
        return Estimate(value, n=n, reason=f"No interval: there is one {patterns.resampled} only.")
    sums, multiplicities = _distinct_sums(features, patterns)
    weights = replicate_weights(multiplicities, replicates, rng, batch, width=sums.shape[1])
    drawn = np.concatenate([statistic.value(drawn @ sums) for drawn in weights])
    method = f"bootstrap over {patterns.resampled}s, {statistic.interval}, {replicates} replicates"
    return interval(
        value, drawn, n=n, method=method, kind=statistic.interval, confidence_level=confidence_level
    )


def estimate_each(
    statistics: Mapping[str, Statistic],
    patterns: Patterns,
    *,
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> dict[str, Estimate]:
    """Every statistic by its name, each with its own generator ``rng_for(name)``."""
    return {
        name: estimate(statistic, patterns, **own_options(name, rng_for, resampling))
        for name, statistic in statistics.items()
    }


def own_options(name: str, rng_for: RngFor | None, resampling: Resampling) -> Resampling:
    """The options of one of several statistics: its own generator, where there is a maker."""
    return {**resampling, "rng": rng_for(name)} if rng_for else resampling


def _distinct_sums(features: FloatArray, patterns: Patterns) -> tuple[FloatArray, IntArray]:
    """Clusters with the same sums are one to this statistic, whatever their ratings were."""
    sums, place, _ = distinct_rows(patterns.sums(features))
    multiplicities = np.bincount(place, weights=patterns.multiplicities, minlength=len(sums))
    return sums, multiplicities.astype(np.int64)


def replicate_weights(
    multiplicities: IntArray,
    replicates: int,
    rng: np.random.Generator,
    batch: int | None = None,
    *,
    width: int = 1,
) -> Iterator[FloatArray]:
    """Multinomial weights over distinct rows, (at most ``batch``, D) at a time.

    The draws do not depend on ``batch``: the generator is read in one order.
    """
    rows, total = len(multiplicities), int(multiplicities.sum())
    by_index = rows * _UNITS_PER_ROW > total
    largest = max(total if by_index else rows, width)
    size = batch or max(1, min(replicates, _BATCH_ELEMENTS // largest))
    owner = np.repeat(np.arange(rows), multiplicities)
    for start in range(0, replicates, size):
        count = min(size, replicates - start)
        if by_index:
            yield _weights_by_index(owner, rows, count, rng)
        else:
            drawn = rng.multinomial(total, multiplicities / total, size=count)
            yield drawn.astype(np.float64)


def _weights_by_index(
    owner: IntArray, rows: int, count: int, rng: np.random.Generator
) -> FloatArray:
    drawn = owner[rng.integers(0, len(owner), size=(count, len(owner)), dtype=np.int32)]
    drawn += np.arange(count)[:, None] * rows
    return (
        np.bincount(drawn.ravel(), minlength=count * rows).astype(np.float64).reshape(count, rows)
    )


def interval(
    value: float,
    drawn: FloatArray,
    *,
    n: int,
    method: str = "",
    kind: Interval = "percentile",
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Value and interval from replicates; none where over 5% of them are undefined."""
    defined = drawn[~np.isnan(drawn)]
    lost = len(drawn) - len(defined)
    if lost > MOST_UNDEFINED * len(drawn):
        reason = f"No interval: undefined in {lost} of {len(drawn)} replicates."
        return Estimate(value, n=n, method=method, reason=reason)
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    if kind == "bias-corrected":
        low, high = _corrected(value, defined, tail)
    error = float(defined.std(ddof=1)) if len(defined) > 1 else NAN
    return Estimate(value, float(low), float(high), error, n, method)


def _corrected(value: float, drawn: FloatArray, tail: float) -> tuple[float, float]:
    """Normal interval around the value less its bootstrap bias, cut at 0.

    The plug-in of a divergence is biased upwards and every replicate twice so: their percentiles
    would miss the truth from above.
    """
    centre = 2 * value - float(drawn.mean())
    reach = -NormalDist().inv_cdf(tail) * float(drawn.std())
    return max(0.0, centre - reach), max(0.0, centre + reach)

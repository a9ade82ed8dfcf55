"""The bootstrap behind all statistics.

A statistic consists of two functions: ``features`` maps each distinct unit row to additive
features, and ``value`` maps sums of features to the statistic, for one sample or for thousands of
replicates. A replicate draws clusters with replacement. It is stored as the number of times that it
contains each distinct row. All statistics, in all strata, are computed from the same replicates.

In shapes, a pattern is a distinct row, and a feature is one of the sums that a statistic needs.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Generic, Literal, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.counts import Patterns, Resampled
from tiebreak.stats.core.independence import (
    MANY_CLUSTERS,
    MIN_CLUSTERS,
    SHARE,
    Bounds,
    differs,
    drop_unreliable_interval,
    mean_estimate,
)
from tiebreak.stats.core.resampling import replicate_counts
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import FloatArray, IntArray, check_resampling

REPLICATES = 10_000
CONFIDENCE_LEVEL = 0.95
MAX_UNDEFINED_SHARE = 0.05
# An interval of zero width would claim certainty about instances that were not rated.
NO_WIDTH = (
    "There is no interval because nearly all bootstrap replicates give the same value, so the"
    " interval would have zero width."
)
OFTEN_UNDEFINED = (
    "There is no interval because the statistic is undefined in {lost} of {of} bootstrap"
    " replicates."
)
_ROUNDING = 1e-9
_ROWS_AT_ONCE = 512

Interval = Literal["percentile", "bias-corrected"]
Mask = npt.NDArray[np.bool_]
Name = TypeVar("Name")


class Resampling(TypedDict, total=False):
    """Keyword options of the bootstrap, which every statistic passes on to it."""

    replicates: int
    confidence_level: float
    rng: np.random.Generator | None
    batch: int | None


def first_feature(sums: FloatArray) -> FloatArray:
    """Return the number of units used, which by convention is the first feature."""
    return sums[..., 0]


class Mean(NamedTuple):
    """The features of which a mean is the quotient, and the bounds of its values."""

    numerator: int = 1
    denominator: int = 0
    bounds: Bounds = SHARE

    def value(self, sums: FloatArray) -> FloatArray:
        """Return the quotient; NaN where the denominator is 0."""
        return ratio(sums[..., self.numerator], sums[..., self.denominator])


@dataclass(frozen=True)
class Statistic:
    """A statistic that is a function of sums over units.

    ``features`` maps distinct unit rows, shape (patterns, columns), to features, shape (patterns,
    ``width``). ``value`` maps sums of features, shape (..., ``width``), to the statistic, which is
    NaN where it is undefined. ``n`` maps the same sums to the number of units used.
    ``reason_if_empty`` is the reason if no unit is used; ``reason`` is the reason if units are used
    but the value is undefined. ``reason_of`` chooses one of several reasons from the sums.
    ``reason_without_interval`` is set if there are too many features for replicates. ``mean`` is set if
    the statistic is a mean of bounded values, as shares are; see `mean_estimate`.
    """

    width: int
    features: Callable[[IntArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]
    reason_if_empty: str
    reason: str
    n: Callable[[FloatArray], FloatArray] = first_feature
    interval: Interval = "percentile"
    reason_of: Callable[[FloatArray], str] | None = None
    reason_without_interval: str | None = None
    mean: Mean | None = None


@dataclass(frozen=True)
class RowStatistic:
    """A statistic computed from row counts, because it would need too many features.

    ``bind`` maps the distinct rows, shape (patterns, columns), to a function of their counts, shape
    (..., patterns). ``count`` returns 1 for rows that are used and 0 for all others.
    ``reason_without_interval`` is set if replicates would be too expensive.
    """

    bind: Callable[[IntArray], Callable[[FloatArray], FloatArray]]
    count: Callable[[IntArray], FloatArray]
    reason_if_empty: str
    reason: str
    interval: Interval = "percentile"
    reason_without_interval: str | None = None


AnyStatistic = Statistic | RowStatistic


def generator_for(seed: int, *names: str) -> np.random.Generator:
    """Return the random generator for a seed and names.

    Parameters
    ----------
    seed : int
        Seed of the whole report.
    *names : str
        Names that say what the generator is used for, such as a criterion and a stratum.

    Returns
    -------
    numpy.random.Generator
        A generator that produces the same numbers on every machine.

    Examples
    --------
    >>> int(generator_for(0, "preference", "all").integers(1000))
    394
    """
    # The lengths are included so that ("ab", "c") and ("a", "bc") give different texts.
    text = "".join(f"{len(name)}:{name}" for name in (str(seed), *names))
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return the quotient; NaN where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient = np.full(numerator.shape, NAN)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient


def on_columns(statistic: Statistic, columns: slice) -> Statistic:
    """Return the statistic, applied to a slice of the columns."""

    def features(rows: IntArray) -> FloatArray:
        return statistic.features(rows[:, columns])

    return replace(statistic, features=features)


def difference(first: Statistic, second: Statistic, *, sides: tuple[str, str]) -> Statistic:
    """Return the statistic ``first − second``, computed on the same rows and replicates.

    If one of the two statistics is undefined, the reason starts with its name in ``sides``.
    """
    parts = (first, slice(0, first.width)), (second, slice(first.width, None))

    def features(rows: IntArray) -> FloatArray:
        return np.concatenate([first.features(rows), second.features(rows)], axis=1)

    def value(sums: FloatArray) -> FloatArray:
        left, right = (part.value(sums[..., columns]) for part, columns in parts)
        return left - right

    def n(sums: FloatArray) -> FloatArray:
        return np.minimum(*(part.n(sums[..., columns]) for part, columns in parts))

    def reason_of(total: FloatArray) -> str:
        points = [_point_estimate(part, total[columns]) for part, columns in parts]
        reasons = [f"{side}: {point.reason}" for side, point in zip(sides, points, strict=True)]
        return next(r for r, point in zip(reasons, points, strict=True) if not point.is_defined)

    return Statistic(
        first.width + second.width,
        features,
        value,
        second.reason_if_empty,
        second.reason,
        n,
        reason_of=reason_of,
        reason_without_interval=first.reason_without_interval or second.reason_without_interval,
    )


def estimate(
    statistic: AnyStatistic, patterns: Patterns, **resampling: Unpack[Resampling]
) -> Estimate:
    """Return the statistic of the sample with its bootstrap interval; see `estimate_strata`."""
    return estimate_each({"": statistic}, patterns, **resampling)[""]


def estimate_each(
    statistics: Mapping[Name, AnyStatistic], patterns: Patterns, **resampling: Unpack[Resampling]
) -> dict[Name, Estimate]:
    """Return every statistic by name, all from the same replicates; see `estimate_strata`."""
    everything = np.ones(len(patterns.rows), dtype=np.bool_)
    return estimate_strata(statistics, patterns, [everything], **resampling)[0]


def estimate_strata(
    statistics: Mapping[Name, AnyStatistic],
    patterns: Patterns,
    strata: Sequence[Mask],
    *,
    replicates: int = REPLICATES,
    confidence_level: float = CONFIDENCE_LEVEL,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> list[dict[Name, Estimate]]:
    """Return every statistic in every stratum, all from the same replicates.

    Strata are masks over the distinct rows of ``patterns``. `tiebreak.stats` describes the options.
    A replicate resamples all clusters, so a stratum's size varies as it would in a new study and
    two strata may be compared. The results do not depend on which other statistics and strata are
    requested in the same call.
    """
    check_resampling(replicates, confidence_level, batch)
    estimators = [_StratumEstimator(statistics, patterns, mask) for mask in strata]
    if rng is None or replicates == 0:
        return [estimator.points for estimator in estimators]
    resampled = [estimator for estimator in estimators if estimator.resampled]
    if resampled:
        for counts in replicate_counts(patterns, replicates, rng, batch):
            for estimator in resampled:
                estimator.add_replicates(counts)
    return [estimator.estimates(replicates, confidence_level) for estimator in estimators]


class _StratumEstimator(Generic[Name]):
    """All statistics of one stratum, with the replicate values added so far.

    ``points`` contains the estimates without intervals; ``resampled`` contains the names of the
    statistics that will have an interval.
    """

    def __init__(
        self, statistics: Mapping[Name, AnyStatistic], patterns: Patterns, mask: Mask
    ) -> None:
        self._statistics, self._patterns = statistics, patterns
        # Indexing with a slice returns a view, whereas a mask would copy every batch of replicates.
        self._rows = slice(None) if mask.all() else mask
        self._mask = mask
        rows, counts = patterns.rows[self._rows], patterns.unit_counts[self._rows]
        self._values_of: dict[Name, _ReplicateValues] = {}
        self._clusters: dict[Name, int] = {}
        self._cluster_counts: dict[bytes, int] = {}
        # Means that need no replicates: the variance, the effective number of clusters, and the bounds.
        self._means: dict[Name, tuple[float, float, Bounds]] = {}
        self.points: dict[Name, Estimate] = {}
        blocks, width = [np.zeros((0, len(rows)))], 0
        for name, statistic in statistics.items():
            # The value is computed from units, so it does not depend on the clusters.
            if isinstance(statistic, RowStatistic):
                self._clusters[name] = self._clusters_with(statistic.count(rows))
                self.points[name], self._values_of[name] = _bind(statistic, rows, counts)
                continue
            if statistic.reason_without_interval:
                total, entering = _summed(statistic, rows, counts)
                self._clusters[name] = self._clusters_with(entering)
                self.points[name] = _point_estimate(statistic, total)
                continue
            features = statistic.features(rows)
            self._clusters[name] = self._clusters_with(statistic.n(features))
            self.points[name] = _point_estimate(statistic, counts.astype(np.float64) @ features)
            if (mean := statistic.mean) is not None and self._is_resampled(name):
                variance, size = self._spread(features, mean)
                if size < MANY_CLUSTERS or not differs(variance, mean.bounds):
                    self._means[name] = variance, size, mean.bounds
            if self._is_resampled(name):
                columns = slice(width, width := width + statistic.width)
                self._values_of[name] = _value_of_columns(statistic, columns)
                blocks.append(features.T)
        self.resampled = [name for name in statistics if self._is_resampled(name)]
        self._features = np.concatenate(blocks)
        self._bootstrap_values: dict[Name, list[FloatArray]] = {n: [] for n in self.resampled}

    def _clusters_with(self, entering: FloatArray) -> int:
        """Count the clusters that have an entering unit; ``entering`` has one entry per row."""
        mask = self._mask.copy()
        mask[self._rows] = entering > 0
        # The number is cached, because most statistics count the same rows.
        key = mask.tobytes()
        if key not in self._cluster_counts:
            self._cluster_counts[key] = self._patterns.clusters_with(mask)
        return self._cluster_counts[key]

    def _is_resampled(self, name: Name) -> bool:
        point, has_enough = self.points[name], self._clusters[name] >= MIN_CLUSTERS
        is_open = point.is_defined and point.reason is None and name not in self._means
        return has_enough and is_open

    def _spread(self, features: FloatArray, mean: Mean) -> tuple[float, float]:
        """Return the delete-one-cluster variance of a mean, and the effective number of clusters."""
        sums = np.zeros((len(self._mask), 2))
        sums[self._rows] = features[:, [mean.numerator, mean.denominator]]
        membership, times = self._patterns.membership, self._patterns.multiplicities
        values, weights = (sums if membership is None else membership @ sums).T
        total, n = float(times @ weights), float(times[weights > 0].sum())
        change = ratio(values - float(times @ values) / total * weights, total - weights)
        variance = (n - 1) / n * float(times @ np.nan_to_num(change) ** 2)
        return variance, round(total**2 / float(times @ weights**2), 9)

    def add_replicates(self, counts: FloatArray) -> None:
        """Compute every statistic on replicates, given row counts, shape (patterns, replicates)."""
        counts = counts[self._rows]
        sums = self._features @ counts
        for name, values in self._bootstrap_values.items():
            values.append(self._values_of[name](sums, counts))

    def estimates(self, replicates: int, confidence_level: float) -> dict[Name, Estimate]:
        """Return the estimates, with intervals from all replicates."""
        estimates = dict(self.points)
        for name, values in self._bootstrap_values.items():
            kind, point = self._statistics[name].interval, self.points[name]
            method = f"bootstrap over {self._patterns.resampled}s, {kind}, {replicates} replicates"
            estimates[name] = bootstrap_estimate(
                point.value,
                np.concatenate(values),
                n=point.n,
                clusters=self._clusters[name],
                method=method,
                kind=kind,
                confidence_level=confidence_level,
            )
        for name, how in self._means.items():
            over = f"over {self._clusters[name]} {self._patterns.resampled}s"
            method = f"jackknife {over}, {{}}" if differs(how[0], how[2]) else f"{{}} {over}"
            point = replace(self.points[name], method=method)
            estimates[name] = mean_estimate(point, *how, confidence_level)
        return {
            name: drop_unreliable_interval(estimate, self._clusters[name], self._patterns.resampled)
            for name, estimate in estimates.items()
        }


# Maps feature sums, shape (features, replicates), and row counts, shape (patterns, replicates), to
# one value for each replicate.
_ReplicateValues = Callable[[FloatArray, FloatArray], FloatArray]


def _value_of_columns(statistic: Statistic, columns: slice) -> _ReplicateValues:
    return lambda sums, _counts: statistic.value(sums[columns].T)


def _bind(
    statistic: RowStatistic, rows: IntArray, counts: IntArray
) -> tuple[Estimate, _ReplicateValues]:
    """Return the estimate of the sample, and a function that computes it for replicates."""
    value_of, weights = statistic.bind(rows), counts.astype(np.float64)
    n = round(float(statistic.count(rows) @ weights))
    value = float(value_of(weights)) if n else NAN
    point = Estimate(value, n=n, reason=statistic.reason_without_interval)
    if np.isnan(value):
        point = undefined(statistic.reason if n else statistic.reason_if_empty, n)
    return point, lambda _sums, counts: value_of(counts.T)


def _summed(
    statistic: Statistic, rows: IntArray, counts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the summed features, and for each row whether it enters, some rows at a time."""
    total, entering = np.zeros(statistic.width), np.zeros(len(rows))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        features = statistic.features(rows[block])
        entering[block] = statistic.n(features)
        total += counts[block].astype(np.float64) @ features
    return total, entering


def _point_estimate(statistic: Statistic, total: FloatArray) -> Estimate:
    """Return the estimate of the sample from the summed features, without an interval."""
    n = round(float(statistic.n(total)))
    value = float(statistic.value(total)) if n else NAN
    if not np.isnan(value):
        return Estimate(value, n=n, reason=statistic.reason_without_interval)
    if statistic.reason_of is not None:
        return undefined(statistic.reason_of(total), n)
    return undefined(statistic.reason if n else statistic.reason_if_empty, n)


def bootstrap_estimate(
    value: float,
    bootstrap_values: FloatArray,
    *,
    n: int,
    clusters: int,
    resampled: Resampled = "instance",
    method: str = "",
    kind: Interval = "percentile",
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Return a value with the interval of its bootstrap values.

    There is no interval if there are too few clusters (see `drop_unreliable_interval`), if more
    than 5% of the replicates are undefined, or if the interval would have no width.
    """
    if clusters < MIN_CLUSTERS:
        return drop_unreliable_interval(Estimate(value, n=n), clusters, resampled)
    estimate = replicate_estimate(
        value, bootstrap_values, n=n, method=method, kind=kind, confidence_level=confidence_level
    )
    if estimate.high - estimate.low <= _ROUNDING * max(1.0, abs(value)):
        return Estimate(value, n=n, method=method, reason=NO_WIDTH)
    return estimate


def replicate_estimate(
    value: float,
    replicates: FloatArray,
    *,
    n: int,
    method: str,
    kind: Interval = "percentile",
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Return a value with the interval of any replicates; see `bootstrap_estimate`."""
    # The values are sorted because `np.quantile` takes half the time on sorted values.
    defined = np.sort(replicates[~np.isnan(replicates)])
    n_undefined = len(replicates) - len(defined)
    if n_undefined > MAX_UNDEFINED_SHARE * len(replicates):
        reason = OFTEN_UNDEFINED.format(lost=n_undefined, of=len(replicates))
        return Estimate(value, n=n, method=method, reason=reason)
    tail = (1 - confidence_level) / 2
    low, high = map(float, np.quantile(defined, [tail, 1 - tail]))
    if kind == "bias-corrected":
        low, high = _bias_corrected(value, defined, tail)
    standard_error = float(defined.std(ddof=1)) if len(defined) > 1 else NAN
    return Estimate(value, low, high, standard_error, n, method)


def _bias_corrected(value: float, replicates: FloatArray, tail: float) -> tuple[float, float]:
    """Return a normal interval around the value minus its bootstrap bias, truncated at 0.

    The plug-in estimate of a divergence is biased upwards, and its replicates are biased twice as
    much. A percentile interval would therefore lie above the true value.
    """
    centre = 2 * value - float(replicates.mean())
    half_width = -NormalDist().inv_cdf(tail) * float(replicates.std())
    return max(0.0, centre - half_width), max(0.0, centre + half_width)

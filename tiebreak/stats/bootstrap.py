"""One engine for every statistic: additive sums over units, and the clusters resampled.

A statistic is a pair: ``features`` gives each distinct unit row its additive sums, and ``value``
turns summed features into the number, for one sample or for thousands of replicates at once.
A replicate draws clusters with replacement and is known by how often it holds each distinct row;
all statistics of a table, in all its strata, are read off the same replicates.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Generic, Literal, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.counts import Patterns, Resampled
from tiebreak.stats.independence import FEWEST_CLUSTERS, with_enough
from tiebreak.stats.resampling import replicate_counts
from tiebreak.stats.results import NAN, Estimate, undefined
from tiebreak.stats.validation import FloatArray, IntArray, check_resampling

REPLICATES = 10_000
CONFIDENCE_LEVEL = 0.95
MOST_UNDEFINED = 0.05
# An interval without width would claim to know of instances that nobody rated.
NO_WIDTH = "No interval: nearly all resamples give this very value."
OFTEN_UNDEFINED = "No interval: undefined in {lost} of {of} replicates."
_ROUNDING = 1e-9

Interval = Literal["percentile", "bias-corrected"]
Mask = npt.NDArray[np.bool_]
Name = TypeVar("Name")


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
    reason where none did, ``reason`` why the value is undefined all the same; ``why`` finds the
    reason from the sums where there are several.
    """

    width: int
    features: Callable[[IntArray], FloatArray]
    value: Callable[[FloatArray], FloatArray]
    empty: str
    reason: str
    n: Callable[[FloatArray], FloatArray] = first_feature
    interval: Interval = "percentile"
    why: Callable[[FloatArray], str] | None = None


@dataclass(frozen=True)
class RowStatistic:
    """A number as a function of how often each row occurs, where sums would be too many.

    ``bind`` takes the rows (P, C) and gives the function of their counts (..., P); ``count`` says
    which rows (P,) enter. ``no_interval`` is the reason where replicates would cost too much.
    """

    bind: Callable[[IntArray], Callable[[FloatArray], FloatArray]]
    count: Callable[[IntArray], FloatArray]
    empty: str
    reason: str
    interval: Interval = "percentile"
    no_interval: str | None = None


AnyStatistic = Statistic | RowStatistic


def generator_for(seed: int, *names: str) -> np.random.Generator:
    """The generator of one table of statistics, the same on every machine.

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


def difference(first: Statistic, second: Statistic, *, sides: tuple[str, str]) -> Statistic:
    """``first − second`` on the same rows, so that both see the same replicates.

    ``sides`` name the two where one of them is undefined.
    """
    parts = (first, slice(0, first.width)), (second, slice(first.width, None))

    def features(rows: IntArray) -> FloatArray:
        return np.concatenate([first.features(rows), second.features(rows)], axis=1)

    def value(sums: FloatArray) -> FloatArray:
        left, right = (part.value(sums[..., columns]) for part, columns in parts)
        return left - right

    def n(sums: FloatArray) -> FloatArray:
        return np.minimum(*(part.n(sums[..., columns]) for part, columns in parts))

    def why(total: FloatArray) -> str:
        points = [_point(part, total[columns]) for part, columns in parts]
        reasons = [f"{side}: {point.reason}" for side, point in zip(sides, points, strict=True)]
        return next(r for r, point in zip(reasons, points, strict=True) if not point.is_defined)

    width = first.width + second.width
    return Statistic(width, features, value, second.empty, second.reason, n, why=why)


def estimate(
    statistic: AnyStatistic, patterns: Patterns, **resampling: Unpack[Resampling]
) -> Estimate:
    """The statistic of the sample with its bootstrap interval, see `estimate_strata`."""
    return estimate_each({"": statistic}, patterns, **resampling)[""]


def estimate_each(
    statistics: Mapping[Name, AnyStatistic], patterns: Patterns, **resampling: Unpack[Resampling]
) -> dict[Name, Estimate]:
    """Every statistic by its name, from the same replicates, see `estimate_strata`."""
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
    """Every statistic in every stratum, all from the same replicates.

    Parameters
    ----------
    strata : masks over the distinct rows of ``patterns``
    rng : without one, or with 0 ``replicates``, there is no interval
    batch : how many replicates are in memory at once; the digits do not depend on it

    A replicate resamples all clusters, so that a stratum's size varies as it would in a new
    study, and two strata may be compared. Digits do not depend on which statistics and strata
    are asked for together.
    """
    check_resampling(replicates, confidence_level, batch)
    tables = [_Table(statistics, patterns, mask) for mask in strata]
    if rng is None or replicates == 0:
        return [table.points for table in tables]
    waiting = [table for table in tables if table.live]
    if waiting:
        for counts in replicate_counts(patterns, replicates, rng, batch):
            for table in waiting:
                table.draw(counts)
    return [table.estimates(replicates, confidence_level) for table in tables]


class _Table(Generic[Name]):
    """The statistics of one stratum while its replicates come in."""

    def __init__(
        self, statistics: Mapping[Name, AnyStatistic], patterns: Patterns, mask: Mask
    ) -> None:
        self._statistics, self._patterns = statistics, patterns
        # A slice is a view where a mask would copy every block of replicates.
        self._rows = slice(None) if mask.all() else mask
        self._mask = mask
        rows, counts = patterns.rows[self._rows], patterns.unit_counts[self._rows]
        self._read: dict[Name, _Reader] = {}
        self._clusters: dict[Name, int] = {}
        self._counted: dict[bytes, int] = {}
        self.points: dict[Name, Estimate] = {}
        wide, width = [np.zeros((0, len(rows)))], 0
        for name, statistic in statistics.items():
            # From units and not from clusters: the value is the same whatever is resampled.
            if isinstance(statistic, RowStatistic):
                self._clusters[name] = self._clusters_with(statistic.count(rows))
                self.points[name], self._read[name] = _bound(statistic, rows, counts)
                continue
            features = statistic.features(rows)
            self._clusters[name] = self._clusters_with(statistic.n(features))
            self.points[name] = _point(statistic, counts.astype(np.float64) @ features)
            if self._is_drawn(name):
                columns = slice(width, width := width + statistic.width)
                self._read[name] = _reader(statistic, columns)
                wide.append(features.T)
        self.live = [name for name in statistics if self._is_drawn(name)]
        self._features = np.concatenate(wide)
        self._drawn: list[list[FloatArray]] = [[] for _ in self.live]

    def _clusters_with(self, entering: FloatArray) -> int:
        """How many clusters have a unit that enters; ``entering`` is of this stratum's rows."""
        inside = self._mask.copy()
        inside[self._rows] = entering > 0
        key = inside.tobytes()  # most statistics of a table count the same rows
        if key not in self._counted:
            self._counted[key] = self._patterns.clusters_with(inside)
        return self._counted[key]

    def _is_drawn(self, name: Name) -> bool:
        point, enough = self.points[name], self._clusters[name] >= FEWEST_CLUSTERS
        return enough and point.is_defined and point.reason is None

    def draw(self, counts: FloatArray) -> None:
        """Read every statistic off some replicates' row counts (P, replicates)."""
        inside = counts[self._rows]
        sums = self._features @ inside
        for name, drawn in zip(self.live, self._drawn, strict=True):
            drawn.append(self._read[name](sums, inside))

    def estimates(self, replicates: int, confidence_level: float) -> dict[Name, Estimate]:
        found = dict(self.points)
        for name, drawn in zip(self.live, self._drawn, strict=True):
            kind, point = self._statistics[name].interval, self.points[name]
            method = f"bootstrap over {self._patterns.resampled}s, {kind}, {replicates} replicates"
            found[name] = interval(
                point.value,
                np.concatenate(drawn),
                n=point.n,
                clusters=self._clusters[name],
                method=method,
                kind=kind,
                confidence_level=confidence_level,
            )
        return {
            name: with_enough(each, self._clusters[name], self._patterns.resampled)
            for name, each in found.items()
        }


_Reader = Callable[[FloatArray, FloatArray], FloatArray]


def _reader(statistic: Statistic, columns: slice) -> _Reader:
    return lambda sums, _counts: statistic.value(sums[columns].T)


def _bound(statistic: RowStatistic, rows: IntArray, counts: IntArray) -> tuple[Estimate, _Reader]:
    value_of, weights = statistic.bind(rows), counts.astype(np.float64)
    n = round(float(statistic.count(rows) @ weights))
    value = float(value_of(weights)) if n else NAN
    point = Estimate(value, n=n, reason=statistic.no_interval)
    if np.isnan(value):
        point = undefined(statistic.reason if n else statistic.empty, n)
    return point, lambda _sums, drawn: value_of(drawn.T)


def _point(statistic: Statistic, total: FloatArray) -> Estimate:
    """The value of the sample, without an interval."""
    n = round(float(statistic.n(total)))
    value = float(statistic.value(total)) if n else NAN
    if not np.isnan(value):
        return Estimate(value, n=n)
    if statistic.why is not None:
        return undefined(statistic.why(total), n)
    return undefined(statistic.reason if n else statistic.empty, n)


def interval(
    value: float,
    drawn: FloatArray,
    *,
    n: int,
    clusters: int,
    resampled: Resampled = "instance",
    method: str = "",
    kind: Interval = "percentile",
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Value and interval from replicates of so many clusters.

    None where clusters are too few (`with_enough`), where over 5% of the replicates are
    undefined, or where it would have no width.
    """
    if clusters < FEWEST_CLUSTERS:
        return with_enough(Estimate(value, n=n), clusters, resampled)
    found = of_replicates(
        value, drawn, n=n, method=method, kind=kind, confidence_level=confidence_level
    )
    if found.high - found.low <= _ROUNDING * max(1.0, abs(value)):
        return Estimate(value, n=n, method=method, reason=NO_WIDTH)
    return found


def of_replicates(
    value: float,
    drawn: FloatArray,
    *,
    n: int,
    method: str,
    kind: Interval = "percentile",
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Value and interval from replicates, whatever they are of; see `interval`."""
    defined = np.sort(drawn[~np.isnan(drawn)])  # sorted, `np.quantile` takes half the time
    lost = len(drawn) - len(defined)
    if lost > MOST_UNDEFINED * len(drawn):
        reason = OFTEN_UNDEFINED.format(lost=lost, of=len(drawn))
        return Estimate(value, n=n, method=method, reason=reason)
    tail = (1 - confidence_level) / 2
    low, high = map(float, np.quantile(defined, [tail, 1 - tail]))
    if kind == "bias-corrected":
        low, high = _corrected(value, defined, tail)
    error = float(defined.std(ddof=1)) if len(defined) > 1 else NAN
    return Estimate(value, low, high, error, n, method)


def _corrected(value: float, drawn: FloatArray, tail: float) -> tuple[float, float]:
    """Normal interval around the value less its bootstrap bias, cut at 0.

    The plug-in of a divergence is biased upwards and every replicate twice so: their percentiles
    would miss the truth from above.
    """
    centre = 2 * value - float(drawn.mean())
    reach = -NormalDist().inv_cdf(tail) * float(drawn.std())
    return max(0.0, centre - reach), max(0.0, centre + reach)

"""Whether probabilities say how often something happens: reliability, and two errors of calibration."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import (
    Mean,
    Resampling,
    Statistic,
    estimate_each,
    on_columns,
    ratio,
)
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.results import NAN, Estimate
from tiebreak.stats.core.unit_weights import UnitWeights, relative, weighted, with_codes
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_shares,
    check_at_least,
    check_same_length,
)

BINS = 10
# Probabilities that are the same to so many decimals are equal, such as 1 − 1/3 and 2/3.
DECIMALS = 9
COLUMNS = slice(0, 3)  # of the rows of `Forecasts`
NO_LABELS = "No human labelled an item that has a probability."
EMPTY_BIN = "No human labelled an item whose probability is in this range."
_MEAN = Mean(1, 2)


@dataclass(frozen=True)
class ReliabilityBin:
    """Units whose probabilities lie in one range."""

    low: float
    high: float
    """Ends of the range. It includes the lower end, and the last range both."""
    n_ratings: int
    """Number of human labels."""
    probability: float
    """Mean probability over these labels, weighted as `share` is; NaN if there are none."""
    share: Estimate
    """Share of these labels that say what the probability is of."""


@dataclass(frozen=True)
class Calibration:
    """How well probabilities fit human labels."""

    bins: tuple[ReliabilityBin, ...]
    """The reliability diagram."""
    expected_calibration_error: Estimate
    """Mean distance between probability and share over the bins, weighted by labels, in [0, 1]."""
    brier_score: Estimate
    """Mean squared distance between the probability and each label, in [0, 1]."""


def calibration(
    probabilities: npt.ArrayLike,
    positive: npt.ArrayLike,
    labelled: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    bins: int = BINS,
    **resampling: Unpack[Resampling],
) -> Calibration:
    """Compare probabilities of an answer with the share of human labels that say so.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_units,)
        Probability of the answer for each unit, in [0, 1].
    positive : array_like of int, shape (n_units,)
        Number of human labels of each unit that give this answer.
    labelled : array_like of int, shape (n_units,)
        Number of all human labels of each unit. Units without labels are excluded.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, whole instances are resampled.
    bins : int, default 10
        Number of ranges of equal width.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    Calibration
        The reliability diagram and the two errors; `n` of an estimate is its number of units.

    Raises
    ------
    InvalidInput
        If the vectors differ in length, a probability is not between 0 and 1, more labels give the
        answer than there are, or a weight is not above 0.

    Notes
    -----
    With n labels, of which k give the answer, and the probability p of each unit, the Brier score
    (Brier 1950) is Σ(k(1 − p)² + (n − k)p²) / Σn, and the expected calibration error (Naeini et al.
    2015) Σ|Σ(k − np)| / Σn, where the inner sum is over the units of a bin. The latter is biased
    upwards: with few units a bin's share is off the probability by chance, even if that is right. Its
    interval is therefore bias-corrected; its value is as published. Intervals resample units or
    instances and take the raters as they are. A weight w multiplies k and n in all sums, so each is
    Hájek's ratio of two weighted sums (Särndal et al. 1992, eq. 5.7.2).

    Examples
    --------
    >>> result = calibration([0.9, 0.9, 0.2], [2, 1, 0], [2, 2, 2])
    >>> round(result.brier_score.value, 3), round(result.expected_calibration_error.value, 3)
    (0.153, 0.167)
    """
    check_at_least(bins, 1, name="bins")
    forecasts = Forecasts.of(probabilities, positive, labelled)
    statistics = {f"bin {k}": _share(forecasts, k, bins) for k in range(bins)} | {
        "error": _calibration_error(forecasts, bins),
        "brier": _brier_score(forecasts),
    }
    of_units = None if weights is None else UnitWeights.of(weights)
    of_columns = {name: on_columns(one, COLUMNS) for name, one in statistics.items()}
    patterns = Patterns.of(with_codes(forecasts.rows, of_units), clusters=clusters)
    estimates = estimate_each(weighted(of_columns, of_units), patterns, **resampling)
    weight = relative(weights, length=len(forecasts.rows))
    return Calibration(
        tuple(_bin(forecasts, k, bins, estimates[f"bin {k}"], weight) for k in range(bins)),
        estimates["error"],
        estimates["brier"],
    )


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Probabilities with labels, as rows: index of the probability in `values`, positives, labels."""

    rows: IntArray
    values: FloatArray

    @classmethod
    def of(
        cls, probabilities: npt.ArrayLike, positive: npt.ArrayLike, labelled: npt.ArrayLike
    ) -> "Forecasts":
        shares = as_shares(probabilities, name="probabilities")
        vectors = {"positive": np.asarray(positive), "labelled": np.asarray(labelled)}
        check_same_length(probabilities=shares, **vectors)
        counts = as_counts(np.column_stack([*vectors.values()]), name="positive and labelled")
        if (counts[:, 0] > counts[:, 1]).any():
            raise InvalidInput("out_of_range", "positive must not exceed labelled.")
        values, code = np.unique(shares.round(DECIMALS), return_inverse=True)
        return cls(np.column_stack([code, counts]), values)

    def probability(self, rows: IntArray) -> FloatArray:
        return self.values[rows[:, 0]]

    def bins(self, rows: IntArray, bins: int) -> IntArray:
        """Return the range of each row's probability; the last one includes 1."""
        number = (self.probability(rows) * bins).round(DECIMALS).astype(np.int64)
        return np.minimum(number, bins - 1)


def entered(rows: IntArray) -> FloatArray:
    """Return 1 for rows with labels."""
    return (rows[:, 2] > 0).astype(np.float64)


def _brier_score(forecasts: Forecasts) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        p, (_, yes, of) = forecasts.probability(rows), rows.T
        return np.stack([entered(rows), yes * (1 - p) ** 2 + (of - yes) * p**2, of], axis=1)

    return Statistic(3, features, _MEAN.value, NO_LABELS, NO_LABELS, mean=_MEAN)


def _calibration_error(forecasts: Forecasts, bins: int) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        excess = np.zeros((len(rows), bins))
        distance = rows[:, 1] - rows[:, 2] * forecasts.probability(rows)
        excess[np.arange(len(rows)), forecasts.bins(rows, bins)] = distance
        return np.column_stack([entered(rows), rows[:, 2], excess])

    def value(sums: FloatArray) -> FloatArray:
        return ratio(np.abs(sums[..., 2:]).sum(axis=-1), sums[..., 1])

    return Statistic(bins + 2, features, value, NO_LABELS, NO_LABELS, interval="bias-corrected")


def _share(forecasts: Forecasts, number: int, bins: int) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        inside = forecasts.bins(rows, bins) == number
        units = np.stack([entered(rows), rows[:, 1], rows[:, 2]], axis=1)
        return np.asarray(units * inside[:, None])

    return Statistic(3, features, _MEAN.value, EMPTY_BIN, EMPTY_BIN, mean=_MEAN)


def _bin(
    forecasts: Forecasts, number: int, bins: int, share: Estimate, weight: FloatArray
) -> ReliabilityBin:
    inside = forecasts.bins(forecasts.rows, bins) == number
    rows, labels = forecasts.rows[inside], int(forecasts.rows[inside, 2].sum())
    counted = weight[inside] * rows[:, 2]
    mean = float(counted @ forecasts.probability(rows)) / float(counted.sum()) if labels else NAN
    return ReliabilityBin(number / bins, (number + 1) / bins, labels, mean, share)

"""Taking a preference for one position out of probabilities (Liusie et al. 2024)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import Resampling, RowStatistic, estimate_each, ratio
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.results import NAN, Estimate
from tiebreak.stats.core.unit_weights import UnitWeights, relative, weighted, with_codes
from tiebreak.stats.core.validation import FloatArray, IntArray, as_shares
from tiebreak.stats.machines.calibration import Forecasts, entered

# The factor lies between e to the power of minus and plus this number.
_WIDEST = 700.0
NO_PREFERENCES = "No human preferred one of two texts for which there is a probability."


@dataclass(frozen=True)
class PositionDebiasing:
    """What debiasing changes in a judge's agreement with humans."""

    n: int
    """Number of answers of the judge: one for each unit and order."""
    prefers_first: float
    """Share of answers that prefer the text shown first, where equal probabilities count as
    half; NaN without answers."""
    threshold: float
    """Threshold τ at which that share is ½."""
    alpha: float
    """Factor (1 − τ)/τ on the odds that has the same effect as the threshold; NaN if τ is 0."""
    prior_shift: float
    """Factor on the odds that makes the mean probability ½."""
    agreement: Estimate
    """Share of human preferences for one of the texts that the judge shares, in [0, 1]."""
    debiased: Estimate
    """The same if the judge decides at the threshold."""
    change: Estimate
    """Difference `debiased` − `agreement`."""


def position_debiasing(
    first: npt.ArrayLike,
    better: npt.ArrayLike,
    labelled: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> PositionDebiasing:
    """Compare a judge's answers with human preferences before and after debiasing.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probability that the text shown first is better, in [0, 1], one for each answer.
    better : array_like of int, shape (n_answers,)
        Number of human labels that prefer the text that this answer's prompt showed first.
    labelled : array_like of int, shape (n_answers,)
        Number of human labels that prefer either text.
    weights : array_like of float, shape (n_answers,), optional
        Weight of each answer, above 0, as in `tiebreak.stats`; 1 by default.
    clusters : array_like, shape (n_answers,), optional
        Unit or instance of each answer, which intervals resample. Give it if a unit has an answer in
        both orders.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    PositionDebiasing
        The threshold, the factors, and the agreement; `n` of an estimate is its number of answers.

    Raises
    ------
    InvalidInput
        If the vectors differ in length, a probability is not between 0 and 1, more labels prefer
        the first text than prefer either, or a weight is not above 0.

    See Also
    --------
    debiasing_threshold : The threshold alone.

    Notes
    -----
    An answer prefers the first text if its probability is above ½, or above τ after debiasing; one
    that is equal to it agrees with half of the labels. Each replicate has its own threshold, so
    intervals allow for its estimation (Liusie et al. 2024, comparative assessment). Weights enter the
    threshold, the factors and all shares, as if an answer were there as many times (Hájek's ratios;
    Särndal et al. 1992, eq. 5.7.2).

    Examples
    --------
    >>> result = position_debiasing([0.9, 0.6, 0.8, 0.7], [1, 0, 1, 0], [1, 1, 1, 1])
    >>> result.threshold, result.agreement.value, result.debiased.value
    (0.75, 0.5, 1.0)
    """
    forecasts = Forecasts.of(first, better, labelled)
    tau, shares = debiasing_threshold(first, weights), forecasts.probability(forecasts.rows)
    of_answers = None if weights is None else UnitWeights.of(weights)
    estimates = estimate_each(
        weighted({name: _statistic(forecasts, of) for name, of in _AGREEMENTS.items()}, of_answers),
        Patterns.of(with_codes(forecasts.rows, of_answers), clusters=clusters),
        **resampling,
    )
    weight = relative(weights, length=len(shares))
    return PositionDebiasing(
        n=len(shares),
        prefers_first=_mean(_above(shares, 0.5), weight) if shares.size else NAN,
        threshold=tau,
        alpha=(1 - tau) / tau if tau > 0 else NAN,
        prior_shift=prior_shift(first, weights),
        **estimates,
    )


def _mean(values: FloatArray, weight: FloatArray) -> float:
    return float((weight * values).sum() / weight.sum())


def _above(values: FloatArray, threshold: FloatArray | float) -> FloatArray:
    """Return 1 above the threshold, 0 below, and ½ where it is met."""
    return np.asarray((np.sign(values - threshold) + 1) / 2)


# Maps probabilities, rows of `Forecasts` in the same order, and how often each occurs to agreement.
_Agreement = Callable[[FloatArray, IntArray, FloatArray], FloatArray]


def _statistic(forecasts: Forecasts, agreement: _Agreement) -> RowStatistic:
    def bind(rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        return lambda counts: agreement(forecasts.probability(rows), rows, counts)

    return RowStatistic(bind, entered, NO_PREFERENCES, NO_PREFERENCES)


def _at(
    threshold: FloatArray | float, values: FloatArray, rows: IntArray, counts: FloatArray
) -> FloatArray:
    first, (better, labelled) = _above(values, threshold), rows[:, 1:3].T
    agreed = first * better + (1 - first) * (labelled - better)
    return ratio((counts * agreed).sum(axis=-1), counts @ labelled)


def _raw(values: FloatArray, rows: IntArray, counts: FloatArray) -> FloatArray:
    return _at(0.5, values, rows, counts)


def _debiased(values: FloatArray, rows: IntArray, counts: FloatArray) -> FloatArray:
    return _at(_medians(values, counts)[..., None], values, rows, counts)


def _change(values: FloatArray, rows: IntArray, counts: FloatArray) -> FloatArray:
    return _debiased(values, rows, counts) - _raw(values, rows, counts)


_AGREEMENTS = {"agreement": _raw, "debiased": _debiased, "change": _change}


def _medians(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the median of ascending values that occur so often, for each replicate."""
    cumulative = counts.cumsum(axis=-1)
    half = cumulative[..., -1:] / 2
    low, high = (cumulative >= half).argmax(axis=-1), (cumulative > half).argmax(axis=-1)
    return np.asarray((values[low] + values[high]) / 2)


def debiasing_threshold(first: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """Return the threshold above which half of the probabilities lie.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probability that the text shown first is better, in [0, 1], one for each answer.
    weights : array_like of float, shape (n_answers,), optional
        Weight of each answer, above 0, as in `tiebreak.stats`; 1 by default.

    Returns
    -------
    float
        The threshold τ, in [0, 1]; NaN without answers. An answer prefers the first text if its
        probability is above τ, and neither text if it is equal to τ.

    Raises
    ------
    InvalidInput
        If a probability is missing or not between 0 and 1, or a weight is not above 0.

    See Also
    --------
    prior_shift : Shifts the probabilities so that their mean is ½.

    Notes
    -----
    τ is the weighted median, so P(first) = ½ over all answers. It is the same to multiply the odds of the
    first text by α = (1 − τ)/τ and to decide at ½ (Liusie et al. 2024, comparative assessment). If
    each text is first in half of the answers, a judge without bias has τ near ½.

    Examples
    --------
    >>> debiasing_threshold([0.9, 0.7, 0.6, 0.8, 0.3])
    0.7
    """
    shares = as_shares(first, name="first")
    if not shares.size:
        return NAN
    order, weight = np.argsort(shares, kind="stable"), relative(weights, length=len(shares))
    return float(_medians(shares[order], weight[order]))


def prior_shift(first: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """Return the factor on the odds that makes the mean probability ½.

    Parameters
    ----------
    first : array_like of float, shape (n_answers,)
        Probability that the text shown first is better, in [0, 1], one for each answer.
    weights : array_like of float, shape (n_answers,), optional
        Weight of each answer, above 0, as in `tiebreak.stats`; 1 by default.

    Returns
    -------
    float
        Factor α > 0; NaN without answers, or if at least half of the probabilities, by weight, are 0, or
        are 1, because no α changes these.

    Raises
    ------
    InvalidInput
        If a probability is missing or not between 0 and 1, or a weight is not above 0.

    See Also
    --------
    shifted : Applies the factor.
    debiasing_threshold : Makes the share of answers ½ instead of their mean.

    Notes
    -----
    α solves mean(αp / (αp + 1 − p)) = ½, with the weighted mean, which is increasing in α. It is the shift of the prior of
    Liusie et al. 2023 for two labels.

    Examples
    --------
    >>> round(prior_shift([0.9, 0.9, 0.5, 0.5]), 4)
    0.3333
    """
    shares = as_shares(first, name="first")
    weight = relative(weights, length=len(shares))
    if not shares.size or max(_mean(shares == end, weight) for end in (0, 1)) >= 0.5:
        return NAN

    def excess(log: float) -> float:
        return _mean(shifted(shares, math.exp(log)), weight) - 0.5

    return math.exp(scipy.optimize.brentq(excess, -_WIDEST, _WIDEST))


def shifted(first: npt.ArrayLike, alpha: float) -> FloatArray:
    """Multiply the odds of probabilities p by a factor α above 0, which gives αp / (αp + 1 − p).

    Raises `InvalidInput` if a probability is missing or not between 0 and 1, or if α is not above
    0. `prior_shift` finds the factor.

    Examples
    --------
    >>> from tiebreak.stats.machines.debiasing import shifted
    >>> shifted([0.5, 0.75], 1 / 3).round(2).tolist()
    [0.25, 0.5]
    """
    if not (alpha > 0 and math.isfinite(alpha)):
        raise InvalidInput("out_of_range", f"alpha must be a finite number above 0, not {alpha}.")
    shares = as_shares(first, name="first")
    return np.asarray(alpha * shares / (alpha * shares + (1 - shares)))

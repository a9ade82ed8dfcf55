"""Agreement corrected for chance in the ways of Gwet, of Brennan and Prediger, and of Fleiss.

Every coefficient is (P − C) / (1 − C), where P is the mean over units of the weighted share of pairs
of ratings that agree. They differ in the chance agreement C.
"""

from collections.abc import Callable
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.bootstrap import Resampling, Statistic, estimate, ratio
from tiebreak.stats.core.counts import Patterns, as_patterns
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.core.validation import FloatArray, IntArray
from tiebreak.stats.raters.additive import (
    CERTAIN,
    NO_PAIR,
    ONE_LABEL,
    chance_corrected,
    has_pair,
    mean_value,
)
from tiebreak.stats.raters.label_weights import Weights, label_weights

# Maps the mean share of each label, shape (..., labels), to the chance agreement.
Chance = Callable[[FloatArray], FloatArray]


def gwet_ac(
    counts: npt.ArrayLike | Patterns,
    *,
    weights: Weights = "identity",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Gwet's AC1, or AC2 with weights.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    weights : {"identity", "linear", "quadratic"}, default "identity"
        How much two different labels agree: not at all, or less the further they are apart.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the distance of labels; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        The coefficient, at most 1. It is undefined if the scale has one label or if no unit has two
        ratings. It applies to these raters.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or an option is not allowed.

    See Also
    --------
    krippendorff_alpha : Chance agreement grows where one label prevails, and here it falls.
    brennan_prediger : Chance agreement does not depend on how often labels occur.

    Notes
    -----
    C = T Σ π(1 − π) / (q(q − 1)), where q is the number of labels in the scale, π the mean over
    units of the share of each label, and T the sum of all weights (Gwet 2008; Gwet 2014, section
    4.4). A unit with one rating enters π and not P.

    Examples
    --------
    >>> round(gwet_ac([[2, 0], [0, 2], [2, 0], [1, 1]]).value, 4)
    0.5294
    """
    patterns = as_patterns(counts, clusters=clusters)
    table = label_weights(patterns.n_columns, weights, values=values)
    return estimate(gwet_statistic(table), patterns, **resampling)


def brennan_prediger(
    counts: npt.ArrayLike | Patterns,
    *,
    weights: Weights = "identity",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate the coefficient of Brennan and Prediger.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    weights : {"identity", "linear", "quadratic"}, default "identity"
        How much two different labels agree: not at all, or less the further they are apart.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the distance of labels; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        The coefficient, at most 1. It is undefined if the scale has one label or if no unit has two
        ratings. It applies to these raters.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or an option is not allowed.

    See Also
    --------
    randolph_kappa : The same with identity weights.

    Notes
    -----
    C = T / q², where q is the number of labels in the scale and T the sum of all weights: the
    agreement of labels drawn with equal probabilities (Brennan and Prediger 1981; Gwet 2014, section
    4.5).

    Examples
    --------
    >>> round(brennan_prediger([[2, 0, 0], [1, 1, 0], [0, 0, 2]], weights="linear").value, 4)
    0.625
    """
    patterns = as_patterns(counts, clusters=clusters)
    table = label_weights(patterns.n_columns, weights, values=values)
    return estimate(brennan_prediger_statistic(table), patterns, **resampling)


def weighted_fleiss_kappa(
    counts: npt.ArrayLike | Patterns,
    *,
    weights: Weights,
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Fleiss' κ with weights.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    weights : {"identity", "linear", "quadratic"}
        How much two different labels agree: not at all, or less the further they are apart.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the distance of labels; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if only one label was observed or if no unit has two
        ratings. It applies to these raters.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers, or an option is not allowed.

    See Also
    --------
    conger_kappa : Chance agreement from the labels of each rater.
    fleiss_kappa : The same without weights, where units with one rating are excluded from the shares.

    Notes
    -----
    C = Σ w_kl π_k π_l, where π is the mean over units of the share of each label, and w the weight
    of a pair of labels (Gwet 2014, section 4.3). A unit with one rating enters π and not P.

    Examples
    --------
    >>> round(weighted_fleiss_kappa([[2, 0, 0], [1, 1, 0], [0, 0, 2]], weights="quadratic").value, 4)
    0.7931
    """
    patterns = as_patterns(counts, clusters=clusters)
    table = label_weights(patterns.n_columns, weights, values=values)
    return estimate(weighted_fleiss_statistic(table), patterns, **resampling)


def gwet_statistic(weights: FloatArray) -> Statistic:
    """Return AC1 or AC2 for the weights of all pairs of labels."""
    labels = len(weights)
    scale = weights.sum() / max(labels * (labels - 1), 1)

    def chance(shares: FloatArray) -> FloatArray:
        # With a single label, agreement by chance is certain.
        spread = (shares * (1 - shares)).sum(axis=-1)
        return scale * spread if labels > 1 else np.ones_like(spread)

    return _with_shares(weights, chance, CERTAIN)


def weighted_fleiss_statistic(weights: FloatArray) -> Statistic:
    """Return Fleiss' κ for the weights of all pairs of labels."""

    def chance(shares: FloatArray) -> FloatArray:
        expected: FloatArray = ((shares @ weights) * shares).sum(axis=-1)
        return expected

    return _with_shares(weights, chance, ONE_LABEL)


def brennan_prediger_statistic(weights: FloatArray) -> Statistic:
    """Return the coefficient of Brennan and Prediger for the weights of all pairs of labels."""

    def features(rows: IntArray) -> FloatArray:
        return np.column_stack([has_pair(rows), weighted_pair_shares(rows, weights)])

    def value(sums: FloatArray) -> FloatArray:
        observed = mean_value(sums)
        return chance_corrected(observed, np.full_like(observed, weights.mean()))

    return Statistic(2, features, value, NO_PAIR, CERTAIN)


def weighted_pair_shares(rows: IntArray, weights: FloatArray) -> FloatArray:
    """Return the weighted share of pairs of ratings that agree in each unit; 0 without a pair."""
    size = rows.sum(axis=1)
    agreeing = ((rows @ weights) * rows).sum(axis=1) - size
    return np.where(size > 1, agreeing / np.maximum(size * (size - 1), 1), 0.0)


def _with_shares(weights: FloatArray, chance: Chance, reason: str) -> Statistic:
    """Return the coefficient whose chance agreement depends on the mean share of each label."""

    def features(rows: IntArray) -> FloatArray:
        size = rows.sum(axis=1, keepdims=True)
        pairs = [has_pair(rows), weighted_pair_shares(rows, weights)]
        return np.column_stack([*pairs, size > 0, rows / np.maximum(size, 1)])

    def value(sums: FloatArray) -> FloatArray:
        shares = ratio(sums[..., 3:], sums[..., 2:3])
        return chance_corrected(mean_value(sums), chance(shares))

    return Statistic(3 + len(weights), features, value, NO_PAIR, reason)

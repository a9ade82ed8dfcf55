"""Weighted κ of named raters: Cohen's for two, and Conger's for any number."""

from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import Resampling, Statistic, estimate, ratio
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.core.validation import FloatArray, IntArray, as_codes, check_same_length
from tiebreak.stats.raters.additive import (
    NO_PAIR,
    ONE_LABEL,
    chance_corrected,
    mean_value,
)
from tiebreak.stats.raters.chance_corrected import weighted_pair_shares
from tiebreak.stats.raters.label_weights import Weights, label_weights

NOT_BOTH = "No item was rated by both raters."


def weighted_cohen_kappa(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    n_labels: int,
    weights: Weights,
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Cohen's κ between two raters with weights.

    Parameters
    ----------
    first, second : array_like of int, shape (n_units,)
        Labels that the first and the second rater gave each unit, from 0 to n_labels − 1, or −1 if
        the rating is missing.
    n_labels : int
        Number of labels in the scale.
    weights : {"identity", "linear", "quadratic"}
        How much two different labels agree: not at all, or less the further they are apart.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the distance of labels; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if both raters gave the same label to every unit, or
        if they rated no unit in common. It applies to these two raters.

    Raises
    ------
    InvalidInput
        If a code is out of range, the vectors differ in length, or an option is not allowed.

    See Also
    --------
    cohen_kappa : The same without weights.
    conger_kappa : The same for more than two raters.

    Notes
    -----
    κ = (P − C) / (1 − C), where P is the mean weight of the two labels of a unit, and C its
    expectation if the raters chose independently with their label shares (Cohen 1968). Units that
    only one of the raters rated are ignored.

    Examples
    --------
    >>> round(weighted_cohen_kappa([0, 1, 2], [0, 2, 2], n_labels=3, weights="quadratic").value, 4)
    0.8
    """
    left = as_codes(first, below=n_labels, name="first", missing=True)
    right = as_codes(second, below=n_labels, name="second", missing=True)
    check_same_length(first=left, second=right)
    table = label_weights(n_labels, weights, values=values)
    patterns = Patterns.of(np.stack([left, right], axis=1) + 1, clusters=clusters)
    return estimate(weighted_cohen_statistic(table), patterns, **resampling)


def conger_kappa(
    labels: npt.ArrayLike,
    *,
    n_labels: int,
    weights: Weights = "identity",
    values: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate Conger's κ, which is Cohen's κ for two raters or more.

    Parameters
    ----------
    labels : array_like of int, shape (n_units, n_raters)
        Label that each rater gave each unit, from 0 to n_labels − 1, or −1 if the rating is missing.
    n_labels : int
        Number of labels in the scale.
    weights : {"identity", "linear", "quadratic"}, default "identity"
        How much two different labels agree: not at all, or less the further they are apart.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label, for the distance of labels; 0, 1, 2, … by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Value of κ, at most 1. It is undefined if all ratings have the same label, or if no unit has
        two ratings. It applies to these raters.

    Raises
    ------
    InvalidInput
        If a code is out of range, the labels are no matrix, or an option is not allowed.

    See Also
    --------
    weighted_cohen_kappa : Uses only the units that both raters rated.
    weighted_fleiss_kappa : Treats raters as interchangeable.

    Notes
    -----
    κ = (P − C) / (1 − C), where P is the mean over units of the weighted share of pairs of ratings
    that agree, and C the mean over pairs of raters of the expected weight of their labels if they
    chose independently, each with the shares of the labels in all ratings by this rater (Conger
    1980; Gwet 2014, section 4.2). Raters without a rating are ignored.

    Examples
    --------
    >>> round(conger_kappa([[0, 0, 1], [1, 1, 1], [2, 2, 1]], n_labels=3, weights="linear").value, 4)
    0.4
    """
    matrix = _as_label_matrix(labels, n_labels)
    table = label_weights(n_labels, weights, values=values)
    patterns = Patterns.of(matrix + 1, clusters=clusters)
    return estimate(conger_statistic(matrix.shape[1], table), patterns, **resampling)


def weighted_cohen_statistic(weights: FloatArray) -> Statistic:
    """Return κ for rows of two label codes, each shifted by 1; 0 is a missing rating."""
    labels = len(weights)

    def features(rows: IntArray) -> FloatArray:
        both = np.logical_and(rows[:, 0] > 0, rows[:, 1] > 0)
        first, second = (_one_hot(rows[:, rater], labels) * both[:, None] for rater in (0, 1))
        agreed = ((first @ weights) * second).sum(axis=1)
        return np.column_stack([both, agreed, first, second])

    def value(sums: FloatArray) -> FloatArray:
        first, second = (
            ratio(totals, sums[..., :1])
            for totals in (sums[..., 2 : labels + 2], sums[..., labels + 2 :])
        )
        return chance_corrected(mean_value(sums), ((first @ weights) * second).sum(axis=-1))

    return Statistic(2 * labels + 2, features, value, NOT_BOTH, ONE_LABEL)


def conger_statistic(raters: int, weights: FloatArray) -> Statistic:
    """Return κ for rows with a code for each rater, shifted by 1; 0 is a missing rating."""
    labels = len(weights)

    def features(rows: IntArray) -> FloatArray:
        by_rater = [_one_hot(column, labels) for column in rows.T]
        counts = np.sum(by_rater, axis=0).astype(np.int64)
        paired = counts.sum(axis=1) > 1
        return np.column_stack([paired, weighted_pair_shares(counts, weights), *by_rater])

    def value(sums: FloatArray) -> FloatArray:
        totals = sums[..., 2:].reshape(*sums.shape[:-1], raters, labels)
        rated = totals.sum(axis=-1, keepdims=True)
        shares = np.where(rated > 0, totals / np.maximum(rated, 1), 0.0)
        together, number = shares.sum(axis=-2), (rated[..., 0] > 0).sum(axis=-1)
        alone = ((shares @ weights) * shares).sum(axis=(-2, -1))
        among_all = ((together @ weights) * together).sum(axis=-1) - alone
        return chance_corrected(
            mean_value(sums), ratio(among_all, (number * (number - 1)).astype(np.float64))
        )

    return Statistic(2 + raters * labels, features, value, NO_PAIR, ONE_LABEL)


def _one_hot(codes: IntArray, labels: int) -> FloatArray:
    """Return a row with a 1 at each code, which is shifted by 1; a row of zeros for 0."""
    hot: FloatArray = (codes[:, None] == np.arange(1, labels + 1)).astype(np.float64)
    return hot


def _as_label_matrix(labels: npt.ArrayLike, n_labels: int) -> IntArray:
    array = np.asarray(labels)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(
            "wrong_shape",
            "labels must be a matrix with a row for each unit and a column for each rater; its shape"
            f" is {array.shape}.",
        )
    codes = as_codes(array.ravel(), below=n_labels, name="labels", missing=True)
    matrix: IntArray = codes.reshape(array.shape)
    return matrix

"""Agreement statistics as functions of additive features.

In comments and docstrings, δ is the distance between two labels, and o_ck is the number of times
that the labels c and k coincide within a unit (Krippendorff's coincidence matrix).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import Mean, Statistic, ratio
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_values,
    check_at_least,
    check_choice,
)

Categories = int | Literal["observed"] | None

LEVELS = ("nominal", "ordinal", "interval", "ratio")
NO_PAIR = "No item has two ratings."
ONE_LABEL = "Only one label was observed, so agreement cannot be compared with chance agreement."

_ROUNDING = 1e-13
MAX_RESAMPLED_LABELS = 40
MANY_ORDINAL_LABELS = (
    f"The interval of ordinal α is not computed for more than {MAX_RESAMPLED_LABELS} labels. If equal"
    " steps between labels mean the same, declare the scale as interval."
)
CERTAIN = "There is only one label, so chance agreement is certain."


def has_pair(rows: IntArray) -> npt.NDArray[np.bool_]:
    """Return which units have two or more ratings, since only those can show agreement."""
    paired: npt.NDArray[np.bool_] = rows.sum(axis=1) >= 2
    return paired


def pair_shares(rows: IntArray) -> FloatArray:
    """Return the share of pairs of ratings that agree in each unit; 0 if it has no pair."""
    size = rows.sum(axis=1)
    agreeing = (rows * (rows - 1)).sum(axis=1)
    shares: FloatArray = agreeing / np.maximum(size * (size - 1), 1)
    return shares


def central_counts(rows: IntArray, *, level: Level) -> IntArray:
    """Return how many ratings of each unit equal its mode (nominal) or lower median (otherwise)."""
    check_choice(level, allowed=LEVELS, name="level")
    if level == "nominal":
        modal: IntArray = rows.max(axis=1)
        return modal
    return rows[np.arange(len(rows)), lower_medians(rows)]


def lower_medians(rows: IntArray) -> IntArray:
    """Return the column of each unit's lower median; 0 for units without ratings."""
    reached = 2 * rows.cumsum(axis=1) >= rows.sum(axis=1, keepdims=True)
    medians: IntArray = reached.argmax(axis=1)
    return medians


def percentage_statistic(*, level: Level) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        paired = has_pair(rows)
        share = central_counts(rows, level=level) / np.maximum(rows.sum(axis=1), 1)
        return np.stack([paired, paired * share], axis=1).astype(np.float64)

    return Statistic(2, features, mean_value, NO_PAIR, NO_PAIR, mean=Mean())


def equal_pairs_statistic() -> Statistic:
    """Return the mean share of a unit's pairs of ratings with equal labels."""

    def features(rows: IntArray) -> FloatArray:
        return np.stack([has_pair(rows), pair_shares(rows)], axis=1).astype(np.float64)

    return Statistic(2, features, mean_value, NO_PAIR, NO_PAIR, mean=Mean())


def mean_value(sums: FloatArray) -> FloatArray:
    return ratio(sums[..., 1], sums[..., 0])


def randolph_statistic(k: int) -> Statistic:
    """Return the mean of units' κ, whose interval is therefore that of the share of equal pairs."""

    def features(rows: IntArray) -> FloatArray:
        paired = has_pair(rows)
        return np.stack([paired, paired * randolph_value(pair_shares(rows), k)], axis=1)

    mean = Mean(bounds=(-1 / (k - 1), 1.0)) if k > 1 else None
    return Statistic(2, features, mean_value, NO_PAIR, CERTAIN, mean=mean)


def randolph_value(observed: FloatArray, k: int) -> FloatArray:
    """Return (P − 1/k) / (1 − 1/k), where P is the observed agreement; NaN if k is 1."""
    return chance_corrected(observed, np.full_like(observed, 1 / k))


def label_number(rows: IntArray, k: Categories) -> int:
    """Return the number of labels k.

    The default is the number of columns; "observed" counts the labels that occur in units with two
    or more ratings.
    """
    if k == "observed":
        return max(1, int(rows[has_pair(rows)].any(axis=0).sum()))
    if k is None:
        return int(rows.shape[1])
    check_at_least(k, 1, name="k")
    return k


def fleiss_statistic(labels: int) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        paired = has_pair(rows)
        shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
        return np.column_stack([paired, pair_shares(rows), shares * paired[:, None]])

    def value(sums: FloatArray) -> FloatArray:
        marginals = ratio(sums[..., 2:], sums[..., :1])
        return chance_corrected(mean_value(sums), (marginals**2).sum(axis=-1))

    return Statistic(labels + 2, features, value, NO_PAIR, ONE_LABEL)


def cohen_statistic(n_labels: int) -> Statistic:
    """Return Cohen's κ for rows of two label codes, each shifted by 1; 0 is a missing rating."""

    def features(rows: IntArray) -> FloatArray:
        both: npt.NDArray[np.bool_] = np.logical_and(rows[:, 0] > 0, rows[:, 1] > 0)
        marginals = [
            both[:, None] * (rows[:, [rater]] == np.arange(1, n_labels + 1)) for rater in (0, 1)
        ]
        agreed = both & (rows[:, 0] == rows[:, 1])
        return np.column_stack([both, agreed, *marginals]).astype(np.float64)

    def value(sums: FloatArray) -> FloatArray:
        first, second = sums[..., 2 : n_labels + 2], sums[..., n_labels + 2 :]
        return cohen_value(mean_value(sums), first, second)

    empty = "No item was rated by both raters."
    return Statistic(2 * n_labels + 2, features, value, empty, ONE_LABEL)


def cohen_value(observed: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return κ, given the share of agreement and the label totals of both raters."""
    total = first.sum(axis=-1) * second.sum(axis=-1)
    return chance_corrected(observed, ratio((first * second).sum(axis=-1), total))


def chance_corrected(observed: FloatArray, chance: FloatArray) -> FloatArray:
    """Return (observed − chance) / (1 − chance); NaN where chance agreement is certain."""
    return ratio(observed - chance, 1 - chance)


def alpha_statistic(labels: int, *, level: Level, values: npt.ArrayLike | None = None) -> Statistic:
    check_choice(level, allowed=LEVELS, name="level")
    if level == "interval":
        return _interval_statistic(as_values(values, labels=labels))
    squared = squared_distances(labels, level=level, values=values)
    return _ordinal_statistic(labels) if squared is None else _metric_statistic(labels, squared)


def _interval_statistic(values: FloatArray) -> Statistic:
    """Return interval α from each unit's number of ratings, their sum and the sum of their squares."""
    centred = values - values.mean()

    def features(rows: IntArray) -> FloatArray:
        moments = rows @ np.column_stack([np.ones(len(centred)), centred, centred**2])
        return moment_features(moments)

    return Statistic(5, features, moment_alpha, NO_PAIR, ONE_LABEL)


def moment_features(moments: FloatArray) -> FloatArray:
    """Return the features of interval α, given the number, sum and sum of squares of each unit.

    They are: whether the unit has a pair, its number, sum and sum of squares, and its disagreement.
    """
    n, total, squares = moments.T
    paired = n > 1
    disagreement = np.maximum(n * squares - total**2, 0) / np.maximum(n - 1, 1)
    columns = np.column_stack([np.ones(len(n)), n, total, squares, disagreement])
    features: FloatArray = columns * paired[:, None]
    return features


def moment_alpha(sums: FloatArray) -> FloatArray:
    """Return interval α, given sums of `moment_features` of values that are roughly centred."""
    n, total, squares, disagreement = (sums[..., column] for column in range(1, 5))
    expected = n * squares - total**2
    # What differs from 0 by rounding only is no variation.
    expected = np.where(expected > _ROUNDING * n * squares, expected, 0.0)
    alpha: FloatArray = 1 - (n - 1) * ratio(disagreement, expected)
    return alpha


def value_moments(unit: IntArray, value: FloatArray, n_units: int) -> FloatArray:
    """Return the number of each unit's values, their sum and the sum of their squares."""
    columns = (np.ones_like(value), value, value**2)
    return np.column_stack([np.bincount(unit, column, minlength=n_units) for column in columns])


def alpha_of_features(features: FloatArray, reason: str) -> Statistic:
    """Return interval α of features that are known for each unit; the last column is the unit."""

    def features_of(rows: IntArray) -> FloatArray:
        return features[rows[:, -1]]

    return Statistic(features.shape[1], features_of, moment_alpha, reason, ONE_LABEL)


def _ordinal_statistic(labels: int) -> Statistic:
    low, high = np.triu_indices(labels, k=1)

    def features(rows: IntArray) -> FloatArray:
        paired, counts, weight = _paired(rows)
        # Distances depend on the label totals, so `value` applies them to the sums.
        pairs = counts[:, low] * counts[:, high] * weight
        return np.column_stack([paired, counts, pairs])

    def value(sums: FloatArray) -> FloatArray:
        return ordinal_alpha(sums[..., labels + 1 :], sums[..., 1 : labels + 1])

    return Statistic(
        1 + labels + len(low),
        features,
        value,
        NO_PAIR,
        ONE_LABEL,
        reason_without_interval=reason_without_ordinal_interval(labels),
    )


def reason_without_ordinal_interval(labels: int) -> str | None:
    """Return why ordinal α has no interval, as a replicate needs a number for each pair of labels."""
    return MANY_ORDINAL_LABELS if labels > MAX_RESAMPLED_LABELS else None


def _metric_statistic(labels: int, squared: FloatArray) -> Statistic:
    """Return α for distances that do not depend on the label totals."""

    def features(rows: IntArray) -> FloatArray:
        paired, counts, weight = _paired(rows)
        # Half, because every pair of labels occurs in both orders.
        disagreement = ((counts @ squared) * counts).sum(axis=1, keepdims=True) / 2 * weight
        return np.column_stack([paired, counts, disagreement])

    def value(sums: FloatArray) -> FloatArray:
        return metric_alpha(sums[..., labels + 1], sums[..., 1 : labels + 1], squared)

    return Statistic(2 + labels, features, value, NO_PAIR, ONE_LABEL)


def _paired(rows: IntArray) -> tuple[npt.NDArray[np.bool_], IntArray, FloatArray]:
    """Return which units have a pair, their counts, and 1 / (number of ratings − 1)."""
    paired = has_pair(rows)
    weight = 1 / np.maximum(rows.sum(axis=1) - 1, 1)
    return paired, rows * paired[:, None], weight[:, None]


def metric_alpha(
    disagreement: FloatArray, marginals: FloatArray, squared: FloatArray
) -> FloatArray:
    """Return α, given the sum of o_ck δ²_ck over c < k, the label totals, and δ² of all labels."""
    expected = ((marginals @ squared) * marginals).sum(axis=-1) / 2
    return _alpha(disagreement, expected, marginals)


def ordinal_alpha(pairs: FloatArray, marginals: FloatArray) -> FloatArray:
    """Return ordinal α, given the coincidences o_ck of all c < k and the label totals.

    Krippendorff's ordinal metric is the squared difference of the labels' mid-ranks.
    """
    low, high = np.triu_indices(marginals.shape[-1], k=1)
    ranks = marginals.cumsum(axis=-1) - marginals / 2
    squared = (ranks[..., high] - ranks[..., low]) ** 2
    expected = (marginals[..., low] * marginals[..., high] * squared).sum(axis=-1)
    return _alpha((pairs * squared).sum(axis=-1), expected, marginals)


def _alpha(observed: FloatArray, expected: FloatArray, marginals: FloatArray) -> FloatArray:
    alpha: FloatArray = 1 - (marginals.sum(axis=-1) - 1) * ratio(observed, expected)
    return alpha


def squared_distances(
    labels: int, *, level: Level, values: npt.ArrayLike | None = None
) -> FloatArray | None:
    """Return δ² for all pairs of labels; None on ordinal scales, as δ depends on the totals."""
    check_choice(level, allowed=LEVELS, name="level")
    if level == "ordinal":
        return None
    if level == "nominal":
        return 1 - np.eye(labels)
    numbers = as_values(values, labels=labels)
    difference = np.subtract.outer(numbers, numbers)
    if level == "interval":
        return difference**2
    if (numbers < 0).any():
        raise InvalidInput(
            "out_of_range",
            f"values must be 0 or more on a ratio scale; the smallest is {numbers.min():g}.",
        )
    # The denominator is 0 only if both values are 0; then their distance is 0.
    return np.nan_to_num(ratio(difference, np.add.outer(numbers, numbers))) ** 2

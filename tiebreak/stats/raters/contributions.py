"""What each rating contributes to a statistic of agreement, for intervals that allow for new raters.

A contribution has two parts. All ratings of a unit share its deviation from the mean over units. The
rest is how much a rating differs in its effect from the unit's other ratings, and sums to 0 in the
unit. In comments and docstrings, m is a unit's number of ratings, and δ² the squared distance between
two labels.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import Statistic
from tiebreak.stats.core.counts import count_matrix, distinct_rows
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_codes,
    as_positive_weights,
    check_same_length,
)
from tiebreak.stats.raters.additive import (
    has_pair,
    label_number,
    pair_shares,
    percentage_statistic,
    squared_distances,
    value_moments,
)
from tiebreak.stats.raters.leave_one_out import leave_one_out_statistic
from tiebreak.stats.raters.ratio_alpha import ratio_sums, summed_distances

# Label shares that add up to 1 may differ from it by this much.
ROUNDING = 1e-12
# Maps the distinct rows of counts and the weights of all their units to the contributions of a rating
# to a statistic, by row and label, of a unit with a weight of 1.
ByRow = Callable[[IntArray, FloatArray], FloatArray]


def agreement_contributions(
    units: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_labels: int,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> dict[str, FloatArray]:
    """Return what each rating contributes to the statistics of `agreement`.

    Parameters
    ----------
    units : array_like of int, shape (n_ratings,)
        Unit of each rating, from 0 to n_units − 1.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1.
    n_units, n_labels : int
        Numbers of units and of labels.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label on an interval or ratio scale; 0, 1, 2, … by default.
    k : int, optional
        Number of labels for Randolph's κ; see `randolph_kappa`.
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0; 1 by default. See `agreement`.

    Returns
    -------
    dict of str to ndarray of float, shape (n_ratings,)
        For each field of `Agreement`, the contributions that `two_way_interval` takes, together with
        the weight of each rating's unit. They are NaN
        for ratings of units with fewer than two ratings, which are excluded, and for all ratings if
        the statistic is undefined.

    Raises
    ------
    InvalidInput
        If a code or weight is out of range or the vectors differ in length.

    See Also
    --------
    two_way_interval : Makes an interval from contributions.

    Notes
    -----
    Krippendorff's α and the κ's are functions of means over pairs of ratings and of label shares, so
    their contributions are the derivatives of these functions. A rating has twice its share of the
    pairs, because leaving it out removes every pair that it is part of. In percentage agreement and
    leave-one-out agreement, a rating's effect is the change if another rating of the same unit took
    its place, times (m − 1)/(m + 1), which is exact for statistics that depend on pairs.

    Examples
    --------
    >>> by_name = agreement_contributions([0, 0, 1, 1], [0, 0, 0, 1], n_units=2, n_labels=2)
    >>> by_name["percentage_agreement"].tolist()
    [0.25, 0.25, -0.25, -0.25]
    """
    unit = as_codes(units, below=n_units, name="units")
    label = as_codes(labels, below=n_labels, name="labels")
    check_same_length(units=unit, labels=label)
    counts = count_matrix(unit, label, n_units=n_units, n_labels=n_labels)
    rows, row_of_unit, _, _ = distinct_rows(counts)
    of_unit = as_positive_weights(weights, length=n_units)
    weight = np.bincount(row_of_unit, of_unit, len(rows)).astype(np.float64)
    randolph = label_number(rows, k)
    by_row: dict[str, ByRow] = {
        "krippendorff_alpha": partial(_alpha, level=level, values=values),
        "percentage_agreement": partial(_mean_of_units, percentage_statistic(level=level)),
        "randolph_kappa": partial(_randolph, k=randolph),
        "fleiss_kappa": _fleiss,
        "leave_one_out": partial(_mean_of_units, leave_one_out_statistic()),
    }
    paired = has_pair(rows)
    total = float((weight * rows.sum(axis=1))[paired].sum())
    entered = np.where(paired, 1.0, np.nan)[row_of_unit[unit]] * of_unit[unit]
    return {
        name: entered * total * contribution(rows, weight)[row_of_unit[unit], label]
        for name, contribution in by_row.items()
    }


def _mean_of_units(statistic: Statistic, rows: IntArray, weight: FloatArray) -> FloatArray:
    """Return the contributions to a mean over units that depends on a unit's counts in any way."""

    def of_units(counts: IntArray) -> FloatArray:
        means: FloatArray = statistic.features(counts)[:, 1]
        return means

    paired, size = has_pair(rows), rows.sum(axis=1, keepdims=True)
    effect, means = np.zeros(rows.shape), of_units(rows)
    for left_out in range(rows.shape[1]):
        others = rows * paired[:, None] * (rows[:, [left_out]] > 0)
        others[:, left_out] = 0  # a rating of the same label changes nothing
        affected, instead = np.nonzero(others)
        replaced = rows[affected]
        replaced[:, left_out] -= 1
        replaced[np.arange(len(affected)), instead] += 1
        change = (means[affected] - of_units(replaced)) * others[affected, instead]
        effect[:, left_out] = np.bincount(affected, change, len(rows))
    effect *= 1 / np.maximum(size + 1, 1)  # (m − 1)/(m + 1), over m − 1 ratings that may replace it
    return _with_units(means, effect, rows, weight)


def _with_units(
    of_units: FloatArray, effect: FloatArray, rows: IntArray, weight: FloatArray
) -> FloatArray:
    """Return contributions to a mean over units with a pair, given the effects of their ratings."""
    paired, size = has_pair(rows), np.maximum(rows.sum(axis=1), 1)
    entering = weight * paired
    n_units = _positive(entering.sum())
    deviation = of_units - float(entering @ of_units) / n_units
    centred = effect - ((rows * effect).sum(axis=1) / size)[:, None]
    contributions: FloatArray = ((deviation / size)[:, None] + centred) / n_units
    return contributions


def _positive(total: np.floating) -> float:
    """Return a total of weights; 1 if there is none, so that it may divide."""
    return float(total) or 1.0


def _pair_effects(rows: IntArray) -> FloatArray:
    """Return the effect of a rating on its unit's share of agreeing pairs, by row and label."""
    size = rows.sum(axis=1, keepdims=True)
    effects: FloatArray = 2 / np.maximum(size, 1) * (rows - 1) / np.maximum(size - 1, 1)
    return effects


def _randolph(rows: IntArray, weight: FloatArray, *, k: int) -> FloatArray:
    pairs = _with_units(pair_shares(rows), _pair_effects(rows), rows, weight)
    return pairs / (1 - 1 / k) if k > 1 else np.full(rows.shape, np.nan)


def _fleiss(rows: IntArray, weight: FloatArray) -> FloatArray:
    """Return contributions to κ = (P − C) / (1 − C), where C = Σ p² of the label shares p."""
    entering, size = weight * has_pair(rows), np.maximum(rows.sum(axis=1, keepdims=True), 1)
    n_units = _positive(entering.sum())
    shares = entering @ (rows / size) / n_units
    chance, observed = float(shares @ shares), float(entering @ pair_shares(rows)) / n_units
    if chance >= 1 - ROUNDING or not entering.any():
        return np.full(rows.shape, np.nan)
    of_pairs = _with_units(pair_shares(rows), _pair_effects(rows), rows, weight)
    of_chance = 2 * (shares - chance) / size / n_units
    slope = (1 - observed) / (1 - chance) ** 2
    contributions: FloatArray = of_pairs / (1 - chance) - slope * of_chance
    return contributions


def _alpha(
    rows: IntArray, weight: FloatArray, *, level: Level, values: npt.ArrayLike | None
) -> FloatArray:
    """Return contributions to α = 1 − O / E, where O and E are mean δ² within units and overall."""
    counts, size = rows * has_pair(rows)[:, None], rows.sum(axis=1, keepdims=True)
    n_ratings = _positive((weight @ counts).sum())
    shares = (weight @ counts) / n_ratings
    squared = squared_distances(rows.shape[1], level=level, values=values)
    ranks = shares.cumsum() - shares / 2
    if squared is None:
        squared = np.subtract.outer(ranks, ranks) ** 2
    # The distance of a label from the unit's other ratings is 0 for itself, so it may stay in.
    of_rating = counts @ squared / np.maximum(size - 1, 1)
    of_unit = (counts * of_rating).sum(axis=1) / np.maximum(size[:, 0], 1)
    observed = float((weight * size[:, 0]) @ of_unit) / n_ratings
    of_label = squared @ shares
    expected = float(shares @ of_label)
    if not expected > 0:
        return np.full(rows.shape, np.nan)
    within = (of_unit - observed)[:, None] + 2 * (of_rating - of_unit[:, None])
    change = within - observed / expected * 2 * (of_label - expected)
    if level == "ordinal":
        pairs = (counts / np.maximum(size - 1, 1) * weight[:, None]).T @ counts / n_ratings
        change = change + _by_ranks(pairs, shares, ranks, observed / expected)
    contributions: FloatArray = -change / expected / n_ratings
    return contributions


def value_contributions(unit: IntArray, value: FloatArray, *, level: Level) -> FloatArray:
    """Return the contributions to interval or ratio α from values, however many different ones.

    Ratings are sorted by unit; ratings of units with one rating are NaN.
    """
    size = np.bincount(unit)[unit]
    paired = size > 1
    if not paired.any():
        return np.full(len(unit), np.nan)
    if level == "interval":
        x = value - value.mean()
        _, total, squares = value_moments(unit, x, int(unit.max()) + 1).T[:, unit]
        of_rating = (size * x**2 - 2 * x * total + squares) / np.maximum(size - 1, 1)
        of_label = x**2 - 2 * x * x[paired].mean() + (x[paired] ** 2).mean()
    else:
        of_rating = ratio_sums(unit, value) / np.maximum(size - 1, 1)
        of_label = summed_distances(value, value[paired], np.full(paired.sum(), 1 / paired.sum()))
    observed, expected = of_rating[paired].mean(), of_label[paired].mean()
    if not expected > 0:
        return np.full(len(unit), np.nan)
    of_unit = (np.bincount(unit, of_rating) / np.maximum(np.bincount(unit), 1))[unit]
    within = of_unit - observed + 2 * (of_rating - of_unit)
    change = within - observed / expected * 2 * (of_label - expected)
    return np.where(paired, -change / expected, np.nan)


def _by_ranks(
    pairs: FloatArray, shares: FloatArray, ranks: FloatArray, quotient: float
) -> FloatArray:
    """Return how O − O/E · E changes because a label's rank depends on the shares of all labels."""
    apart = np.subtract.outer(ranks, ranks)
    slope = 4 * ((pairs - quotient * np.outer(shares, shares)) * apart).sum(axis=1)
    labels = np.arange(len(ranks))
    # Column c has the change of all ranks with a rating of the label c.
    moved = (labels < labels[:, None]) + (labels == labels[:, None]) / 2 - ranks[:, None]
    change: FloatArray = slope @ moved
    return change

"""Rank correlations between human and machine labels on ordered scales.

A table contains the weight of every pair of a left (human) label and a right (machine) label; its
last two axes are the left and the right labels.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.bootstrap import AnyStatistic, RowStatistic, Statistic, ratio
from tiebreak.stats.core.validation import FloatArray, IntArray, as_values
from tiebreak.stats.raters.label_pairs import NO_OVERLAP, Pairs, RandomPairs

Correlation = Literal["spearman", "kendall"]
Summary = Literal["medians", "means"]
Sides = Callable[[IntArray], tuple[FloatArray, FloatArray]]

CORRELATIONS: tuple[Correlation, ...] = ("spearman", "kendall")
CONSTANT = (
    "Humans or the machine gave all items the same value, so a rank correlation is undefined."
)
MAX_CELLS = 4096
_ELEMENTS_AT_ONCE = 2**20
MANY_CELLS = (
    f"There is no interval because there are more than {MAX_CELLS} pairs of distinct labels."
)


def medians_statistic(pairs: Pairs, correlation: Correlation) -> AnyStatistic:
    """Return the correlation between the majority labels or lower medians of both sides."""
    return _statistic(pairs.weights, (pairs.labels, pairs.labels), pairs, correlation)


def means_statistic(
    pairs: Pairs, rows: IntArray, correlation: Correlation, *, values: npt.ArrayLike | None
) -> AnyStatistic:
    """Return the correlation between the mean ratings of both sides; ``rows`` lists all rows."""
    numbers = as_values(values, labels=pairs.labels)
    columns = slice(0, pairs.labels), pairs.parsed
    supports = [np.unique(_means(rows[:, side], numbers)) for side in columns]

    def sides(rows: IntArray) -> tuple[FloatArray, FloatArray]:
        both = pairs.count(rows)[:, None]
        human, machine = (
            both * (_means(rows[:, side], numbers)[:, None] == support)
            for side, support in zip(columns, supports, strict=True)
        )
        return human, machine

    return _statistic(sides, (len(supports[0]), len(supports[1])), pairs, correlation)


def _means(counts: IntArray, numbers: FloatArray) -> FloatArray:
    """Return mean ratings, rounded so that floating-point errors do not break ties."""
    means: FloatArray = counts @ numbers / np.maximum(counts.sum(axis=1), 1)
    unit = float(np.ptp(numbers)) * 1e-12 or 1.0
    return np.round(means / unit) * unit


def _statistic(
    sides: Sides, shape: tuple[int, int], pairs: Pairs, correlation: Correlation
) -> AnyStatistic:
    value_of = {"spearman": spearman_value, "kendall": kendall_value}[correlation]
    cells = shape[0] * shape[1]
    if cells > MAX_CELLS:
        return _row_statistic(sides, shape, pairs, correlation)

    def features(rows: IntArray) -> FloatArray:
        left, right = sides(rows)
        table = (left[:, :, None] * right[:, None, :]).reshape(len(rows), cells)
        return np.column_stack([pairs.count(rows), table])

    def value(sums: FloatArray) -> FloatArray:
        return value_of(sums[..., 1:].reshape(*sums.shape[:-1], *shape))

    return Statistic(1 + cells, features, value, NO_OVERLAP, CONSTANT)


def _row_statistic(
    sides: Sides, shape: tuple[int, int], pairs: Pairs, correlation: Correlation
) -> RowStatistic:
    """Return a statistic for tables that are too large for thousands of replicates."""

    def bind(rows: IntArray) -> Callable[[FloatArray], FloatArray]:
        row, x, y, weight = _weighted_pairs(*sides(rows))
        if correlation == "spearman":
            return lambda counts: _some_at_once(
                lambda some: _spearman(some[..., row] * weight, x, y, shape), counts, len(row)
            )
        cells = x * shape[1] + y
        return lambda counts: kendall_value(
            np.bincount(cells, counts[row] * weight, shape[0] * shape[1])
            .astype(np.float64)
            .reshape(shape)
        )

    # With random labels, every unit has a pair with each label.
    is_cheap = correlation == "spearman" and not isinstance(pairs, RandomPairs)
    reason = None if is_cheap else MANY_CELLS
    return RowStatistic(bind, pairs.count, NO_OVERLAP, CONSTANT, reason_without_interval=reason)


def _some_at_once(
    value_of: Callable[[FloatArray], FloatArray], counts: FloatArray, width: int
) -> FloatArray:
    """Return the values of replicates, for so many at once that ``width`` numbers of each fit."""
    if counts.ndim == 1:
        return value_of(counts)
    size = max(1, _ELEMENTS_AT_ONCE // max(width, 1))
    parts = [value_of(counts[start : start + size]) for start in range(0, len(counts), size)]
    return np.concatenate(parts)


def _weighted_pairs(
    left: FloatArray, right: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return the row, left label, right label and weight of every pair with a positive weight."""
    row_x, x = np.nonzero(left)
    row_y, y = np.nonzero(right)
    n_right = np.bincount(row_y, minlength=len(left))
    repeats = n_right[row_x]
    first = np.repeat(np.arange(len(x)), repeats)
    offset = np.arange(len(first)) - np.repeat(repeats.cumsum() - repeats, repeats)
    second = np.repeat((n_right.cumsum() - n_right)[row_x], repeats) + offset
    row = row_x[first]
    return row, x[first], y[second], left[row, x[first]] * right[row, y[second]]


def _spearman(weights: FloatArray, x: IntArray, y: IntArray, shape: tuple[int, int]) -> FloatArray:
    """Return Spearman's ρ of pairs; the last axis of ``weights`` has one weight for each pair."""
    sides = []
    for codes, size in zip((x, y), shape, strict=True):
        n = len(codes)
        one_hot = scipy.sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(size, n))
        marginals = (one_hot @ weights.T).T
        sides.append((_centred_ranks(marginals)[..., codes], _varies(marginals)))
    (a, a_varies), (b, b_varies) = sides
    scale = np.sqrt((weights * a**2).sum(axis=-1) * (weights * b**2).sum(axis=-1))
    return np.where(a_varies & b_varies, ratio((weights * a * b).sum(axis=-1), scale), np.nan)


def spearman_value(table: FloatArray) -> FloatArray:
    """Return Spearman's ρ of tables, with mid-ranks for ties; NaN where one side is constant."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x, y = _centred_ranks(rows), _centred_ranks(columns)
    covariance = (x * (table @ y[..., None])[..., 0]).sum(axis=-1)
    scale = np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1))
    return np.where(_varies(rows) & _varies(columns), ratio(covariance, scale), np.nan)


def kendall_value(table: FloatArray) -> FloatArray:
    """Return Kendall's τ-b of tables; NaN where one side is constant."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    difference = _below_right(table) - _below_right(table[..., ::-1])[..., ::-1]
    concordant_less_discordant = (table * difference).sum(axis=(-1, -2))
    scale = np.sqrt(_untied(rows) * _untied(columns))
    tau = ratio(concordant_less_discordant, scale)
    return np.where(_varies(rows) & _varies(columns), tau, np.nan)


def _centred_ranks(marginals: FloatArray) -> FloatArray:
    ranks = marginals.cumsum(axis=-1) - marginals / 2
    centred: FloatArray = ranks - marginals.sum(axis=-1, keepdims=True) / 2
    return centred


def _untied(marginals: FloatArray) -> FloatArray:
    """Return the number of pairs that are not tied."""
    untied: FloatArray = (marginals.sum(axis=-1) ** 2 - (marginals**2).sum(axis=-1)) / 2
    return np.maximum(untied, 0)  # rounding may leave less than no pair


def _varies(marginals: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray((marginals > 0).sum(axis=-1) >= 2)


def _below_right(table: FloatArray) -> FloatArray:
    """Return, for each cell, the sum of the cells strictly below and to the right of it."""
    inclusive = table[..., ::-1, ::-1].cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1]
    sums = np.zeros_like(inclusive)
    sums[..., :-1, :-1] = inclusive[..., 1:, 1:]
    return sums


def rank_correlations(
    x: FloatArray,
    y: FloatArray,
    samples: Iterable[IntArray],
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return Spearman's ρ in each sample, given the indices of its items; NaN if a side is constant.

    All items are sorted once: the ranks of a sample follow from how often it has each value. An item
    with a weight counts as if it were there as many times.
    """
    x_codes, y_codes = (np.unique(side, return_inverse=True)[1] for side in (x, y))
    order = np.argsort(x_codes, kind="stable")
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    x_codes, y_codes = x_codes[order], y_codes[order]
    weight = np.ones(len(order)) if weights is None else weights[order]
    values = [_of_sample(x_codes, y_codes, position[sample], weight) for sample in samples]
    return np.array(values, dtype=np.float64)


def _of_sample(x_codes: IntArray, y_codes: IntArray, items: IntArray, weight: FloatArray) -> float:
    weights = np.bincount(items, minlength=len(x_codes)) * weight
    marginals = [np.bincount(codes, weights).astype(np.float64) for codes in (x_codes, y_codes)]
    x, y = (_centred_ranks(counts) for counts in marginals)
    # Sums of products, because a dot product of long vectors waits for all processors.
    squares = [(counts * ranks**2).sum() for counts, ranks in zip(marginals, (x, y), strict=True)]
    scale = float(np.sqrt(squares[0] * squares[1]))
    product = weights * x[x_codes] * y[y_codes]
    return float(product.sum()) / scale if scale > 0 else np.nan

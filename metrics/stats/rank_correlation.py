"""Rank correlations of two sides whose labels are in order."""

from collections.abc import Callable
from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt

from metrics.stats.bootstrap import Resampling, Statistic, estimate, ratio
from metrics.stats.counts import Patterns
from metrics.stats.pairs import NO_OVERLAP, Pairs
from metrics.stats.results import Estimate, undefined
from metrics.stats.validation import FloatArray, IntArray, as_values

Correlation = Literal["spearman", "kendall"]
Summary = Literal["medians", "means"]
Sides = Callable[[IntArray], tuple[FloatArray, FloatArray]]

CONSTANT = "One side gave one label only: there is no rank to correlate."
MOST_CELLS = 4096
_TOO_MANY = f"No interval: more than {MOST_CELLS} pairs of distinct labels."


def correlate(
    pairs: Pairs, patterns: Patterns, *, correlation: Correlation, **resampling: Unpack[Resampling]
) -> Estimate:
    """Correlation of the entries of both sides."""
    return _estimate(pairs.entries, pairs, patterns, correlation, resampling)


def correlate_means(
    pairs: Pairs,
    patterns: Patterns,
    *,
    correlation: Correlation,
    values: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Correlation of the mean ratings of both sides."""
    numbers = as_values(values, labels=pairs.labels)
    columns = slice(0, pairs.labels), slice(pairs.labels, 2 * pairs.labels)
    supports = [np.unique(_means(patterns.rows[:, side], numbers)) for side in columns]

    def sides(rows: IntArray) -> tuple[FloatArray, FloatArray]:
        both = pairs.count(rows)[:, None]
        human, machine = (
            both * (_means(rows[:, side], numbers)[:, None] == support)
            for side, support in zip(columns, supports, strict=True)
        )
        return human, machine

    return _estimate(sides, pairs, patterns, correlation, resampling)


def _means(counts: IntArray, numbers: FloatArray) -> FloatArray:
    means: FloatArray = counts @ numbers / np.maximum(counts.sum(axis=1), 1)
    return means


def _estimate(
    sides: Sides,
    pairs: Pairs,
    patterns: Patterns,
    correlation: Correlation,
    resampling: Resampling,
) -> Estimate:
    human, machine = sides(patterns.rows)
    shape = human.shape[1], machine.shape[1]
    value_of = {"spearman": spearman_value, "kendall": kendall_value}[correlation]
    if shape[0] * shape[1] > MOST_CELLS:
        table = human.T @ (machine * patterns.unit_counts[:, None])
        n = round(float(pairs.count(patterns.rows) @ patterns.unit_counts))
        found = float(value_of(table))
        return undefined(CONSTANT, n) if np.isnan(found) else Estimate(found, n=n, reason=_TOO_MANY)

    def features(rows: IntArray) -> FloatArray:
        left, right = sides(rows)
        cells = (left[:, :, None] * right[:, None, :]).reshape(len(rows), shape[0] * shape[1])
        return np.column_stack([pairs.count(rows), cells])

    def value(sums: FloatArray) -> FloatArray:
        return value_of(sums[..., 1:].reshape(*sums.shape[:-1], *shape))

    statistic = Statistic(1 + shape[0] * shape[1], features, value, NO_OVERLAP, CONSTANT)
    return estimate(statistic, patterns, **resampling)


def spearman_value(table: FloatArray) -> FloatArray:
    """Spearman's ρ of tables (..., R, C), ties by mid-ranks; NaN where one side is constant."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x, y = _centred_ranks(rows), _centred_ranks(columns)
    shared = (x * (table @ y[..., None])[..., 0]).sum(axis=-1)
    spread = np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1))
    return np.where(_varies(rows) & _varies(columns), ratio(shared, spread), np.nan)


def kendall_value(table: FloatArray) -> FloatArray:
    """Kendall's τ-b of tables (..., R, C); NaN where one side is constant."""
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    ordered = (table * (_beyond(table) - _beyond(table[..., ::-1])[..., ::-1])).sum(axis=(-1, -2))
    untied = np.sqrt(_untied(rows) * _untied(columns))
    return np.where(_varies(rows) & _varies(columns), ratio(ordered, untied), np.nan)


def _centred_ranks(marginals: FloatArray) -> FloatArray:
    ranks = marginals.cumsum(axis=-1) - marginals / 2
    centred: FloatArray = ranks - marginals.sum(axis=-1, keepdims=True) / 2
    return centred


def _untied(marginals: FloatArray) -> FloatArray:
    """Pairs that differ on this side."""
    untied: FloatArray = (marginals.sum(axis=-1) ** 2 - (marginals**2).sum(axis=-1)) / 2
    return untied


def _varies(marginals: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.asarray((marginals > 0).sum(axis=-1) >= 2)


def _beyond(table: FloatArray) -> FloatArray:
    """For each cell the sum of what lies strictly below and to the right of it."""
    whole = table[..., ::-1, ::-1].cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1]
    beyond = np.zeros_like(whole)
    beyond[..., :-1, :-1] = whole[..., 1:, 1:]
    return beyond

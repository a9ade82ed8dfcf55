"""Separability of two systems on one instance, from alignments of their generations.

Source: Ghosh et al. 2024 (SEPARABILITY), eqs. 1–3. The published code scores 15 of the 25 cross
pairs and mirrors them; this is what eq. 2 says: the mean over all K_A · K_B pairs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Separability:
    """Alignments of one instance, δ = max(self A, self B) − cross, and its standard error.

    NaN where there are too few generations: a self-alignment needs two, δ needs all three.
    """

    self_alignment_a: float
    self_alignment_b: float
    cross_alignment: float
    delta: float
    standard_error: float


@dataclass(frozen=True)
class NormalisedSeparability:
    """δ from min–max normalised alignments, with the minimum and maximum that were used.

    The scope is all instances of one system pair on one dataset: values change when instances
    are added, and do not compare across datasets.
    """

    delta: Array
    minimum: float
    maximum: float


def separability(self_a: ArrayLike, self_b: ArrayLike, cross: ArrayLike) -> Separability:
    """Separability from similarity matrices.

    Parameters
    ----------
    self_a : (K_A, K_A) similarities of system A's generations with one another
    self_b : (K_B, K_B) the same for system B
    cross : (K_A, K_B)
        NaN marks a missing generation; it leaves the mean and is not a zero. Diagonals are not
        read.

    Returns
    -------
    Separability; the standard error is a jackknife over the samples of both systems.

    Examples
    --------
    >>> separability([[1, 0.8], [0.8, 1]], [[1, 0.6], [0.6, 1]], [[0.2, 0.3], [0.1, 0.2]]).delta
    0.6000000000000001
    """
    a, b, c = (np.asarray(matrix, dtype=float) for matrix in (self_a, self_b, cross))
    if a.shape != (c.shape[0],) * 2 or b.shape != (c.shape[1],) * 2:
        raise ValueError(
            "self_a, self_b and cross must have shapes (K_A, K_A), (K_B, K_B) and (K_A, K_B),"
            f" not {a.shape}, {b.shape}, {c.shape}"
        )
    within_a, within_b, between = _off_diagonal_mean(a), _off_diagonal_mean(b), _mean(c)
    delta = max(within_a, within_b) - between if _all_defined(within_a, within_b) else np.nan
    return Separability(within_a, within_b, between, delta, _jackknife(a, b, c))


def normalised_separability(
    self_a: ArrayLike, self_b: ArrayLike, cross: ArrayLike
) -> NormalisedSeparability:
    """δ of each instance from mean alignments (I,), min–max normalised over all three columns."""
    columns = np.stack([np.asarray(x, dtype=float) for x in (self_a, self_b, cross)])
    if np.all(np.isnan(columns)):
        return NormalisedSeparability(np.full(columns.shape[1], np.nan), np.nan, np.nan)
    low, high = float(np.nanmin(columns)), float(np.nanmax(columns))
    width = high - low if high > low else np.nan
    a, b, c = (columns - low) / width
    return NormalisedSeparability(np.maximum(a, b) - c, low, high)


def range_edges(delta: ArrayLike, ranges: int = 4) -> Array:
    """Edges (ranges + 1,) of equal-width bins of the observed support; empty if none is defined."""
    values = np.asarray(delta, dtype=float)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.zeros(0)
    low, high = values.min(), values.max()
    return np.linspace(low, high, ranges + 1) if high > low else np.array([low, high])


def range_of(delta: ArrayLike, edges: ArrayLike) -> NDArray[np.int64]:
    """Which half-open bin each value is in (the last is closed); −1 for NaN."""
    values, bounds = np.asarray(delta, dtype=float), np.asarray(edges, dtype=float)
    if len(bounds) < 2:
        return np.full(len(values), -1)
    index = np.searchsorted(bounds[1:-1], values, side="right")
    return np.where(np.isnan(values), -1, index).astype(np.int64)


def _all_defined(*numbers: float) -> bool:
    return not any(np.isnan(number) for number in numbers)


def _mean(matrix: Array) -> float:
    return float(np.nanmean(matrix)) if np.any(~np.isnan(matrix)) else float("nan")


def _off_diagonal_mean(matrix: Array) -> float:
    return _mean(matrix[~np.eye(len(matrix), dtype=bool)])


def _jackknife(a: Array, b: Array, c: Array) -> float:
    """Delete-one jackknife over the samples of A and of B, their variances added."""
    without_one_a = [_delta(_drop(a, k), b, np.delete(c, k, axis=0)) for k in range(len(a))]
    without_one_b = [_delta(a, _drop(b, k), np.delete(c, k, axis=1)) for k in range(len(b))]
    return float(np.sqrt(_jackknife_variance(without_one_a) + _jackknife_variance(without_one_b)))


def _jackknife_variance(values: list[float]) -> float:
    """(n − 1)/n · Σ (θ₋ₖ − θ̄)²; NaN with fewer than three samples, or one that is undefined."""
    if len(values) < 3:
        return float("nan")
    array = np.array(values)
    return float((len(array) - 1) * array.var())


def _drop(matrix: Array, k: int) -> Array:
    return np.delete(np.delete(matrix, k, axis=0), k, axis=1)


def _delta(a: Array, b: Array, c: Array) -> float:
    within_a, within_b = _off_diagonal_mean(a), _off_diagonal_mean(b)
    return max(within_a, within_b) - _mean(c) if _all_defined(within_a, within_b) else float("nan")

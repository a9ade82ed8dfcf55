"""Separability of two systems on one instance, from alignments of their generations.

Source: Ghosh et al. 2024, eqs. 1–3. The published code scores 15 of 25 cross pairs and mirrors
them; this is eq. 2 as written, the mean over all K_A · K_B pairs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import NAN
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    as_similarities,
    check_at_least,
    check_same_length,
)

RANGES = 4
TOO_FEW = "Fewer than two generations of system {systems}."
NO_CROSS = "No similarity across the systems is known."


@dataclass(frozen=True)
class Separability:
    """Mean alignments of one instance and δ = max(self A, self B) − cross.

    NaN where generations are too few, and ``reason`` says which.
    """

    self_alignment_a: float
    self_alignment_b: float
    cross_alignment: float
    delta: float
    standard_error: float
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class NormalisedSeparability:
    """δ (I,) of min–max normalised alignments, and the scope of that minimum and maximum.

    Values change when instances are added, and do not compare across scopes.
    """

    delta: FloatArray
    minimum: float
    maximum: float
    scope: str


def separability(
    self_a: npt.ArrayLike,
    self_b: npt.ArrayLike,
    cross: npt.ArrayLike,
    *,
    cross_pairs: int | None = None,
    rng: np.random.Generator | None = None,
) -> Separability:
    """Separability from the similarities of generations.

    Parameters
    ----------
    self_a, self_b : (K_A, K_A) and (K_B, K_B), each system's generations with one another
    cross : (K_A, K_B)
        NaN where a generation is missing: it leaves the means. Diagonals are not read.
    cross_pairs : C, how many of the known cross pairs are used, drawn by ``rng``; all where None

    A self-alignment needs two generations, the standard error (delete-one jackknife over the
    generations of both systems) three.

    >>> found = separability([[1, 0.8], [0.8, 1]], [[1, 0.6], [0.6, 1]], [[0.2, 0.3], [0.1, 0.2]])
    >>> round(found.delta, 4)
    0.6
    """
    a = as_similarities(self_a, name="self_a")
    b = as_similarities(self_b, name="self_b")
    c = as_similarities(cross, name="cross")
    if a.shape != (c.shape[0],) * 2 or b.shape != (c.shape[1],) * 2:
        raise InvalidInput(
            "wrong_shape",
            "self_a, self_b and cross must be (K_A, K_A), (K_B, K_B) and (K_A, K_B), "
            f"not {a.shape}, {b.shape} and {c.shape}.",
        )
    a, b, c = _without_missing(a, b, c)
    if cross_pairs is not None:
        c = _sample_pairs(c, cross_pairs, rng)
    alignments = _off_diagonal_mean(a), _off_diagonal_mean(b), _mean(c)
    reason = _too_few(*alignments)
    return Separability(*alignments, _delta(*alignments), _jackknife(a, b, c), reason)


def normalised_separability(
    self_a: npt.ArrayLike, self_b: npt.ArrayLike, cross: npt.ArrayLike, *, scope: str
) -> NormalisedSeparability:
    """δ of each instance (I,) from mean alignments, min–max normalised over all three columns.

    ``scope`` names what the columns span: all instances of one system pair on one dataset.
    """
    columns = [
        as_numbers(column, name=name, missing=True)
        for name, column in (("self_a", self_a), ("self_b", self_b), ("cross", cross))
    ]
    check_same_length(self_a=columns[0], self_b=columns[1], cross=columns[2])
    values = np.concatenate(columns)
    values = values[~np.isnan(values)]
    if len(values) == 0 or values.min() == values.max():
        return NormalisedSeparability(np.full(len(columns[0]), NAN), NAN, NAN, scope)
    low, high = float(values.min()), float(values.max())
    a, b, c = ((column - low) / (high - low) for column in columns)
    return NormalisedSeparability(np.maximum(a, b) - c, low, high, scope)


def range_edges(delta: npt.ArrayLike, *, ranges: int = RANGES) -> FloatArray:
    """Edges (ranges + 1,) of equal-width bins of the observed support.

    One bin where all are equal; none, as an empty array, where nothing is known.
    """
    check_at_least(ranges, 1, name="ranges")
    values = as_numbers(delta, name="delta", missing=True)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.zeros(0)
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high, ranges + 1) if low < high else np.array([low, high])


def range_of(delta: npt.ArrayLike, edges: npt.ArrayLike) -> IntArray:
    """Half-open bin of each δ, the last one closed; −1 for NaN and beyond the edges."""
    values = as_numbers(delta, name="delta", missing=True)
    bounds = as_numbers(edges, name="edges")
    if len(bounds) < 2:
        return np.full(len(values), -1)
    inside = (values >= bounds[0]) & (values <= bounds[-1])
    return np.where(inside, np.searchsorted(bounds[1:-1], values, side="right"), -1)


def _without_missing(
    a: FloatArray, b: FloatArray, c: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Drop the generations without any similarity to another one."""
    in_a = ~np.isnan(c).all(axis=1) | ~np.isnan(_off_diagonal(a)).all(axis=1)
    in_b = ~np.isnan(c).all(axis=0) | ~np.isnan(_off_diagonal(b)).all(axis=1)
    return a[np.ix_(in_a, in_a)], b[np.ix_(in_b, in_b)], c[np.ix_(in_a, in_b)]


def _sample_pairs(cross: FloatArray, pairs: int, rng: np.random.Generator | None) -> FloatArray:
    """The matrix with all but ``pairs`` random entries set to NaN."""
    check_at_least(pairs, 1, name="cross_pairs")
    known = np.flatnonzero(~np.isnan(cross))
    if rng is None or pairs > len(known):
        raise InvalidInput(
            "pairs_cannot_be_drawn",
            f"cross_pairs must be at most the {len(known)} known pairs, and needs rng to draw them.",
        )
    sample = np.full(cross.shape, NAN)
    indices = rng.choice(known, pairs, replace=False)
    sample.flat[indices] = cross.flat[indices]
    return sample


def _off_diagonal(matrix: FloatArray) -> FloatArray:
    """The matrix with NaN on its diagonal."""
    return np.where(np.eye(len(matrix), dtype=np.bool_), NAN, matrix)


def _off_diagonal_mean(matrix: FloatArray) -> float:
    return _mean(_off_diagonal(matrix))


def _mean(matrix: FloatArray) -> float:
    known = matrix[~np.isnan(matrix)]
    return float(known.mean()) if len(known) else NAN


def _delta(self_a: float, self_b: float, cross: float) -> float:
    # Not Python's max, which ignores a NaN in second place.
    return float(np.maximum(self_a, self_b)) - cross


def _too_few(self_a: float, self_b: float, cross: float) -> str | None:
    lacking = [name for name, mean in (("A", self_a), ("B", self_b)) if np.isnan(mean)]
    if lacking:
        return TOO_FEW.format(systems=" and ".join(lacking))
    return NO_CROSS if np.isnan(cross) else None


def _jackknife(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Delete-one jackknife over generations; the variances of the two systems add."""
    mean_a, mean_b = _off_diagonal_mean(a), _off_diagonal_mean(b)
    without_a = np.maximum(_leave_one_out_means(a), mean_b) - _leave_row_out_means(c)
    without_b = np.maximum(_leave_one_out_means(b), mean_a) - _leave_row_out_means(c.T)
    return float(np.sqrt(_jackknife_variance(without_a) + _jackknife_variance(without_b)))


def _jackknife_variance(values: FloatArray) -> float:
    if len(values) < 3:
        return NAN
    return (len(values) - 1) * float(np.var(values))


def _leave_one_out_means(matrix: FloatArray) -> FloatArray:
    """Off-diagonal means of a (K, K) matrix without each row and column in turn: (K,)."""
    values, counts = _values_and_counts(_off_diagonal(matrix))
    removed = values.sum(axis=0) + values.sum(axis=1)
    n_removed = counts.sum(axis=0) + counts.sum(axis=1)
    return _quotients(values.sum() - removed, counts.sum() - n_removed)


def _leave_row_out_means(matrix: FloatArray) -> FloatArray:
    """Means of a (K, n) matrix without each row in turn: (K,)."""
    values, counts = _values_and_counts(matrix)
    return _quotients(values.sum() - values.sum(axis=1), counts.sum() - counts.sum(axis=1))


def _values_and_counts(matrix: FloatArray) -> tuple[FloatArray, IntArray]:
    is_known = ~np.isnan(matrix)
    return np.where(is_known, matrix, 0.0), is_known.astype(int)


def _quotients(sums: FloatArray, counts: IntArray) -> FloatArray:
    """The quotients, NaN where the count is 0."""
    quotients: FloatArray = np.divide(sums, counts, out=np.full(len(sums), NAN), where=counts > 0)
    return quotients

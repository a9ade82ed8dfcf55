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
    """Separability of two systems on one instance.

    Attributes
    ----------
    self_alignment_a, self_alignment_b : float
        Mean similarity of two generations of one system.
    cross_alignment : float
        Mean similarity of a generation of A and one of B.
    delta : float
        δ = max(self_alignment_a, self_alignment_b) − cross_alignment.
    standard_error : float
        Jackknife standard error of δ over generations.
    reason : str or None
        Why a number is NaN: there are too few generations.
    """

    self_alignment_a: float
    self_alignment_b: float
    cross_alignment: float
    delta: float
    standard_error: float
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class NormalisedSeparability:
    """Separability from min–max normalised alignments.

    Attributes
    ----------
    delta : ndarray of float, shape (n_instances,)
        δ of each instance, in [−1, 1].
    minimum, maximum : float
        Range of the alignments.
    scope : str
        What the range spans. Values change if instances are added, and do not compare across
        scopes.
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
    """Compute the separability of two systems on one instance.

    Parameters
    ----------
    self_a : array_like of float, shape (n_a, n_a)
        Similarities of A's generations with one another. The diagonal is not read.
    self_b : array_like of float, shape (n_b, n_b)
        The same of B's generations.
    cross : array_like of float, shape (n_a, n_b)
        Similarities of A's generations with B's. In all three, NaN marks a missing generation,
        which is left out of the means.
    cross_pairs : int, optional
        Number of cross pairs to use, drawn by `rng`; all by default.
    rng : numpy.random.Generator, optional
        Source of the draw.

    Returns
    -------
    Separability
        The alignments, δ and its standard error. A self-alignment needs two generations of the
        system, the standard error three.

    Raises
    ------
    InvalidInput
        If the shapes do not fit together, or `cross_pairs` is given without `rng`.

    See Also
    --------
    normalised_separability : The same on a common scale.
    tiebreak.similarity.align : The matrices of two systems' texts.

    Notes
    -----
    δ = max(self A, self B) − cross, each a mean over all pairs of different generations (Ghosh et
    al. 2024, eqs. 1–3). The published code scores 15 of 25 cross pairs and mirrors them; this is
    eq. 2 as written. The standard error is the delete-one jackknife's, over the generations of both
    systems.

    Examples
    --------
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
    """Compute the separability of many instances from min–max normalised alignments.

    Parameters
    ----------
    self_a, self_b, cross : array_like of float, shape (n_instances,)
        Mean alignments of each instance. NaN is missing.
    scope : str
        Name of what the alignments span, such as a system pair on a dataset.

    Returns
    -------
    NormalisedSeparability
        The δ of each instance; all NaN if the alignments are all alike.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    separability : The same of one instance.

    Notes
    -----
    One minimum and maximum is taken over all three vectors (Ghosh et al. 2024).

    Examples
    --------
    >>> found = normalised_separability([1.0, 0.6], [0.8, 0.6], [0.2, 0.6], scope="a-b on news")
    >>> found.delta.tolist()
    [1.0, 0.0]
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
    """Compute the edges of ranges of equal width over the observed support.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability of each instance, or NaN if it is missing.
    ranges : int, default 4
        Number of ranges.

    Returns
    -------
    ndarray of float, shape (ranges + 1,)
        The edges; two equal ones if all δ are equal, none if there is no δ.

    Raises
    ------
    InvalidInput
        If `ranges` is less than 1.

    See Also
    --------
    range_of : The range that each δ is in.

    Examples
    --------
    >>> range_edges([0.0, 0.3, 1.0], ranges=2).tolist()
    [0.0, 0.5, 1.0]
    """
    check_at_least(ranges, 1, name="ranges")
    values = as_numbers(delta, name="delta", missing=True)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return np.zeros(0)
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high, ranges + 1) if low < high else np.array([low, high])


def range_of(delta: npt.ArrayLike, edges: npt.ArrayLike) -> IntArray:
    """Find the range that each δ is in.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability of each instance, or NaN if it is missing.
    edges : array_like of float, shape (n_ranges + 1,)
        Edges of the ranges. Each range includes its lower end; the last one includes both ends.

    Returns
    -------
    ndarray of int, shape (n_instances,)
        Range in 0..n_ranges−1; −1 for NaN and beyond the edges.

    Raises
    ------
    InvalidInput
        If an edge is not finite.

    See Also
    --------
    range_edges : Edges of ranges of equal width.

    Examples
    --------
    >>> range_of([0.0, 0.5, 1.0, 2.0], [0.0, 0.5, 1.0]).tolist()
    [0, 1, 1, -1]
    """
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
            f"cross_pairs must be at most the {len(known)} scored pairs, and needs rng to draw them.",
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
    systems = [name for name, mean in (("A", self_a), ("B", self_b)) if np.isnan(mean)]
    if systems:
        return TOO_FEW.format(systems=" and ".join(systems))
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

"""Separability of two systems on one instance, from alignments of their generations.

Source: Ghosh et al. 2024, eqs. 1–3. The published code scores only 15 of 25 cross pairs and mirrors
them. This module computes eq. 2 as printed, that is, the mean over all pairs of a generation of
system A and a generation of system B.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_numbers,
    as_similarities,
    check_at_least,
    check_same_length,
)

TOO_FEW = "There are fewer than two generations for system {systems}."
HALF = 0.5  # of the scale from the smallest to the largest alignment
SCENARIOS = {
    (is_high_within, is_high_across): (
        f"{'high' if is_high_within else 'low'} self-alignment,"
        f" {'high' if is_high_across else 'low'} cross-alignment"
    )
    for is_high_within in (True, False)
    for is_high_across in (False, True)
}
NO_CROSS = "There is no similarity between a generation of system A and a generation of system B."


@dataclass(frozen=True)
class Separability:
    """Separability of two systems on one instance."""

    self_alignment_a: float
    self_alignment_b: float
    """Mean similarity between two generations of system A, and of system B."""
    cross_alignment: float
    """Mean similarity between a generation of A and a generation of B."""
    delta: float
    """δ = max(self_alignment_a, self_alignment_b) − cross_alignment."""
    standard_error: float
    """Jackknife standard error of δ over generations."""
    reason: str | None = None
    """Why an alignment is NaN, such as too few generations; otherwise None."""


@dataclass(frozen=True, eq=False)
class NormalisedSeparability:
    """Separability from min–max normalised alignments."""

    delta: FloatArray
    """δ of each instance, in [−1, 1]; shape (n_instances,)."""
    minimum: float
    maximum: float
    """Smallest and largest alignment."""
    scope: str
    """Name of the set that the minimum and maximum are taken over. If instances are added to the
    set, values change. Values from different scopes cannot be compared."""
    best_self: FloatArray
    """Larger self-alignment of each instance, from 0 to 1; shape (n_instances,)."""
    cross: FloatArray
    """Cross-alignment of each instance, from 0 to 1; shape (n_instances,)."""

    @property
    def scenarios(self) -> list[str | None]:
        """Which of the four scenarios of Ghosh et al. 2024, figure 2, each instance is.

        An alignment is high if it is in the upper half of the scale; None if it is missing.
        """
        both = zip(self.best_self.tolist(), self.cross.tolist(), strict=True)
        return [None if isnan(s) or isnan(c) else SCENARIOS[s >= HALF, c >= HALF] for s, c in both]


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
        Similarities between A's generations. The diagonal is ignored.
    self_b : array_like of float, shape (n_b, n_b)
        Similarities between B's generations. The diagonal is ignored.
    cross : array_like of float, shape (n_a, n_b)
        Similarities between A's generations and B's generations. In all three matrices, NaN marks a
        missing generation, which is left out of the means.
    cross_pairs : int, optional
        Number of cross pairs to use, drawn with `rng`; all pairs by default.
    rng : numpy.random.Generator, optional
        Random generator for the draw of cross pairs.

    Returns
    -------
    Separability
        The alignments, δ and its standard error. A self-alignment needs at least two generations of
        the system; the standard error needs at least three generations of each system.

    Raises
    ------
    InvalidInput
        If the shapes do not fit together, or if `cross_pairs` is passed without `rng`.

    See Also
    --------
    normalised_separability : Computes δ from alignments on a common scale.
    tiebreak.similarity.align : Computes the similarities between texts.

    Notes
    -----
    δ = max(self A, self B) − cross. Each alignment is a mean over all pairs of different
    generations (Ghosh et al. 2024, eqs. 1–3). The published code scores only 15 of 25 cross pairs
    and mirrors them; this function computes eq. 2 as printed. The standard error comes from a
    delete-one jackknife over the generations of both systems.

    Examples
    --------
    >>> self_a, self_b = [[1, 0.8], [0.8, 1]], [[1, 0.6], [0.6, 1]]
    >>> round(separability(self_a, self_b, [[0.2, 0.3], [0.1, 0.2]]).delta, 4)
    0.6
    """
    a = as_similarities(self_a, name="self_a")
    b = as_similarities(self_b, name="self_b")
    c = as_similarities(cross, name="cross")
    if a.shape != (c.shape[0],) * 2 or b.shape != (c.shape[1],) * 2:
        raise InvalidInput(
            "wrong_shape",
            "self_a and self_b must be square; cross must have a row for each generation in self_a"
            " and a column for each generation in self_b. Their shapes are"
            f" {a.shape}, {b.shape} and {c.shape}.",
        )
    # Drop generations that have no similarity to any other generation.
    in_a = ~np.isnan(c).all(axis=1) | ~np.isnan(_off_diagonal(a)).all(axis=1)
    in_b = ~np.isnan(c).all(axis=0) | ~np.isnan(_off_diagonal(b)).all(axis=1)
    a, b, c = a[np.ix_(in_a, in_a)], b[np.ix_(in_b, in_b)], c[np.ix_(in_a, in_b)]
    if cross_pairs is not None:
        c = _sample_pairs(c, cross_pairs, rng)
    alignments = _off_diagonal_mean(a), _off_diagonal_mean(b), _mean(c)
    reason = _too_few(*alignments)
    # Python's max would ignore a NaN in its second argument.
    delta = float(np.maximum(*alignments[:2])) - alignments[2]
    return Separability(*alignments, delta, _jackknife(a, b, c), reason)


def normalised_separability(
    self_a: npt.ArrayLike,
    self_b: npt.ArrayLike,
    cross: npt.ArrayLike,
    *,
    scope: str,
    ends: tuple[float, float] | None = None,
) -> NormalisedSeparability:
    """Compute the separability of many instances from min–max normalised alignments.

    Parameters
    ----------
    self_a, self_b, cross : array_like of float, shape (n_instances,)
        Mean alignments of each instance, or NaN if they are missing.
    scope : str
        Name of the set of alignments, such as a system pair and a dataset.
    ends : tuple of float, optional
        Smallest and largest alignment of the set, if the vectors have only some of its instances.

    Returns
    -------
    NormalisedSeparability
        The δ of each instance; all NaN if the alignments are all equal.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    separability : Computes δ of one instance from similarities.

    Notes
    -----
    The minimum and the maximum are taken over all three vectors together (Ghosh et al. 2024).

    Examples
    --------
    >>> on_news = normalised_separability([1.0, 0.6], [0.8, 0.6], [0.2, 0.6], scope="a-b on news")
    >>> on_news.delta.tolist()
    [1.0, 0.0]
    """
    columns = [
        as_numbers(column, name=name, missing=True)
        for name, column in (("self_a", self_a), ("self_b", self_b), ("cross", cross))
    ]
    check_same_length(self_a=columns[0], self_b=columns[1], cross=columns[2])
    values = np.concatenate(columns)
    values = values[~np.isnan(values)]
    if ends is None:
        ends = (float(values.min()), float(values.max())) if len(values) else (NAN, NAN)
    low, high = ends
    if not low < high:
        unknown = np.full(len(columns[0]), NAN)
        return NormalisedSeparability(unknown, NAN, NAN, scope, unknown, unknown)
    a, b, c = ((column - low) / (high - low) for column in columns)
    best = np.maximum(a, b)
    return NormalisedSeparability(best - c, low, high, scope, best, c)


def scenario_shares(scenarios: Iterable[str | None]) -> dict[str, float]:
    """Return the share of instances in each scenario, of those whose alignments are known."""
    known = [one for one in scenarios if one is not None]
    return {name: known.count(name) / len(known) for name in SCENARIOS.values()} if known else {}


def _sample_pairs(cross: FloatArray, pairs: int, rng: np.random.Generator | None) -> FloatArray:
    """Return the matrix with all but ``pairs`` random entries set to NaN."""
    check_at_least(pairs, 1, name="cross_pairs")
    known = np.flatnonzero(~np.isnan(cross))
    if rng is None:
        raise InvalidInput(
            "pairs_cannot_be_drawn", "cross_pairs needs rng to draw the pairs; pass a generator."
        )
    if pairs > len(known):
        raise InvalidInput(
            "pairs_cannot_be_drawn",
            f"cross_pairs must be at most {len(known)}, the number of scored cross pairs; it is"
            f" {pairs}.",
        )
    sample = np.full(cross.shape, NAN)
    indices = rng.choice(known, pairs, replace=False)
    sample.flat[indices] = cross.flat[indices]
    return sample


def _off_diagonal(matrix: FloatArray) -> FloatArray:
    """Return the matrix with NaN on its diagonal."""
    return np.where(np.eye(len(matrix), dtype=np.bool_), NAN, matrix)


def _off_diagonal_mean(matrix: FloatArray) -> float:
    return _mean(_off_diagonal(matrix))


def _mean(matrix: FloatArray) -> float:
    known = matrix[~np.isnan(matrix)]
    return float(known.mean()) if len(known) else NAN


def _too_few(self_a: float, self_b: float, cross: float) -> str | None:
    systems = [name for name, mean in (("A", self_a), ("B", self_b)) if np.isnan(mean)]
    if systems:
        return TOO_FEW.format(systems=" and ".join(systems))
    return NO_CROSS if np.isnan(cross) else None


def _jackknife(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Return the delete-one jackknife standard error of δ; the two systems' variances are added."""
    mean_a, mean_b = _off_diagonal_mean(a), _off_diagonal_mean(b)
    without_a = np.maximum(_leave_one_out_means(a), mean_b) - _leave_row_out_means(c)
    without_b = np.maximum(_leave_one_out_means(b), mean_a) - _leave_row_out_means(c.T)
    return float(np.sqrt(_jackknife_variance(without_a) + _jackknife_variance(without_b)))


def _jackknife_variance(values: FloatArray) -> float:
    if len(values) < 3:
        return NAN
    return (len(values) - 1) * float(np.var(values))


def _leave_one_out_means(matrix: FloatArray) -> FloatArray:
    """Return the off-diagonal means of a square matrix, leaving out each generation in turn."""
    values, counts = _values_and_counts(_off_diagonal(matrix))
    removed = values.sum(axis=0) + values.sum(axis=1)
    n_removed = counts.sum(axis=0) + counts.sum(axis=1)
    return _quotients(values.sum() - removed, counts.sum() - n_removed)


def _leave_row_out_means(matrix: FloatArray) -> FloatArray:
    """Return the means of a matrix, leaving out each row in turn."""
    values, counts = _values_and_counts(matrix)
    return _quotients(values.sum() - values.sum(axis=1), counts.sum() - counts.sum(axis=1))


def _values_and_counts(matrix: FloatArray) -> tuple[FloatArray, IntArray]:
    is_known = ~np.isnan(matrix)
    return np.where(is_known, matrix, 0.0), is_known.astype(int)


def _quotients(sums: FloatArray, counts: IntArray) -> FloatArray:
    """Return the quotients; NaN where the count is 0."""
    quotients: FloatArray = np.divide(sums, counts, out=np.full(len(sums), NAN), where=counts > 0)
    return quotients

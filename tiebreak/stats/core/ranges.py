"""Ranges of equal width, such as those of separability."""

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.validation import FloatArray, IntArray, as_numbers, check_at_least

RANGES = 4


def range_edges(delta: npt.ArrayLike, *, ranges: int = RANGES) -> FloatArray:
    """Compute the edges of ranges of equal width between the smallest and the largest δ.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability of each instance, or NaN if it is missing.
    ranges : int, default 4
        Number of ranges.

    Returns
    -------
    ndarray of float, shape (ranges + 1,)
        The edges. If all δ are equal, there are two equal edges; if there is no δ, the array is
        empty.

    Raises
    ------
    InvalidInput
        If `ranges` is less than 1.

    See Also
    --------
    range_of : Finds the range that contains each δ.

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
    """Find the range that contains each δ.

    Parameters
    ----------
    delta : array_like of float, shape (n_instances,)
        Separability of each instance, or NaN if it is missing.
    edges : array_like of float, shape (n_ranges + 1,)
        Edges of the ranges. Each range includes its lower end; the last one includes both ends.

    Returns
    -------
    ndarray of int, shape (n_instances,)
        Index of the range, from 0 to n_ranges − 1; −1 for NaN and for values outside the edges.

    Raises
    ------
    InvalidInput
        If an edge is not finite.

    See Also
    --------
    range_edges : Computes edges of ranges of equal width.

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

"""Count matrices and their patterns: the work is done once per distinct row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Patterns:
    """The distinct rows of a matrix, sorted, and for each original row which one it is."""

    rows: NDArray[np.int64]
    index: NDArray[np.int64]


def distinct_rows(matrix: NDArray[np.int64]) -> Patterns:
    """Sorted distinct rows.

    Where a row fits into one number (it nearly always does) the sort is over plain numbers.
    """
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        return Patterns(matrix[:0], np.zeros(matrix.shape[0], dtype=np.int64))
    radix = matrix.max(axis=0).astype(object) + 1
    places = np.cumprod(np.append(radix[::-1], 1)[[-1, *range(len(radix) - 1)]])[::-1]
    if int(np.prod(radix)) < 2**62:
        keys = matrix @ places.astype(np.int64)
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        return Patterns(matrix[first], index.astype(np.int64))
    rows, index = np.unique(matrix, axis=0, return_inverse=True)
    return Patterns(rows, index.reshape(-1).astype(np.int64))


def count_matrix(
    units: ArrayLike, labels: ArrayLike, *, shape: tuple[int, int]
) -> NDArray[np.int64]:
    """Units × labels counts from long arrays of unit codes and label codes.

    Examples
    --------
    >>> count_matrix([0, 0, 1], [1, 1, 0], shape=(2, 2)).tolist()
    [[0, 2], [1, 0]]
    """
    flat = np.asarray(units, dtype=np.int64) * shape[1] + np.asarray(labels, dtype=np.int64)
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(np.int64)

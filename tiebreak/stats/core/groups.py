"""Numbering groups of ratings without sorting the ratings, which takes longer than most statistics."""

from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
# Whole numbers up to this many times the length of a vector are counted in a table.
_TABLE = 8


def numbered(codes: npt.NDArray[Any]) -> IntArray:
    """Return the index of each code among the distinct codes in order.

    >>> numbered(np.array([7, 3, 7])).tolist()
    [1, 0, 1]
    """
    if _fits_table(codes):
        is_present = np.bincount(codes) > 0
        return np.asarray((np.cumsum(is_present) - 1)[codes], dtype=np.int64)
    if codes.dtype.kind == "i" and (codes[1:] >= codes[:-1]).all():
        return np.concatenate([[0], np.cumsum(codes[1:] > codes[:-1])])
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def n_distinct(codes: npt.NDArray[Any]) -> int:
    """Return the number of distinct codes.

    >>> n_distinct(np.array([7, 3, 7]))
    2
    """
    if _fits_table(codes):
        return int(np.count_nonzero(np.bincount(codes)))
    if codes.dtype.kind != "i":
        return len(np.unique(codes))
    in_order = np.sort(codes)
    return 1 + int(np.count_nonzero(in_order[1:] > in_order[:-1]))


def pair_sums(y: npt.NDArray[np.float64], groups: IntArray) -> npt.NDArray[np.float64]:
    """Return half the sum of squared differences within groups, and the number of pairs."""
    n, total, squares = (np.bincount(groups, w) for w in (None, y, y**2))
    return np.array([(n * squares - total**2).sum() / 2, (n * (n - 1)).sum() / 2])


def _fits_table(codes: npt.NDArray[Any]) -> bool:
    if codes.dtype.kind != "i" or not len(codes):
        return codes.dtype.kind == "i"
    return bool(codes.min() >= 0 and codes.max() <= _TABLE * len(codes) + 2**16)

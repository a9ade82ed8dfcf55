"""Krippendorff's α on a ratio scale with many different values, in little memory."""

import numpy as np

from tiebreak.stats.core.bootstrap import ratio
from tiebreak.stats.core.validation import FloatArray, IntArray

_BLOCK = 128


def ratio_distances(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return δ² = ((a − b) / (a + b))² of pairs of values of 0 or more; 0 if both are 0."""
    squared: FloatArray = np.nan_to_num(ratio(first - second, first + second)) ** 2
    return squared


def ratio_alpha(disagreement: float, values: FloatArray, weights: FloatArray) -> float:
    """Return α, given the sum of o_ck δ²_ck over c < k, and the values with their weights.

    The expected disagreement compares each value with each other value, a block of values at a time.
    It is NaN if all values are equal.
    """
    expected = float(weights @ summed_distances(values, values, weights)) / 2
    if expected <= 0:
        return float("nan")
    return float(1 - (weights.sum() - 1) * disagreement / expected)


def summed_distances(values: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of δ² between each value and all others."""
    distinct, code = np.unique(values, return_inverse=True)
    compared, other = np.unique(others, return_inverse=True)
    totals = np.bincount(other, weights=weights, minlength=len(compared))
    sums = np.zeros(len(distinct))
    for start in range(0, len(distinct), _BLOCK):
        block = slice(start, start + _BLOCK)
        sums[block] = ratio_distances(distinct[block, None], compared[None, :]) @ totals
    return sums[code]


def ratio_sums(unit: IntArray, value: FloatArray) -> FloatArray:
    """Return the sum of δ² between each rating and the others of its unit; they are sorted by unit."""
    sums = np.zeros(len(value))
    for step in range(1, int(np.bincount(unit).max(initial=0))):
        same = np.flatnonzero(unit[step:] == unit[:-step])
        squared = ratio_distances(value[same], value[same + step])
        sums[same] += squared
        sums[same + step] += squared
    return sums


def ratio_disagreement(unit: IntArray, value: FloatArray, units: int) -> FloatArray:
    """Return the sum of o_ck δ²_ck over c < k of each unit; ratings are sorted by unit."""
    size = np.bincount(unit, minlength=units)
    sums = np.bincount(unit, ratio_sums(unit, value) / 2, minlength=units)
    return np.asarray(sums / np.maximum(size - 1, 1))

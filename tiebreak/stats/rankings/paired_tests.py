"""Paired tests of two systems over instances, and p-values by number of instances.

Source: Lyu et al. 2024 (HREF), figure 6.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import FloatArray, as_numbers, check_at_least, check_choice

Test = Literal["t", "permutation"]

PERMUTATIONS = 10_000
DRAWS = 1000
SIGNIFICANT = 0.05
_BATCH_ELEMENTS = 2**21
TOO_FEW = "A paired test needs at least two instances."
NO_VARIATION = "All differences are equal, so the t statistic would be infinite."


@dataclass(frozen=True, eq=False)
class PValueCurve:
    """Curve of p-values by number of instances."""

    sizes: npt.NDArray[np.int64]
    """Numbers of instances; shape (n_sizes,)."""
    median: FloatArray
    low: FloatArray
    high: FloatArray
    """Median, 5th percentile and 95th percentile of the p-values in random subsets of
    each size; shape (n_sizes,)."""
    significant: FloatArray
    """Share of p-values below 0.05 at each size; shape (n_sizes,)."""


def paired_t_test(differences: npt.ArrayLike) -> Estimate:
    """Test whether the mean difference between two systems is 0, with Student's t-test.

    Parameters
    ----------
    differences : array_like of float, shape (n_instances,)
        A's score minus B's score on each instance. Average the units and ratings of an instance
        first.

    Returns
    -------
    Estimate
        Two-sided p-value. It is 1 if all differences are 0. It is undefined if all differences are
        equal but not 0, or if there are fewer than two differences.

    Raises
    ------
    InvalidInput
        If a difference is not finite.

    See Also
    --------
    permutation_test : Assumes only that the differences are symmetric.

    Notes
    -----
    Source: Lyu et al. 2024 (HREF), figure 6.

    Examples
    --------
    >>> round(paired_t_test([1, 0, 1, -1, 1, 1]).value, 4)
    0.2031
    """
    d = as_numbers(differences, name="differences")
    if len(d) < 2:
        return undefined(TOO_FEW, len(d))
    p = float(_t_p_values(d[None])[0])
    if np.isnan(p):
        return undefined(NO_VARIATION, len(d))
    return Estimate(p, n=len(d), method="paired t-test, two-sided")


def permutation_test(
    differences: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> Estimate:
    """Test whether the mean difference between two systems is 0, by flipping signs at random.

    Parameters
    ----------
    differences : array_like of float, shape (n_instances,)
        A's score minus B's score on each instance. Average the units and ratings of an instance
        first.
    rng : numpy.random.Generator
        Random generator for the signs.
    permutations : int, default 10000
        Number of random sign vectors. If there are at most this many sign vectors in total (2ⁿ for
        n instances), all of them are used and the test is exact.

    Returns
    -------
    Estimate
        Two-sided p-value, above 0; undefined if there are fewer than two differences.

    Raises
    ------
    InvalidInput
        If a difference is not finite.

    See Also
    --------
    paired_t_test : Assumes that the differences are normally distributed.

    Notes
    -----
    p = (1 + m) / (1 + permutations), where m is the number of sums at least as far from 0 as the
    observed sum. In the exact test, p is the share of such sums among all 2ⁿ sign vectors.

    Examples
    --------
    >>> permutation_test([1, 1, 1, 1], rng=np.random.default_rng(0)).value
    0.125
    """
    d = as_numbers(differences, name="differences")
    check_at_least(permutations, 1, name="permutations")
    if len(d) < 2:
        return undefined(TOO_FEW, len(d))
    result = scipy.stats.permutation_test(
        (d,),
        lambda signed, axis: np.abs(signed.sum(axis=axis)),
        permutation_type="samples",  # With one sample, this flips signs at random.
        alternative="greater",
        n_resamples=permutations,
        batch=max(1, _BATCH_ELEMENTS // len(d)),
        rng=rng,
    )
    how = "exact" if 2 ** len(d) <= permutations else f"{permutations} draws"
    return Estimate(float(result.pvalue), n=len(d), method=f"sign permutation, two-sided, {how}")


def p_value_curve(
    differences: npt.ArrayLike,
    sizes: Sequence[int],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    test: Test = "t",
) -> PValueCurve:
    """Compute p-values by number of instances, from random subsets.

    Parameters
    ----------
    differences : array_like of float, shape (n_instances,)
        A's score minus B's score on each instance.
    sizes : sequence of int
        Numbers of instances, from 2 to n_instances.
    rng : numpy.random.Generator
        Random generator for the subsets and the signs.
    draws : int, default 1000
        Number of subsets of each size. Each subset is drawn without replacement.
    test : {"t", "permutation"}, default "t"
        Whether to use `paired_t_test` or `permutation_test`, the latter with 1,000 permutations.

    Returns
    -------
    PValueCurve
        Median and percentiles of the p-values at each size.

    Raises
    ------
    InvalidInput
        If a size is out of range.

    Notes
    -----
    The t-test is undefined for a subset whose differences are all equal but not 0. Such a subset
    counts as p = 0, since nothing in it contradicts the difference. Source: Lyu et al. 2024 (HREF),
    figure 6.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> curve = p_value_curve([1, 0, 1, -1, 1, 1], [2, 6], rng=rng, draws=50)
    >>> round(float(curve.median[1]), 4)
    0.2031
    """
    d = as_numbers(differences, name="differences")
    check_choice(test, allowed=("t", "permutation"), name="test")
    check_at_least(draws, 1, name="draws")
    for size in sizes:
        check_at_least(size, 2, name="sizes")
        if size > len(d):
            raise InvalidInput(
                "out_of_range",
                f"sizes must be at most {len(d)}, the number of instances; {size} is too large.",
            )
    p = np.array([p for size in sizes for p in _subset_p_values(d, size, draws, test, rng)])
    p = p.reshape(len(sizes), draws)
    low, median, high = (
        np.quantile(p, [0.05, 0.5, 0.95], axis=1) if len(sizes) else np.zeros((3, 0))
    )
    significant = (p < SIGNIFICANT).mean(axis=1)
    return PValueCurve(np.array(sizes, dtype=np.int64), median, low, high, significant)


def _subset_p_values(
    d: FloatArray, size: int, draws: int, test: Test, rng: np.random.Generator
) -> Iterator[float]:
    """Yield the p-values of random subsets, of which only some are in memory at a time."""
    batch = max(1, _BATCH_ELEMENTS // size)
    for start in range(0, draws, batch):
        count = min(batch, draws - start)
        subsets = np.stack([d[rng.permutation(len(d))[:size]] for _ in range(count)])
        if test == "t":
            yield from np.nan_to_num(_t_p_values(subsets), nan=0.0).tolist()
        else:
            yield from (permutation_test(s, rng=rng, permutations=1000).value for s in subsets)


def _t_p_values(samples: FloatArray) -> FloatArray:
    """Return the two-sided p-value of each row.

    It is 1 if all values in the row are 0, and NaN if they are equal but not 0.
    """
    varies = np.ptp(samples, axis=1) > 0
    p = np.where(samples[:, 0] == 0, 1.0, NAN)
    p[varies] = scipy.stats.ttest_1samp(samples[varies], 0, axis=1).pvalue
    return p

"""Paired tests of two systems over instances, and p-values by number of instances.

Source: HREF, figure 6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.stats

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import NAN, Estimate, undefined
from tiebreak.stats.validation import FloatArray, as_numbers, check_at_least, check_choice

Test = Literal["t", "permutation"]

PERMUTATIONS = 10_000
DRAWS = 1000
SIGNIFICANT = 0.05
_BATCH_ELEMENTS = 2**22
TOO_FEW = "A paired test needs two instances."
NO_VARIATION = "All differences are alike: a t statistic would be infinite."


@dataclass(frozen=True, eq=False)
class PValueCurve:
    """p by number of instances: (sizes,) median, 5th and 95th percentile, and share below 0.05."""

    sizes: npt.NDArray[np.int64]
    median: FloatArray
    low: FloatArray
    high: FloatArray
    significant: FloatArray


def paired_t_test(differences: npt.ArrayLike) -> Estimate:
    """Two-sided p of a mean difference of 0 between two systems, by Student's t.

    ``differences`` (instances,) are A − B of one score each: average units and ratings of an
    instance first. Differences that are all 0 give 1; all alike but not 0, or fewer than two,
    are undefined.

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
    """Two-sided p of a mean difference of 0, under random signs of the differences.

    ``differences`` as in `paired_t_test`. p = (1 + permutations at least as far from 0) /
    (1 + permutations): never 0. All of the 2ⁿ signs are used where they are no more than
    ``permutations``; then p is exact.

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
        permutation_type="samples",  # of one sample: random signs
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
    """How p falls with the number of instances: subsets of each size, drawn without replacement.

    ``sizes`` lie in 2..n. Subsets that have no p (all alike) count as p = 0 where they differ
    from 0: nothing speaks against them. With "permutation", each subset has 1,000 random signs.
    """
    d = as_numbers(differences, name="differences")
    check_choice(test, allowed=("t", "permutation"), name="test")
    check_at_least(draws, 1, name="draws")
    for size in sizes:
        check_at_least(size, 2, name="sizes")
        if size > len(d):
            raise InvalidInput(
                "out_of_range",
                f"sizes must be at most the {len(d)} instances there are, not {size}.",
            )
    p = np.array([_subset_p_values(d, size, draws, test, rng) for size in sizes])
    p = p.reshape(len(sizes), draws)
    low, median, high = (
        np.quantile(p, [0.05, 0.5, 0.95], axis=1) if len(sizes) else np.zeros((3, 0))
    )
    significant = (p < SIGNIFICANT).mean(axis=1)
    return PValueCurve(np.array(sizes, dtype=np.int64), median, low, high, significant)


def _subset_p_values(
    d: FloatArray, size: int, draws: int, test: Test, rng: np.random.Generator
) -> FloatArray:
    subsets = np.stack([d[rng.permutation(len(d))[:size]] for _ in range(draws)])
    if test == "t":
        return np.nan_to_num(_t_p_values(subsets), nan=0.0)
    return np.array([permutation_test(s, rng=rng, permutations=1000).value for s in subsets])


def _t_p_values(samples: FloatArray) -> FloatArray:
    """Two-sided p of each row; 1 if all its values are 0, NaN if all are equal otherwise."""
    varies = np.ptp(samples, axis=1) > 0
    p = np.where(samples[:, 0] == 0, 1.0, NAN)
    p[varies] = scipy.stats.ttest_1samp(samples[varies], 0, axis=1).pvalue
    return p

"""Discernment, that is, whether a rater gives perturbed texts lower scores than the originals.

Source: Wang et al. 2024 (DHP), section 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    as_criterion_weights,
    as_scores,
    as_shares,
    check_choice,
)

SIGNIFICANT = 0.05
# Smaller values of p are replaced with this value so that D is finite.
SMALLEST_P = float(np.finfo(np.float64).tiny)
NO_PAIRS = "No text has scores for both its original and its perturbed version."
NO_SCORES = "No perturbation has a discernment score."
# Differences that are the same to so many decimals of the largest score are equal.
_DECIMALS = 9
UNDEFINED_SCORE = "The discernment score of a perturbation at level {level} is undefined."


@dataclass(frozen=True)
class Discernment:
    """Discernment of one perturbation."""

    p_values: tuple[Estimate, ...]
    """p-value of each criterion."""
    p: Estimate
    """Weighted harmonic mean of `p_values`."""
    score: Estimate
    """Discernment score D = log₀.₀₅ p. It is 0 at p = 1 and 1 at p = 0.05, and larger if the rater
    notices the change clearly."""


@dataclass(frozen=True)
class DiscernmentSummary:
    """Discernment over several perturbations."""

    average: Estimate
    """Mean of the mean scores of the levels."""
    minimum: Estimate
    """Smallest score of a perturbation."""
    levels: dict[str, Estimate]
    """Mean score at each level."""


def discernment(
    original: npt.ArrayLike,
    perturbed: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    zero_method: str = "wilcox",
    literal: bool = False,
) -> Discernment:
    """Compute the discernment of one perturbation.

    Parameters
    ----------
    original, perturbed : array_like of float, shape (n_texts, n_criteria)
        Scores of the texts and of their perturbed versions; higher is better. Use NaN for a missing
        score; the pair is then left out of the test for that criterion.
    weights : array_like of float, shape (n_criteria,), optional
        Weight of each criterion, 0 or more; equal by default.
    zero_method : {"wilcox", "pratt", "zsplit"}, default "wilcox"
        How the test treats differences of 0. ``"wilcox"``: leave them out; ``"pratt"``: rank them
        and then drop their ranks; ``"zsplit"``: split their ranks between positive and negative.
    literal : bool, default False
        Whether to compute the unweighted mean as printed in the paper; see `harmonic_mean_p`.

    Returns
    -------
    Discernment
        The p-values, their harmonic mean, and the score. The mean and the score are undefined if a
        criterion with a weight above 0 has no pair of scores.

    Raises
    ------
    InvalidInput
        If the shapes differ, or a weight is negative.

    See Also
    --------
    summarise_discernment : Computes the mean and minimum over perturbations.

    Notes
    -----
    Each criterion is tested with a one-sided Wilcoxon signed-rank test. `scipy.stats.wilcoxon`
    chooses between the exact and the normal form. If all differences are 0, p is 1. Source: Wang et
    al. 2024 (DHP), eqs. 1–3. Differences that are equal but for rounding are tied.

    Examples
    --------
    >>> typos = discernment([[5], [4], [5], [3], [5]], [[3], [3], [2], [2], [4]])
    >>> typos.p.value, round(typos.score.value, 4)
    (0.03125, 1.1569)
    """
    check_choice(zero_method, allowed=("wilcox", "pratt", "zsplit"), name="zero_method")
    first, second = as_scores(original, name="original"), as_scores(perturbed, name="perturbed")
    if first.shape != second.shape:
        raise InvalidInput(
            "wrong_shape",
            "original and perturbed must have the same shape; their shapes are"
            f" {first.shape} and {second.shape}.",
        )
    shares = as_criterion_weights(weights, criteria=first.shape[1])
    p_values = tuple(_signed_rank(column, zero_method) for column in _differences(first, second).T)
    weighted = [p for p, share in zip(p_values, shares, strict=True) if share > 0]
    n = min(p.n for p in weighted)
    if not all(p.is_defined for p in weighted):
        return Discernment(p_values, undefined(NO_PAIRS, n), undefined(NO_PAIRS, n))
    mean = harmonic_mean_p(
        [p.value for p in weighted],
        weights=None if weights is None else shares[shares > 0],
        literal=literal,
    )
    return Discernment(
        p_values,
        Estimate(mean, n=n, method="harmonic mean of one-sided signed-rank tests"),
        Estimate(discernment_score(mean), n=n, method="log₀.₀₅ of the harmonic mean p"),
    )


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the differences in units of the largest score, of which equal ones are equal.

    Means of several raters' scores have rounding errors, which would separate what is tied or not 0.
    """
    largest = np.nanmax(np.abs([first, second]), initial=0)
    differences: FloatArray = ((first - second) / (largest or 1)).round(_DECIMALS)
    return differences


def _signed_rank(differences: FloatArray, zero_method: str) -> Estimate:
    known = differences[~np.isnan(differences)]
    method = f"one-sided Wilcoxon signed-rank, {zero_method}"
    if not len(known):
        return undefined(NO_PAIRS)
    if not known.any():
        return Estimate(1.0, n=len(known), method=method)
    p = scipy.stats.wilcoxon(known, alternative="greater", zero_method=zero_method).pvalue
    return Estimate(float(p), n=len(known), method=method)


def harmonic_mean_p(
    p_values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, literal: bool = False
) -> float:
    """Compute the weighted harmonic mean of p-values.

    Parameters
    ----------
    p_values : array_like of float, shape (n_criteria,)
        The p-values, from 0 to 1. If any p-value is 0, the mean is 0.
    weights : array_like of float, shape (n_criteria,), optional
        Weight of each p-value, 0 or more; equal by default.
    literal : bool, default False
        Whether to return 1 / Σ(1 / p) if `weights` is omitted. For M p-values, this is M times
        smaller than the mean.

    Returns
    -------
    float
        The mean, from 0 to 1.

    Raises
    ------
    InvalidInput
        If there is no p-value, or a weight is negative.

    Notes
    -----
    The mean is Σ w / Σ(w / p) (Wilson 2019). Without weights, Wang et al. 2024 (DHP, eq. 2) leave
    out the factor M, so omitting the weights differs from using equal weights. `literal`
    reproduces their formula.

    Examples
    --------
    >>> round(harmonic_mean_p([0.01, 0.05]), 4)
    0.0167
    >>> round(harmonic_mean_p([0.01, 0.05], literal=True), 4)
    0.0083
    """
    p = as_shares(p_values, name="p_values")
    if not len(p):
        raise InvalidInput("empty", "p_values must contain at least one p-value.")
    shares = as_criterion_weights(weights, criteria=len(p))
    if literal and weights is None:
        shares = np.ones(len(p))
    p, shares = p[shares > 0], shares[shares > 0]
    return 0.0 if (p == 0).any() else float(min(1.0, 1 / (shares / p).sum()))


def discernment_score(p: float) -> float:
    """Compute the discernment score of a p-value.

    Parameters
    ----------
    p : float
        A p-value, from 0 to 1.

    Returns
    -------
    float
        D = log₀.₀₅ p, which is 0 at p = 1 and 1 at p = 0.05. It is at most 236.5, because smaller
        values of p cannot be represented.

    Raises
    ------
    InvalidInput
        If p is out of range.

    Notes
    -----
    Source: Wang et al. 2024 (DHP), eq. 3.

    Examples
    --------
    >>> discernment_score(0.05), round(discernment_score(0.0), 1)
    (1.0, 236.5)
    """
    (share,) = as_shares([p], name="p")
    return abs(log(max(share, SMALLEST_P)) / log(SIGNIFICANT))


def summarise_discernment(
    scores: Mapping[str, float], levels: Mapping[str, str]
) -> DiscernmentSummary:
    """Compute the mean and the minimum of discernment scores over perturbations.

    Parameters
    ----------
    scores : mapping of str to float
        Score D of each perturbation; NaN for an undefined score.
    levels : mapping of str to str
        Level of each perturbation, such as characters, words or sentences.

    Returns
    -------
    DiscernmentSummary
        Average, minimum, and mean by level. If a score is undefined, the mean of its level, the
        average and the minimum are undefined.

    Raises
    ------
    InvalidInput
        If a perturbation has no level.

    See Also
    --------
    discernment : Computes the score of one perturbation.

    Notes
    -----
    The average is the mean of the level means so that levels with many perturbations do not count
    more than others (Wang et al. 2024, DHP, section 3.4).

    Examples
    --------
    >>> levels = {"typos": "characters", "fictional": "words", "deleted": "words"}
    >>> summary = summarise_discernment({"typos": 1.0, "fictional": 4.0, "deleted": 2.0}, levels)
    >>> summary.average.value, summary.minimum.value
    (2.0, 1.0)
    """
    unknown = sorted(set(scores) - set(levels))
    if unknown:
        raise InvalidInput(
            "names_missing",
            "levels must contain the level of every perturbation in scores; it does not contain"
            f" {', '.join(map(repr, unknown))}.",
        )
    by_level: dict[str, list[float]] = {}
    for name, score in scores.items():
        by_level.setdefault(levels[name], []).append(score)
    means = {
        level: undefined(UNDEFINED_SCORE.format(level=level), len(values))
        if np.isnan(values).any()
        else Estimate(float(np.mean(values)), n=len(values))
        for level, values in by_level.items()
    }
    reason = next((mean.reason for mean in means.values() if not mean.is_defined), None)
    if not scores or reason:
        no_score = undefined(reason or NO_SCORES, len(scores))
        return DiscernmentSummary(no_score, no_score, means)
    average = float(np.mean([mean.value for mean in means.values()]))
    return DiscernmentSummary(
        Estimate(average, n=len(scores), method="mean of level means"),
        Estimate(min(scores.values()), n=len(scores), method="minimum over perturbations"),
        means,
    )

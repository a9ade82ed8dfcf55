"""Discernment: whether a rater gives perturbed texts lower scores than the originals.

Source: Wang et al. 2024 (DHP), section 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
from scipy.stats import wilcoxon

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import Estimate, undefined
from tiebreak.stats.validation import (
    as_criterion_weights,
    as_scores,
    as_shares,
    check_choice,
)

SIGNIFICANT = 0.05
# Smaller values of p are replaced with this one, so that D is finite.
SMALLEST_P = float(np.finfo(np.float64).tiny)
NO_PAIRS = "No text has a score of both its versions."
NO_SCORES = "No perturbation has a discernment score."
UNDEFINED_SCORE = "{level}: a score is undefined."


@dataclass(frozen=True)
class Discernment:
    """Discernment of one perturbation.

    Attributes
    ----------
    p_values : tuple of Estimate
        p-value of each criterion.
    p : Estimate
        Their weighted harmonic mean.
    score : Estimate
        D = log₀.₀₅ p: 0 at p = 1, 1 at p = 0.05, larger where the rater sees the change clearly.
    """

    p_values: tuple[Estimate, ...]
    p: Estimate
    score: Estimate


@dataclass(frozen=True)
class DiscernmentSummary:
    """Discernment over several perturbations.

    Attributes
    ----------
    average : Estimate
        Mean of the levels' means.
    minimum : Estimate
        Least score of a perturbation.
    levels : dict of str to Estimate
        Mean score of each level.
    """

    average: Estimate
    minimum: Estimate
    levels: dict[str, Estimate]


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
        Scores of the texts and of their perturbed versions; higher is better. NaN is missing: such
        a pair is left out of its criterion's test.
    weights : array_like of float, shape (n_criteria,), optional
        Weight of each criterion, 0 or more; equal by default.
    zero_method : {"wilcox", "pratt", "zsplit"}, default "wilcox"
        What the test does with a difference of 0: leave it out, rank it, or split it.
    literal : bool, default False
        Whether to compute the mean without weights as the paper writes it, see `harmonic_mean_p`.

    Returns
    -------
    Discernment
        The p-values, their harmonic mean, and the score. It is undefined if a criterion with a
        weight has no pair of scores.

    Raises
    ------
    InvalidInput
        If the shapes differ, or a weight is negative.

    See Also
    --------
    summarise_discernment : Mean and minimum over perturbations.

    Notes
    -----
    Each criterion has a one-sided Wilcoxon signed-rank test, exact or normal as
    `scipy.stats.wilcoxon` chooses; p = 1 if all differences are 0. Source: Wang et al. 2024 (DHP),
    eqs. 1–3.

    Examples
    --------
    >>> found = discernment([[5], [4], [5], [3], [5]], [[3], [3], [2], [2], [4]])
    >>> found.p.value, round(found.score.value, 4)
    (0.03125, 1.1569)
    """
    check_choice(zero_method, allowed=("wilcox", "pratt", "zsplit"), name="zero_method")
    first, second = as_scores(original, name="original"), as_scores(perturbed, name="perturbed")
    if first.shape != second.shape:
        raise InvalidInput(
            "wrong_shape",
            "original and perturbed must have the same shape, not"
            f" {first.shape} and {second.shape}.",
        )
    shares = as_criterion_weights(weights, criteria=first.shape[1])
    p_values = tuple(_signed_rank(column, zero_method) for column in (first - second).T)
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


def _signed_rank(differences: npt.NDArray[np.float64], zero_method: str) -> Estimate:
    known = differences[~np.isnan(differences)]
    method = f"one-sided Wilcoxon signed-rank, {zero_method}"
    if not len(known):
        return undefined(NO_PAIRS)
    if not known.any():
        return Estimate(1.0, n=len(known), method=method)
    p = wilcoxon(known, alternative="greater", zero_method=zero_method).pvalue
    return Estimate(float(p), n=len(known), method=method)


def harmonic_mean_p(
    p_values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, literal: bool = False
) -> float:
    """Compute the weighted harmonic mean of p-values.

    Parameters
    ----------
    p_values : array_like of float, shape (n_criteria,)
        The p-values, in [0, 1]. One of 0 makes the mean 0.
    weights : array_like of float, shape (n_criteria,), optional
        Weight of each, 0 or more; equal by default.
    literal : bool, default False
        Whether to return 1 / Σ(1 / p) if no weights are given, which is M times smaller for M
        p-values.

    Returns
    -------
    float
        The mean, in [0, 1].

    Raises
    ------
    InvalidInput
        If there is no p-value, or a weight is negative.

    Notes
    -----
    Σ w / Σ(w / p) (Wilson 2019). Without weights, Wang et al. 2024 (DHP, eq. 2) leave out the
    factor M, so that equal weights and no weights disagree; `literal` reproduces them.

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
        A p-value, in [0, 1].

    Returns
    -------
    float
        D = log₀.₀₅ p: 0 at p = 1, 1 at p = 0.05, and at most 236.5, where p underflows.

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
        Score D of each perturbation. NaN is undefined.
    levels : mapping of str to str
        Level of each perturbation, such as characters, words or sentences.

    Returns
    -------
    DiscernmentSummary
        Average, minimum, and mean by level. An undefined score makes its level and the summary
        undefined.

    Raises
    ------
    InvalidInput
        If a perturbation has no level.

    See Also
    --------
    discernment : The score of one perturbation.

    Notes
    -----
    The average is of level means, so that a level with many perturbations counts no more (Wang et
    al. 2024, DHP, section 3.4).

    Examples
    --------
    >>> levels = {"typos": "characters", "fictional": "words", "deleted": "words"}
    >>> found = summarise_discernment({"typos": 1.0, "fictional": 4.0, "deleted": 2.0}, levels)
    >>> found.average.value, found.minimum.value
    (2.0, 1.0)
    """
    unknown = sorted(set(scores) - set(levels))
    if unknown:
        raise InvalidInput(
            "names_missing",
            f"levels must name the level of every perturbation; missing: {unknown}.",
        )
    by_level: dict[str, list[float]] = {}
    for name, score in scores.items():
        by_level.setdefault(levels[name], []).append(score)
    means = {
        level: _mean(values, UNDEFINED_SCORE.format(level=level))
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


def _mean(values: list[float], reason: str) -> Estimate:
    mean = float(np.mean(values))
    return undefined(reason, len(values)) if np.isnan(mean) else Estimate(mean, n=len(values))

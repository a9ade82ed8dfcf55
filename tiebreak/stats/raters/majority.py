"""How reliable several ratings of an item are together: their majority label, or their mean."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.results import Estimate, mapped, undefined
from tiebreak.stats.core.validation import FloatArray, as_numbers, check_at_least

MAX_PAIRS = 300_000
TOO_MANY = "The majority of so many ratings on so many labels is not computed."
TOO_NEGATIVE = "Ratings of an item differ more than those of different items, so their mean has no reliability."
_ALIKE = 1 - 1e-9


def majority_agreement(kappa: Estimate, shares: npt.ArrayLike, *, ratings: int) -> Estimate:
    """Return how often the majorities of two independent groups of raters are the same label.

    Parameters
    ----------
    kappa : Estimate
        Agreement of single ratings beyond chance, P = Σ π² + κ (1 − Σ π²), such as Fleiss' κ.
    shares : array_like of float, shape (n_labels,)
        Share π of each label among all ratings.
    ratings : int
        Number of ratings of an item in each group.

    Returns
    -------
    Estimate
        The probability, with the scope and reason of `kappa`; an item with several most frequent labels
        has each of them with the same probability. Undefined if it would take long to compute.

    Raises
    ------
    InvalidInput
        If `ratings` is below 1, or the shares are negative or do not add up to 1.

    See Also
    --------
    spearman_brown : The same question about the mean of ratings.

    Notes
    -----
    Of one rating each, it is P itself. More ratings need an assumption: the labels' probabilities vary
    over items like a Dirichlet distribution with the mean π and the concentration 1 / κ − 1, so that counts of
    labels are Dirichlet-multinomial (Mosimann 1962), over which it is summed. Below 0, κ counts as 0. The
    ends of the interval are those of κ, with the shares as they are.

    Examples
    --------
    >>> round(majority_agreement(Estimate(1 / 3), [0.5, 0.5], ratings=3).value, 4)
    0.7429
    """
    check_at_least(ratings, 1, name="ratings")
    pi = as_numbers(shares, name="shares")
    if pi.min(initial=0) < 0 or not np.isclose(pi.sum(), 1):
        raise InvalidInput("out_of_range", "shares must not be negative and must add up to 1.")
    pi = pi[pi > 0]
    if comb(ratings + len(pi) - 1, ratings) ** 2 > MAX_PAIRS:
        return undefined(TOO_MANY, n=kappa.n)
    counts = _compositions(ratings, len(pi))
    top = counts == counts.max(axis=1, keepdims=True)
    chosen = top / top.sum(axis=1, keepdims=True)
    gammaln = scipy.special.gammaln
    ways = gammaln(ratings + 1) - gammaln(counts + 1).sum(axis=1)

    def probability(value: float) -> float:
        if value >= _ALIKE:
            return 1.0
        if value <= 0:
            alone = chosen.T @ np.exp(ways + counts @ np.log(pi))
            return float(alone @ alone)
        concentration = 1 / value - 1
        both = counts[:, None, :] + counts[None, :, :]
        logs = gammaln(concentration * pi + both) - gammaln(concentration * pi)
        whole = gammaln(concentration) - gammaln(concentration + 2 * ratings)
        joint = np.exp(ways[:, None] + ways[None, :] + logs.sum(axis=2) + whole)
        return float((joint * (chosen @ chosen.T)).sum())

    return mapped(kappa, probability)


def spearman_brown(reliability: Estimate, *, ratings: int) -> Estimate:
    """Return the reliability of the mean of several ratings, given that of one.

    Parameters
    ----------
    reliability : Estimate
        Share of the variance of single ratings that lies between items, such as ICC(1).
    ratings : int
        Number of ratings of an item.

    Returns
    -------
    Estimate
        The correlation of the means of two independent groups of so many raters, at most 1; undefined if
        it would be below −1.

    Raises
    ------
    InvalidInput
        If `ratings` is below 1.

    See Also
    --------
    majority_agreement : The same question about majority labels.
    intraclass_correlation : Estimates the reliability of one rating.

    Notes
    -----
    R ρ / (1 + (R − 1) ρ) (Spearman 1910; Brown 1910), which for ICC(1) is ICC(1, R) (Shrout and Fleiss 1979).

    Examples
    --------
    >>> spearman_brown(Estimate(0.5), ratings=3).value
    0.75
    """
    check_at_least(ratings, 1, name="ratings")

    def of_mean(value: float) -> float:
        below = 1 + (ratings - 1) * value
        return ratings * value / below if below > 0 else -np.inf

    if reliability.is_defined and of_mean(reliability.value) < -1:
        return undefined(TOO_NEGATIVE, n=reliability.n)
    found = mapped(reliability, of_mean)
    return replace(found, low=max(found.low, -1.0)) if found.has_interval else found


def _compositions(total: int, parts: int) -> FloatArray:
    """Return all ways to divide ratings among labels, shape (ways, labels)."""
    bars = list(combinations(range(total + parts - 1), parts - 1))
    edges = np.array(bars, dtype=np.float64).reshape(len(bars), parts - 1)
    ends = np.full((len(bars), 1), -1.0), np.full((len(bars), 1), total + parts - 1.0)
    return np.asarray(np.diff(np.hstack([ends[0], edges, ends[1]]), axis=1) - 1)

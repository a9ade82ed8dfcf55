"""Schedules of pairwise comparisons for studies with too many pairs, and win–loss ratios.

Source: Liusie et al. 2024, section 3. Candidates are texts for one context, or systems on one
instance. A comparison is an ordered pair of the candidate shown first and the candidate shown
second.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.validation import (
    IntArray,
    as_codes,
    as_shares,
    as_unit_weights,
    check_at_least,
    check_choice,
    check_same_length,
)

Schedule = Literal["random", "no-repeat", "symmetric"]
NEVER_COMPARED = "This candidate was never compared with another candidate."


def schedule(
    candidates: int, comparisons: int, *, kind: Schedule, rng: np.random.Generator
) -> IntArray:
    """Draw pairs of candidates to compare, without replacement.

    Parameters
    ----------
    candidates : int
        Number of candidates, 2 or more. Candidates are texts for one context, or systems on one
        instance.
    comparisons : int
        Number of comparisons.
    kind : {"random", "no-repeat", "symmetric"}
        How to draw. ``"random"``: draw ordered pairs; ``"no-repeat"``: draw unordered pairs and
        show each in a random order; ``"symmetric"``: draw unordered pairs and show each in both
        orders so that position bias cancels.
    rng : numpy.random.Generator
        Random generator for the draw.

    Returns
    -------
    ndarray of int, shape (comparisons, 2)
        Candidate shown first and candidate shown second, from 0 to candidates − 1.

    Raises
    ------
    InvalidInput
        If there are more comparisons than pairs of that kind, or if the number of comparisons in a
        symmetric schedule is odd.

    See Also
    --------
    win_loss_ratio : Computes scores of the candidates from the comparisons.

    Notes
    -----
    Source: Liusie et al. 2024, section 3.

    Examples
    --------
    >>> schedule(3, 2, kind="symmetric", rng=np.random.default_rng(0)).tolist()
    [[1, 2], [2, 1]]
    """
    check_at_least(candidates, 2, name="candidates")
    check_at_least(comparisons, 1, name="comparisons")
    check_choice(kind, allowed=("random", "no-repeat", "symmetric"), name="kind")
    pairs = np.column_stack(np.triu_indices(candidates, k=1))
    available = len(pairs) * (1 if kind == "no-repeat" else 2)
    if comparisons > available:
        raise InvalidInput(
            "out_of_range",
            f"The number of comparisons must be at most {available}, because a {kind} schedule for"
            f" {candidates} candidates has only {available} pairs; it is {comparisons}.",
        )
    if kind == "random":
        return rng.permutation(np.concatenate([pairs, pairs[:, ::-1]]))[:comparisons]
    if kind == "no-repeat":
        chosen = rng.permutation(pairs)[:comparisons]
        return rng.permuted(chosen, axis=1)
    if comparisons % 2:
        raise InvalidInput(
            "not_even",
            "The number of comparisons must be even, because a symmetric schedule compares each"
            f" pair in both orders; it is {comparisons}.",
        )
    chosen = rng.permutation(pairs)[: comparisons // 2]
    return np.stack([chosen, chosen[:, ::-1]], axis=1).reshape(-1, 2)


def win_loss_ratio(
    pairs: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    candidates: int,
    weights: npt.ArrayLike | None = None,
) -> list[Estimate]:
    """Compute the share of comparisons that each candidate won.

    Parameters
    ----------
    pairs : array_like of int, shape (n_comparisons, 2)
        Candidate shown first and candidate shown second.
    outcomes : array_like of float, shape (n_comparisons,)
        Result for the candidate shown first: 1 for a win, ½ for a tie, 0 for a loss, or a judge's
        probability of a win. Use NaN for an answer that could not be read; it does not count as a
        comparison.
    candidates : int
        Number of candidates.
    weights : array_like of float, shape (n_comparisons,), optional
        How much each comparison counts, 0 or more, such as the inverse of the probability with which its
        instance was drawn; 1 by default.

    Returns
    -------
    list of Estimate
        Score of each candidate, from 0 to 1, without an interval; undefined for a candidate that
        was never compared, or only with weight 0.

    Raises
    ------
    InvalidInput
        If a candidate is compared with itself, or if a code, an outcome or a weight is out of range.

    See Also
    --------
    schedule : Draws the pairs to compare.

    Notes
    -----
    Source: Liusie et al. 2024, eq. 6. The published helper function divides by a different number,
    so its scores can lie outside the range from 0 to 1.

    Examples
    --------
    >>> scores = win_loss_ratio([[0, 1], [1, 0], [1, 2]], [1, 0, 0.5], candidates=3)
    >>> [round(score.value, 4) for score in scores]
    [1.0, 0.1667, 0.5]
    """
    check_at_least(candidates, 2, name="candidates")
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(
            "wrong_shape",
            "pairs must be a matrix with one row for each comparison and two columns; its shape is"
            f" {array.shape}.",
        )
    first, second = (as_codes(side, below=candidates, name="pairs") for side in array.T)
    won = as_shares(outcomes, name="outcomes", missing=True)
    check_same_length(pairs=array, outcomes=won)
    weight = as_unit_weights(weights, length=len(won))
    if (first == second).any():
        raise InvalidInput(
            "same_candidate",
            "pairs must consist of two different candidates; comparison"
            f" {int(np.argmax(first == second))} compares a candidate with itself.",
        )
    parsed = ~np.isnan(won)
    sides = np.concatenate([first[parsed], second[parsed]])
    scores = np.concatenate([won[parsed], 1 - won[parsed]])
    of_sides = np.tile(weight[parsed], 2)
    wins = np.bincount(sides, of_sides * scores, minlength=candidates)
    totals = np.bincount(sides, of_sides, minlength=candidates)
    n_comparisons = np.bincount(sides, minlength=candidates)
    return [
        Estimate(float(win / total), n=int(n)) if total else undefined(NEVER_COMPARED)
        for win, total, n in zip(wins, totals, n_comparisons, strict=True)
    ]

"""Schedules of pairwise comparisons when there are too many pairs, and win–loss ratios.

Source: Liusie et al. 2024, section 3. Candidates are texts for one context, or systems on one
instance. A comparison is ordered: first shown, second shown.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.results import Estimate, undefined
from tiebreak.stats.validation import (
    IntArray,
    as_codes,
    as_shares,
    check_at_least,
    check_choice,
    check_same_length,
)

Schedule = Literal["random", "no-repeat", "symmetric"]
NEVER_COMPARED = "The schedule compares this candidate with nobody."


def schedule(
    candidates: int, comparisons: int, *, kind: Schedule, rng: np.random.Generator
) -> IntArray:
    """Draw pairs of candidates to compare, without replacement.

    Parameters
    ----------
    candidates : int
        Number of candidates, 2 or more: texts for one context, or systems on one instance.
    comparisons : int
        Number of comparisons.
    kind : {"random", "no-repeat", "symmetric"}
        Draw from all ordered pairs; from unordered pairs, each in a random order; or draw unordered
        pairs and compare each in both orders, so that position bias cancels.
    rng : numpy.random.Generator
        Source of the draw.

    Returns
    -------
    ndarray of int, shape (comparisons, 2)
        Candidate shown first and candidate shown second, in 0..candidates−1.

    Raises
    ------
    InvalidInput
        If there are fewer pairs of that kind than comparisons, or a symmetric schedule has an odd
        number of them.

    See Also
    --------
    win_loss_ratio : Scores of the candidates from the comparisons.

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
            f"comparisons must be {available} or fewer: a {kind} schedule of {candidates} "
            "candidates has no more pairs.",
        )
    if kind == "random":
        return rng.permutation(np.concatenate([pairs, pairs[:, ::-1]]))[:comparisons]
    if kind == "no-repeat":
        chosen = rng.permutation(pairs)[:comparisons]
        return rng.permuted(chosen, axis=1)
    if comparisons % 2:
        raise InvalidInput(
            "not_even", "comparisons must be even: a symmetric schedule has both orders."
        )
    chosen = rng.permutation(pairs)[: comparisons // 2]
    return np.stack([chosen, chosen[:, ::-1]], axis=1).reshape(-1, 2)


def win_loss_ratio(
    pairs: npt.ArrayLike, outcomes: npt.ArrayLike, *, candidates: int
) -> list[Estimate]:
    """Compute the share of its comparisons that each candidate won.

    Parameters
    ----------
    pairs : array_like of int, shape (n_comparisons, 2)
        Candidate shown first and candidate shown second.
    outcomes : array_like of float, shape (n_comparisons,)
        How far the first won, in [0, 1]: 1, ½ for a tie, 0, or a judge's probability. NaN is an
        answer that could not be read, which is no comparison.
    candidates : int
        Number of candidates.

    Returns
    -------
    list of Estimate
        Score of each candidate, in [0, 1], without an interval; undefined for a candidate that was
        never compared.

    Raises
    ------
    InvalidInput
        If a candidate is compared with itself, or a code or outcome is out of range.

    See Also
    --------
    schedule : Which pairs to compare.

    Notes
    -----
    Source: Liusie et al. 2024, eq. 6. The published helper divides by another number, so that its
    scores can lie outside [0, 1].

    Examples
    --------
    >>> scores = win_loss_ratio([[0, 1], [1, 0], [1, 2]], [1, 0, 0.5], candidates=3)
    >>> [round(each.value, 4) for each in scores]
    [1.0, 0.1667, 0.5]
    """
    check_at_least(candidates, 2, name="candidates")
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(
            "wrong_shape", f"pairs must be (comparisons, 2), not of shape {array.shape}."
        )
    first, second = (as_codes(side, below=candidates, name="pairs") for side in array.T)
    won = as_shares(outcomes, name="outcomes", missing=True)
    check_same_length(pairs=array, outcomes=won)
    if (first == second).any():
        raise InvalidInput(
            "same_candidate", "pairs must be of two candidates: none is compared with itself."
        )
    parsed = ~np.isnan(won)
    sides = np.concatenate([first[parsed], second[parsed]])
    scores = np.concatenate([won[parsed], 1 - won[parsed]])
    wins = np.bincount(sides, scores, minlength=candidates)
    n_comparisons = np.bincount(sides, minlength=candidates)
    return [
        Estimate(float(w / n), n=int(n)) if n else undefined(NEVER_COMPARED)
        for w, n in zip(wins, n_comparisons, strict=True)
    ]

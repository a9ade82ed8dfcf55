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
    """Ordered pairs (comparisons, 2) of candidates 0..N−1, drawn without replacement.

    ``random``: from all N(N − 1) ordered pairs. ``no-repeat``: from the N(N − 1)/2 unordered
    pairs, in a random order each. ``symmetric``: unordered pairs in both orders, so that
    ``comparisons`` is even and position bias cancels. More comparisons than there are pairs of
    that kind are refused.

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
    """Score of each candidate: its wins / its comparisons, in [0, 1].

    ``pairs`` (C, 2) are first and second shown, ``outcomes`` (C,) in [0, 1] say how far the first
    won: 1, ½ for a tie, 0, or the judge's probability; NaN is an unparsed answer, which is no
    comparison. A candidate without one is NaN with a reason. Source: Liusie et al. 2024, eq. 6;
    the published helper divides otherwise and leaves [0, 1].

    >>> [each.value for each in win_loss_ratio([[0, 1], [1, 0], [1, 2]], [1, 0, 0.5], candidates=3)]
    [1.0, 0.16666666666666666, 0.5]
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

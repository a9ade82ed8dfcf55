"""Win rates of systems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import BAD, Label
from tiebreak.stats.bootstrap import Resampling, Statistic, estimate, ratio
from tiebreak.stats.counts import Patterns, as_patterns
from tiebreak.stats.results import Estimate
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_counts,
    check_same_length,
    check_share,
)

Mask = npt.NDArray[np.bool_]

HALF = 0.5
NO_RATING = "No rating compares this system with another."


def outcome_counts(counts: npt.ArrayLike, labels: Sequence[Label]) -> IntArray:
    """Counts over a preference scale (U, L) as system A preferred, tie, B preferred (U, 3).

    Labels are negative for A, positive for B, whatever their strength; "both bad" says which of
    two is better as little as it says that they are alike, and is left out.
    """
    rows = as_counts(counts)
    if len(labels) != rows.shape[1]:
        raise InvalidInput(
            "wrong_length", f"labels must name each of the {rows.shape[1]} columns of counts."
        )
    signs = np.array([np.nan if label == BAD else np.sign(float(label)) for label in labels])
    return np.stack([rows[:, signs == side].sum(axis=1) for side in (-1, 0, 1)], axis=1)


def win_rate(
    counts: npt.ArrayLike | Patterns,
    *,
    tie: float = HALF,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Expected win rate of system A: P(A preferred) + ½ P(tie), over ratings.

    ``counts`` is (units, 3): ratings for A, ties, ratings for B. n counts the units with a
    rating. ``tie`` is what a tie is worth: 1 gives the win-or-tie rate, 0 that of wins alone.
    Source: HREF, section 4.

    >>> win_rate([[2, 1, 0], [0, 1, 2]]).value
    0.5
    """
    patterns = as_patterns(counts, clusters=clusters)
    if patterns.n_columns != 3:
        raise InvalidInput(
            "wrong_shape", "counts must have three columns: A preferred, tie, B preferred."
        )
    check_share(tie, name="tie")
    return estimate(_win_statistic(tie), patterns, **resampling)


@dataclass(frozen=True)
class WinRates:
    """Expected win rate of every system, and of the first against the second of every pair."""

    systems: dict[str, Estimate]
    pairs: dict[tuple[str, str], Estimate]


def win_rates(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> WinRates:
    """Expected win rates of any number of systems.

    ``counts`` (units, 3) as in `win_rate`; ``system_a`` and ``system_b`` name each unit's
    systems. A pair is named in the alphabet's order. Of two systems one rate is the other's
    mirror.
    """
    rows = as_counts(counts)
    first, second = np.asarray(system_a, dtype=str), np.asarray(system_b, dtype=str)
    check_same_length(counts=rows, system_a=first, system_b=second)
    if (first == second).any():
        raise InvalidInput(
            "same_system",
            "system_a and system_b must differ: a system is not compared with itself.",
        )

    def rate(is_first: Mask, is_second: Mask) -> Estimate:
        outcomes = rows * is_first[:, None] + rows[:, ::-1] * is_second[:, None]
        rng = resampling.get("rng")
        options: Resampling = {**resampling, "rng": rng.spawn(1)[0] if rng else None}
        return win_rate(outcomes, clusters=clusters, **options)

    names = sorted({*first.tolist(), *second.tolist()})
    compared = {_in_order(a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)}
    pairs = {pair: rate(*_sides(first, second, pair)) for pair in sorted(compared)}
    if len(pairs) == 1:
        (estimate,) = pairs.values()
        return WinRates({names[0]: estimate, names[1]: _mirrored(estimate)}, pairs)
    systems = {name: rate(first == name, second == name) for name in names}
    return WinRates(systems, pairs)


def _mirrored(estimate: Estimate) -> Estimate:
    """The win rate of the other of two systems."""
    return replace(estimate, value=1 - estimate.value, low=1 - estimate.high, high=1 - estimate.low)


def _in_order(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def _sides(
    first: npt.NDArray[np.str_], second: npt.NDArray[np.str_], pair: tuple[str, str]
) -> tuple[Mask, Mask]:
    """Units in which the pair's first system is system A, and in which it is system B."""
    is_first: Mask = (first == pair[0]) & (second == pair[1])
    is_second: Mask = (first == pair[1]) & (second == pair[0])
    return is_first, is_second


def _win_statistic(tie: float) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        size = rows.sum(axis=1)
        return np.column_stack([size > 0, rows[:, 0] + tie * rows[:, 1], size])

    def value(sums: FloatArray) -> FloatArray:
        return ratio(sums[..., 1], sums[..., 2])

    return Statistic(3, features, value, NO_RATING, NO_RATING)

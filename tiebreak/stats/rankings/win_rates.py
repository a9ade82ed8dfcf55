"""Win rates of systems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import BAD, Label
from tiebreak.stats.core.bootstrap import Mean, Resampling, Statistic, estimate
from tiebreak.stats.core.counts import Patterns, as_patterns
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_counts,
    check_same_length,
    check_share,
)
from tiebreak.stats.rankings.comparisons import check_differ, check_outcomes

Mask = npt.NDArray[np.bool_]

HALF = 0.5
NO_RATING = "No rating compares this system with another."


def outcome_counts(counts: npt.ArrayLike, labels: Sequence[Label]) -> IntArray:
    """Count wins of A, ties and wins of B, given label counts on a preference scale.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels)
        Number of ratings that give each unit each label.
    labels : sequence of int, float or str, length n_labels
        The labels: negative if A is preferred, 0 for a tie, positive if B is preferred. Ratings
        with the label "bad" (both texts are bad) are left out, since they are not ties.

    Returns
    -------
    ndarray of int, shape (n_units, 3)
        Numbers of ratings that prefer A, that are ties, and that prefer B, whatever the strength of
        the preference.

    Raises
    ------
    InvalidInput
        If the number of labels differs from the number of columns.

    See Also
    --------
    win_rate : Estimates the win rate from these counts.

    Examples
    --------
    >>> outcome_counts([[1, 0, 2, 0, 1]], [-2, -1, 0, 1, 2]).tolist()
    [[1, 2, 1]]
    """
    rows = as_counts(counts)
    if len(labels) != rows.shape[1]:
        raise InvalidInput(
            "wrong_length",
            f"labels must have one label for each of the {rows.shape[1]} columns of counts; it has"
            f" {len(labels)}.",
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
    """Estimate the expected win rate of system A.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    tie : float, default 0.5
        Value of a tie, from 0 to 1. With 1, the estimate is the win-or-tie rate; with 0, it is the
        share of wins.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        P(A preferred) + tie · P(tie) over ratings, from 0 to 1; undefined if there are no ratings.

    Raises
    ------
    InvalidInput
        If the counts do not have three columns, or `tie` is out of range.

    See Also
    --------
    win_rates : Estimates win rates of more than two systems.
    bradley_terry : Estimates strengths that fit all pairs of systems.
    hajek_estimate : Estimates a rate from instances drawn with unequal probabilities.

    Notes
    -----
    Every rating has the same weight. Source: Lyu et al. 2024 (HREF), section 4.

    Examples
    --------
    >>> win_rate([[2, 1, 0], [0, 1, 2]]).value
    0.5
    """
    patterns = as_patterns(counts, clusters=clusters)
    check_outcomes(patterns.n_columns)
    check_share(tie, name="tie")
    return estimate(_win_statistic(tie), patterns, **resampling)


@dataclass(frozen=True)
class WinRates:
    """Expected win rates of several systems."""

    systems: dict[str, Estimate]
    """Win rate of each system against all other systems."""
    pairs: dict[tuple[str, str], Estimate]
    """Win rate of the first system against the second, for every pair that was compared."""


def win_rates(
    counts: npt.ArrayLike,
    *,
    system_a: Sequence[str],
    system_b: Sequence[str],
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> WinRates:
    """Estimate the expected win rates of any number of systems.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B.
    system_a, system_b : sequence of str, length n_units
        Names of the two systems that each unit compares.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    WinRates
        Win rates by system and by pair; the names in a pair are in alphabetical order.

    Raises
    ------
    InvalidInput
        If a unit compares a system with itself, or the arguments differ in length.

    See Also
    --------
    win_rate : Estimates the win rate of one of two systems.

    Notes
    -----
    If there are only two systems, the win rate of the second system is 1 minus that of the first,
    and its interval is mirrored in the same way.

    Examples
    --------
    >>> rates = win_rates([[2, 0, 1]], system_a=["x"], system_b=["y"])
    >>> round(rates.systems["x"].value, 4), round(rates.systems["y"].value, 4)
    (0.6667, 0.3333)
    """
    rows = as_counts(counts)
    first, second = np.asarray(system_a, dtype=str), np.asarray(system_b, dtype=str)
    check_same_length(counts=rows, system_a=first, system_b=second)
    check_differ(first == second, system_a)

    def rate(is_first: Mask, is_second: Mask) -> Estimate:
        outcomes = rows * is_first[:, None] + rows[:, ::-1] * is_second[:, None]
        rng = resampling.get("rng")
        options: Resampling = {**resampling, "rng": rng.spawn(1)[0] if rng else None}
        return win_rate(outcomes, clusters=clusters, **options)

    names = sorted({*first.tolist(), *second.tolist()})
    sides = {*zip(first.tolist(), second.tolist(), strict=True)}
    pairs = {}
    for a, b in sorted({(min(pair), max(pair)) for pair in sides}):
        pairs[a, b] = rate((first == a) & (second == b), (first == b) & (second == a))
    if len(pairs) == 1:
        (one,) = pairs.values()
        other = replace(one, value=1 - one.value, low=1 - one.high, high=1 - one.low)
        return WinRates({names[0]: one, names[1]: other}, pairs)
    systems = {name: rate(first == name, second == name) for name in names}
    return WinRates(systems, pairs)


def _win_statistic(tie: float) -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        size = rows.sum(axis=1)
        return np.column_stack([size > 0, rows[:, 0] + tie * rows[:, 1], size])

    mean = Mean(1, 2)
    return Statistic(3, features, mean.value, NO_RATING, NO_RATING, mean=mean)

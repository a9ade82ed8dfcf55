"""Confidence sequences for a win rate, that is, intervals that are valid at every stopping time.

Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting". The
bets are approximate GRAPA (aGRAPA) bets, for sampling with or without replacement. In this module,
a candidate is a possible value of the mean; candidates are grouped into cells of equal width.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import FloatArray, as_shares, check_at_least, check_resampling

CELLS = 1000
EVEN = 0.5
# Bets are truncated so that no observation can lose more than this share of the capital.
_MAX_LOSS = 0.5
_BATCH_ELEMENTS = 2**16
NOTHING_RATED = "The first planned instance is not complete yet."
EMPTY = (
    "The confidence sequence excludes every possible win rate. The instances were not drawn "
    "uniformly, or not taken in the planned order, or this is one of the few sequences that miss "
    "the true win rate by chance."
)

StopRule = Literal["complete", "excludes ½", "width"]


@dataclass(frozen=True)
class StopDecision:
    """Whether collection may stop."""

    stop: bool
    """Whether collection may stop."""
    rule: StopRule | None
    """The stopping rule that was satisfied first; None if no rule was satisfied."""
    n: int | None
    """Number of instances after which the rule was satisfied."""
    sentence: str
    """The decision as a sentence."""


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Confidence intervals of a mean after each instance, all valid simultaneously."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    """Mean and ends of the interval after each instance; shape (n,)."""
    current: Estimate
    """Mean and interval after the last instance."""
    stop: StopDecision
    """Whether collection may stop."""
    n_held_back: int
    """Number of complete instances that have not entered because they follow an unfinished one."""
    next_index: int | None
    """Index of the first unfinished instance; None if all are complete."""
    population: int | None
    """Number of instances in the dataset, if the target is the mean of the dataset."""


def confidence_sequence(
    means: npt.ArrayLike,
    *,
    population: int | None = None,
    target_width: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    cells: int = CELLS,
    batch: int | None = None,
) -> ConfidenceSequence:
    """Compute a confidence sequence for the mean win share over instances.

    Parameters
    ----------
    means : array_like of float, shape (n_instances,)
        P(win) + ½ P(tie) over the ratings of each instance, from 0 to 1, in the random order drawn
        at planning. Use NaN for an instance that still has an open place. All instances after the
        first unfinished one are held back, since instances that finish early differ from the rest.
    population : int, optional
        Number of instances in the dataset, if the target is the mean of the dataset; sampling is
        then without replacement. By default, the target is the mean of the population that the
        instances were drawn from.
    target_width : float, optional
        Width, in (0, 1), below which collection may stop.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    cells : int, default 1000
        Number of cells of candidate means; an even number.
    batch : int, optional
        Number of instances in memory at a time.

    Returns
    -------
    ConfidenceSequence
        The intervals, and whether collection may stop because the interval excludes ½, because it
        is narrow enough, or because the dataset is complete. If every candidate is excluded, the
        interval is NaN.

    Raises
    ------
    InvalidInput
        If a mean is out of range, or an option has a value that is not allowed.

    Notes
    -----
    The intervals come from the betting capital process of Waudby-Smith and Ramdas (2024), with
    aGRAPA bets truncated at ½, or from its variant for sampling without replacement. Each cell of
    candidates has one bet, which is evaluated at the less favourable end of the cell, so
    rounding makes intervals wider. Intervals never widen from one instance to the next, and the
    mean may lie outside them. Every instance has the same weight. The sequence is valid only for
    uniform draws, such as the control sample of a weighted draw. It is also valid only for whole
    instances, because the ratings of an instance are not independent.

    Examples
    --------
    >>> sequence = confidence_sequence([0.8, 1, 0.6] * 20)
    >>> sequence.current.low, sequence.current.high, sequence.stop.n
    (0.707, 0.859, 13)
    """
    planned = as_shares(means, name="means", missing=True)
    check_resampling(0, confidence_level, batch)
    _check_design(len(planned), population, target_width, cells)
    unfinished = np.flatnonzero(np.isnan(planned))
    n = int(unfinished[0]) if len(unfinished) else len(planned)
    x = planned[:n]
    low, high = _bounds(x, population, confidence_level, cells, batch)
    mean = np.cumsum(x) / np.arange(1, n + 1)
    return ConfidenceSequence(
        mean=mean,
        low=low,
        high=high,
        current=_current(mean, low, high, population),
        stop=_decide(low, high, population, target_width, confidence_level),
        n_held_back=len(planned) - n - len(unfinished),
        next_index=n if len(unfinished) else None,
        population=population,
    )


def _check_design(
    length: int, population: int | None, target_width: float | None, cells: int
) -> None:
    if population is not None:
        check_at_least(population, max(length, 1), name="population")
    if target_width is not None and not 0 < target_width < 1:
        raise InvalidInput(
            "out_of_range",
            f"target_width must be between 0 and 1, such as 0.1; it is {target_width}.",
        )
    check_at_least(cells, 2, name="cells")
    if cells % 2:
        raise InvalidInput(
            "not_even",
            f"cells must be an even number so that ½ lies between two cells; it is {cells}.",
        )


def _bounds(
    x: FloatArray, population: int | None, confidence_level: float, cells: int, batch: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval after each instance; NaN if every candidate is rejected."""
    low, high = np.full(len(x), NAN), np.full(len(x), NAN)
    edges = np.linspace(0, 1, cells + 1)
    log_capital, rejected = np.zeros(cells), np.zeros(cells, dtype=np.bool_)
    total = np.concatenate([[0.0], np.cumsum(x)])
    centre, variance = _predictions(x)
    size = batch or max(1, _BATCH_ELEMENTS // cells)
    for start in range(0, len(x), size):
        block = slice(start, start + size)
        means = _conditional_means(edges, total[:-1][block], start, population)
        gains = _log_gains(x[block], centre[block], variance[block], means)
        paths = log_capital + np.cumsum(gains, axis=0)
        exceeds = paths >= -np.log1p(-confidence_level)
        exceeds[0] |= rejected
        all_rejected = np.logical_or.accumulate(exceeds, axis=0)
        log_capital, rejected = paths[-1], all_rejected[-1]
        low[block], high[block] = _hull(~all_rejected, edges)
    return (low, high) if population is None else _clip(low, high, total[1:], population)


def _predictions(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and variance predicted before each observation, starting with ½ and ¼."""
    t = np.arange(1, len(x) + 1)
    centre = (EVEN + np.cumsum(x)) / (t + 1)
    variance = (EVEN**2 + np.cumsum((x - centre) ** 2)) / (t + 1)
    return (
        np.concatenate([[EVEN], centre])[: len(x)],
        np.concatenate([[EVEN**2], variance])[: len(x)],
    )


def _conditional_means(
    edges: FloatArray, total: FloatArray, start: int, population: int | None
) -> FloatArray:
    """Return the mean of each observation given the previous ones, shape (instances, edges).

    There is one column for each candidate at an edge. ``total`` contains the sum of the
    observations before each one.
    """
    if population is None:
        return np.broadcast_to(edges, (len(total), len(edges)))
    remaining = population - np.arange(start, start + len(total))
    # Candidates below 0 or above 1 are impossible; `_clip` removes them.
    return np.clip((population * edges - total[:, None]) / remaining[:, None], 0, 1)


def _log_gains(
    x: FloatArray, centre: FloatArray, variance: FloatArray, means: FloatArray
) -> FloatArray:
    """Return the log growth of the capital, shape (instances, cells), at each cell's worse edge."""
    lower, upper = means[:, :-1], means[:, 1:]
    difference = centre[:, None] - (lower + upper) / 2
    bet = difference / (variance[:, None] + difference**2)
    is_upward = difference > 0
    worst = np.where(is_upward, upper, lower)
    # For a candidate m, an upward bet of size b loses at most b · m, and a downward bet b · (1 − m).
    max_bet = _MAX_LOSS / np.maximum(np.where(is_upward, worst, 1 - worst), np.finfo(float).tiny)
    return np.log1p(np.clip(bet, -max_bet, max_bet) * (x[:, None] - worst))


def _hull(accepted: npt.NDArray[np.bool_], edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outer ends of the first and last accepted cell; NaN if every cell is rejected."""
    any_accepted = accepted.any(axis=1)
    low = edges[np.argmax(accepted, axis=1)]
    high = edges[accepted.shape[1] - np.argmax(accepted[:, ::-1], axis=1)]
    return np.where(any_accepted, low, NAN), np.where(any_accepted, high, NAN)


def _clip(
    low: FloatArray, high: FloatArray, total: FloatArray, population: int
) -> tuple[FloatArray, FloatArray]:
    """Intersect with the means that are possible if all remaining observations are 0, or all 1."""
    remaining = population - np.arange(1, len(total) + 1)
    low = np.maximum(low, total / population)
    high = np.minimum(high, (total + remaining) / population)
    is_empty = ~(low <= high)
    low, high = np.where(is_empty, NAN, low), np.where(is_empty, NAN, high)
    if len(total) == population:
        low[-1] = high[-1] = total[-1] / population
    return low, high


def _current(
    mean: FloatArray, low: FloatArray, high: FloatArray, population: int | None
) -> Estimate:
    if len(mean) == 0:
        return undefined(NOTHING_RATED)
    sampling = "with" if population is None else f"of {population} without"
    method = f"betting confidence sequence over instances, {sampling} replacement, aGRAPA"
    reason = EMPTY if np.isnan(low[-1]) else None
    ends = float(low[-1]), float(high[-1])
    return Estimate(float(mean[-1]), *ends, n=len(mean), method=method, reason=reason)


def _decide(
    low: FloatArray,
    high: FloatArray,
    population: int | None,
    target_width: float | None,
    confidence_level: float,
) -> StopDecision:
    """Return the decision by the rule that was satisfied first.

    If several rules were satisfied after the same instance, the rule listed first decides.
    """
    is_satisfied: dict[StopRule, npt.NDArray[np.bool_]] = {
        "excludes ½": (low > EVEN) | (high < EVEN),
        "width": high - low < (target_width or 0),
        "complete": np.arange(1, len(low) + 1) == population,
    }
    first_index = {rule: int(np.argmax(when)) for rule, when in is_satisfied.items() if when.any()}
    if not first_index:
        return StopDecision(False, None, None, _continue_sentence(low, high, target_width))
    rule = min(first_index, key=lambda name: first_index[name])
    n = first_index[rule] + 1
    interval = f"[{low[n - 1]:.3f}, {high[n - 1]:.3f}]"
    cause = {
        "excludes ½": f"the {confidence_level:.0%} confidence sequence {interval} excludes ½",
        "width": f"the confidence sequence {interval} is narrower than {target_width:g}"
        if target_width
        else "",
        "complete": "all instances in the dataset are complete",
    }[rule]
    instances = "1 instance" if n == 1 else f"{n} instances"
    return StopDecision(True, rule, n, f"Collection may stop because, after {instances}, {cause}.")


def _continue_sentence(low: FloatArray, high: FloatArray, target_width: float | None) -> str:
    if len(low) == 0 or np.isnan(low[-1]):
        return f"There is no decision. {EMPTY if len(low) else NOTHING_RATED}"
    width = f" and is not narrower than {target_width:g}" if target_width else ""
    interval = f"[{low[-1]:.3f}, {high[-1]:.3f}]"
    instances = "1 instance" if len(low) == 1 else f"{len(low)} instances"
    return (
        f"Collection should continue because, after {instances}, the confidence sequence"
        f" {interval} includes ½{width}."
    )

"""Confidence sequences for a win rate: intervals that are valid at every stopping time.

Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting",
with bets by approximate GRAPA (aGRAPA), with and without replacement.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.results import NAN, Estimate, undefined
from tiebreak.stats.validation import FloatArray, as_shares, check_at_least, check_resampling

CELLS = 1000
EVEN = 0.5
# Bets are truncated so that no observation loses more than this share of the capital.
_MAX_LOSS = 0.5
_BATCH_ELEMENTS = 2**16
NOTHING_RATED = "The first planned instance is not complete yet."
EMPTY = (
    "No win rate is left: these instances were not drawn uniformly and taken in planned order, "
    "or this is one of the sequences that miss."
)

StopRule = Literal["complete", "excludes ½", "width"]


@dataclass(frozen=True)
class StopDecision:
    """Whether collection may stop.

    Attributes
    ----------
    stop : bool
        Whether it may.
    rule : {"complete", "excludes ½", "width"} or None
        The rule that was met first.
    n : int or None
        Number of instances at which it was met.
    sentence : str
        The decision in words.
    """

    stop: bool
    rule: StopRule | None
    n: int | None
    sentence: str


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Confidence intervals of a mean after each instance, valid at all of them at once.

    Attributes
    ----------
    mean, low, high : ndarray of float, shape (n,)
        Mean and interval after each instance.
    current : Estimate
        The last of these.
    stop : StopDecision
        Whether collection may stop.
    n_held_back : int
        Number of complete instances behind the first unfinished one, which have not entered.
    next_index : int or None
        Index of the first unfinished instance.
    population : int or None
        Number of instances of the dataset, if that is the target.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    current: Estimate
    stop: StopDecision
    n_held_back: int
    next_index: int | None
    population: int | None


def confidence_sequence(
    means: npt.ArrayLike,
    *,
    population: int | None = None,
    target_width: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    cells: int = CELLS,
    batch: int | None = None,
) -> ConfidenceSequence:
    """Compute a confidence sequence of the mean win share over instances.

    Parameters
    ----------
    means : array_like of float, shape (n_instances,)
        P(win) + ½ P(tie) over the complete places of each instance, in [0, 1], in the random order
        drawn at planning; NaN while a place is open. An unfinished instance holds back all later
        ones, since those that finish early are not like the rest.
    population : int, optional
        Number of instances of the dataset, if the target is their mean. Sampling is then without
        replacement. By default the target is the mean of what the instances were drawn from.
    target_width : float, optional
        Stop as soon as the interval is narrower, in (0, 1).
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    cells : int, default 1000
        Number of cells of candidate means, even.
    batch : int, optional
        Number of instances in memory at once.

    Returns
    -------
    ConfidenceSequence
        The intervals, and whether collection may stop: because the interval excludes ½, is narrow
        enough, or the dataset is complete. An interval is NaN if no candidate is left.

    Raises
    ------
    InvalidInput
        If a mean is out of range, or an option is not allowed.

    Notes
    -----
    Source: Waudby-Smith and Ramdas 2024: the betting capital process with aGRAPA bets truncated at
    ½, and its form for sampling without replacement. A bet is made on a cell of candidates and paid
    at its worse end, so that rounding is outward. Intervals never widen, and the mean may lie
    outside them. Every instance has the same weight. The sequence is valid only for uniform draws,
    such as the control sample of a weighted one, and only for whole instances: single ratings are
    clustered.

    Examples
    --------
    >>> found = confidence_sequence([0.8, 1, 0.6] * 20)
    >>> found.current.low, found.current.high, found.stop.n
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
            "out_of_range", "target_width must lie between 0 and 1, for example 0.1."
        )
    check_at_least(cells, 2, name="cells")
    if cells % 2:
        raise InvalidInput("not_even", "cells must be even, so that ½ lies between two of them.")


def _bounds(
    x: FloatArray, population: int | None, confidence_level: float, cells: int, batch: int | None
) -> tuple[FloatArray, FloatArray]:
    """Running low and high (n,), NaN where all candidate means are rejected."""
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
    """Mean and variance predicted before each observation, with priors of ½ and ¼."""
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
    """Mean of the next observation given the previous ones, under each candidate (n, edges).

    ``total`` are the sums of the previous observations.
    """
    if population is None:
        return np.broadcast_to(edges, (len(total), len(edges)))
    remaining = population - np.arange(start, start + len(total))
    # Candidates beyond [0, 1] are impossible, and removed by `_clip`.
    return np.clip((population * edges - total[:, None]) / remaining[:, None], 0, 1)


def _log_gains(
    x: FloatArray, centre: FloatArray, variance: FloatArray, means: FloatArray
) -> FloatArray:
    """Log growth of the capital (n, cells), at the edge of the cell where it is the least."""
    lower, upper = means[:, :-1], means[:, 1:]
    difference = centre[:, None] - (lower + upper) / 2
    bet = difference / (variance[:, None] + difference**2)
    is_upward = difference > 0
    worst = np.where(is_upward, upper, lower)
    # An upward bet loses at most its size times m, a downward one times 1 − m.
    max_bet = _MAX_LOSS / np.maximum(np.where(is_upward, worst, 1 - worst), np.finfo(float).tiny)
    return np.log1p(np.clip(bet, -max_bet, max_bet) * (x[:, None] - worst))


def _hull(accepted: npt.NDArray[np.bool_], edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends of the first and last accepted cell (n,), NaN if none is."""
    any_accepted = accepted.any(axis=1)
    low = edges[np.argmax(accepted, axis=1)]
    high = edges[accepted.shape[1] - np.argmax(accepted[:, ::-1], axis=1)]
    return np.where(any_accepted, low, NAN), np.where(any_accepted, high, NAN)


def _clip(
    low: FloatArray, high: FloatArray, total: FloatArray, population: int
) -> tuple[FloatArray, FloatArray]:
    """Intersect with the possible means: the remaining observations are all 0 to all 1."""
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
    """The rule that was met first, in the order of the dictionary."""
    met: dict[StopRule, npt.NDArray[np.bool_]] = {
        "excludes ½": (low > EVEN) | (high < EVEN),
        "width": high - low < (target_width or 0),
        "complete": np.arange(1, len(low) + 1) == population,
    }
    first_met = {rule: int(np.argmax(when)) for rule, when in met.items() if when.any()}
    if not first_met:
        return StopDecision(False, None, None, _continue_sentence(low, high, target_width))
    rule = min(first_met, key=lambda name: first_met[name])
    n = first_met[rule] + 1
    interval = f"[{low[n - 1]:.3f}, {high[n - 1]:.3f}]"
    sentence = {
        "excludes ½": f"the {confidence_level:.0%} confidence sequence {interval} excludes ½.",
        "width": f"the confidence sequence {interval} is narrower than {target_width:g}."
        if target_width
        else "",
        "complete": "all instances of the dataset are complete.",
    }[rule]
    return StopDecision(True, rule, n, f"Collection may stop: after {n} instances {sentence}")


def _continue_sentence(low: FloatArray, high: FloatArray, target_width: float | None) -> str:
    if len(low) == 0 or np.isnan(low[-1]):
        return f"No decision. {EMPTY if len(low) else NOTHING_RATED}"
    width = f" and is not narrower than {target_width:g}" if target_width else ""
    interval = f"[{low[-1]:.3f}, {high[-1]:.3f}]"
    return f"Continue: after {len(low)} instances the sequence {interval} includes ½{width}."

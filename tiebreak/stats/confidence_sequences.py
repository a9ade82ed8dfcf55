"""Confidence sequences for a win rate: intervals that hold at every look, so that one may stop.

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
# Truncation of the bets: no single observation loses more than this share of the capital.
_LARGEST_LOSS = 0.5
_BATCH_ELEMENTS = 2**16
NOTHING_RATED = "The first planned instance is not complete yet."
EMPTY = (
    "No win rate is left: these instances were not drawn uniformly and taken in planned order, "
    "or this is one of the sequences that miss."
)

StopRule = Literal["complete", "excludes ½", "width"]


@dataclass(frozen=True)
class StopDecision:
    """Whether collection may end, by which rule, and the number of instances that it took."""

    stop: bool
    rule: StopRule | None
    n: int | None
    sentence: str


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Interval after each instance (n,), the interval now, and the decision.

    ``n_held_back`` complete instances wait behind the first unfinished one, ``next_index``, and
    have not entered.
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
    """Mean over instances of the win share in each, with an interval valid at every n at once.

    Parameters
    ----------
    means : (instances,) in [0, 1], in the random order drawn at planning
        P(win) + ½ P(tie) over an instance's complete places; NaN while any place is open. An
        unfinished instance holds back all later ones: those that finish early are not like
        the rest. Give single ratings and the sequence is invalid: they are clustered.
    population : number N of instances, where the dataset itself is the target
        Sampling is then without replacement; at n = N the interval is the mean. Without it, the
        target is the mean of what the instances were drawn from.
    target_width : stop when the interval is narrower; or, with or without, when it excludes ½
    cells : candidate means are tested in this many cells, an even number
    batch : how many instances are in memory at once

    The running intersection: an interval never widens, and its mean may leave it. Each instance
    weighs the same, as in the report's win rate where all have equally many ratings. Only for
    uniform draws (or the control share of a weighted selection). Where nothing is left the
    interval is NaN, with a reason.

    Source: Waudby-Smith and Ramdas 2024: capital process with aGRAPA bets truncated at ½, and
    its form for sampling without replacement. Departure: a bet is made on a cell of candidates and paid
    at the cell's worse end, so that a dead cell holds no live candidate: rounding is outward.

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
    """Running low and high (n,), NaN where no candidate is left."""
    low, high = np.full(len(x), NAN), np.full(len(x), NAN)
    edges = np.linspace(0, 1, cells + 1)
    log_capital, dead = np.zeros(cells), np.zeros(cells, dtype=np.bool_)
    won = np.concatenate([[0.0], np.cumsum(x)])
    centre, variance = _predictions(x)
    size = batch or max(1, _BATCH_ELEMENTS // cells)
    for start in range(0, len(x), size):
        now = slice(start, start + size)
        at = _conditional(edges, won[:-1][now], start, population)
        gained = _log_gains(x[now], centre[now], variance[now], at)
        paths = log_capital + np.cumsum(gained, axis=0)
        over = paths >= -np.log1p(-confidence_level)
        over[0] |= dead
        buried = np.logical_or.accumulate(over, axis=0)
        log_capital, dead = paths[-1], buried[-1]
        low[now], high[now] = _hull(~buried, edges)
    return (low, high) if population is None else _known(low, high, won[1:], population)


def _predictions(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance foretold before each observation, from a first guess of ½ and ¼."""
    t = np.arange(1, len(x) + 1)
    centre = (EVEN + np.cumsum(x)) / (t + 1)
    variance = (EVEN**2 + np.cumsum((x - centre) ** 2)) / (t + 1)
    return (
        np.concatenate([[EVEN], centre])[: len(x)],
        np.concatenate([[EVEN**2], variance])[: len(x)],
    )


def _conditional(
    edges: FloatArray, won: FloatArray, start: int, population: int | None
) -> FloatArray:
    """What each candidate says of the next observation's mean, given those before (n, edges)."""
    if population is None:
        return np.broadcast_to(edges, (len(won), len(edges)))
    left = population - np.arange(start, start + len(won))
    # Candidates pushed out of [0, 1] are impossible: `_known` cuts them off.
    return np.clip((population * edges - won[:, None]) / left[:, None], 0, 1)


def _log_gains(
    x: FloatArray, centre: FloatArray, variance: FloatArray, at: FloatArray
) -> FloatArray:
    """Log growth of the least capital that any candidate of a cell has: (n, cells)."""
    below, above = at[:, :-1], at[:, 1:]
    away = centre[:, None] - (below + above) / 2
    bet = away / (variance[:, None] + away**2)
    up = away > 0
    worst = np.where(up, above, below)
    # Staked on x > m no more than m is worth, on x < m no more than 1 − m.
    largest = _LARGEST_LOSS / np.maximum(np.where(up, worst, 1 - worst), np.finfo(float).tiny)
    return np.log1p(np.clip(bet, -largest, largest) * (x[:, None] - worst))


def _hull(alive: npt.NDArray[np.bool_], edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From the first live cell to the last (n,), NaN where none is."""
    some = alive.any(axis=1)
    low = edges[np.argmax(alive, axis=1)]
    high = edges[alive.shape[1] - np.argmax(alive[:, ::-1], axis=1)]
    return np.where(some, low, NAN), np.where(some, high, NAN)


def _known(
    low: FloatArray, high: FloatArray, won: FloatArray, population: int
) -> tuple[FloatArray, FloatArray]:
    """Within what is certain: the rest can add from nothing to everything."""
    left = population - np.arange(1, len(won) + 1)
    low, high = np.maximum(low, won / population), np.minimum(high, (won + left) / population)
    empty = ~(low <= high)
    low, high = np.where(empty, NAN, low), np.where(empty, NAN, high)
    if len(won) == population:
        low[-1] = high[-1] = won[-1] / population
    return low, high


def _current(
    mean: FloatArray, low: FloatArray, high: FloatArray, population: int | None
) -> Estimate:
    if len(mean) == 0:
        return undefined(NOTHING_RATED)
    drawn = "with" if population is None else f"of {population} without"
    method = f"betting confidence sequence over instances, {drawn} replacement, aGRAPA"
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
    """The rule that was met first; of two at once, the one that says more."""
    met: dict[StopRule, npt.NDArray[np.bool_]] = {
        "excludes ½": (low > EVEN) | (high < EVEN),
        "width": high - low < (target_width or 0),
        "complete": np.arange(1, len(low) + 1) == population,
    }
    firsts = {rule: int(np.argmax(when)) for rule, when in met.items() if when.any()}
    if not firsts:
        return StopDecision(False, None, None, _go_on(low, high, target_width))
    rule = min(firsts, key=lambda name: firsts[name])
    n = firsts[rule] + 1
    between = f"[{low[n - 1]:.3f}, {high[n - 1]:.3f}]"
    sentence = {
        "excludes ½": f"the {confidence_level:.0%} confidence sequence {between} excludes ½.",
        "width": f"the confidence sequence {between} is narrower than {target_width:g}."
        if target_width
        else "",
        "complete": "every instance of the dataset is complete.",
    }[rule]
    return StopDecision(True, rule, n, f"Collection may stop: after {n} instances {sentence}")


def _go_on(low: FloatArray, high: FloatArray, target_width: float | None) -> str:
    if len(low) == 0 or np.isnan(low[-1]):
        return f"No decision. {EMPTY if len(low) else NOTHING_RATED}"
    wide = f" and is not narrower than {target_width:g}" if target_width else ""
    between = f"[{low[-1]:.3f}, {high[-1]:.3f}]"
    return f"Go on: after {len(low)} instances the sequence {between} holds ½{wide}."

"""Confidence sequences of a study that is looked at while it runs.

One observation is the mean of all planned ratings of one instance. Ratings themselves would not do,
because ratings of one instance are alike, and those that arrive early differ from the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.model.stopping import NeededInstances, PairSequence, SequencePoint
from tiebreak.report.registry import Section, declare
from tiebreak.stats import confidence_sequence
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.results import Scope
from tiebreak.stats.core.validation import FloatArray
from tiebreak.stats.design.confidence_sequences import EVEN, ConfidenceSequence

declare(
    Section(
        name="stopping",
        title="What may be concluded while the study runs",
        question="planning",
        make=None,  # files of ratings have neither the plan nor the log
        shows_outcome=True,
    )
)

MAX_POINTS = 60
# Forecasts continue the sequence with instances drawn from those so far.
WIDTHS = (0.2, 0.1, 0.05)
MIN_FORECAST, FUTURES, MAX_FACTOR, MAX_FORECAST, CELLS = 10, 9, 20, 3000, 200
LATER = 2**31
THESE_RATERS, OF_DATASET = Scope("new", "these"), Scope("dataset", "these")


@dataclass(frozen=True)
class PlannedPair:
    """The planned instances of one pair of systems, in the random order drawn at planning."""

    systems: tuple[str, str]
    """The two systems, in alphabetical order."""
    means: Sequence[float]
    """Share of the ratings of each instance that the first system wins, where a tie counts as half
    a win; NaN for an instance that is not complete."""
    ratings: Sequence[int]
    """Number of ratings of each instance."""
    is_dataset: bool = True
    """Whether these are all instances, not a draw."""


def split_level(statements: int) -> float:
    """Return the confidence level of each of several statements that hold simultaneously with 95%.

    It is one minus the error level divided by the number of statements (Bonferroni).

    Examples
    --------
    >>> round(split_level(5), 3)
    0.99
    """
    return 1 - (1 - CONFIDENCE_LEVEL) / max(statements, 1)


def pair_sequence(
    pair: PlannedPair, *, statements: int, with_forecasts: bool = True
) -> PairSequence:
    """Return the confidence sequence of one pair, up to its first unfinished instance.

    The error level is split over the statements. Forecasts of what is still needed take most of the
    time. Raises `InvalidInput` if a mean is not a share.

    Examples
    --------
    >>> pair = PlannedPair(("a", "b"), [1, 0.5, 1, float("nan"), 0], [3, 3, 3, 0, 3])
    >>> sequence = pair_sequence(pair, statements=1)
    >>> sequence.win_rate.n, sequence.held_back
    (3, 1)
    """
    level = split_level(statements)
    running = confidence_sequence(pair.means, confidence_level=level)
    entered = np.asarray(pair.means, dtype=float)[: len(running.low)]
    current = running.current
    method = f"{current.method}, level {level:.4g}" if current.is_defined else current.method
    of_dataset = None
    if pair.is_dataset and len(pair.means):
        planned = confidence_sequence(
            pair.means, population=len(pair.means), confidence_level=level
        )
        of_dataset = replace(planned.current, stated_scope=OF_DATASET)
    return PairSequence(
        systems=pair.systems,
        planned=len(pair.means),
        complete=int(np.isfinite(np.asarray(pair.means, dtype=float)).sum()),
        held_back=running.n_held_back,
        win_rate=replace(current, method=method, stated_scope=THESE_RATERS),
        of_dataset=of_dataset,
        excluded_half_after=running.stop.n,
        path=_path(running, pair.ratings),
        needed=_needed(entered, level) if with_forecasts else (),
    )


def _needed(entered: FloatArray, level: float) -> tuple[NeededInstances, ...]:
    """Return the median number of instances in several possible futures, for each target."""
    n = len(entered)
    if n < MIN_FORECAST:
        return ()
    rng, horizon = np.random.default_rng(n), max(n, min(MAX_FACTOR * n, MAX_FORECAST))
    runs = [
        confidence_sequence(
            np.concatenate([entered, rng.choice(entered, horizon - n)]),
            confidence_level=level,
            cells=CELLS,
        )
        for _ in range(FUTURES)
    ]
    widths = tuple(
        NeededInstances(_median_first([run.high - run.low <= width for run in runs]), width)
        for width in WIDTHS
    )
    excludes = [(run.low > EVEN) | (run.high < EVEN) for run in runs]
    return (*widths, NeededInstances(_median_first(excludes)))


def _median_first(is_reached: list[NDArray[np.bool_]]) -> int | None:
    """Return the median of the first positions, or None if most runs have none."""
    first = sorted(int(run.argmax()) + 1 if run.any() else LATER for run in is_reached)
    median = first[len(first) // 2]
    return None if median == LATER else median


def _path(running: ConfidenceSequence, ratings: Sequence[int]) -> tuple[SequencePoint, ...]:
    n, total = len(running.low), np.cumsum(np.asarray(ratings, dtype=int))
    if not n:
        return ()
    chosen = np.unique(np.linspace(1, n, min(n, MAX_POINTS)).round().astype(int))
    return tuple(
        SequencePoint(
            int(k), int(total[k - 1]), float(running.low[k - 1]), float(running.high[k - 1])
        )
        for k in chosen
    )

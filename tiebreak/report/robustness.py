"""How few ratings decide which system is first, which of two is ahead, and what is shown of them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import drawn_units
from tiebreak.report.generators import Seeds
from tiebreak.report.model import RobustnessSection
from tiebreak.report.outcomes import Outcomes, Scores
from tiebreak.stats import (
    Estimate,
    Robustness,
    interval_robustness,
    pair_robustness,
    top_robustness,
    two_way_mean,
    win_rate,
)

# Each finding takes about twenty intervals.
MAX_FINDINGS = 20
DRAWN = (
    "The instances were drawn with probabilities, so that which system is first depends on weights,"
    " which this search does not have."
)


def robustness_section(criterion: Criterion, seeds: Seeds, replicates: int) -> RobustnessSection:
    outcomes = Outcomes.of(criterion)
    if drawn_units(criterion).any():
        nothing = Robustness("", "", 0, int(outcomes.counts.sum()), False, reason=DRAWN)
        return RobustnessSection(nothing, nothing, {}, {})
    pairs = {pair: _order(outcomes, pair) for pair in outcomes.pairs}
    scores = Scores.of(criterion)
    rng_of = seeds.below("finding")
    findings = {
        pair: _finding(scores.of_pair(pair), pairs[pair], rng_of.below(*pair), replicates)
        for pair in outcomes.pairs[:MAX_FINDINGS]
    }
    return RobustnessSection(
        top=top_robustness(outcomes.counts, **outcomes.names),
        top_by_win_rate=top_robustness(outcomes.counts, **outcomes.names, by="win_rate"),
        pairs={_name(pair): order for pair, order in pairs.items()},
        findings={_name(pair): one for pair, one in findings.items() if one is not None},
    )


def _name(pair: tuple[str, str]) -> str:
    return f"{pair[0]} vs {pair[1]}"


def _order(outcomes: Outcomes, pair: tuple[str, str]) -> Robustness:
    wins, ties, losses = outcomes.counts[outcomes.units_of(pair)].sum(axis=0).tolist()
    return pair_robustness(wins, ties, losses, names=pair)


def _finding(scores: Scores, order: Robustness, seeds: Seeds, replicates: int) -> Robustness | None:
    """Return how few ratings the finding of a pair depends on, or None if nothing is shown."""
    if not len(scores.value) or not replicates:
        return None

    def interval(kept: NDArray[np.bool_]) -> tuple[float, float]:
        rate = _rate(scores.select(kept), seeds, replicates)
        return rate.low, rate.high

    removals = interval_robustness(scores.value, scores.instance, interval)
    if not removals:
        return None
    return replace(
        order, new_first="", removals=removals, is_fewest=removals == 1, removed=(), reason=None
    )


def _rate(scores: Scores, seeds: Seeds, replicates: int) -> Estimate:
    """Return the win rate of a pair as the report has it, of these ratings."""
    _, instance = np.unique(scores.instance, return_inverse=True)
    by_instance = np.zeros((int(instance.max()) + 1, 3), dtype=np.int64)
    np.add.at(by_instance, instance, scores.counts)
    narrow = win_rate(by_instance, rng=seeds.generator(), replicates=replicates)
    return two_way_mean(scores.value, instance, scores.rater, narrow=narrow)

"""How few ratings decide which system is first, which of two is ahead, and what is shown of them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.rankings import RobustnessSection
from tiebreak.report.needs import has_systems
from tiebreak.report.outcomes import Outcomes, Scores
from tiebreak.report.registry import section
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

Numbers = NDArray[np.float64]


@section(
    "robustness",
    "How few ratings decide the ranking",
    question="systems",
    on_request=True,
    asks="Does the result hang on a handful of answers, so that more are needed before it is reported?",
    offered=has_systems,
    shows_outcome=True,
)
def robustness_section(criterion: Criterion, seeds: Seeds, replicates: int) -> RobustnessSection:
    """Return how few ratings decide; after a draw, ratings have the weights of their instances."""
    outcomes, design = Outcomes.of(criterion), DesignWeights.of(criterion)
    weights = None if design is None else design.of_units[outcomes.unit]
    pairs = {pair: _order(outcomes, weights, pair) for pair in outcomes.pairs}
    rates = _Rates(criterion, design, seeds.below("finding"), replicates)
    findings = {pair: rates.finding(pair, pairs[pair]) for pair in outcomes.pairs[:MAX_FINDINGS]}
    names = outcomes.names
    return RobustnessSection(
        top=top_robustness(outcomes.counts, **names, weights=weights),
        top_by_win_rate=top_robustness(outcomes.counts, **names, weights=weights, by="win_rate"),
        pairs={_name(pair): order for pair, order in pairs.items()},
        findings={_name(pair): one for pair, one in findings.items() if one is not None},
    )


def _name(pair: tuple[str, str]) -> str:
    return f"{pair[0]} vs {pair[1]}"


def _order(outcomes: Outcomes, weights: Numbers | None, pair: tuple[str, str]) -> Robustness:
    units = outcomes.units_of(pair)
    counts = outcomes.counts[units]
    wins, ties, losses = counts.sum(axis=0).tolist()
    of_sides = None
    if weights is not None:
        of_wins, _, of_losses = (np.repeat(weights[units], column) for column in counts.T)
        of_sides = of_wins, of_losses
    return pair_robustness(wins, ties, losses, names=pair, weights=of_sides)


@dataclass(frozen=True, eq=False)
class _Rates:
    """The win rates of pairs as the report has them, also of some of the ratings."""

    criterion: Criterion
    design: DesignWeights | None
    seeds: Seeds
    replicates: int

    def finding(self, pair: tuple[str, str], order: Robustness) -> Robustness | None:
        """Return how few ratings the finding depends on, or None if nothing is shown."""
        scores = Scores.of(self.criterion).of_pair(pair)
        if not len(scores.value) or not self.replicates:
            return None

        def interval(kept: NDArray[np.bool_]) -> tuple[float, float]:
            rate = self._rate(scores.select(kept), self.seeds.below(*pair))
            return rate.low, rate.high

        weights = self._weights(scores)
        removals = interval_robustness(scores.value, scores.instance, interval, weights=weights)
        if not removals:
            return None
        return replace(
            order, new_first="", removals=removals, is_fewest=removals == 1, removed=(), reason=None
        )

    def _weights(self, scores: Scores) -> Numbers | None:
        return None if self.design is None else self.design.of_units[scores.unit]

    def _rate(self, scores: Scores, seeds: Seeds) -> Estimate:
        _, instance = np.unique(scores.instance, return_inverse=True)
        if self.design is None:
            counts = np.zeros((int(instance.max()) + 1, 3), dtype=np.int64)
            np.add.at(counts, instance, scores.counts)
            narrow = win_rate(counts, rng=seeds.generator(), replicates=self.replicates)
        else:
            narrow = self.design.mean(scores.value, scores.unit, self.criterion)
        weights = self._weights(scores)
        return two_way_mean(scores.value, instance, scores.rater, narrow=narrow, weights=weights)

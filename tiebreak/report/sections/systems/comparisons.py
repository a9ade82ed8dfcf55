"""Comparisons of two systems: outcomes by unit, and the scores of ratings with their intervals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.fields import Estimates
from tiebreak.report.outcomes import Scores
from tiebreak.report.scopes import of_drawn
from tiebreak.stats import (
    BradleyTerry,
    Estimate,
    RatedMean,
    bradley_terry,
    outcome_counts,
    two_way_mean,
)
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.independence import effective_size
from tiebreak.stats.core.results import THESE, Scope
from tiebreak.stats.core.two_way import MIN_RATERS
from tiebreak.stats.rankings.comparisons import Games

Mask = NDArray[np.bool_]
UNEVEN = (
    "The systems did not meet each other equally often. Do not compare their win rates, because a rate"
    " against weak opponents is higher than one against strong opponents; Bradley–Terry strengths allow"
    " for this."
)


class Systems(TypedDict):
    system_a: Sequence[str]
    system_b: Sequence[str]


@dataclass(frozen=True)
class Comparisons:
    """Units that compare two different systems, with δ and the outcomes by humans and machines."""

    system_a: Sequence[str]
    system_b: Sequence[str]
    outcomes: NDArray[np.int64]
    machines: dict[str, NDArray[np.int64]]
    clusters: NDArray[np.int64]
    separability: NDArray[np.float64]
    scores: Scores
    design: DesignWeights | None
    criterion: Criterion
    number: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> Self:
        a, b = criterion.systems
        compared = criterion.compares
        machines = {
            name: outcome_counts(machine.counts[compared], criterion.labels)
            for name, machine in criterion.machines.items()
        }
        return cls(
            a[compared].tolist(),
            b[compared].tolist(),
            outcome_counts(criterion.humans[compared], criterion.labels),
            machines,
            criterion.clusters[compared],
            criterion.of_units("separability").astype(float)[compared],
            Scores.of(criterion),
            DesignWeights.of(criterion),
            criterion,
            np.flatnonzero(compared),
        )

    @property
    def systems(self) -> list[str]:
        return sorted({*self.system_a, *self.system_b})

    @property
    def names(self) -> Systems:
        return {"system_a": self.system_a, "system_b": self.system_b}

    def are_even(
        self, outcomes: NDArray[np.int64] | None = None, design: DesignWeights | None = None
    ) -> bool:
        """Return whether every rated system met every other one equally often.

        Only then do win rates rank systems: a rate against weak opponents is higher than one against
        strong opponents. ``outcomes`` are those of a machine or of some units, with their weights
        ``design``; by default, all human ones with theirs.
        """
        if outcomes is None:
            outcomes, design = self.outcomes, self.design
        ratings = outcomes.sum(axis=1).astype(float)
        if design is not None:
            ratings *= design.of_units[self.number]
        totals: Counter[tuple[str, ...]] = Counter()
        for a, b, n in zip(self.system_a, self.system_b, ratings.tolist(), strict=True):
            if n:
                totals[tuple(sorted((a, b)))] += n
        systems, sums = {name for pair in totals for name in pair}, list(totals.values())
        every = len(systems) * (len(systems) - 1) // 2
        return len(sums) == every and (not sums or bool(np.allclose(sums, sums[0], rtol=1e-9)))

    def outcomes_of(self, system: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the wins, ties and losses of a system per unit; all are 0 if it is not compared."""
        first, second = np.array(self.system_a) == system, np.array(self.system_b) == system
        return np.asarray(counts * first[:, None] + counts[:, ::-1] * second[:, None])

    def scores_of(self, system: str, other: str | None = None) -> "SystemScores":
        """Return the scores of a system, against one other or all."""
        chosen = self.scores.of_system(system, other)
        return SystemScores(chosen.value, chosen.unit, chosen.rater, self.criterion, self.design)

    def scoped(self, estimates: Estimates) -> Estimates:
        """Return weighted estimates of all systems with the scope that they have after a draw."""
        if self.design is None:
            return estimates
        covers = bool(self.design.covers[self.number].all())
        return {name: of_drawn(estimate, covers=covers) for name, estimate in estimates.items()}

    def strengths(self) -> BradleyTerry:
        """Return the Bradley–Terry strengths; a system's n is its number of rated units."""
        scores = self.scores
        fit = bradley_terry(
            scores.counts,
            system_a=scores.first.tolist(),
            system_b=scores.second.tolist(),
            weights=None if self.design is None else self.design.of_units[scores.unit],
            clusters=scores.instance,
            raters=scores.rater,
        )
        units = Games.of(self.outcomes, **self.names)
        systems = {
            name: replace(fit.systems[name], n=units.involving(index))
            for index, name in enumerate(units.names)
        }
        return replace(fit, systems=systems)


@dataclass(frozen=True, eq=False)
class SystemScores:
    """The scores of one system: 1, ½ or 0 for each rating, with its unit and rater."""

    values: NDArray[np.float64]
    unit: NDArray[np.int64]
    rater: NDArray[np.int64]
    criterion: Criterion
    design: DesignWeights | None

    def win_rate(self, unweighted: Estimate) -> Estimate:
        """Return the win rate with the widest interval that the ratings support.

        If instances were drawn, they are weighted by their inverse inclusion probabilities.
        """
        return self._widened(self.by_design(unweighted), self.rater, CONFIDENCE_LEVEL)

    def by_design(self, unweighted: Estimate) -> Estimate:
        """Return the win rate for these raters, weighted if instances were drawn."""
        if self.design is None or not unweighted.is_defined:
            return unweighted
        mean = self.design.mean(self.values, self.unit, self.criterion)
        return replace(mean, n=unweighted.n)

    def simultaneous(
        self, rate: Estimate, *, level: float, level_of_these: float, method: str
    ) -> Estimate:
        """Return the win rate with an interval that holds together with those of other comparisons."""
        point = replace(rate, low=rate.value, high=rate.value, narrower=(), stated_scope=THESE)
        of_these = self._widened(point, np.full(len(self.rater), -1), level_of_these)
        of_these = replace(of_these, stated_scope=Scope(rate.scope.instances))
        wide = self._widened(of_these, self.rater, level)
        return replace(wide, method=f"{wide.method}, {method}")

    def rated(self, *, of_these: bool = False) -> RatedMean:
        """Return the scores as they vary together with others; for these raters, without raters."""
        rater = np.full(len(self.rater), -1) if of_these else self.rater
        weights = None if self.design is None else self.design.of_units[self.unit]
        return RatedMean(self.values, self.criterion.clusters[self.unit], rater, weights)

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.ones(len(self.unit)) if self.design is None else self.design.of_units[self.unit]

    @property
    def mean(self) -> float:
        """The weighted mean; NaN without scores."""
        return float(np.average(self.values, weights=self.weights)) if len(self.unit) else np.nan

    @property
    def effective_instances(self) -> float:
        return effective_size(np.bincount(self.criterion.clusters[self.unit], self.weights))

    @property
    def has_several_raters(self) -> bool:
        """Whether there are enough known raters to speak of new ones."""
        return bool((self.rater >= 0).all()) and n_distinct(self.rater) >= MIN_RATERS

    def of(self, kept: Mask) -> "SystemScores":
        """Return some of the scores."""
        values, unit, rater = self.values[kept], self.unit[kept], self.rater[kept]
        return replace(self, values=values, unit=unit, rater=rater)

    def corrected(self, correction: NDArray[np.float64], n: int) -> Estimate:
        """Return the weighted mean of the scores minus a correction, which is from −1 to 1."""
        assert self.design is not None
        values = self.values - correction
        mean = self.design.mean(values, self.unit, self.criterion, bounds=None)
        narrow = replace(mean, n=n)
        return two_way_mean(
            values,
            self.criterion.clusters[self.unit],
            self.rater,
            narrow=replace(narrow, method=f"prediction-powered, {narrow.method}"),
            weights=self.design.of_units[self.unit],
            bounds=(-1, 2),
        )

    def _widened(
        self, narrow: Estimate, rater: NDArray[np.int64], confidence_level: float
    ) -> Estimate:
        return two_way_mean(
            self.values,
            self.criterion.clusters[self.unit],
            rater,
            narrow=narrow,
            weights=None if self.design is None else self.design.of_units[self.unit],
            confidence_level=confidence_level,
        )

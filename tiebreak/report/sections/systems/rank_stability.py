"""How the ranking of systems changes with the baseline, and between parts of the instances."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.rankings import (
    BaselineChange,
    NamedParts,
    RankStabilitySection,
    SplitHalves,
)
from tiebreak.report.needs import has_three_systems
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.registry import section
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.report.sections.systems.named_parts import Names, named_parts, names_of_instances
from tiebreak.report.sections.systems.rank_correlations import MIN_SYSTEMS, TOO_FEW_SYSTEMS
from tiebreak.stats import outcome_counts
from tiebreak.stats.core.results import Instances

Numbers = NDArray[np.float64]
ANNOTATORS = "annotators"
SPLITS = 1000
MIN_INSTANCES = 10
TOO_FEW_INSTANCES = "Halves need ten instances or more."
NOT_ALL_COMPARED = (
    "Some systems were never compared with this baseline, so it gives them no win rate."
)
NO_RANKS = "All systems have the same win rate in one of the two, so there are no ranks."


@section(
    "rank_stability",
    "The ranking by baseline, and on hidden instances",
    question="systems",
    on_request=True,
    asks="Would another baseline, or instances that nobody has seen, give another ranking?",
    offered=has_three_systems,
    takes=("seeds",),
    shows_outcome=True,
)
def rank_stability_section(criterion: Criterion, seeds: Seeds) -> dict[str, RankStabilitySection]:
    """Return the section for annotators and for each machine that compared systems."""
    if criterion.scale.kind != "preference":
        raise InvalidInput("no_systems", NO_SYSTEMS)
    counts = {ANNOTATORS: criterion.humans}
    counts |= {name: machine.counts for name, machine in sorted(criterion.machines.items())}
    tables = {name: table for name, one in counts.items() if (table := _Wins.of(criterion, one))}
    if not tables:
        raise InvalidInput("no_systems", NO_SYSTEMS)
    return {
        name: RankStabilitySection(
            systems=tuple(table.systems),
            baselines=dict(table.baselines()),
            halves=table.halves(seeds.generator("halves", name)),
            speaks_of=table.speaks_of,
            parts=named_parts(
                table.points.sum(axis=2), table.units.sum(axis=2), table.parts, seeds.below(name)
            )
            if table.is_even
            else NamedParts({}, 0, reason=UNEVEN),
        )
        for name, table in tables.items()
    }


@dataclass(frozen=True, eq=False)
class _Wins:
    """Points and comparisons of each system against each other one, by instance.

    Both have the shape (instances, systems, systems). A unit counts once, however often it was rated,
    or after a draw as many times as the inverse of its inclusion probability.
    `parts` has the name of each instance's part of the data.
    """

    systems: list[str]
    points: Numbers
    units: Numbers
    speaks_of: Instances
    parts: Names | None

    @classmethod
    def of(cls, criterion: Criterion, counts: NDArray[np.int64]) -> "_Wins | None":
        a, b = criterion.systems
        outcomes = outcome_counts(counts, criterion.labels).astype(float)
        used = criterion.compares & outcomes.any(axis=1)
        used &= in_population(criterion)
        if not used.any():
            return None
        of_units, speaks_of = DesignWeights.of_entering(criterion, used)
        a, b, outcomes, weights = a[used], b[used], outcomes[used], of_units[used]
        of_a = (outcomes[:, 0] + outcomes[:, 1] / 2) / outcomes.sum(axis=1)
        names, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
        first, second = codes[: len(a)], codes[len(a) :]
        _, instance = np.unique(criterion.clusters[used], return_inverse=True)
        shape = (int(instance.max()) + 1, len(names), len(names))
        points, units = np.zeros(shape), np.zeros(shape)
        np.add.at(points, (instance, first, second), weights * of_a)
        np.add.at(points, (instance, second, first), weights * (1 - of_a))
        np.add.at(units, (instance, first, second), weights)
        np.add.at(units, (instance, second, first), weights)
        parts = names_of_instances(criterion.of_units("category").astype(str)[used], instance)
        return cls(names.tolist(), points, units, speaks_of, parts)

    @property
    def is_even(self) -> bool:
        """Return whether every system met every other one equally often."""
        met = self.units.sum(axis=0)[np.triu_indices(len(self.systems), 1)]
        return bool(np.allclose(met, met[0], rtol=1e-9))

    def baselines(self) -> Iterator[tuple[str, BaselineChange]]:
        """Yield the win rates against each baseline, and how their ranks fit the overall ones."""
        points, units = self.points.sum(axis=0), self.units.sum(axis=0)
        overall = points.sum(axis=1) / units.sum(axis=1)
        rates = np.divide(points, units, out=np.full(points.shape, np.nan), where=units > 0)
        np.fill_diagonal(rates, 0.5)  # a system against itself
        for i, name in enumerate(self.systems):
            against = zip(self.systems, rates[:, i].tolist(), strict=True)
            value, reason = correlation_of_ranks(rates[:, i], overall)
            known = {system: rate for system, rate in against if not np.isnan(rate)}
            yield name, BaselineChange(known, value, reason)

    def halves(self, rng: np.random.Generator) -> SplitHalves:
        """Return the rank correlation of win rates between random halves of the instances."""
        instances = len(self.points)
        if len(self.systems) < MIN_SYSTEMS:
            return SplitHalves(instances, 0, reason=TOO_FEW_SYSTEMS)
        if not self.is_even:
            return SplitHalves(instances, 0, reason=UNEVEN)
        if instances < MIN_INSTANCES:
            return SplitHalves(instances, 0, reason=TOO_FEW_INSTANCES)
        points, units = self.points.sum(axis=2), self.units.sum(axis=2)
        splits = [self._split(points, units, rng) for _ in range(SPLITS)]
        defined = np.array([value for value, _ in splits if value is not None])
        if len(defined) < SPLITS * 0.95:
            return SplitHalves(instances, len(defined), reason=NO_RANKS)
        low, median, high = np.quantile(defined, [0.025, 0.5, 0.975]).tolist()
        same = float(np.mean([is_same for value, is_same in splits if value is not None]))
        return SplitHalves(instances, len(defined), median, low, high, same)

    def _split(
        self, points: Numbers, units: Numbers, rng: np.random.Generator
    ) -> tuple[float | None, bool]:
        """Return the correlation between two halves, and whether the same systems are first."""
        is_open = rng.permutation(len(points)) < len(points) // 2
        rates = [
            np.divide(
                points[half].sum(axis=0),
                units[half].sum(axis=0),
                out=np.full(len(self.systems), np.nan),
                where=units[half].sum(axis=0) > 0,
            )
            for half in (is_open, ~is_open)
        ]
        value, _ = correlation_of_ranks(*rates)
        first = [frozenset(np.flatnonzero(one == np.nanmax(one)).tolist()) for one in rates]
        return value, first[0] == first[1]


def correlation_of_ranks(x: Numbers, y: Numbers) -> tuple[float | None, str | None]:
    """Return Spearman's ρ, or None with the reason."""
    if len(x) < MIN_SYSTEMS:
        return None, TOO_FEW_SYSTEMS
    if np.isnan(x).any() or np.isnan(y).any():
        return None, NOT_ALL_COMPARED
    # Sums of the same numbers in another order must not count as different win rates.
    a, b = (scipy.stats.rankdata(np.round(one, 12)) for one in (x, y))
    if a.std() == 0 or b.std() == 0:
        return None, NO_RANKS
    return float(np.corrcoef(a, b)[0, 1]), None

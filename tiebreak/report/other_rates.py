"""Win-or-tie rates, win rates by machines, and ranks that systems share if intervals overlap."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.comparisons import Comparisons
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model import Estimates
from tiebreak.report.outcomes import Outcomes
from tiebreak.stats import Estimate, shared_ranks, win_rate, win_rates

POINTS = np.array([1.0, 0.5, 0.0])  # of the first system of a unit, for its wins, ties and losses

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


def win_or_tie_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> Estimates:
    """Return how often each system does not lose, weighted as its win rate is."""
    outcomes = Outcomes.of(compared.criterion)
    return {
        name: _win_or_tie(compared, outcomes, name, seeds, replicates)
        for name in sorted({*outcomes.first.tolist(), *outcomes.second.tolist()})
    }


def _win_or_tie(
    compared: Comparisons, outcomes: Outcomes, system: str, seeds: Seeds, replicates: int
) -> Estimate:
    is_first, is_second = outcomes.first == system, outcomes.second == system
    counts = outcomes.counts * is_first[:, None] + outcomes.counts[:, ::-1] * is_second[:, None]
    rng = seeds.generator(system)
    clusters = outcomes.clusters
    rate = win_rate(counts, tie=1, clusters=clusters, rng=rng, replicates=replicates)
    scores = compared.scores_of(system)
    return replace(scores, values=(scores.values > 0).astype(float)).win_rate(rate)


def machine_win_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> dict[str, Estimates]:
    """Return the win rates of systems by each machine, weighted where instances were drawn."""
    everything = np.ones(compared.criterion.n_units, dtype=bool)
    return {
        machine: rates_by_machine(
            compared, machine, everything, rng=seeds.generator(machine), replicates=replicates
        )
        for machine in sorted(compared.machines)
    }


def rates_by_machine(
    compared: Comparisons,
    machine: str,
    members: Mask,
    *,
    rng: np.random.Generator,
    replicates: int,
) -> Estimates:
    """Return the win rates by a machine in some units, of the population of annotators' rates."""
    criterion, outcomes = compared.criterion, compared.machines[machine]
    members = members & in_population(criterion)
    rates = unweighted_rates(compared, outcomes, members, rng, replicates)
    rated = np.zeros(criterion.n_units, dtype=bool)
    rated[compared.number] = outcomes.any(axis=1)
    design = DesignWeights.of(criterion, rated & in_population(criterion))
    return rates if design is None else dict(_weighted(compared, outcomes, members, rates, design))


def unweighted_rates(
    compared: Comparisons,
    outcomes: Counts,
    members: Mask,
    rng: np.random.Generator,
    replicates: int,
) -> Estimates:
    kept = members[compared.number]
    return win_rates(
        outcomes[kept],
        system_a=np.array(compared.system_a)[kept].tolist(),
        system_b=np.array(compared.system_b)[kept].tolist(),
        clusters=compared.clusters[kept],
        rng=rng,
        replicates=replicates,
    ).systems


def _weighted(
    compared: Comparisons, outcomes: Counts, members: Mask, rates: Estimates, design: DesignWeights
) -> Iterator[tuple[str, Estimate]]:
    for name, rate in rates.items():
        counts = compared.outcomes_of(name, outcomes) * members[compared.number][:, None]
        values = np.repeat(np.tile(POINTS, len(counts)), counts.ravel())
        units = np.repeat(compared.number, counts.sum(axis=1))
        mean = design.mean(values, units, compared.criterion) if rate.is_defined else rate
        yield name, replace(mean, n=rate.n)


def ranks_by_overlap(rates: Estimates) -> dict[str, int]:
    """Return the ranks of the systems that have an interval."""
    return {name: rank for name, rank in shared_ranks(rates).items() if rank is not None}

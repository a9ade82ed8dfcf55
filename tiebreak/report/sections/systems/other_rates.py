"""Win-or-tie rates, win rates by machines, and ranks that systems share if intervals overlap."""

from dataclasses import replace

import numpy as np

from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.outcomes import Outcomes
from tiebreak.report.sections.machines.win_rate_strata import by_machine
from tiebreak.report.sections.systems.comparisons import Comparisons, SystemScores
from tiebreak.stats import Estimate, shared_ranks, win_rate


def win_or_tie_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> Estimates:
    """Return how often each system does not lose, weighted as its win rate is."""
    outcomes = Outcomes.of(compared.criterion)
    return {
        name: _win_or_tie(outcomes, compared.scores_of(name), name, seeds, replicates)
        for name in sorted({*outcomes.first.tolist(), *outcomes.second.tolist()})
    }


def _win_or_tie(
    outcomes: Outcomes, scores: SystemScores, system: str, seeds: Seeds, replicates: int
) -> Estimate:
    is_first, is_second = outcomes.first == system, outcomes.second == system
    counts = outcomes.counts * is_first[:, None] + outcomes.counts[:, ::-1] * is_second[:, None]
    rng = seeds.generator(system)
    clusters = outcomes.clusters
    rate = win_rate(counts, tie=1, clusters=clusters, rng=rng, replicates=replicates)
    return replace(scores, values=(scores.values > 0).astype(float)).win_rate(rate)


def machine_win_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> dict[str, Estimates]:
    """Return the win rates of systems by each machine, weighted where instances were drawn."""
    every = np.ones(compared.criterion.n_units, dtype=bool)
    return {
        machine: by_machine(compared, machine, every, seeds.generator(machine), replicates)
        for machine in sorted(compared.machines)
    }


def ranks_by_overlap(rates: Estimates) -> dict[str, int]:
    """Return the ranks of the systems that have an interval."""
    return {name: rank for name, rank in shared_ranks(rates).items() if rank is not None}

"""Win-or-tie rates, win rates by machines, and ranks that systems share if intervals overlap."""

from tiebreak.report.comparisons import Comparisons
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import drawn_units
from tiebreak.report.generators import Seeds
from tiebreak.report.model import Estimates
from tiebreak.report.outcomes import Outcomes, Scores
from tiebreak.report.scopes import limit_to_selected
from tiebreak.stats import Estimate, shared_ranks, two_way_mean, win_rate, win_rates


def win_or_tie_rates(criterion: Criterion, seeds: Seeds, replicates: int) -> Estimates:
    """Return how often each system does not lose, unweighted where instances were drawn."""
    outcomes, scores = Outcomes.of(criterion), Scores.of(criterion)
    rates = {
        name: _win_or_tie(outcomes, scores, name, seeds, replicates)
        for name in sorted({*outcomes.first.tolist(), *outcomes.second.tolist()})
    }
    return limit_to_selected(rates) if drawn_units(criterion).any() else rates


def _win_or_tie(
    outcomes: Outcomes, scores: Scores, system: str, seeds: Seeds, replicates: int
) -> Estimate:
    is_first, is_second = outcomes.first == system, outcomes.second == system
    counts = outcomes.counts * is_first[:, None] + outcomes.counts[:, ::-1] * is_second[:, None]
    rng = seeds.generator(system)
    clusters = outcomes.clusters
    rate = win_rate(counts, tie=1, clusters=clusters, rng=rng, replicates=replicates)
    involved = scores.of_system(system)
    return two_way_mean(involved.value > 0, involved.instance, involved.rater, narrow=rate)


def machine_win_rates(compared: Comparisons, seeds: Seeds, replicates: int) -> dict[str, Estimates]:
    """Return the win rates of systems by each machine, unweighted where instances were drawn."""
    rates = {}
    for machine, outcomes in sorted(compared.machines.items()):
        of_machine = win_rates(
            outcomes,
            **compared.names,
            clusters=compared.clusters,
            rng=seeds.generator(machine),
            replicates=replicates,
        ).systems
        rates[machine] = of_machine if compared.design is None else limit_to_selected(of_machine)
    return rates


def ranks_by_overlap(rates: Estimates) -> dict[str, int]:
    """Return the ranks of the systems that have an interval."""
    return {name: rank for name, rank in shared_ranks(rates).items() if rank is not None}

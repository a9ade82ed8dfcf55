"""Correlation of units' mean ratings by humans and by each machine."""

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model import MeanCorrelations
from tiebreak.stats import Comparison, rank_correlation


def mean_correlations_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, MeanCorrelations]:
    """Return the correlations with each machine; empty for labels without an order."""
    if criterion.scale.level == "nominal":
        return {}
    section = {}
    for name, machine in criterion.machines.items():
        comparison = Comparison.of(
            criterion.humans, machine.counts, unparsed=machine.unparsed, clusters=criterion.clusters
        )
        spearman, kendall = (
            rank_correlation(
                comparison,
                correlation=correlation,
                of="means",
                values=criterion.values,
                rng=seeds.generator(name, correlation),
                replicates=replicates,
            )
            for correlation in ("spearman", "kendall")
        )
        section[name] = MeanCorrelations(spearman, kendall)
    return section

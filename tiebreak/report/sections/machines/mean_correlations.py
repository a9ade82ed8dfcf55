"""Correlation of units' mean ratings by humans and by each machine."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import MeanCorrelations
from tiebreak.report.needs import has_ordered_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.many_values import correlations_of_values
from tiebreak.stats import Comparison, rank_correlation

# Means are equal if they differ by less than this share of the range of labels, because sums of the
# same numbers in another order differ by rounding.
ROUNDING = 1e-12


@section(
    "mean_correlations",
    "Correlation of mean ratings",
    question="machines",
    on_request=True,
    asks="May means of a machine rater's ratings rank items as means of annotators' ratings do?",
    offered=has_ordered_machines,
)
def mean_correlations_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, MeanCorrelations]:
    """Return the correlations with each machine; empty for labels without an order."""
    if criterion.scale.level == "nominal":
        return {}
    section = {}
    if criterion.has_many_values:  # too many to count, so from the labels themselves
        by_people = _means(criterion, criterion.is_human)
        for name in criterion.machines:
            is_machine = ~criterion.is_human & criterion.rows.coded("rater").equals(name)
            correlations = correlations_of_values(by_people, _means(criterion, is_machine))
            section[name] = MeanCorrelations(**correlations)
        return section
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


def _means(criterion: Criterion, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean label of each unit, rounded so that equal means tie."""
    unit = float(np.ptp(np.asarray(criterion.numbers))) * ROUNDING
    means = criterion.mean_scores(rows, np.arange(criterion.n_units))
    return np.asarray(np.round(means / unit) * unit)

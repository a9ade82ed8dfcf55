"""Correlation of units' mean ratings by humans and by each machine."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import MeanCorrelations
from tiebreak.report.needs import has_ordered_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.many_values import correlations_of_values
from tiebreak.stats import Comparison
from tiebreak.stats.core.bootstrap import estimate
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.rank_correlations import CORRELATIONS, means_statistic

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
    design = DesignWeights.of(criterion)
    weights = None if design is None else UnitWeights.of(design.of_units)
    for name, machine in criterion.machines.items():
        comparison = Comparison.of(
            criterion.humans,
            machine.counts,
            unparsed=machine.unparsed,
            clusters=criterion.clusters,
            split=None if weights is None else weights.codes,
        )
        pairs, rows = comparison.pairs(level="ordinal"), comparison.patterns.rows
        correlations = {
            kind: estimate(
                weighted(
                    {"": means_statistic(pairs, rows, kind, values=criterion.values)}, weights
                )[""],
                comparison.patterns,
                rng=seeds.generator(name, kind),
                replicates=replicates,
            )
            for kind in CORRELATIONS
        }
        if design is not None:
            rated = (criterion.humans.sum(axis=1) > 0) & (machine.counts.sum(axis=1) > 0)
            correlations = design.scoped(correlations, rated, criterion)
        section[name] = MeanCorrelations(**correlations)
    return section


def _means(criterion: Criterion, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean label of each unit, rounded so that equal means tie."""
    unit = float(np.ptp(np.asarray(criterion.numbers))) * ROUNDING
    means = criterion.mean_scores(rows, np.arange(criterion.n_units))
    return np.asarray(np.round(means / unit) * unit)

"""How often each machine's label equals one annotator's, and how often any machine's could."""

import numpy as np

from tiebreak.report.criterion import Criterion, Machine
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import NoiseCeiling
from tiebreak.report.registry import core, section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats import Comparison, noise_ceiling, undefined
from tiebreak.stats.core.bootstrap import estimate_each, on_columns
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.additive import equal_pairs_statistic

NO_PAIR = "No item that this machine rated has ratings by two annotators."


@section(
    "noise_ceiling",
    "Agreement with one annotator, and the most that any machine could reach",
    question="machines",
    needs=lambda criterion: bool(criterion.machines),
)
def noise_ceiling_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, NoiseCeiling]:
    """Return them for each machine, on the items that it and at least two annotators rated."""
    if criterion.is_slider:
        unknown = undefined(NO_EXACT_AGREEMENT)
        return dict.fromkeys(criterion.machines, NoiseCeiling(unknown, unknown, unknown))
    return {
        name: _of_machine(criterion, machine, seeds.below(name), replicates)
        for name, machine in criterion.machines.items()
    }


core("noise_ceiling")(noise_ceiling_section)


def _of_machine(
    criterion: Criterion, machine: Machine, seeds: Seeds, replicates: int
) -> NoiseCeiling:
    entered = machine.is_answered & (criterion.humans.sum(axis=1) > 1)
    if not entered.any():
        unknown = undefined(NO_PAIR)
        return NoiseCeiling(unknown, unknown, unknown)
    design = DesignWeights.of(criterion)
    weights = None if design is None else UnitWeights.of(design.of_units[entered])
    comparison = Comparison.of(
        criterion.humans[entered],
        machine.counts[entered],
        unparsed=machine.unparsed[entered],
        clusters=criterion.clusters[entered],
        split=np.zeros(int(entered.sum()), np.int64) if weights is None else weights.codes,
    )
    pairs = comparison.single_pairs(level=criterion.scale.level)
    statistics = {
        "agreement": pairs.percentage_statistic(),
        "annotators": on_columns(equal_pairs_statistic(), comparison.humans),
    }
    estimates = estimate_each(
        weighted(statistics, weights),
        comparison.patterns,
        rng=seeds.generator(),
        replicates=replicates,
    )
    if design is not None:
        estimates = design.scoped(estimates, entered, criterion)
    ceiling = noise_ceiling(estimates["annotators"], labels=max(len(criterion.labels), 2))
    return NoiseCeiling(**estimates, ceiling=ceiling)

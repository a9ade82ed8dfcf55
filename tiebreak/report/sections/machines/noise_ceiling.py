"""How often each machine's label equals one annotator's, and how often any machine's could."""

import numpy as np

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.machines import NoiseCeiling
from tiebreak.report.registry import core, section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats import Comparison, Patterns, noise_ceiling, undefined
from tiebreak.stats.core.bootstrap import estimate, on_columns
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.raters.additive import equal_pairs_statistic

NO_PAIR = "No item that this machine rated has ratings by two annotators."


@section(
    "noise_ceiling",
    "Agreement with one annotator, and the most that any machine could reach",
    question="machines",
    needs=lambda criterion: bool(criterion.machines),
    seeded_by="",  # as agreement is, so that the share of a kind of item and of a report of it alone are equal
)
def noise_ceiling_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, NoiseCeiling]:
    """Return them for each machine, on the items that it and at least two annotators rated."""
    if criterion.is_slider:
        unknown = undefined(NO_EXACT_AGREEMENT)
        return dict.fromkeys(criterion.machines, NoiseCeiling(unknown, unknown, unknown))
    return {
        name: _of_machine(criterion, name, seeds.below("all"), replicates)
        for name in criterion.machines
    }


core("noise_ceiling")(noise_ceiling_section)


def _of_machine(criterion: Criterion, name: str, seeds: Seeds, replicates: int) -> NoiseCeiling:
    machine = criterion.machines[name]
    entered = machine.is_answered & (criterion.humans.sum(axis=1) > 1)
    if not entered.any():
        unknown = undefined(NO_PAIR)
        return NoiseCeiling(unknown, unknown, unknown)
    design, humans = DesignWeights.of(criterion), criterion.humans[entered]
    weights = None if design is None else UnitWeights.of(design.of_units[entered])
    codes = np.zeros(len(humans), np.int64) if weights is None else weights.codes
    comparison = Comparison.of(
        humans,
        machine.counts[entered],
        unparsed=machine.unparsed[entered],
        clusters=criterion.clusters[entered],
        split=codes,
    )
    among = Patterns.of(np.column_stack([humans, codes]), clusters=criterion.clusters[entered])
    share = comparison.single_pairs(level=criterion.scale.level).percentage_statistic()
    equal = on_columns(equal_pairs_statistic(), comparison.humans)
    estimates = {
        part: estimate(
            weighted({part: statistic}, weights)[part],
            patterns,
            rng=seeds.generator(*rater),
            replicates=replicates,
        )
        for part, statistic, patterns, rater in (
            ("agreement", share, comparison.patterns, ("machine", name)),
            ("annotators", equal, among, ("humans",)),
        )
    }
    if design is not None:
        estimates = design.scoped(estimates, entered, criterion)
    ceiling = noise_ceiling(estimates["annotators"], labels=max(len(criterion.labels), 2))
    return NoiseCeiling(**estimates, ceiling=ceiling)

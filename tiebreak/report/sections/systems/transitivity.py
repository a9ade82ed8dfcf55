"""Whether the systems can be put in one order."""

from dataclasses import replace

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.rankings import BradleyTerryFit, TransitivitySection
from tiebreak.report.needs import compares_systems
from tiebreak.report.outcomes import Outcomes
from tiebreak.report.registry import section
from tiebreak.stats import bradley_terry_fit, cyclic_triads


@section(
    "transitivity",
    "One order of the systems",
    question="systems",
    takes=(),
    needs=compares_systems,
    shows_outcome=True,
)
def transitivity_section(criterion: Criterion) -> TransitivitySection:
    outcomes, design = Outcomes.of(criterion), DesignWeights.of(criterion)
    weights = None if design is None else design.of_units[outcomes.unit]
    triads = cyclic_triads(outcomes.counts, **outcomes.names, weights=weights)
    fit = bradley_terry_fit(
        outcomes.counts, **outcomes.names, weights=weights, clusters=outcomes.clusters
    )
    if design is not None:
        rated = criterion.humans.sum(axis=1) > 0
        share, p = design.scoped({"share": triads.share, "p": fit.p}, rated, criterion).values()
        triads, fit = replace(triads, share=share), replace(fit, p=p)
    return TransitivitySection(triads, BradleyTerryFit(**vars(fit)))

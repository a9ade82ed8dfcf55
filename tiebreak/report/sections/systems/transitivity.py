"""Whether the systems can be put in one order."""

from tiebreak.report.criterion import Criterion
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
    outcomes = Outcomes.of(criterion)
    triads = cyclic_triads(outcomes.counts, **outcomes.names)
    fit = bradley_terry_fit(outcomes.counts, **outcomes.names, clusters=outcomes.clusters)
    return TransitivitySection(triads, BradleyTerryFit(**vars(fit)))

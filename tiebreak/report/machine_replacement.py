"""Where a machine may replace an annotator: the alternative annotator test in strata of units."""

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.alternative_annotators import annotator_test
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model import MachineReplacement, ReplacementStratum
from tiebreak.report.strata import NO_EXACT_AGREEMENT, strata_of
from tiebreak.stats import Stratum, agreement_with_machine
from tiebreak.stats.results import NAN

# How much less often than an annotator the machine may be the better one: the source's values for
# experts, trained annotators and crowd workers.
EPSILONS = (0.2, 0.15, 0.1)
TESTED = ("all", "category", "systems")
DESCRIBED = "agreement"


def machine_replacement_section(
    criterion: Criterion, _: Seeds, __: int
) -> tuple[ReplacementStratum, ...]:
    """Return the tests of each machine by stratum; empty without machines."""
    if not criterion.machines or not criterion.labels:
        return ()
    agreements = {name: human_agreements(criterion, name) for name in criterion.machines}
    return tuple(
        ReplacementStratum(
            stratum.stratifier,
            stratum.name,
            stratum.n_units,
            {
                name: _replacement(criterion, name, stratum, values)
                for name, values in agreements.items()
            },
        )
        for stratum in strata_of(criterion)
        if stratum.stratifier in (*TESTED, DESCRIBED)
    )


def human_agreements(criterion: Criterion, machine: str) -> NDArray[np.float64]:
    """Return for each row whether the machine gives the unit's label; NaN for rows of machines."""
    answers = criterion.machines[machine]
    agreements = agreement_with_machine(
        criterion.unit,
        criterion.column,
        answers.counts,
        unparsed=answers.unparsed,
        level=criterion.scale.level,
    )
    return np.where(criterion.is_human, agreements, NAN)


def _replacement(
    criterion: Criterion, machine: str, stratum: Stratum, agreements: NDArray[np.float64]
) -> MachineReplacement:
    compared = stratum.members[criterion.unit] & ~np.isnan(agreements)
    unit = criterion.unit[compared]
    entered = np.isin(np.arange(criterion.n_units), unit)
    weights, _ = DesignWeights.of_entering(criterion, entered)
    _, instance = np.unique(criterion.clusters[unit], return_inverse=True)
    sizes = np.bincount(instance)
    of_instances, weight = (
        np.bincount(instance, column) / sizes for column in (agreements[compared], weights[unit])
    )
    reason = NO_EXACT_AGREEMENT if criterion.is_slider else None
    is_defined = len(unit) and reason is None
    return MachineReplacement(
        labels=len(unit),
        instances=len(sizes),
        simulated=int(np.count_nonzero(criterion.rows["simulated"][compared])),
        agreement=float(np.average(of_instances, weights=weight)) if is_defined else NAN,
        unweighted_agreement=float(of_instances.mean()) if is_defined else NAN,
        reason=reason,
        tests=tuple(
            annotator_test(criterion, machine, epsilon, stratum.members)
            for epsilon in EPSILONS
            if stratum.stratifier in TESTED
        ),
    )

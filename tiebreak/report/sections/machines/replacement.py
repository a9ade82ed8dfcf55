"""Where a machine may replace an annotator: the alternative annotator test in strata of units."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import BY_KEY
from tiebreak.report.model.machines import MachineReplacement, ReplacementStratum
from tiebreak.report.needs import has_machines
from tiebreak.report.registry import section
from tiebreak.report.sections.machines.alternative_annotators import faces_of_coin, licence_tests
from tiebreak.report.sections.raters.bias import characters
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT, strata_of
from tiebreak.stats import Estimate, Stratum, agreement_with_machine, two_way_mean
from tiebreak.stats.core.independence import effective_size
from tiebreak.stats.core.results import NAN, THESE
from tiebreak.stats.raters.strata import UNDEFINED

Numbers = NDArray[np.float64]
# How much less often than an annotator the machine may be the better one: the source's values for
# experts, trained annotators and crowd workers, and those to which a licence lowers them.
EPSILONS = (0.2, 0.15, 0.1, 0.05, 0.0)
TESTED = ("all", *BY_KEY)
DESCRIBED = "agreement"


@section(
    "machine_replacement",
    "Machine raters compared with single annotators, by kind of item",
    question="machines",
    on_request=True,
    asks="On which items may a machine rater replace an annotator, and on which not?",
    offered=has_machines,
    takes=("seeds",),
)
def machine_replacement_section(
    criterion: Criterion, seeds: Seeds
) -> tuple[ReplacementStratum, ...]:
    """Return the tests of each machine by stratum; empty without machines."""
    if not criterion.machines or not criterion.labels:
        return ()
    agreements = {name: human_agreements(criterion, name) for name in criterion.machines}
    # −1 where the first text is longer, 1 for the second, 0 for equal ones, or NaN.
    a, b = (
        characters(criterion.of_units(f"chars_{side}"), criterion.of_units(f"text_{side}"))
        for side in "ab"
    )
    longer = np.sign(b - a)
    return tuple(
        ReplacementStratum(
            stratum.stratifier,
            stratum.name,
            stratum.n_units,
            {
                name: _replacement(criterion, name, stratum, values, longer=longer, seeds=seeds)
                for name, values in agreements.items()
            },
        )
        for stratum in sorted(
            strata_of(criterion), key=lambda one: one.stratifier == "separability"
        )
        if stratum.stratifier in (*TESTED, DESCRIBED)
        and (stratum.stratifier, stratum.name) != ("separability", UNDEFINED)
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
    criterion: Criterion,
    machine: str,
    stratum: Stratum,
    agreements: Numbers,
    *,
    longer: Numbers,
    seeds: Seeds,
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
    of_ratings = (weight / weight.sum() / sizes)[instance]
    guessing: dict[str, float] = {}
    reason = NO_EXACT_AGREEMENT if criterion.is_slider else None
    is_defined = len(unit) and reason is None
    if is_defined:
        faces = faces_of_coin(criterion, stratum.members)
        for name, agrees in _guesses(criterion, compared, faces, longer):
            guessing[name] = max(guessing.get(name, 0.0), min(1.0, float(of_ratings @ agrees)))
    return MachineReplacement(
        labels=len(unit),
        instances=len(sizes),
        simulated=int(np.count_nonzero(criterion.rows["simulated"][compared])),
        agreement=float(np.average(of_instances, weights=weight)) if is_defined else NAN,
        unweighted_agreement=float(of_instances.mean()) if is_defined else NAN,
        agreement_low=_lowest(of_instances, weight) if is_defined else NAN,
        guessing=guessing,
        reason=reason,
        tests=licence_tests(
            *(criterion, machine, EPSILONS, stratum.members),
            seeds.generator(stratum.stratifier, stratum.name, machine),
        )
        if stratum.stratifier in TESTED
        else (),
    )


def _guesses(
    criterion: Criterion, compared: NDArray[np.bool_], faces: Codes, longer: Numbers
) -> Iterator[tuple[str, Numbers]]:
    """Yield guesses and how probably each gives the labels of the compared rows.

    Where it is unknown which text is longer, or none is and there is no tie, a coin decides.
    """
    label, side = criterion.label[compared], longer[criterion.unit[compared]]
    coin = np.isin(label, faces) / len(faces)
    yield "coin", coin
    for constant in np.unique(label):
        yield "constant", (label == constant).astype(float)
    if criterion.scale.kind == "preference" and not np.isnan(side).all():
        tie = criterion.labels.index(0) if 0 in criterion.labels else -1
        for name, sign in (("longer", side), ("shorter", -side)):
            guess = np.select([sign < 0, sign > 0, sign == 0], [*faces, tie], -1)
            yield name, np.where(guess < 0, coin, label == guess)


def _lowest(values: Numbers, weights: Numbers) -> float:
    """Return the lower end of the 95% interval of a mean over instances.

    Without variation it is the exact binomial one of instances that all agree.
    """
    mean, unknown = float(np.average(values, weights=weights)), np.full(len(values), -1)
    point = Estimate(mean, mean, mean, stated_scope=THESE)
    instances = np.arange(len(values))
    wide = two_way_mean(values, instances, unknown, narrow=point, weights=weights)
    return wide.low if wide.low < mean else mean * 0.025 ** (1 / effective_size(weights))

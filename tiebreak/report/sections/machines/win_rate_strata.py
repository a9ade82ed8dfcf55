"""Win rates of systems by annotators and by each machine in strata of units."""

from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import BY_KEY, Estimates
from tiebreak.report.model.systems import WinRateStrata, WinRateStratum
from tiebreak.report.needs import has_systems_and_machines
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.strata import share_in, strata_of
from tiebreak.report.sections.systems.comparisons import Comparisons, SystemScores
from tiebreak.stats import Stratum, win_rates

MAX_STRATA = 30
POINTS = np.array([1.0, 0.5, 0.0])  # of the first system of a unit, for its wins, ties and losses

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]


@section(
    "win_rates_by_stratum",
    "Win rates by annotators and by each machine rater, by kind of item",
    question="machines",
    on_request=True,
    asks="On which kinds of items would a machine rater's win rates mislead about people's?",
    offered=has_systems_and_machines,
    shows_outcome=True,
)
def win_rate_strata_section(criterion: Criterion, seeds: Seeds, replicates: int) -> WinRateStrata:
    compared = Comparisons.of(criterion) if criterion.scale.kind == "preference" else None
    if compared is None or not compared.systems:
        raise InvalidInput("no_systems", NO_SYSTEMS)
    by_stratifier = _strata(criterion)
    kept = {}
    for name, strata in by_stratifier.items():
        largest = sorted(strata, key=lambda stratum: -stratum.n_units)[:MAX_STRATA]
        names = {stratum.name for stratum in largest}
        kept[name] = [stratum for stratum in strata if stratum.name in names]
    return WinRateStrata(
        tuple(
            _stratum(compared, one, seeds.below(one.stratifier, one.name), replicates)
            for one in chain.from_iterable(kept.values())
        ),
        {
            name: left_out
            for name, strata in by_stratifier.items()
            if (left_out := len(strata) - len(kept[name]))
        },
    )


def _strata(criterion: Criterion) -> dict[str, list[Stratum]]:
    """Return the strata that have units by stratifier, but none by a key that splits no units."""
    by_stratifier: dict[str, list[Stratum]] = {}
    for stratum in strata_of(criterion):
        if stratum.n_units:
            by_stratifier.setdefault(stratum.stratifier, []).append(stratum)
    return {
        name: strata
        for name, strata in by_stratifier.items()
        if len(strata) > 1 or name not in BY_KEY
    }


def _stratum(
    compared: Comparisons, stratum: Stratum, seeds: Seeds, replicates: int
) -> WinRateStratum:
    # Agreement and labels were counted among these annotators' ratings.
    of_these = stratum.stratifier not in ("all", *BY_KEY)

    def below(machine: str) -> Generator:
        return seeds.below(machine).generator("systems")

    return WinRateStratum(
        stratum.stratifier,
        stratum.name,
        stratum.n_units,
        share_in(stratum, compared.criterion, compared.design),
        win_rates_among(compared, stratum.members, seeds, replicates, of_these=of_these),
        {
            name: by_machine(compared, name, stratum.members, below(name), replicates)
            for name in sorted(compared.machines)
        },
    )


def win_rates_among(
    compared: Comparisons,
    members: Mask,
    seeds: Seeds,
    replicates: int,
    *,
    of_these: bool = False,
) -> Estimates:
    """Return the win rates by annotators in some units, given a mask of the criterion's units.

    The intervals allow for other raters, if the ratings support it and not ``of_these`` alone.
    """
    rng = seeds.generator("systems")
    rates = _unweighted(compared, compared.outcomes, members, rng, replicates)
    every = {name: compared.scores_of(name) for name in rates}
    if of_these:
        every = {
            name: replace(scores, rater=np.full(len(scores.rater), -1))
            for name, scores in every.items()
        }
    return {
        name: every[name].of(members[every[name].unit]).win_rate(rate)
        for name, rate in rates.items()
    }


def _unweighted(
    compared: Comparisons, outcomes: Counts, members: Mask, rng: Generator, replicates: int
) -> Estimates:
    kept = members[compared.number]
    return win_rates(
        outcomes[kept],
        system_a=np.array(compared.system_a)[kept].tolist(),
        system_b=np.array(compared.system_b)[kept].tolist(),
        clusters=compared.clusters[kept],
        rng=rng,
        replicates=replicates,
    ).systems


def by_machine(
    compared: Comparisons, machine: str, members: Mask, rng: Generator, replicates: int
) -> Estimates:
    """Return the win rates by a machine in some units; after a draw of the drawn ones, weighted."""
    members = members & in_population(compared.criterion)
    rates = _unweighted(compared, compared.machines[machine], members, rng, replicates)
    design = machine_design(compared, machine)
    if design is None:
        return rates
    scores = scores_by_machine(compared, machine, members)
    return {name: scores[name].by_design(rate) for name, rate in rates.items()}


def machine_design(compared: Comparisons, machine: str) -> DesignWeights | None:
    """Return what the units that a machine rated represent."""
    rated = np.zeros(compared.criterion.n_units, dtype=bool)
    rated[compared.number] = compared.machines[machine].any(axis=1)
    return DesignWeights.of(compared.criterion, rated & in_population(compared.criterion))


def scores_by_machine(
    compared: Comparisons, machine: str, members: Mask
) -> dict[str, SystemScores]:
    """Return the scores of each system by a machine in some units of what estimates apply to."""
    design = machine_design(compared, machine)
    used = (members & in_population(compared.criterion))[compared.number][:, None]

    def scores_of(system: str) -> SystemScores:
        counts = compared.outcomes_of(system, compared.machines[machine]) * used
        values = np.repeat(np.tile(POINTS, len(counts)), counts.ravel())
        units = np.repeat(compared.number, counts.sum(axis=1))
        return SystemScores(values, units, np.full(len(units), -1), compared.criterion, design)

    return {system: scores_of(system) for system in compared.systems}

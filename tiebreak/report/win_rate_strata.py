"""Win rates of systems by annotators and by each machine in strata of units."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.comparisons import Comparisons
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model import BY_KEY, Estimates, WinRateStrata, WinRateStratum
from tiebreak.report.other_rates import rates_by_machine, unweighted_rates
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.strata import strata_of
from tiebreak.stats import Stratum

MAX_STRATA = 30

Mask = NDArray[np.bool_]


def win_rate_strata_section(criterion: Criterion, seeds: Seeds, replicates: int) -> WinRateStrata:
    compared = Comparisons.of(criterion) if criterion.scale.kind == "preference" else None
    if compared is None or not compared.systems:
        raise InvalidInput("no_systems", NO_SYSTEMS)
    by_stratifier = _strata(criterion)
    kept = {name: _largest(strata) for name, strata in by_stratifier.items()}
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


def _largest(strata: Sequence[Stratum]) -> list[Stratum]:
    """Return the strata with the most units, in the order in which they were."""
    by_size = sorted(strata, key=lambda stratum: -stratum.n_units)[:MAX_STRATA]
    names = {stratum.name for stratum in by_size}
    return [stratum for stratum in strata if stratum.name in names]


def _stratum(
    compared: Comparisons, stratum: Stratum, seeds: Seeds, replicates: int
) -> WinRateStratum:
    # Agreement and labels were counted among these annotators' ratings.
    of_these = stratum.stratifier not in ("all", *BY_KEY)
    return WinRateStratum(
        stratum.stratifier,
        stratum.name,
        stratum.n_units,
        stratum.share,
        win_rates_among(compared, stratum.members, seeds, replicates, of_these=of_these),
        {
            name: rates_by_machine(
                compared,
                name,
                stratum.members,
                rng=seeds.below(name).generator("systems"),
                replicates=replicates,
            )
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
    rates = unweighted_rates(compared, compared.outcomes, members, rng, replicates)
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

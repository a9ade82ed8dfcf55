"""Agreement by stratum: humans among themselves, each machine, humans against it, and Δ."""

from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from metrics.report.ratings import CriterionRatings, Mask
from metrics.report.values import Draws, Json, estimates_json
from metrics.stats import (
    Comparison,
    Estimate,
    Patterns,
    Stratum,
    agreement,
    agreement_strata,
    all_units,
    delta,
    human_machine,
    key_strata,
    machine_machine,
    range_edges,
    separability_strata,
    single_human_machine,
    undefined,
    unique_label_strata,
)
from metrics.stats.bootstrap import RngFor
from metrics.stats.scales import Level

NO_FIXED_LABELS = "The scale has no fixed number of labels."
Columns = npt.NDArray[np.int64]


class _Options(TypedDict):
    level: Level
    values: npt.NDArray[np.float64] | None
    replicates: int
    rng_for: RngFor


def strata_json(ratings: CriterionRatings, draws: Draws) -> list[Json]:
    """One entry a stratum, empty ones too."""
    humans = ratings.order_counts(ratings.humans)
    machines = {
        name: (ratings.order_counts(mask), ratings.unparsed(mask))
        for name in ratings.machines
        for mask in [ratings.of_machine(name)]
    }
    return [
        _stratum_json(stratum, ratings, humans, machines, draws)
        for stratum in strata(ratings, humans)
    ]


def strata(ratings: CriterionRatings, humans: Columns) -> Iterator[Stratum]:
    """Every stratification that the ratings allow; shares of each add to 1."""
    units = ratings.units
    yield all_units(len(units))
    yield from agreement_strata(humans, level=ratings.scale.level)
    yield from unique_label_strata(humans)
    if units.category.any:
        yield from key_strata("category", units.category.decoded())
    if not np.isnan(units.separability).all():
        yield from separability_strata(units.separability, range_edges(units.separability))
    if units.pairs.any:
        yield from key_strata("systems", units.pairs.decoded())


def _stratum_json(
    stratum: Stratum,
    ratings: CriterionRatings,
    humans: Columns,
    machines: dict[str, tuple[Columns, Columns]],
    draws: Draws,
) -> dict[str, Json]:
    inside = stratum.members
    here = draws.at(stratum.stratifier, stratum.name)
    among = Patterns.of(humans[inside], clusters=ratings.units.clusters[inside])
    found = agreement(among, **_options(ratings, here.at("human_human")))
    return {
        "stratifier": stratum.stratifier,
        "stratum": stratum.name,
        "n_units": stratum.n_units,
        "share": stratum.share,
        "human_human": _json(found.estimates(), ratings),
        "machines": {
            name: _machine_json(
                _comparison(ratings, humans, machines[name], inside),
                ratings,
                here.at("machines", name),
            )
            for name in machines
        },
    }


def _comparison(
    ratings: CriterionRatings, humans: Columns, machine: tuple[Columns, Columns], inside: Mask
) -> Comparison:
    counts, unparsed = machine
    return Comparison.of(
        humans[inside],
        counts[inside],
        unparsed=unparsed[inside],
        clusters=ratings.units.clusters[inside],
    )


def _machine_json(
    comparison: Comparison, ratings: CriterionRatings, draws: Draws
) -> dict[str, Json]:
    sides = {
        "machine_machine": machine_machine,
        "human_machine": human_machine,
        "single_human_machine": single_human_machine,
        "delta": delta,
    }
    return {
        name: _json(
            side(comparison, **_options(ratings, draws.at(name))).estimates(),  # type: ignore[operator]
            ratings,
        )
        for name, side in sides.items()
    }


def _options(ratings: CriterionRatings, draws: Draws) -> _Options:
    return {
        "level": ratings.scale.level,
        "values": ratings.values,
        "replicates": draws.replicates,
        "rng_for": draws.rng_for,
    }


def _json(estimates: dict[str, Estimate], ratings: CriterionRatings) -> dict[str, Json]:
    if ratings.scale.labels is None:
        estimates = estimates | {"randolph_kappa": undefined(NO_FIXED_LABELS)}
    return estimates_json(estimates)

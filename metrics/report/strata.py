"""Agreement per stratum: among humans, between humans and each machine, and the difference."""

from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from metrics.report.criterion import Criterion
from metrics.report.generators import Seeds
from metrics.stats import (
    Comparison,
    Estimate,
    Stratum,
    agreement,
    agreement_strata,
    all_units,
    delta,
    human_machine,
    key_strata,
    machine_machine,
    separability_strata,
    single_human_machine,
    unique_label_strata,
)
from metrics.stats.scales import Level
from metrics.stats.separability import range_edges


def strata_section(criterion: Criterion, seeds: Seeds, replicates: int) -> list[dict[str, Any]]:
    """One entry per stratum of every stratifier that the ratings allow."""
    return [_entry(criterion, each, seeds, replicates) for each in strata_of(criterion)]


def strata_of(criterion: Criterion) -> Iterator[Stratum]:
    """All units, then by agreement, unique labels, category, separability and system pair."""
    yield all_units(criterion.n_units)
    yield from agreement_strata(criterion.humans, level=criterion.scale.level)
    yield from unique_label_strata(criterion.humans)
    yield from _by_key("category", criterion.of_units("category"))
    separability = separability_of_units(criterion)
    yield from separability_strata(separability, range_edges(separability))
    yield from _by_key("systems", pairs_of_units(criterion))


def separability_of_units(criterion: Criterion) -> NDArray[np.float64]:
    """δ per unit: raw where it is known, else as the file gives it."""
    raw = criterion.of_units("separability_raw").astype(float)
    return raw if np.any(~np.isnan(raw)) else criterion.of_units("separability").astype(float)


def pairs_of_units(criterion: Criterion) -> NDArray[np.str_]:
    """ "A vs B" per unit, "" where a side is unknown."""
    a, b = (criterion.of_units(side).astype(str) for side in ("system_a", "system_b"))
    named = np.char.add(np.char.add(a, " vs "), b)
    return np.where((a == "") | (b == ""), "", named)


def _by_key(stratifier: str, keys: NDArray[Any]) -> tuple[Stratum, ...]:
    texts = keys.astype(str).tolist()
    return key_strata(stratifier, texts) if any(texts) else ()


class _Options(TypedDict):
    level: Level
    values: NDArray[np.float64] | None
    k: int
    replicates: int


def _entry(criterion: Criterion, stratum: Stratum, seeds: Seeds, replicates: int) -> dict[str, Any]:
    members, clusters = stratum.members, criterion.clusters[stratum.members]
    options: _Options = {
        "level": criterion.scale.level,
        "values": criterion.values,
        "k": len(criterion.labels),
        "replicates": replicates,
    }
    own = seeds.below(stratum.stratifier, stratum.name)
    humans = criterion.humans[members]
    among = agreement(
        humans, clusters=clusters, rng_for=own.below("human_human").generator, **options
    )
    machines = {}
    for name, machine in criterion.machines.items():
        comparison = Comparison.of(
            humans, machine.counts[members], unparsed=machine.unparsed[members], clusters=clusters
        )
        machines[name] = _against(comparison, own.below(name), options)
    return {
        "stratifier": stratum.stratifier,
        "stratum": stratum.name,
        "n_units": stratum.n_units,
        "share": stratum.share,
        "human_human": as_json(among.estimates()),
        "machines": machines,
    }


def _against(comparison: Comparison, seeds: Seeds, options: _Options) -> dict[str, Any]:
    groups = {
        "machine_machine": machine_machine,
        "human_machine": human_machine,
        "single_human_machine": single_human_machine,
        "delta": delta,
    }
    return {
        name: as_json(
            group(comparison, rng_for=seeds.below(name).generator, **options).estimates()  # type: ignore[operator]
        )
        for name, group in groups.items()
    }


def as_json(estimates: dict[str, Estimate]) -> dict[str, Any]:
    return {name: each.as_json() for name, each in estimates.items()}

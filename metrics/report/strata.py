"""Agreement per stratum: among humans, between humans and each machine, and the difference."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.report.criterion import Criterion
from metrics.stats import AGREEMENT_STRATA, Estimate, agreement, by_agreement, by_unique_labels
from metrics.stats.bootstrap import generator
from metrics.stats.human_machine import human_machine
from metrics.stats.separability import range_edges, range_of

RANGES = 4


@dataclass(frozen=True)
class Stratum:
    stratifier: str
    name: str
    mask: NDArray[np.bool_]


def strata_section(criterion: Criterion, seed: int, replicates: int) -> list[dict[str, Any]]:
    """One entry per stratum of every stratifier that the ratings allow."""
    return [_entry(criterion, each, seed, replicates) for each in strata_of(criterion)]


def strata_of(criterion: Criterion) -> Iterator[Stratum]:
    """All units, then by agreement, unique labels, category, separability and system pair."""
    units = criterion.n_units
    yield Stratum("all", "all", np.ones(units, dtype=bool))
    by_pa = by_agreement(criterion.humans, ordered=criterion.scale.level != "nominal")
    for index, name in enumerate(AGREEMENT_STRATA):
        yield Stratum("agreement", name, by_pa == index)
    unique = by_unique_labels(criterion.humans)
    most = max(1, min(len(criterion.labels), int(criterion.humans.sum(axis=1).max(initial=0))))
    for number in range(0 if np.any(unique == 0) else 1, most + 1):
        yield Stratum("unique_labels", str(number), unique == number)
    yield from _by_key("category", criterion.of_units("category"))
    yield from _by_separability(separability_of_units(criterion))
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


def _by_key(stratifier: str, keys: NDArray[Any]) -> Iterator[Stratum]:
    texts = keys.astype(str)
    names = sorted(set(texts))
    if names in ([], [""]):
        return
    for name in names:
        yield Stratum(stratifier, name or "unknown", texts == name)


def _by_separability(delta: NDArray[np.float64]) -> Iterator[Stratum]:
    edges = range_edges(delta, RANGES)
    which = range_of(delta, edges)
    for index in range(len(edges) - 1):
        close = "]" if index == len(edges) - 2 else ")"
        name = f"[{edges[index]:.4g}, {edges[index + 1]:.4g}{close}"
        yield Stratum("separability", name, which == index)
    if len(edges) and np.any(which < 0):
        yield Stratum("separability", "unknown", which < 0)


def _entry(criterion: Criterion, stratum: Stratum, seed: int, replicates: int) -> dict[str, Any]:
    mask = stratum.mask
    clusters = criterion.resampled_clusters
    common: dict[str, Any] = {
        "level": criterion.scale.level,
        "values": criterion.values,
        "labels_of_scale": len(criterion.labels),
        "clusters": None if clusters is None else clusters[mask],
        "replicates": replicates,
    }
    names = (criterion.name, stratum.stratifier, stratum.name)
    among = agreement(criterion.humans[mask], rng=generator(seed, *names, "human_human"), **common)
    machines = {}
    for name, machine in criterion.machines.items():
        found = human_machine(
            criterion.humans[mask],
            machine.counts[mask],
            unparsed=machine.unparsed[mask],
            rng=generator(seed, *names, "human_machine", name),
            **common,
        )
        machines[name] = {
            group: as_json(getattr(found, group))
            for group in ("machine_machine", "human_machine", "single_human_machine", "delta")
        }
    return {
        "stratifier": stratum.stratifier,
        "stratum": stratum.name,
        "n_units": int(mask.sum()),
        "share": float(mask.mean()) if len(mask) else None,
        "human_human": as_json(among),
        "machines": machines,
    }


def as_json(estimates: dict[str, Estimate]) -> dict[str, Any]:
    return {name: each.as_json() for name, each in estimates.items()}

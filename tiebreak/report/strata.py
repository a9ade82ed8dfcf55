"""Agreement per stratum: among humans, between humans and each machine, and the difference."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.stats import (
    Agreement,
    Comparison,
    Estimate,
    Patterns,
    Stratum,
    agreement_strata,
    all_units,
    key_strata,
    separability_strata,
    undefined,
    unique_label_strata,
)
from tiebreak.stats.agreement import agreement_statistics
from tiebreak.stats.bootstrap import AnyStatistic, Resampling, estimate_strata, on_columns
from tiebreak.stats.counts import distinct_rows
from tiebreak.stats.human_machine import comparison_statistics
from tiebreak.stats.separability import range_edges

BY_KEY = ("category", "separability", "systems")
STRATIFIERS = ("all", "agreement", "unique_labels", *BY_KEY)
Codes = NDArray[np.int64]
Group = tuple[Sequence[Stratum], Codes]
Table = tuple[dict[tuple[str, str], AnyStatistic], Patterns]


def strata_section(criterion: Criterion, seeds: Seeds, replicates: int) -> list[dict[str, Any]]:
    """One entry per stratum of every stratifier that the ratings allow.

    Humans, and humans with each machine, have replicates of their own: another machine does not
    move a digit.
    """
    raters = (None, *criterion.machines)
    groups = _groups(criterion, tuple(strata_of(criterion)))

    def estimates(group: Group, rater: str | None) -> list[dict[str, Any]]:
        strata, split = group
        names = ("humans",) if rater is None else ("machine", rater)
        rng = seeds.below(strata[0].stratifier).generator(*names)
        table = _human_table if rater is None else partial(_machine_table, machine=rater)
        return _estimates(table(criterion, split), strata, rng=rng, replicates=replicates)

    # Drawing replicates leaves the interpreter's lock: threads keep all processors busy.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [[pool.submit(estimates, group, rater) for rater in raters] for group in groups]
    entries = [
        _entry(stratum, raters, [job.result()[place] for job in of_group])
        for (strata, _), of_group in zip(groups, jobs, strict=True)
        for place, stratum in enumerate(strata)
    ]
    return sorted(entries, key=lambda each: STRATIFIERS.index(each["stratifier"]))


def no_strata(criterion: Criterion, reason: str) -> list[dict[str, Any]]:
    """All units as the only stratum, with nothing known of it, and why."""
    among = {each.name: undefined(reason) for each in fields(Agreement)}
    return [
        {
            "stratifier": "all",
            "stratum": "all",
            "n_units": criterion.n_units,
            "share": 1.0,
            "human_human": as_json(among),
            "machines": {},
        }
    ]


def _entry(
    stratum: Stratum, raters: Sequence[str | None], estimates: list[dict[str, Any]]
) -> dict[str, Any]:
    humans, *machines = estimates
    return {
        "stratifier": stratum.stratifier,
        "stratum": stratum.name,
        "n_units": stratum.n_units,
        "share": stratum.share,
        **humans,
        "machines": dict(zip(raters[1:], machines, strict=True)),
    }


def _groups(criterion: Criterion, strata: Sequence[Stratum]) -> list[Group]:
    """Strata that share replicates, with the code that keeps their units apart.

    Every key multiplies the distinct rows, which is what replicates of units cost, so that each
    stratifier by key has its own; replicates of instances cost the same whatever the rows.
    """
    by_key = [[each for each in strata if each.stratifier == name] for name in BY_KEY]
    # A key with one value keeps no units apart.
    by_key = [group for group in by_key if len(group) > 1]
    apart = {each.stratifier for group in by_key for each in group}
    groups = [[each for each in strata if each.stratifier not in apart], *by_key]
    if criterion.resampling == "instance":
        groups = [list(strata)]
    return [(group, _split(group, criterion.n_units)) for group in groups]


def strata_of(criterion: Criterion) -> Iterator[Stratum]:
    """All units, then by agreement, unique labels, category, separability and system pair."""
    yield all_units(criterion.n_units)
    yield from agreement_strata(criterion.humans, level=criterion.scale.level)
    yield from unique_label_strata(criterion.humans)
    yield from _by_key("category", criterion.of_units("category"))
    separability = separability_of_units(criterion)
    yield from separability_strata(separability, range_edges(separability))
    yield from _by_key("systems", pairs_of_units(criterion))


def _split(strata: Sequence[Stratum], units: int) -> Codes:
    """A number per unit, the same for units that are in the same strata by key."""
    keyed = [each.members for each in strata if each.stratifier in BY_KEY]
    columns = np.column_stack([np.zeros((units, 0), dtype=np.int64), *keyed])
    return distinct_rows(columns.astype(np.int64))[1]


def separability_of_units(criterion: Criterion) -> NDArray[np.float64]:
    """δ per unit: raw where it is known, else as the file gives it."""
    raw = criterion.of_units("separability_raw").astype(float)
    return raw if np.any(~np.isnan(raw)) else criterion.of_units("separability").astype(float)


def pairs_of_units(criterion: Criterion) -> NDArray[np.str_]:
    """Each unit's pair as "A vs B", or "" where a side is unknown."""
    a, b = (criterion.of_units(side).astype(str) for side in ("system_a", "system_b"))
    named = np.char.add(np.char.add(a, " vs "), b)
    return np.where((a == "") | (b == ""), "", named)


def _by_key(stratifier: str, keys: NDArray[Any]) -> tuple[Stratum, ...]:
    texts = keys.astype(str).tolist()
    return key_strata(stratifier, texts) if any(texts) else ()


def _human_table(criterion: Criterion, split: Codes) -> Table:
    """All statistics among humans, by name, with the rows they are read from."""
    labels = len(criterion.labels)
    patterns = Patterns.of(np.column_stack([criterion.humans, split]), clusters=criterion.clusters)
    among = agreement_statistics(
        labels, level=criterion.scale.level, values=criterion.values, k=labels
    )
    statistics = {name: on_columns(each, slice(0, labels)) for name, each in among.items()}
    return {("human_human", name): each for name, each in statistics.items()}, patterns


def _machine_table(criterion: Criterion, split: Codes, *, machine: str) -> Table:
    """All statistics of one machine, by group and name."""
    answers = criterion.machines[machine]
    comparison = Comparison.of(
        criterion.humans,
        answers.counts,
        unparsed=answers.unparsed,
        clusters=criterion.clusters,
        split=split,
    )
    groups = comparison_statistics(
        comparison,
        level=criterion.scale.level,
        values=criterion.values,
        k=len(criterion.labels),
    )
    statistics: dict[tuple[str, str], AnyStatistic] = {
        (group, name): each for group, named in groups.items() for name, each in named.items()
    }
    return statistics, comparison.patterns


def _estimates(
    table: Table, strata: Sequence[Stratum], **resampling: Unpack[Resampling]
) -> list[dict[str, Any]]:
    """One entry a stratum: group → name → estimate."""
    statistics, patterns = table
    # Rows of one pattern are in the same strata: any of its units speaks for all.
    masks = [stratum.members[patterns.representatives] for stratum in strata]
    found = estimate_strata(statistics, patterns, masks, **resampling)
    return [_grouped(each) for each in found]


def _grouped(estimates: Mapping[tuple[str, str], Estimate]) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for (group, name), each in estimates.items():
        groups.setdefault(group, {})[name] = each.as_json()
    return groups


def as_json(estimates: dict[str, Estimate]) -> dict[str, Any]:
    return {name: each.as_json() for name, each in estimates.items()}

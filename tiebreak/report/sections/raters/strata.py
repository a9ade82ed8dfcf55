"""Agreement per stratum, among humans and of humans with each machine."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import BY_KEY, STRATIFIERS, Estimates
from tiebreak.report.model.strata import MachineAgreement, StratumSection
from tiebreak.scales import MAX_INFERRED_POINTS
from tiebreak.stats import (
    Agreement,
    Classification,
    Comparison,
    Estimate,
    HumanMachine,
    Patterns,
    Stratum,
    agreement_contributions,
    agreement_strata,
    all_units,
    key_strata,
    separability_strata,
    undefined,
    unique_label_strata,
)
from tiebreak.stats.core.bootstrap import (
    NO_WIDTH,
    AnyStatistic,
    Resampling,
    estimate_each,
    on_columns,
)
from tiebreak.stats.core.independence import EXACT, SHARE
from tiebreak.stats.core.ranges import range_edges
from tiebreak.stats.core.two_way import Groupings
from tiebreak.stats.core.unit_weights import UnitWeights, relative, weighted
from tiebreak.stats.machines.comparison_statistics import comparison_statistics
from tiebreak.stats.raters.agreement import agreement_statistics
from tiebreak.stats.raters.contributions import value_contributions

NO_EXACT_AGREEMENT = (
    f"On scales with more than {MAX_INFERRED_POINTS} different values, hardly two answers are exactly"
    " the same, so exact agreement is not computed."
)
ON_SLIDERS = {"krippendorff_alpha", "spearman", "kendall"}
CORRECTED = (-1.0, 1.0)
BOUNDS = {
    "krippendorff_alpha": CORRECTED,
    "percentage_agreement": SHARE,
    "randolph_kappa": CORRECTED,
    "fleiss_kappa": CORRECTED,
    "leave_one_out": SHARE,
}

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Groups = dict[str, Estimates]
Runs = tuple[Codes, Codes]
Table = tuple[dict[tuple[str, str], AnyStatistic], Patterns]


def strata_section(
    criterion: Criterion, seeds: Seeds, replicates: int, strata: Sequence[Stratum] | None = None
) -> tuple[StratumSection, ...]:
    """Return one entry per stratum, by default of every applicable stratifier.

    Each stratum is resampled alone, and the statistics among humans and those with each machine use
    separate replicates. So an interval depends neither on the other strata nor on other machines.
    """
    raters, design = (None, *criterion.machines), DesignWeights.of(criterion)
    strata = tuple(strata_of(criterion)) if strata is None else strata

    def estimates(stratum: Stratum, rater: str | None) -> Groups:
        members = stratum.members
        names = ("humans",) if rater is None else ("machine", rater)

        def of(table: Table) -> Groups:
            # Every stratum starts from the same seed, so that a report of its ratings alone draws alike.
            return _estimates(
                table, rng=seeds.below("all").generator(*names), replicates=replicates
            )

        if rater is None:
            groups = of(_human_table(criterion, members, design))
        else:
            groups = of(_machine_table(criterion, members, design, machine=rater))
            if (runs := criterion.runs_of(rater)) is not None:
                again = of(_machine_table(criterion, members, design, machine=rater, runs=runs))
                groups |= {"between_orders": groups["machine_machine"]} | again
        if design is None:
            return groups
        return _scoped(groups, design, members & _compared_units(criterion, rater), criterion)

    # Threads are enough, because drawing replicates releases the global interpreter lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [[pool.submit(estimates, stratum, rater) for rater in raters] for stratum in strata]
    ratings = HumanRatings.of(criterion, design)
    entries = [
        ratings.widened(
            replace(
                entry(stratum, criterion.machines, [job.result() for job in of_stratum]),
                share=share_in(stratum, criterion, design),
            ),
            stratum.members,
        )
        for stratum, of_stratum in zip(strata, jobs, strict=True)
    ]
    return tuple(sorted(entries, key=lambda entry: STRATIFIERS.index(entry.stratifier)))


@dataclass(frozen=True, eq=False)
class HumanRatings:
    """The ratings of humans one by one, from which intervals for new raters are made."""

    criterion: Criterion
    weights: NDArray[np.float64]
    unit: Codes
    label: Codes
    rater: Codes

    @classmethod
    def of(cls, criterion: Criterion, design: DesignWeights | None) -> "HumanRatings":
        kept = criterion.is_human & (criterion.label >= 0)
        _, rater = criterion.rows.ranked("rater", kept)
        weights = np.ones(criterion.n_units) if design is None else design.of_units
        return cls(criterion, weights, criterion.unit[kept], criterion.label[kept], rater)

    def widened(self, entry: StratumSection, members: NDArray[np.bool_]) -> StratumSection:
        """Return the stratum with intervals for new raters among humans, where they are known.

        In strata that were made from the ratings themselves, agreement describes these ratings only.
        """
        if entry.stratifier not in ("all", *BY_KEY):
            described = map(_as_chosen, entry.human_human.estimates().items())
            return replace(entry, human_human=Agreement(**dict(described)))
        chosen = members[self.unit]
        by_name = self._contributions(chosen)
        # A rating is used in all statistics or none, except where nobody else rated its unit.
        entered = np.bincount(self.unit[chosen])[self.unit[chosen]] > 1
        entering = self.unit[chosen][entered]
        groupings = Groupings.of(
            self.weights[entering],
            self.criterion.clusters[entering],
            self.rater[chosen][entered],
        )
        wide = {
            name: groupings.widened(
                by_name[name][entered],
                narrow=estimate,
                bounds=BOUNDS[name],
                raters_per_value=2 if BOUNDS[name] == SHARE else 0,
            )
            for name, estimate in entry.human_human.estimates().items()
            if name in by_name
        }
        return replace(entry, human_human=replace(entry.human_human, **wide))

    def _contributions(self, chosen: Mask) -> dict[str, NDArray[np.float64]]:
        units, unit = np.unique(self.unit[chosen], return_inverse=True)
        label, criterion = self.label[chosen], self.criterion
        if criterion.has_many_values:
            level, value = criterion.scale.level, np.asarray(criterion.numbers)[label]
            return {"krippendorff_alpha": value_contributions(unit, value, level=level)}
        return agreement_contributions(
            unit,
            label,
            n_units=len(units),
            n_labels=len(criterion.labels),
            level=criterion.scale.level,
            values=criterion.values,
            weights=self.weights[units],
        )


def _as_chosen(named: tuple[str, Estimate]) -> tuple[str, Estimate]:
    """Return agreement without an interval if it is equal in all units because they were chosen so."""
    name, one = named
    if not one.method.startswith(EXACT):
        return named
    return name, Estimate(one.value, n=one.n, reason=NO_WIDTH, stated_scope=one.stated_scope)


def no_strata(criterion: Criterion, reason: str) -> tuple[StratumSection]:
    """Return a single stratum of all units, with undefined statistics."""
    agreement = complete(Agreement, {}, reason)
    return (StratumSection("all", "all", criterion.n_units, 1.0, agreement, {}),)


Section = TypeVar("Section", Agreement, HumanMachine, Classification)


def complete(
    kind: type[Section], estimates: Estimates, reason: str = NO_EXACT_AGREEMENT
) -> Section:
    """Return the estimates, undefined with a reason where they are missing."""
    every = {field.name: undefined(reason) for field in fields(kind)} | estimates
    return kind(**every)


def share_in(stratum: Stratum, criterion: Criterion, design: DesignWeights | None) -> float:
    """Return the share of all units that are in a stratum; after a draw, of those rated, by weight."""
    if design is None:
        return stratum.share
    weight = relative(design.of_units, length=criterion.n_units) * (
        criterion.humans.sum(axis=1) > 0
    )
    total = float(weight.sum())
    return float(weight[stratum.members].sum()) / total if total else stratum.share


def entry(stratum: Stratum, machines: Iterable[str], estimates: list[Groups]) -> StratumSection:
    of_humans, *of_machines = estimates
    return StratumSection(
        stratifier=stratum.stratifier,
        stratum=stratum.name,
        n_units=stratum.n_units,
        share=stratum.share,
        human_human=complete(Agreement, of_humans.get("human_human", {})),
        machines={
            name: machine_agreement(groups)
            for name, groups in zip(machines, of_machines, strict=True)
        },
    )


def machine_agreement(groups: Groups) -> MachineAgreement:
    """Return the groups of statistics of a machine; what is missing is left out on sliders."""
    return MachineAgreement(
        machine_machine=complete(Agreement, groups["machine_machine"]),
        human_machine=complete(HumanMachine, groups["human_machine"]),
        single_human_machine=complete(HumanMachine, groups["single_human_machine"]),
        delta=complete(Agreement, groups["delta"]),
        classification=complete(Classification, groups.get("classification", {})),
        random_baseline=complete(HumanMachine, groups.get("random_baseline", {})),
        between_orders=complete(Agreement, between)
        if (between := groups.get("between_orders"))
        else None,
    )


def strata_of(criterion: Criterion) -> Iterator[Stratum]:
    """Yield all units, then strata by agreement, labels, category, separability and systems."""
    yield all_units(criterion.n_units)
    yield from agreement_strata(criterion.humans, level=criterion.scale.level)
    yield from unique_label_strata(criterion.humans)
    yield from _by_key("category", criterion.of_units("category"))
    yield from separability_strata(separability_of_units(criterion), separability_edges(criterion))
    yield from _by_key("systems", criterion.pairs)


def separability_of_units(criterion: Criterion) -> NDArray[np.float64]:
    """Return the δ of each unit, which is the raw δ if any unit has one, else the normalised δ."""
    raw = criterion.of_units("separability_raw").astype(float)
    return raw if np.any(~np.isnan(raw)) else criterion.of_units("separability").astype(float)


def separability_edges(criterion: Criterion) -> NDArray[np.float64]:
    """Return the edges of the ranges of δ, which a part of a study has from the whole."""
    return range_edges(criterion.separability_ends or separability_of_units(criterion))


def _by_key(stratifier: str, keys: NDArray[Any]) -> tuple[Stratum, ...]:
    texts = keys.astype(str).tolist()
    return key_strata(stratifier, texts) if any(texts) else ()


def _compared_units(criterion: Criterion, machine: str | None) -> Mask:
    """Return the units whose human ratings are compared with each other, or with a machine's."""
    rated = criterion.humans.sum(axis=1)
    if machine is None:
        return np.asarray(rated > 1)
    answers = criterion.machines[machine]
    return np.asarray((rated > 0) & (answers.counts.sum(axis=1) + answers.unparsed > 0))


def _human_table(criterion: Criterion, members: Mask, design: DesignWeights | None) -> Table:
    """Return all statistics among humans by group and name, with the rows for computing them."""
    labels = len(criterion.labels)
    weights = None if design is None else UnitWeights.of(design.of_units[members])
    humans = criterion.humans[members]
    rows = humans if weights is None else np.column_stack([humans, weights.codes])
    patterns = Patterns.of(rows, clusters=criterion.clusters[members])
    agreement = agreement_statistics(
        labels, level=criterion.scale.level, values=criterion.values, k=labels
    )
    columns = slice(0, labels)
    statistics: dict[tuple[str, str], AnyStatistic] = {
        ("human_human", name): on_columns(statistic, columns)
        for name, statistic in agreement.items()
        if name in ON_SLIDERS or not criterion.is_slider
    }
    return weighted(statistics, weights, columns), patterns


def _machine_table(
    criterion: Criterion,
    members: Mask,
    design: DesignWeights | None,
    *,
    machine: str,
    runs: Runs | None = None,
) -> Table:
    """Return all statistics of a machine by group and name, or those among its runs, with their rows.

    After a draw, only units that humans rated are used, as machines also rate others.
    """
    ratings = criterion.machines[machine]
    counts, unit = runs or (ratings.counts, np.arange(criterion.n_units))
    counts, unit = counts[members[unit]], unit[members[unit]]
    weights = None if design is None else UnitWeights.of(design.of_units[unit])
    comparison = Comparison.of(
        criterion.humans[unit],
        counts if weights is None else counts * (criterion.humans.sum(axis=1) > 0)[unit, None],
        unparsed=ratings.unparsed[unit],
        clusters=criterion.clusters[unit],
        split=None if weights is None else weights.codes,
    )
    groups = comparison_statistics(
        comparison,
        level=criterion.scale.level,
        values=criterion.values,
        k=len(criterion.labels),
        weights=weights,
    )
    statistics: dict[tuple[str, str], AnyStatistic] = {
        (group, name): statistic
        for group, by_name in groups.items()
        for name, statistic in by_name.items()
        if (name in ON_SLIDERS or not criterion.is_slider)
        and (runs is None or group == "machine_machine")
    }
    return statistics, comparison.patterns


def _scoped(groups: Groups, design: DesignWeights, entered: Mask, criterion: Criterion) -> Groups:
    """Return the estimates with the scope of weighted ones."""
    return {group: design.scoped(by_name, entered, criterion) for group, by_name in groups.items()}


def _estimates(table: Table, **resampling: Unpack[Resampling]) -> Groups:
    """Return the estimates of a stratum by group and name."""
    groups: Groups = {}
    for (group, name), estimate in estimate_each(*table, **resampling).items():
        groups.setdefault(group, {})[name] = estimate
    return groups

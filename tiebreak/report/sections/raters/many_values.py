"""Agreement on open scales with many different values.

The counts of a unit have a column for each rank of a label among the labels of this unit. α comes
from sums of values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.report.criterion import Codes, Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.strata import StratumSection
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import core, section
from tiebreak.report.sections.raters.strata import HumanRatings, entry, strata_of, strata_section
from tiebreak.scales import MAX_POINTS
from tiebreak.stats import Estimate, Patterns, Stratum, two_way_interval, undefined
from tiebreak.stats.core.bootstrap import (
    NO_WIDTH,
    Resampling,
    Statistic,
    difference,
    estimate_strata,
)
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.results import NAN, THESE
from tiebreak.stats.machines.comparison_statistics import AGAINST_MACHINE, AMONG_HUMANS
from tiebreak.stats.raters.additive import (
    NO_PAIR,
    ONE_LABEL,
    alpha_of_features,
    moment_features,
    value_moments,
)
from tiebreak.stats.raters.contributions import value_contributions
from tiebreak.stats.raters.label_pairs import NO_OVERLAP
from tiebreak.stats.raters.ratio_alpha import ratio_alpha, ratio_disagreement, ratio_distances

NO_INTERVAL = (
    f"The interval is not computed for scales with more than {MAX_POINTS} different values."
)
CONSTANT = "One side gave all items the same value, or there are fewer than two items."

Floats = NDArray[np.float64]
Statistics = dict[tuple[str, str], Statistic]
Groups = dict[str, Estimates]


@dataclass(frozen=True)
class _Side:
    """The values of humans, or of a machine, sorted by unit; and the lower median of each unit."""

    unit: Codes
    value: Floats
    median: Floats

    @classmethod
    def of(cls, criterion: Criterion, mask: NDArray[np.bool_]) -> "_Side":
        used = np.flatnonzero(mask & (criterion.label >= 0))
        used = used[np.lexsort((criterion.label[used], criterion.unit[used]))]
        unit, value = criterion.unit[used], np.asarray(criterion.numbers)[criterion.label[used]]
        size = np.bincount(unit, minlength=criterion.n_units)
        middle = np.cumsum(size) - size + (size - 1) // 2
        median = np.full(criterion.n_units, NAN)
        median[size > 0] = value[middle[size > 0]]
        return cls(unit, value, median)

    def moments(self, centre: float) -> Floats:
        """Return each unit's number of ratings, their sum and the sum of their squares."""
        return value_moments(self.unit, self.value - centre, len(self.median))


@dataclass(frozen=True)
class _Alpha:
    """What α needs: units' disagreement, and values with weights that say how often they occur."""

    disagreement: Floats
    unit: Codes
    value: Floats
    weight: Floats
    reason_if_empty: str

    @classmethod
    def within(cls, side: _Side) -> "_Alpha":
        """Return what compares the ratings of a side with each other."""
        units = len(side.median)
        size = np.bincount(side.unit, minlength=units)
        paired = size[side.unit] > 1
        return cls(
            ratio_disagreement(side.unit, side.value, units),
            side.unit[paired],
            side.value[paired],
            np.ones(int(paired.sum())),
            NO_PAIR,
        )

    @classmethod
    def between(cls, side: _Side, machine: _Side) -> "_Alpha":
        """Return what compares a random rating of a side with the machine's median."""
        units = len(side.median)
        used = ~np.isnan(machine.median[side.unit])
        unit, value = side.unit[used], side.value[used]
        weight = 1 / np.maximum(np.bincount(unit, minlength=units), 1)[unit]
        answer = machine.median[unit]
        distance = ratio_distances(value, answer) * weight
        return cls(
            np.bincount(unit, distance, minlength=units).astype(np.float64),
            np.concatenate([unit, unit]),
            np.concatenate([value, answer]),
            np.concatenate([weight, weight]),
            NO_OVERLAP,
        )

    def estimate(self, members: NDArray[np.bool_]) -> Estimate:
        """Return α of some units on a ratio scale."""
        used = members[self.unit]
        n = n_distinct(self.unit[used])
        disagreement = float(self.disagreement[members].sum())
        value = ratio_alpha(disagreement, self.value[used], self.weight[used])
        if np.isnan(value):
            return undefined(ONE_LABEL if n else self.reason_if_empty, n)
        return Estimate(value, n=n, reason=NO_INTERVAL)


def many_values_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> tuple[StratumSection, ...]:
    """Return one entry per stratum; what would compare the counts of all values is undefined."""
    strata = tuple(strata_of(criterion))
    humans = _Side.of(criterion, criterion.is_human)
    of_humans = _of_humans(criterion, humans, strata, seeds, replicates)
    of_machines = [
        _of_machine(criterion, humans, name, strata, seeds=seeds, replicates=replicates)
        for name in criterion.machines
    ]
    ratings = HumanRatings.of(criterion, None)
    listed = zip(strata, of_humans, *of_machines, strict=True)
    return tuple(
        ratings.widened(entry(stratum, criterion.machines, groups), stratum.members)
        for stratum, *groups in listed
    )


def _of_humans(
    criterion: Criterion,
    humans: _Side,
    strata: tuple[Stratum, ...],
    seeds: Seeds,
    replicates: int,
) -> list[Groups]:
    alpha = "human_human", "krippendorff_alpha"
    if criterion.scale.level == "interval":
        features = moment_features(humans.moments(_centre(criterion)))
        rng = seeds.below("all").generator("humans")
        return _estimates(
            {alpha: alpha_of_features(features, NO_PAIR)},
            criterion.humans,
            criterion,
            strata,
            rng=rng,
            replicates=replicates,
        )
    every, sample = _Alpha.within(humans), humans if replicates else None
    return [
        {alpha[0]: {alpha[1]: _over_instances(every, one.members, sample, criterion)}}
        for one in strata
    ]


def _over_instances(
    alpha: _Alpha, members: NDArray[np.bool_], humans: _Side | None, criterion: Criterion
) -> Estimate:
    """Return ratio α of some units with an interval that needs no replicates, for these raters."""
    estimate = alpha.estimate(members)
    if not estimate.is_defined or humans is None:
        return estimate
    used = members[humans.unit]
    unit = humans.unit[used]
    part = value_contributions(unit, humans.value[used], level="ratio")
    entered = ~np.isnan(part)
    instance, nobody = criterion.clusters[unit[entered]], np.full(int(entered.sum()), -1)
    value = estimate.value
    point = replace(estimate, low=value, high=value, reason=None, stated_scope=THESE)
    narrow = two_way_interval(part[entered], instance, nobody, narrow=point, bounds=(-1, 1))
    if narrow is point:
        return replace(estimate, reason=NO_WIDTH)
    return drop_unreliable_interval(narrow, n_distinct(instance))


def _of_machine(
    criterion: Criterion,
    humans: _Side,
    machine: str,
    strata: tuple[Stratum, ...],
    *,
    seeds: Seeds,
    replicates: int,
) -> list[Groups]:
    side = _Side.of(criterion, criterion.rows["rater"] == machine)
    ratings = criterion.machines[machine]
    rows = np.column_stack([criterion.humans, ratings.counts, ratings.unparsed])
    majority = replace(humans, unit=_rated(humans), value=humans.median[_rated(humans)])
    statistics: Statistics = {}
    compared = {"human_machine": majority, "single_human_machine": humans}
    if criterion.scale.level == "interval":
        statistics = _interval_alphas(criterion, humans, side, compared)
    rng = seeds.below("all").generator("machine", machine)
    groups = _estimates(statistics, rows, criterion, strata, rng=rng, replicates=replicates)
    if criterion.scale.level != "interval":
        _add_ratio(groups, "machine_machine", _Alpha.within(side), strata)
        for name, compared_side in compared.items():
            _add_ratio(groups, name, _Alpha.between(compared_side, side), strata)
        _add_ratio_delta(groups, _Alpha.within(humans), strata)
    for group, stratum in zip(groups, strata, strict=True):
        medians = (one.median[stratum.members] for one in (humans, side))
        group["human_machine"] |= correlations_of_values(*medians)
    return groups


def _rated(side: _Side) -> Codes:
    return np.flatnonzero(~np.isnan(side.median))


def _interval_alphas(
    criterion: Criterion, humans: _Side, machine: _Side, compared: Mapping[str, _Side]
) -> Statistics:
    centre, name = _centre(criterion), "krippendorff_alpha"
    statistics = {
        ("machine_machine", name): alpha_of_features(
            moment_features(machine.moments(centre)), NO_PAIR
        )
    }
    for group, side in compared.items():
        features = _pair_features(side.moments(centre), machine.median - centre)
        statistics[group, name] = alpha_of_features(features, NO_OVERLAP)
    statistics["delta", name] = difference(
        alpha_of_features(moment_features(humans.moments(centre)), NO_PAIR),
        statistics["human_machine", name],
        sides=(AMONG_HUMANS, AGAINST_MACHINE),
    )
    return statistics


def _centre(criterion: Criterion) -> float:
    return float(np.mean(criterion.numbers)) if criterion.numbers is not None else 0.0


def _pair_features(moments: Floats, answer: Floats) -> Floats:
    """Return the features of α of pairs: a random rating of each unit, and the machine's answer."""
    n, total, squares = moments.T
    both = (n > 0) & ~np.isnan(answer)
    mean, mean_square = (column / np.maximum(n, 1) for column in (total, squares))
    x = np.where(both, answer, 0.0)
    distance = mean_square - 2 * mean * x + x**2
    ones = np.ones(len(n))
    columns = [ones, 2 * ones, mean + x, mean_square + x**2, distance]
    features: Floats = np.column_stack(columns) * both[:, None]
    return features


def _estimates(
    statistics: Statistics,
    rows: Codes,
    criterion: Criterion,
    strata: tuple[Stratum, ...],
    **resampling: Unpack[Resampling],
) -> list[Groups]:
    unit = np.arange(criterion.n_units)
    patterns = Patterns.of(np.column_stack([rows, unit]), clusters=criterion.clusters)
    masks = [stratum.members[patterns.representatives] for stratum in strata]
    listed = estimate_strata(statistics, patterns, masks, **resampling)
    groups: list[Groups] = []
    for estimates in listed:
        by_group: Groups = {}
        for (group, name), estimate in estimates.items():
            by_group.setdefault(group, {})[name] = estimate
        groups.append(by_group)
    return groups


def _add_ratio(groups: list[Groups], name: str, alpha: _Alpha, strata: tuple[Stratum, ...]) -> None:
    for group, stratum in zip(groups, strata, strict=True):
        group[name] = {"krippendorff_alpha": alpha.estimate(stratum.members)}


def _add_ratio_delta(groups: list[Groups], humans: _Alpha, strata: tuple[Stratum, ...]) -> None:
    for group, stratum in zip(groups, strata, strict=True):
        first = humans.estimate(stratum.members)
        second = group["human_machine"]["krippendorff_alpha"]
        group["delta"] = {"krippendorff_alpha": _difference(first, second)}


def _difference(first: Estimate, second: Estimate) -> Estimate:
    n = min(first.n, second.n)
    for side, one in ((AMONG_HUMANS, first), (AGAINST_MACHINE, second)):
        if not one.is_defined:
            return undefined(f"{side}: {one.reason}", n)
    return Estimate(first.value - second.value, n=n, reason=NO_INTERVAL)


def correlations_of_values(humans: Floats, machine: Floats) -> Estimates:
    """Return Spearman's ρ and Kendall's τ-b of one value for each unit, without intervals.

    Units of which a side has no value, which is NaN, are left out.
    """
    both = ~np.isnan(humans) & ~np.isnan(machine)
    x, y, n = humans[both], machine[both], int(both.sum())
    if not n:
        return {name: undefined(NO_OVERLAP) for name in ("spearman", "kendall")}
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return {name: undefined(CONSTANT, n) for name in ("spearman", "kendall")}
    values = {
        "spearman": scipy.stats.spearmanr(x, y).statistic,
        "kendall": scipy.stats.kendalltau(x, y).statistic,
    }
    return {name: Estimate(float(v), n=n, reason=NO_INTERVAL) for name, v in values.items()}


@core("strata")
@section("strata", "Agreement", question="raters", needs=has_labels, seeded_by="")
def agreement_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> tuple[StratumSection, ...]:
    """Return agreement in every stratum, in the way that suits the number of different labels."""
    make = many_values_section if criterion.has_many_values else strata_section
    return make(criterion, seeds, replicates)

"""How the ranking of systems differs between a part of the data that has a name and the rest.

A benchmark has an open and a hidden part, as HREF's development and evaluation sets; whether one ranks
systems as the other does is asked here of the parts themselves, and not of random halves. The part is
compared with random parts of the same size, which differ from it in nothing but its name.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.generators import Seeds
from tiebreak.report.model.rankings import NamedPart, NamedParts
from tiebreak.report.sections.systems.rank_correlations import (
    MIN_SYSTEMS,
    TOO_FEW_SYSTEMS,
    row_correlations,
)
from tiebreak.stats.core.bootstrap import ratio

Numbers = NDArray[np.float64]
Names = NDArray[np.str_]
SPLITS = 1000
MIN_INSTANCES = 5
MAX_PARTS = 20
ROUNDING = 1e-9
NO_NAME = ""
NO_PARTS = (
    "The instances have no categories, or only one. Name the parts of the data, such as “open” and"
    " “hidden”, in the column category."
)
MIXED = "Items of one instance are in different categories, so categories are no parts of the instances."
TOO_FEW_INSTANCES = "The part and the rest need five instances or more each."
NOT_ALL_COMPARED = "Some systems were never compared in the part, or never in the rest."
NO_RANKS = "All systems have the same win rate in the part, or in the rest, so there are no ranks."


def names_of_instances(categories: Names, instance: NDArray[np.int64]) -> Names | None:
    """Return the category of each instance, given those of its units; "" without one.

    Return None if units of one instance are in different categories.
    """
    named = categories != NO_NAME
    names = np.full(int(instance.max(initial=-1)) + 1, NO_NAME, dtype=categories.dtype)
    names[instance[named]] = categories[named]
    return names if (names[instance[named]] == categories[named]).all() else None


def named_parts(points: Numbers, units: Numbers, names: Names | None, seeds: Seeds) -> NamedParts:
    """Return each named part beside the rest: at most `MAX_PARTS`, the largest ones.

    Points and comparisons have the shape (instances, systems). ``names`` has the part of each
    instance, "" for none; it is None if an instance is in several parts. Two parts that are all
    instances are one split.
    """
    if names is None:
        return NamedParts({}, 0, reason=MIXED)
    categories, sizes = np.unique(names, return_counts=True)
    if len(categories) < 2:
        return NamedParts({}, 0, reason=NO_PARTS)
    if points.shape[1] < MIN_SYSTEMS:
        return NamedParts({}, 0, reason=TOO_FEW_SYSTEMS)
    largest = categories[np.argsort(-sizes, kind="stable")]
    shown = [name for name in largest.tolist() if name != NO_NAME]
    if len(categories) == 2 and len(shown) == 2:
        shown = sorted(shown)[1:]  # the other one is the rest
    left_out = max(0, len(shown) - MAX_PARTS)
    rates = _Rates(points, units)
    parts = {name: rates.part(names == name, seeds, name) for name in sorted(shown[:MAX_PARTS])}
    rest = {name: _rest(categories, name) for name in parts}
    return NamedParts(
        {name: replace(_adjusted(part, parts), rest=rest[name]) for name, part in parts.items()},
        left_out,
    )


def _rest(categories: Names, name: str) -> str | None:
    """Return the name of the rest, if it has one."""
    others = [other for other in categories.tolist() if other != name]
    return others[0] if len(others) == 1 and others[0] != NO_NAME else None


def _adjusted(part: NamedPart, parts: dict[str, NamedPart]) -> NamedPart:
    if part.p is None or part.p_rates is None:
        return part
    tested = sum(one.p is not None for one in parts.values())
    p, p_rates = (min(1.0, tested * one) for one in (part.p, part.p_rates))  # Bonferroni
    return replace(part, p_adjusted=p, p_rates_adjusted=p_rates)


@dataclass(frozen=True, eq=False)
class _Rates:
    points: Numbers
    units: Numbers

    def part(self, chosen: NDArray[np.bool_], seeds: Seeds, name: str) -> NamedPart:
        """Return the correlation between the chosen instances and the rest, among random splits."""
        part = NamedPart(int(chosen.sum()), int((~chosen).sum()))
        if min(part.instances, part.other_instances) < MIN_INSTANCES:
            return replace(part, reason=TOO_FEW_INSTANCES)
        split = self._of(chosen[None, :].astype(np.float64))
        if np.isnan(split.distance[0]):
            return replace(part, reason=NOT_ALL_COMPARED)
        if np.isnan(split.correlation[0]):
            return replace(part, reason=NO_RANKS)
        rng = seeds.generator("parts", name)
        masks = rng.permuted(np.tile(chosen.astype(np.float64), (SPLITS, 1)), axis=1)
        return _tested(part, split, self._of(masks))

    def _of(self, masks: Numbers) -> "_Splits":
        """Return how the win rates differ within each split, for masks of shape (splits, instances)."""
        inside, outside = (ratio(one @ self.points, one @ self.units) for one in (masks, 1 - masks))
        distance = ((inside - outside) ** 2).sum(axis=1)
        return _Splits(row_correlations(inside, outside), np.asarray(distance))


@dataclass(frozen=True, eq=False)
class _Splits:
    """Rank correlation and squared distance of win rates of each split; NaN if undefined."""

    correlation: Numbers
    distance: Numbers


def _tested(part: NamedPart, split: _Splits, random: _Splits) -> NamedPart:
    """Return the part with its place among random ones.

    A random part without a value counts as one that is as extreme, so that p is never too small.
    """
    higher = int((random.correlation > split.correlation[0] + ROUNDING).sum())
    nearer = int((random.distance < split.distance[0] - ROUNDING).sum())
    defined = random.correlation[~np.isnan(random.correlation)]
    low, median = np.quantile(defined, [0.025, 0.5]).tolist() if len(defined) else (None, None)
    return replace(
        part,
        correlation=float(split.correlation[0]),
        splits=len(defined),
        median=median,
        low=low,
        p=1 - higher / (1 + SPLITS),
        p_rates=1 - nearer / (1 + SPLITS),
    )

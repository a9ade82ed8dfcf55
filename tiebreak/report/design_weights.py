"""Weights of drawn instances: how much of the dataset each represents, and whether they cover it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.formats.coded import CodedColumn
from tiebreak.report.criterion import Criterion
from tiebreak.stats import Estimate, hajek_estimate
from tiebreak.stats.core.independence import (
    MIN_CLUSTERS,
    SHARE,
    Bounds,
    drop_unreliable_interval,
    effective_size,
)
from tiebreak.stats.core.results import Instances, Scope
from tiebreak.stats.design.selection import CONTROL

Name = TypeVar("Name")
Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

# If more than this share of the dataset could be drawn only in the control sample, a few instances
# with large weights represent it, so the control sample must have at least this many instances.
MAX_UNREACHED_SHARE = 0.1
WEIGHTED = "{method}, weighted by inverse inclusion probabilities"
MIN_CONTROLS = 30


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


Part = TypeVar("Part", bound=_Dataclass)


def drawn_units(criterion: Criterion) -> Mask:
    """Return whether each unit belongs to an instance that was drawn for rating."""
    phase = criterion.coded_units("phase")
    if not has_phases(criterion):
        return np.asarray(~np.isnan(criterion.of_units("inclusion_probability").astype(float)))
    return ~(phase.equals("") | phase.equals("all"))


def with_draw_of(table: RatingTable, drawn: RatingTable) -> RatingTable:
    """Return ratings with the phases and probabilities of their instances in other ratings.

    They are returned as they are if these lack one, or if an instance has several, by pairs of systems.
    """
    probability = drawn["inclusion_probability"].astype(float)
    known = ~np.isnan(probability) & (drawn["phase"] != "all")
    names, phases = drawn["instance"][known].tolist(), drawn["phase"][known].tolist()
    found = {*zip(names, phases, probability[known].tolist(), strict=True)}
    of = {instance: about for instance, *about in found}
    instances = table["instance"].tolist()
    if len(of) < len(found) or not of.keys() >= {*instances}:
        return table
    phase, inclusion = zip(*(of[name] for name in instances), strict=True)
    columns = dict(table.columns)
    columns["phase"], columns["inclusion_probability"] = CodedColumn.of(phase), np.array(inclusion)
    return replace(table, columns=columns)


def has_phases(criterion: Criterion) -> bool:
    """Return whether the ratings say in which phase of a draw instances were taken."""
    return not criterion.coded_units("phase").equals("").all()


def in_population(criterion: Criterion) -> Mask:
    """Return which units represent what estimates apply to: all, or after a draw the drawn ones.

    Machines may rate instances that were not drawn. These have no weights, so a number that is shown
    with weighted numbers leaves them out. Pairs of systems of which nothing was drawn stay whole.
    """
    drawn, pairs = drawn_units(criterion), criterion.pairs
    return np.asarray(drawn | ~np.isin(pairs, np.unique(pairs[drawn])))


def control_units(criterion: Criterion) -> Mask:
    """Return whether each unit belongs to the uniform control sample."""
    return criterion.coded_units("phase").equals(CONTROL)


def covers_dataset(inclusion: Numbers, in_control: Mask) -> bool:
    """Return whether drawn instances represent the whole dataset, given their probabilities.

    Without a control sample, it is unknown whether every instance could be drawn. If the design draws
    only the most separable instances, only the control sample represents the others, by a few
    instances with large weights.
    """
    if in_control.all() or not in_control.any():
        return bool(in_control.any())
    weights = 1 / inclusion
    unreached = in_control & (inclusion < inclusion[~in_control].min())
    share = weights[unreached].sum() / weights.sum()
    reaches = share <= MAX_UNREACHED_SHARE or in_control.sum() >= MIN_CONTROLS
    return bool(reaches and effective_size(weights) >= MIN_CLUSTERS)


@dataclass(frozen=True, eq=False)
class DesignWeights:
    """What the units of a study with drawn instances represent.

    `of_units` has the inverse inclusion probability of each unit, shape (units,), and `covers` whether
    the rated units of its pair of systems represent the whole dataset.
    """

    of_units: Numbers
    covers: Mask

    @classmethod
    def of(cls, criterion: Criterion, rated: Mask | None = None) -> "DesignWeights | None":
        """Return the weights, or None if nothing was drawn or a rated unit has no probability.

        ``rated`` are the units that a statistic uses, by default those that humans rated.
        """
        drawn = drawn_units(criterion)
        if not drawn.any():
            return None
        by_humans = criterion.humans.sum(axis=1) > 0
        rated = by_humans if rated is None else rated
        inclusion = criterion.of_units("inclusion_probability").astype(float)
        pairs, in_control = criterion.pairs, control_units(criterion)
        weights, covers = np.ones(len(drawn)), np.ones(len(drawn), dtype=bool)
        for pair in np.unique(pairs[drawn]):
            of_pair = drawn & (pairs == pair)
            used = of_pair & rated
            # While only the control sample is rated, all its instances represent the same number. Of a
            # part of the units, such as a category, it may be that all were in it by chance.
            if not in_control[of_pair & (rated | by_humans)].all():
                if np.isnan(inclusion[used]).any():
                    return None
                weights[used] = 1 / inclusion[used]
            covers[of_pair] = not has_phases(criterion) or covers_dataset(
                inclusion[used], in_control[used]
            )
        return cls(weights, covers)

    @classmethod
    def of_entering(cls, criterion: Criterion, entered: Mask) -> tuple[Numbers, Instances]:
        """Return the weights of units, 1 without a draw, and the instances that they represent."""
        design = cls.of(criterion, entered)
        if design is not None:
            return design.of_units, "dataset" if design.covers[entered].all() else "selected"
        instances: Instances = "selected" if drawn_units(criterion).any() else "these"
        return np.ones(criterion.n_units), instances

    def mean(
        self,
        values: Numbers,
        units: NDArray[np.int64],
        criterion: Criterion,
        bounds: Bounds | None = SHARE,
    ) -> Estimate:
        """Return the weighted mean over ratings, given their values, within bounds, and units.

        The interval applies to these raters.
        """
        _, instance = np.unique(criterion.clusters[units], return_inverse=True)
        weights, sizes = self.of_units[units], np.bincount(instance)
        of_instance = np.bincount(instance, weights) / np.maximum(sizes, 1)
        totals = np.bincount(instance, weights * values) / of_instance
        covers = bool(self.covers[units].all())
        inclusion = 1 / of_instance
        return hajek_estimate(totals, inclusion, sizes=sizes, covers=covers, bounds=bounds)

    def scoped(
        self, estimates: Mapping[Name, Estimate], entered: Mask, criterion: Criterion
    ) -> dict[Name, Estimate]:
        """Return weighted estimates with their scope, given the units used.

        Their intervals are left out if there are too few effective instances.
        """
        scope = Scope("dataset" if self.covers[entered].all() else "selected")
        of_instance = np.bincount(criterion.clusters[entered], self.of_units[entered])
        instances = effective_size(of_instance)
        return {
            name: _scoped(drop_unreliable_interval(estimate, instances), scope)
            for name, estimate in estimates.items()
        }

    def scoped_part(self, part: Part, entered: Mask, criterion: Criterion) -> Part:
        """Return a dataclass in which all fields that are estimates are scoped."""
        found = {name: one for name, one in vars(part).items() if isinstance(one, Estimate)}
        changes: dict[str, Any] = self.scoped(found, entered, criterion)
        return replace(part, **changes)


def _scoped(estimate: Estimate, scope: Scope) -> Estimate:
    if not estimate.is_defined:
        return estimate
    method = WEIGHTED.format(method=estimate.method) if estimate.has_interval else estimate.method
    return replace(estimate, stated_scope=scope, method=method)

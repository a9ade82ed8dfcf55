"""Rating sets, each with all ratings that one rater gave for one instance and system pair."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights, in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import RaterSets, RatingSetsSection
from tiebreak.report.needs import is_preference
from tiebreak.report.registry import core, section
from tiebreak.report.sections.raters.strata import separability_edges, separability_of_units
from tiebreak.stats import (
    Estimate,
    RatingSets,
    RatingSetSummary,
    SeparabilityRange,
    collect_rating_sets,
    consistency_by_separability,
    summarise_rating_sets,
    undefined,
)
from tiebreak.stats.core.bootstrap import bootstrap_estimate
from tiebreak.stats.core.counts import distinct_rows
from tiebreak.stats.core.groups import n_distinct, numbered
from tiebreak.stats.raters.rank_correlations import rank_correlations

Mask = NDArray[np.bool_]
Part = TypeVar("Part", RatingSetSummary, SeparabilityRange)
MAX_ELEMENTS = 4_000_000
NOT_SCORED = "The separability of these instances was not scored."
NOT_CORE = "A core report leaves this number out. Compute the whole report."
NO_VARIATION = "The separability or the consistency is the same for all instances."


@section(
    "rating_sets",
    "Rating sets",
    question="raters",
    needs=is_preference,
)
def sets_section(
    criterion: Criterion, seeds: Seeds, replicates: int, *, core: bool = False
) -> RatingSetsSection:
    """Return means over complete sets; intervals resample instances."""
    groups = SetGroups.of(criterion)
    machines = {
        name: _summaries(groups, mask, seeds.below("machine", name), replicates, core=core)
        for name, mask in ratings_of_machines(criterion).items()
    }
    humans = _summaries(groups, criterion.is_human, seeds, replicates, core=core)
    return RatingSetsSection(**vars(humans), machines=machines)


@core("rating_sets")
def core_sets_section(criterion: Criterion, seeds: Seeds, replicates: int) -> RatingSetsSection:
    """Return the section without rank correlations with separability."""
    return sets_section(criterion, seeds, replicates, core=True)


def ratings_of_machines(criterion: Criterion) -> dict[str, Mask]:
    """Return which ratings are each machine's, of the units that the report speaks of."""
    raters = criterion.rows.coded("rater")
    spoken_of = ~criterion.is_human & in_population(criterion)[criterion.unit]
    return {name: raters.equals(name) & spoken_of for name in criterion.machines}


@dataclass(frozen=True, eq=False)
class SetGroups:
    """The combinations of instance and pair of systems, whose units are rated in one set.

    `of_unit` has the index of each unit's group; the other arrays have an element for each group, as
    has `first`, which is its first unit.
    """

    criterion: Criterion
    of_unit: NDArray[np.int64]
    cluster: NDArray[np.int64]
    pair: NDArray[np.int64]
    delta: NDArray[np.float64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, criterion: Criterion) -> "SetGroups":
        names, pairs = criterion.coded_pairs
        groups = numbered(criterion.clusters * max(len(names), 1) + pairs)
        first = np.zeros(groups.max(initial=-1) + 1, dtype=np.int64)
        first[groups[::-1]] = np.arange(len(groups))[::-1]
        delta = separability_of_units(criterion)
        return cls(criterion, groups, criterion.clusters[first], pairs[first], delta[first], first)

    def drawn(self, sets: RatingSets) -> "DrawnSets":
        """Return what sets represent after a draw, in which all units of a group share a probability."""
        units = self.first[sets.instances.astype(np.int64)]
        entered = np.isin(np.arange(self.criterion.n_units), units)
        return DrawnSets(self.criterion, DesignWeights.of(self.criterion, entered), units, entered)

    def sets(self, mask: Mask) -> RatingSets:
        """Return sets by rater and group of units. A set is complete if it has all of the units."""
        criterion, size = self.criterion, np.bincount(self.of_unit)
        rated = mask & (criterion.label >= 0) & ~np.isnan(criterion.strength)
        # A rater is a combination of rater, run and presentation order.
        codes = [criterion.rows.ranked(name)[1] for name in ("rater", "run", "order")]
        raters = distinct_rows(np.column_stack(codes))[1]
        sets = collect_rating_sets(
            criterion.strength[rated],
            instances=self.of_unit[criterion.unit[rated]],
            raters=raters[rated],
            set_size=1,
            max_strength=criterion.max_strength,
        )
        complete = sets.totals[:, 2] == size[sets.instances.astype(np.int64)]
        return replace(chosen_sets(sets, complete), n_incomplete=int((~complete).sum()))


@dataclass(frozen=True, eq=False)
class DrawnSets:
    """The weights of sets where instances were drawn, given the first unit of each, and who entered."""

    criterion: Criterion
    design: DesignWeights | None
    units: NDArray[np.int64]
    entered: Mask

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each set, or None without a draw."""
        return None if self.design is None else self.design.of_units[self.units]

    def scoped(self, estimates: Estimates) -> Estimates:
        """Return weighted estimates with their scope."""
        if self.design is None:
            return estimates
        return self.design.scoped(estimates, self.entered, self.criterion)

    def of(self, part: Part) -> Part:
        """Return a part whose fields that are estimates have their scope."""
        if self.design is None:
            return part
        return self.design.scoped_part(part, self.entered, self.criterion)


def chosen_sets(sets: RatingSets, chosen: Mask) -> RatingSets:
    return replace(sets, totals=sets.totals[chosen], instances=sets.instances[chosen])


def _summaries(
    groups: SetGroups, mask: Mask, seeds: Seeds, replicates: int, *, core: bool
) -> RaterSets:
    sets = groups.sets(mask)
    drawn = groups.drawn(sets)
    # Intervals resample instances, with all their groups.
    clustered = replace(sets, instances=groups.cluster[sets.instances.astype(np.int64)])
    summary = summarise_rating_sets(
        clustered, weights=drawn.weights, rng=seeds.generator("all"), replicates=replicates
    )
    ranges = consistency_by_separability(
        clustered,
        groups.delta[sets.instances.astype(np.int64)],
        edges=separability_edges(groups.criterion),
        weights=drawn.weights,
        rng=seeds.generator("by_separability"),
        replicates=replicates,
    )
    rng = seeds.generator("spearman_separability")
    rho = undefined(NOT_CORE) if core else trend(sets, groups, replicates, rng)
    return RaterSets(
        **vars(drawn.of(summary)),
        by_separability=tuple(map(drawn.of, ranges)),
        spearman_separability=rho,
    )


def trend(
    sets: RatingSets, groups: SetGroups, replicates: int, rng: np.random.Generator
) -> Estimate:
    """Return Spearman's ρ of δ and mean consistency over all combinations of instance and pair.

    Whole instances are resampled, with all their pairs. Drawn combinations are weighted.
    """
    delta, drawn = groups.delta, groups.drawn(sets)
    if np.all(np.isnan(delta)):
        return undefined(NOT_SCORED)
    group = sets.instances.astype(np.int64)
    size = np.bincount(group, minlength=len(delta))
    total = np.bincount(group, weights=sets.consistency, minlength=len(delta))
    known = (size > 0) & ~np.isnan(delta)
    # Rounding keeps ties, as sums in another order differ by rounding errors.
    x, y = delta[known], np.round(total[known] / size[known], 12)
    n = int(known.sum())
    weights = None if drawn.design is None else drawn.design.of_units[groups.first[known]]
    value = float(rank_correlations(x, y, [np.arange(n)], weights)[0]) if n else float("nan")
    if np.isnan(value):
        return undefined(NO_VARIATION, n)
    if replicates == 0:
        return drawn.scoped({"": Estimate(value, n=n)})[""]
    replicates = min(replicates, max(200, MAX_ELEMENTS // n))
    instance = numbered(groups.cluster[known])
    n_instances = n_distinct(instance)

    def sample() -> NDArray[np.int64]:
        drawn = np.bincount(rng.integers(0, n_instances, size=n_instances), minlength=n_instances)
        return np.repeat(np.arange(n), drawn[instance])

    values = rank_correlations(x, y, (sample() for _ in range(replicates)), weights)
    method = f"bootstrap over instances, {replicates} replicates"
    rho = bootstrap_estimate(value, values, n=n, clusters=n_instances, method=method)
    return drawn.scoped({"": rho})[""]

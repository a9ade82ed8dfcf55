"""Rating sets, each with all ratings that one rater gave for one instance and system pair."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import in_population
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import RaterSets, RatingSetsSection
from tiebreak.report.needs import is_preference
from tiebreak.report.registry import core, section
from tiebreak.report.sections.raters.strata import separability_edges, separability_of_units
from tiebreak.stats import (
    Estimate,
    RatingSets,
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

    `of_unit` has the index of each unit's group; the other arrays have an element for each group.
    """

    criterion: Criterion
    of_unit: NDArray[np.int64]
    cluster: NDArray[np.int64]
    pair: NDArray[np.int64]
    delta: NDArray[np.float64]

    @classmethod
    def of(cls, criterion: Criterion) -> "SetGroups":
        names, pairs = criterion.coded_pairs
        groups = numbered(criterion.clusters * max(len(names), 1) + pairs)
        first = np.zeros(groups.max(initial=-1) + 1, dtype=np.int64)
        first[groups[::-1]] = np.arange(len(groups))[::-1]
        delta = separability_of_units(criterion)
        return cls(criterion, groups, criterion.clusters[first], pairs[first], delta[first])

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


def chosen_sets(sets: RatingSets, chosen: Mask) -> RatingSets:
    return replace(sets, totals=sets.totals[chosen], instances=sets.instances[chosen])


def _summaries(
    groups: SetGroups, mask: Mask, seeds: Seeds, replicates: int, *, core: bool
) -> RaterSets:
    sets = groups.sets(mask)
    # Intervals resample instances, with all their groups.
    clustered = replace(sets, instances=groups.cluster[sets.instances.astype(np.int64)])
    summary = summarise_rating_sets(clustered, rng=seeds.generator("all"), replicates=replicates)
    ranges = consistency_by_separability(
        clustered,
        groups.delta[sets.instances.astype(np.int64)],
        edges=separability_edges(groups.criterion),
        rng=seeds.generator("by_separability"),
        replicates=replicates,
    )
    rng = seeds.generator("spearman_separability")
    rho = undefined(NOT_CORE) if core else trend(sets, groups, replicates, rng)
    return RaterSets(**vars(summary), by_separability=ranges, spearman_separability=rho)


def trend(
    sets: RatingSets, groups: SetGroups, replicates: int, rng: np.random.Generator
) -> Estimate:
    """Return Spearman's ρ of δ and mean consistency over all combinations of instance and pair.

    Whole instances are resampled, with all their pairs.
    """
    delta = groups.delta
    if np.all(np.isnan(delta)):
        return undefined(NOT_SCORED)
    group = sets.instances.astype(np.int64)
    size = np.bincount(group, minlength=len(delta))
    total = np.bincount(group, weights=sets.consistency, minlength=len(delta))
    known = (size > 0) & ~np.isnan(delta)
    # Rounding keeps ties, as sums in another order differ by rounding errors.
    x, y = delta[known], np.round(total[known] / size[known], 12)
    n = int(known.sum())
    value = float(rank_correlations(x, y, [np.arange(n)])[0]) if n else float("nan")
    if np.isnan(value):
        return undefined(NO_VARIATION, n)
    if replicates == 0:
        return Estimate(value, n=n)
    replicates = min(replicates, max(200, MAX_ELEMENTS // n))
    instance = numbered(groups.cluster[known])
    n_instances = n_distinct(instance)

    def sample() -> NDArray[np.int64]:
        drawn = np.bincount(rng.integers(0, n_instances, size=n_instances), minlength=n_instances)
        return np.repeat(np.arange(n), drawn[instance])

    values = rank_correlations(x, y, (sample() for _ in range(replicates)))
    method = f"bootstrap over instances, {replicates} replicates"
    return bootstrap_estimate(value, values, n=n, clusters=n_instances, method=method)

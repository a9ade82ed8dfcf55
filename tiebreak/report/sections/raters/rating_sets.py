"""Rating sets, each with all ratings that one rater gave for one instance and system pair."""

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
    raters = criterion.rows.coded("rater")
    spoken_of = in_population(criterion)[criterion.unit]
    machines = {
        name: _summaries(
            criterion,
            ~criterion.is_human & raters.equals(name) & spoken_of,
            seeds.below("machine", name),
            replicates,
            core=core,
        )
        for name in criterion.machines
    }
    humans = _summaries(criterion, criterion.is_human, seeds, replicates, core=core)
    return RatingSetsSection(**vars(humans), machines=machines)


@core("rating_sets")
def core_sets_section(criterion: Criterion, seeds: Seeds, replicates: int) -> RatingSetsSection:
    """Return the section without rank correlations with separability."""
    return sets_section(criterion, seeds, replicates, core=True)


def _summaries(
    criterion: Criterion, mask: NDArray[np.bool_], seeds: Seeds, replicates: int, *, core: bool
) -> RaterSets:
    # A group is a combination of instance and pair of systems.
    names, pairs = criterion.coded_pairs
    groups = numbered(criterion.clusters * max(len(names), 1) + pairs)
    sets = _sets(criterion, groups, mask)
    first_unit = np.zeros(groups.max(initial=-1) + 1, dtype=np.int64)
    first_unit[groups[::-1]] = np.arange(len(groups))[::-1]
    cluster = criterion.clusters[first_unit]
    delta = separability_of_units(criterion)[first_unit]
    summary = summarise_rating_sets(
        _clustered(sets, cluster), rng=seeds.generator("all"), replicates=replicates
    )
    separability = delta[sets.instances.astype(np.int64)]
    ranges = consistency_by_separability(
        _clustered(sets, cluster),
        separability,
        edges=separability_edges(criterion),
        rng=seeds.generator("by_separability"),
        replicates=replicates,
    )
    rng = seeds.generator("spearman_separability")
    trend = undefined(NOT_CORE) if core else _trend(sets, delta, cluster, replicates, rng)
    return RaterSets(**vars(summary), by_separability=ranges, spearman_separability=trend)


def _sets(criterion: Criterion, groups: NDArray[np.int64], mask: NDArray[np.bool_]) -> RatingSets:
    """Return sets by rater and group of units. A set is complete if it has all of the units."""
    size = np.bincount(groups)
    rated = mask & (criterion.label >= 0) & ~np.isnan(criterion.strength)
    group = groups[criterion.unit[rated]]
    # A rater is a combination of rater, run and presentation order.
    codes = [criterion.rows.ranked(name)[1] for name in ("rater", "run", "order")]
    raters = distinct_rows(np.column_stack(codes))[1]
    sets = collect_rating_sets(
        criterion.strength[rated],
        instances=group,
        raters=raters[rated],
        set_size=1,
        max_strength=criterion.max_strength,
    )
    complete = sets.totals[:, 2] == size[sets.instances.astype(np.int64)]
    return RatingSets(
        sets.totals[complete],
        sets.instances[complete],
        sets.max_strength,
        int((~complete).sum()),
    )


def _clustered(sets: RatingSets, cluster: NDArray[np.int64]) -> RatingSets:
    """Replace the group of each set with the instance, because intervals resample instances."""
    instances = cluster[sets.instances.astype(np.int64)]
    return RatingSets(sets.totals, instances, sets.max_strength, sets.n_incomplete)


def _trend(
    sets: RatingSets,
    delta: NDArray[np.float64],
    cluster: NDArray[np.int64],
    replicates: int,
    rng: np.random.Generator,
) -> Estimate:
    """Return Spearman's ρ of δ and mean consistency over all combinations of instance and pair."""
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
    if replicates == 0 or n_distinct(cluster[known]) < n:
        reason = "There is no interval because some instances have several system pairs."
        return Estimate(value, n=n, reason=None if replicates == 0 else reason)
    replicates = min(replicates, max(200, MAX_ELEMENTS // n))
    values = rank_correlations(x, y, (rng.integers(0, n, size=n) for _ in range(replicates)))
    method = f"bootstrap over instances, {replicates} replicates"
    return bootstrap_estimate(value, values, n=n, clusters=n, method=method)

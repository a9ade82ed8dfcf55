"""Rating sets: one rater's complete ratings of one instance and system pair."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.strata import pairs_of_units, separability_of_units
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
from tiebreak.stats.bootstrap import bootstrap_estimate
from tiebreak.stats.counts import distinct_rows
from tiebreak.stats.separability import range_edges

MOST_ELEMENTS = 4_000_000
NOT_SCORED = "No separability was scored."
NO_VARIATION = "Separability or consistency does not vary."


def sets_section(criterion: Criterion, seeds: Seeds, replicates: int) -> dict[str, Any]:
    """Means over complete sets, and by separability; instances are resampled throughout.

    Humans' sets, and under ``machines`` those of each machine, whose every run and order is a
    rater of its own.
    """
    raters = criterion.rows["rater"]
    machines = {
        name: _of_ratings(
            criterion,
            ~criterion.is_human & (raters == name),
            seeds.below("machine", name),
            replicates,
        )
        for name in criterion.machines
    }
    return {
        **_of_ratings(criterion, criterion.is_human, seeds, replicates),
        "machines": machines,
    }


def _of_ratings(
    criterion: Criterion, mask: NDArray[np.bool_], seeds: Seeds, replicates: int
) -> dict[str, Any]:
    groups = _groups_of_units(criterion)
    sets = _sets(criterion, groups, mask)
    of_group = _first_of(groups)
    cluster, delta = criterion.clusters[of_group], separability_of_units(criterion)[of_group]
    found = summarise_rating_sets(
        _clustered(sets, cluster), rng=seeds.generator("all"), replicates=replicates
    )
    separability = delta[sets.instances.astype(np.int64)]
    ranges = consistency_by_separability(
        _clustered(sets, cluster),
        separability,
        edges=range_edges(separability_of_units(criterion)),
        rng=seeds.generator("by_separability"),
        replicates=replicates,
    )
    rng = seeds.generator("spearman_separability")
    return {
        **_as_json(found),
        "by_separability": [_as_json(each) for each in ranges],
        "spearman_separability": _trend(sets, delta, cluster, replicates, rng).as_json(),
    }


def _as_json(found: RatingSetSummary | SeparabilityRange) -> dict[str, Any]:
    return {
        each.name: value.as_json() if isinstance(value, Estimate) else value
        for each in fields(found)
        for value in (getattr(found, each.name),)
    }


def _sets(criterion: Criterion, groups: NDArray[np.int64], mask: NDArray[np.bool_]) -> RatingSets:
    """Sets by rater and group of units (one instance and pair), complete with all its units."""
    size = np.bincount(groups)
    rated = mask & (criterion.label >= 0) & ~np.isnan(criterion.strength)
    group = groups[criterion.unit[rated]]
    sets = collect_rating_sets(
        criterion.strength[rated],
        instances=group,
        raters=_passes(criterion)[rated],
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


def _passes(criterion: Criterion) -> NDArray[np.int64]:
    """A number per rating for its rater, run and order."""
    columns = [criterion.rows[name].astype(str) for name in ("rater", "run", "order")]
    codes = [np.unique(column, return_inverse=True)[1] for column in columns]
    return distinct_rows(np.column_stack(codes))[1]


def _clustered(sets: RatingSets, cluster: NDArray[np.int64]) -> RatingSets:
    """The same sets by the instance that is resampled, whatever the pair."""
    instances = cluster[sets.instances.astype(np.int64)]
    return RatingSets(sets.totals, instances, sets.max_strength, sets.n_incomplete)


def _groups_of_units(criterion: Criterion) -> NDArray[np.int64]:
    """The instance and system pair of each unit, as codes."""
    pairs = np.unique(pairs_of_units(criterion), return_inverse=True)[1]
    key = criterion.clusters * (pairs.max(initial=0) + 1) + pairs
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _first_of(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(groups, return_index=True)[1].astype(np.int64)


def _trend(
    sets: RatingSets,
    delta: NDArray[np.float64],
    cluster: NDArray[np.int64],
    replicates: int,
    rng: np.random.Generator,
) -> Estimate:
    """Spearman's ρ of δ and mean consistency over instances and pairs, instances resampled."""
    if np.all(np.isnan(delta)):
        return undefined(NOT_SCORED)
    group = sets.instances.astype(np.int64)
    size = np.bincount(group, minlength=len(delta))
    total = np.bincount(group, weights=sets.consistency, minlength=len(delta))
    known = (size > 0) & ~np.isnan(delta)
    # Sums of the same fractions in another order differ in their last bits, and would break ties.
    x, y = delta[known], np.round(total[known] / size[known], 12)
    n = int(known.sum())
    value = float(_rank_correlation(x[None], y[None])[0]) if n else float("nan")
    if np.isnan(value):
        return undefined(NO_VARIATION, n)
    instances = np.unique(cluster[known], return_inverse=True)[1]
    if replicates == 0 or len(np.unique(instances)) < n:
        reason = None if replicates == 0 else "No interval: instances have several system pairs."
        return Estimate(value, n=n, reason=reason)
    drawn = rng.integers(0, n, size=(min(replicates, max(200, MOST_ELEMENTS // n)), n))
    values = _rank_correlation(x[drawn], y[drawn])
    method = f"bootstrap over instances, {len(drawn)} replicates"
    return bootstrap_estimate(value, values, n=n, clusters=n, method=method)


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = (rankdata(each, axis=1) for each in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(scale > 0, scale, np.nan))

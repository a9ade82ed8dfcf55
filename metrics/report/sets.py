"""Rating sets: one rater's complete ratings of one instance and system pair."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from metrics.report.criterion import Criterion
from metrics.report.strata import pairs_of_units, separability_of_units
from metrics.stats.bootstrap import generator, interval
from metrics.stats.rating_sets import (
    RatingSets,
    consistency_by_separability,
    rating_sets,
    set_features,
)
from metrics.stats.results import Estimate, undefined

NO_SETS = "no complete rating set"


@dataclass(frozen=True)
class _Sets:
    """Complete sets (S,): votes by side, the cluster and δ of each; and how many were not."""

    against: NDArray[np.int64]
    ties: NDArray[np.int64]
    favour: NDArray[np.int64]
    cluster: NDArray[np.int64]
    delta: NDArray[np.float64]
    incomplete: int


def sets_section(criterion: Criterion, seed: int, replicates: int) -> dict[str, Any]:
    sets = _complete_sets(criterion, criterion.is_human)
    section: dict[str, Any] = {"n": len(sets.against), "n_incomplete": sets.incomplete}
    rng = generator(seed, criterion.name, "rating_sets")
    if len(sets.against) == 0:
        names = RatingSets.__dataclass_fields__
        return (
            section
            | {name: undefined(NO_SETS).as_json() for name in names}
            | {
                "by_separability": [],
                "spearman_separability": undefined(NO_SETS).as_json(),
            }
        )
    found = rating_sets(
        sets.against,
        sets.ties,
        sets.favour,
        clusters=sets.cluster,
        replicates=replicates,
        rng=rng,
    )
    section |= {name: getattr(found, name).as_json() for name in RatingSets.__dataclass_fields__}
    return section | _by_separability(criterion, sets, seed, replicates)


def _by_separability(
    criterion: Criterion, sets: _Sets, seed: int, replicates: int
) -> dict[str, Any]:
    consistency = set_features(sets.against, sets.ties, sets.favour)[:, 0]
    ranges = consistency_by_separability(
        consistency,
        sets.delta,
        clusters=sets.cluster,
        replicates=replicates,
        rng=generator(seed, criterion.name, "by_separability"),
    )
    rng = generator(seed, criterion.name, "spearman_separability")
    return {
        "by_separability": [
            {**asdict(each), "consistency": each.consistency.as_json()} for each in ranges
        ],
        "spearman_separability": _spearman(sets, consistency, replicates, rng).as_json(),
    }


def _complete_sets(criterion: Criterion, mask: NDArray[np.bool_]) -> _Sets:
    """Group the rows of a mask by rater, instance and pair; a set has every unit of its HIT."""
    groups = _groups_of_units(criterion)
    size = np.bincount(groups)
    rated = mask & (criterion.label >= 0)
    raters = np.unique(criterion.rows["rater"].astype(str), return_inverse=True)[1]
    key = raters[rated] * len(size) + groups[criterion.unit[rated]]
    names, which = np.unique(key, return_inverse=True)
    signs = criterion.signs[rated]
    votes = np.stack(
        [np.bincount(which[signs == side], minlength=len(names)) for side in (-1, 0, 1)]
    )
    group = names % len(size) if len(size) else names
    complete = votes.sum(axis=0) == size[group]
    first_unit = np.unique(groups, return_index=True)[1]
    unit = first_unit[group[complete]]
    return _Sets(
        against=votes[0, complete],
        ties=votes[1, complete],
        favour=votes[2, complete],
        cluster=criterion.clusters[unit],
        delta=separability_of_units(criterion)[unit],
        incomplete=int((~complete).sum()),
    )


def _groups_of_units(criterion: Criterion) -> NDArray[np.int64]:
    """The instance and system pair of each unit, as codes."""
    pairs = np.unique(pairs_of_units(criterion), return_inverse=True)[1]
    key = criterion.clusters * (pairs.max(initial=0) + 1) + pairs
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _spearman(
    sets: _Sets, consistency: NDArray[np.float64], replicates: int, rng: np.random.Generator
) -> Estimate:
    """Spearman's ρ of δ and mean consistency over instances and pairs, instances resampled."""
    known = ~np.isnan(sets.delta)
    if not np.any(known):
        return undefined("no separability was scored")
    key = np.stack([sets.cluster[known].astype(float), sets.delta[known]], axis=1)
    points, which = np.unique(key, axis=0, return_inverse=True)
    mean = np.bincount(which.reshape(-1), weights=consistency[known]) / np.bincount(
        which.reshape(-1)
    )
    n = len(points)
    value = float(_rank_correlation(points[None, :, 1], mean[None])[0])
    if np.isnan(value):
        return undefined("separability or consistency does not vary", n)
    if replicates == 0:
        return Estimate(value, n=n)
    drawn = rng.integers(0, n, size=(min(replicates, max(200, 4_000_000 // n)), n))
    values = _rank_correlation(points[drawn, 1], mean[drawn])
    return interval(value, values, n=n, method="percentile bootstrap over instances")


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = (rankdata(each, axis=1) for each in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray((a * b).sum(axis=1) / np.where(scale > 0, scale, np.nan))

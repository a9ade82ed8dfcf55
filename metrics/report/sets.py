"""Rating sets: how far each rater's ratings of one instance point one way."""

from dataclasses import replace

import numpy as np

from metrics.report.ratings import CriterionRatings, Mask
from metrics.report.values import Draws, Json, estimate_json
from metrics.stats import (
    Estimate,
    RatingSets,
    collect_rating_sets,
    consistency_by_separability,
    range_edges,
    summarise_rating_sets,
    undefined,
)
from metrics.stats.validation import FloatArray, IntArray

NO_INSTANCE = "No unit names its instance: rating sets need it."
NO_SPREAD = "Separability or consistency is the same in all instances."
_Z = 1.959963984540054


def rating_sets_json(ratings: CriterionRatings, draws: Draws) -> dict[str, Json]:
    """Rating sets of humans; each machine's beside them, one set a run and order."""
    found = _sets_json(ratings, ratings.humans, draws)
    found["machines"] = {
        name: _sets_json(ratings, ratings.of_machine(name), draws.at("machines", name))
        for name in ratings.machines
    }
    return found


def _sets_json(ratings: CriterionRatings, mask: Mask, draws: Draws) -> dict[str, Json]:
    groups = _groups(ratings)
    sets = _collected(ratings, mask, groups)
    separability = np.full(int(groups.max(initial=-1)) + 1, np.nan)
    known = groups >= 0
    np.fmax.at(separability, groups[known], ratings.units.separability[known])
    delta = separability[sets.instances]
    correlation = _correlation(sets, delta)
    # Sets of several system pairs on one instance are resampled together.
    sets = replace(sets, instances=_instances(ratings, groups)[sets.instances])
    summary = summarise_rating_sets(sets, replicates=draws.replicates, rng_for=draws.rng_for)
    ranges = consistency_by_separability(
        sets,
        delta,
        edges=range_edges(ratings.units.separability),
        replicates=draws.replicates,
        rng_for=draws.at("by_separability").rng_for,
    )
    names = ("consistency", "zero", "contradictory", "all_ties", "perfect", "preference_strength")
    return {
        "n": summary.n,
        "n_incomplete": summary.n_incomplete,
        **{name: _estimate_json(getattr(summary, name), ratings) for name in names},
        "by_separability": [
            {
                "low": each.low,
                "high": each.high,
                "n": each.n,
                "consistency": estimate_json(each.consistency),
            }
            for each in ranges
        ],
        "separability_correlation": estimate_json(correlation),
    }


def _estimate_json(estimate: Estimate, ratings: CriterionRatings) -> dict[str, Json]:
    if not estimate.is_defined and not ratings.units.instance.any:
        estimate = undefined(NO_INSTANCE)
    return estimate_json(estimate)


def _groups(ratings: CriterionRatings) -> IntArray:
    """Instance × system pair of each unit; −1 where the unit names no instance."""
    instance, pair = ratings.units.instance.codes, ratings.units.pairs
    key = instance * (len(pair.names) + 1) + pair.codes + 1
    _, dense = np.unique(key[instance >= 0], return_inverse=True)
    groups = np.full(len(instance), -1, dtype=np.int64)
    groups[instance >= 0] = dense
    return groups


def _instances(ratings: CriterionRatings, groups: IntArray) -> IntArray:
    instances = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
    instances[groups[groups >= 0]] = ratings.units.instance.codes[groups >= 0]
    return instances


def _collected(ratings: CriterionRatings, mask: Mask, groups: IntArray) -> RatingSets:
    inside = mask & (groups[ratings.unit] >= 0)
    # "Both bad" prefers nobody and is no tie either: its set stays incomplete.
    numbers = np.array(
        [float(label) if label != "bad" else np.nan for label in ratings.labels] + [np.nan]
    )
    rater = ratings.rater.codes * (int(ratings.turn.max(initial=0)) + 1) + ratings.turn
    return collect_rating_sets(
        numbers[ratings.label[inside]],
        instances=groups[ratings.unit[inside]],
        raters=rater[inside],
        units=ratings.unit[inside],
        strongest=strongest(ratings),
    )


def strongest(ratings: CriterionRatings) -> int:
    """The largest |r| that the preference scale allows."""
    return int(max(abs(float(label)) for label in ratings.labels if label != "bad"))


def _correlation(sets: RatingSets, delta: FloatArray) -> Estimate:
    """Spearman's ρ of separability with mean consistency, over instances and system pairs.

    Interval through Fisher's z with the variance of Bonett and Wright 2000.
    """
    groups, place = np.unique(sets.instances, return_inverse=True)
    mean = np.bincount(place, weights=sets.consistency) / np.maximum(np.bincount(place), 1)
    separability = np.full(len(groups), np.nan)
    separability[place] = delta
    known = ~np.isnan(separability)
    n = int(known.sum())
    if n == 0:
        return undefined("No rated instance has a separability.")
    x, y = separability[known], mean[known]
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return undefined(NO_SPREAD, n)
    rho = float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])
    if n < 4 or abs(rho) >= 1:
        reason = "No interval: it needs four instances that are not in perfect order."
        return Estimate(rho, n=n, reason=reason)
    reach = _Z * np.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(rho) + np.array([-reach, reach]))
    return Estimate(rho, float(low), float(high), n=n, method="Fisher z, Bonett-Wright variance")


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, ties at their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: FloatArray = (counts.cumsum() - (counts - 1) / 2)[place]
    return ranks

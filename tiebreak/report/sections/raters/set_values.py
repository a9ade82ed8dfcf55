"""Rating sets of each pair of systems by their values, in ranges of separability.

Source: Ghosh et al. 2024, figures 6, 7, 11 and 12.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.fields import Distribution
from tiebreak.report.model.raters import PairSetValues, RaterSetValues, SetValues
from tiebreak.report.needs import has_scored_sets, is_preference
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.rating_sets import (
    NOT_SCORED,
    Mask,
    SetGroups,
    chosen_sets,
    ratings_of_machines,
    trend,
)
from tiebreak.report.sections.raters.strata import separability_edges
from tiebreak.stats import RatingSets
from tiebreak.stats.core.ranges import range_of
from tiebreak.stats.core.results import NAN
from tiebreak.stats.core.unit_weights import relative

MAX_REPLICATES = 1_000  # of each of many correlations
NO_PAIRS = "The ratings do not say which systems were compared."


@section(
    "set_values",
    "Rating sets by pair of systems",
    question="raters",
    needs=is_preference,
    on_request=True,
    asks="For which pair of systems, and in how many rating sets, does consistency rise with separability?",
    offered=has_scored_sets,
    shows_outcome=True,
)
def set_values_section(
    criterion: Criterion, seeds: Seeds, replicates: int
) -> dict[str, PairSetValues]:
    groups = SetGroups.of(criterion)
    if np.all(np.isnan(groups.delta)):
        raise InvalidInput("not_scored", NOT_SCORED)
    humans = groups.sets(criterion.is_human)
    machines = {name: groups.sets(mask) for name, mask in ratings_of_machines(criterion).items()}
    names, pairs = criterion.coded_pairs
    sides = np.column_stack([criterion.of_units(side) for side in ("system_a", "system_b")])
    found = {}
    for number, name in enumerate(names.tolist()):
        if not name:
            continue

        def values(
            sets: RatingSets, *rater: str, pair: int = number, of: str = name
        ) -> RaterSetValues:
            rng = seeds.below(of, *rater).generator("spearman_separability")
            return _values(sets, groups, pair, min(replicates, MAX_REPLICATES), rng)

        first, second = sides[np.argmax(pairs == number)].tolist()
        found[name] = PairSetValues(
            **vars(values(humans)),
            systems=(first, second),
            machines={one: values(sets, "machine", one) for one, sets in machines.items()},
        )
    if not found:
        raise InvalidInput("no_pairs", NO_PAIRS)
    return found


def _values(
    sets: RatingSets, groups: SetGroups, pair: int, replicates: int, rng: np.random.Generator
) -> RaterSetValues:
    group = sets.instances.astype(np.int64)
    known = (groups.pair[group] == pair) & ~np.isnan(groups.delta[group])
    sets, delta = chosen_sets(sets, known), groups.delta[group][known]
    edges = separability_edges(groups.criterion)
    place, weights = range_of(delta, edges), groups.drawn(sets).weights
    ranges = tuple(
        SetValues(
            low=low,
            high=high,
            n=int((place == k).sum()),
            consistency=_shares(sets.consistency, place == k, weights),
            preference_strength=_shares(sets.preference_strength, place == k, weights),
        )
        for k, (low, high) in enumerate(pairwise(edges.tolist()))
    )
    return RaterSetValues(len(delta), ranges, trend(sets, groups, replicates, rng))


def _shares(
    values: NDArray[np.float64], chosen: Mask, weights: NDArray[np.float64] | None
) -> Distribution:
    """Return the share of the chosen sets with each value that any set has, in ascending order.

    Sets of drawn instances are weighted.
    """
    # Rounding keeps what is equal but for rounding errors together; adding 0 makes −0 a 0.
    known, value = np.unique(np.round(values, 6) + 0.0, return_inverse=True)
    weight = relative(weights, length=len(values))[chosen]
    counts, n = np.bincount(value[chosen], weight, minlength=len(known)), float(weight.sum())
    return {f"{one:g}": c / n if n else NAN for one, c in zip(known, counts.tolist(), strict=True)}

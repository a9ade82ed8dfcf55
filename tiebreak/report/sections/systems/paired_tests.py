"""Paired tests of two systems over instances, and their p-values by number of instances."""

import math

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.generators import Seeds
from tiebreak.report.model.systems import PairedTests, PValuePoint
from tiebreak.report.needs import has_systems
from tiebreak.report.outcomes import Outcomes
from tiebreak.report.registry import section
from tiebreak.stats import p_value_curve, paired_t_test, permutation_test
from tiebreak.stats.core.independence import MIN_CLUSTERS
from tiebreak.stats.rankings.paired_tests import PERMUTATIONS

STEPS = 10
MAX_CURVES = 30
# More random signs than these take seconds for each pair.
MAX_SIGNS, MIN_PERMUTATIONS = 5_000_000, 1_000
MAX_INSTANCES = 20_000
TOO_FEW = f"There are fewer than {MIN_CLUSTERS} instances."
TOO_MANY = (
    f"Curves are computed for the first {MAX_CURVES} pairs, of up to {MAX_INSTANCES:,} instances."
)

Differences = NDArray[np.float64]


@section(
    "paired_tests",
    "Paired tests, and p-values by number of instances",
    question="systems",
    on_request=True,
    asks="How many instances would a next study of systems like these have needed?",
    offered=has_systems,
    takes=("seeds",),
    of_rated_items="each instance counts once, since the tests ask whether these instances differ; win rates are weighted",
    shows_outcome=True,
)
def paired_tests_section(criterion: Criterion, seeds: Seeds) -> dict[str, PairedTests]:
    """Return the tests of each pair of systems. Instances count alike, whatever their ratings."""
    outcomes = Outcomes.of(criterion)
    return {
        f"{pair[0]} vs {pair[1]}": _tests(
            pair, _differences(outcomes, pair), seeds.below(*pair), with_curve=k < MAX_CURVES
        )
        for k, pair in enumerate(outcomes.pairs)
    }


def _differences(outcomes: Outcomes, pair: tuple[str, str]) -> Differences:
    """Return per instance the mean of its ratings, which are 1, 0 or −1 for the first system."""
    units = outcomes.units_of(pair)
    _, instance = np.unique(outcomes.clusters[units], return_inverse=True)
    counts = outcomes.counts[units]
    totals = np.bincount(instance, counts[:, 0] - counts[:, 2])
    return np.asarray(totals / np.bincount(instance, counts.sum(axis=1)))


def _tests(
    pair: tuple[str, str], differences: Differences, seeds: Seeds, *, with_curve: bool
) -> PairedTests:
    n = len(differences)
    reason = TOO_FEW if n < MIN_CLUSTERS else None
    if n > MAX_INSTANCES or not with_curve:
        reason = TOO_MANY
    permutations = min(PERMUTATIONS, max(MIN_PERMUTATIONS, MAX_SIGNS // max(n, 1)))
    return PairedTests(
        systems=pair,
        instances=n,
        difference=float(differences.mean()) if n else math.nan,
        t_test=paired_t_test(differences),
        permutation_test=permutation_test(
            differences, rng=seeds.generator("permutation"), permutations=permutations
        ),
        curve=() if reason else _curve(differences, seeds.generator("curve")),
        reason=reason,
    )


def _curve(differences: Differences, rng: np.random.Generator) -> tuple[PValuePoint, ...]:
    sizes = np.unique(np.linspace(0, len(differences), STEPS + 1)[1:].astype(int))
    sizes = sizes[sizes >= 2]
    curve = p_value_curve(differences, sizes.tolist(), rng=rng)
    columns = (curve.sizes, curve.median, curve.low, curve.high, curve.significant)
    return tuple(
        PValuePoint(int(size), *map(float, rest)) for size, *rest in zip(*columns, strict=True)
    )

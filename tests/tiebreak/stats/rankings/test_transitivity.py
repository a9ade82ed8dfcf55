"""Cyclic triads beside a search through all triads, and the test of Bradley and Terry's model."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chi2

from tiebreak.stats import bradley_terry, bradley_terry_fit, cyclic_triads
from tiebreak.stats.rankings.transitivity import NO_TRIAD

NAMES = [f"s{k}" for k in range(7)]
PAIRS = list(combinations(range(4), 2))


def tournament(rng, systems):
    """Return counts of some pairs, which may be even, with their systems in any order."""
    pairs = [pair for pair in combinations(range(systems), 2) if rng.random() < 0.8]
    pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]
    counts = rng.integers(0, 3, (len(pairs), 3))
    return counts, [NAMES[a] for a, _ in pairs], [NAMES[b] for _, b in pairs]


@pytest.mark.parametrize("seed", range(30))
def test_triads_are_those_of_a_search(seed):
    counts, a, b = tournament(np.random.default_rng(seed), systems=7)
    beats = {
        (x, y) if wins > losses else (y, x)
        for (wins, _, losses), x, y in zip(counts, a, b, strict=True)
        if wins != losses
    }
    cyclic = decided = 0
    for triad in combinations(NAMES, 3):
        decided += all((x, y) in beats or (y, x) in beats for x, y in combinations(triad, 2))
        cyclic += any(
            {(x, y), (y, z), (z, x)} <= beats for x, y, z in permutations(triad) if x == triad[0]
        )
    triads = cyclic_triads(counts, system_a=a, system_b=b)
    assert (triads.cyclic, triads.decided) == (cyclic, decided)
    assert triads.share.value == pytest.approx(cyclic / decided if decided else np.nan, nan_ok=True)
    if cyclic:
        x, y, z = triads.example
        assert {(x, y), (y, z), (z, x)} <= beats


def test_without_three_compared_systems_there_is_no_share():
    triads = cyclic_triads([[2, 0, 1], [2, 0, 1]], system_a=["x", "y"], system_b=["y", "z"])
    assert not triads.share.is_defined
    assert triads.share.reason == NO_TRIAD


def single_ratings(rng, instances, cycle=0.0, shared=0.0):
    """Return one rating of every pair of four systems on each instance.

    ``cycle`` adds to the win rates around a cycle of three systems, and ``shared`` makes instances
    differ.
    """
    strength, counts, a, b, clusters = np.linspace(0, 1, 4), [], [], [], []
    bend = {(0, 1): cycle, (1, 2): cycle, (0, 2): -cycle}
    for instance in range(instances):
        for first, second in PAIRS:
            rate = 1 / (1 + np.exp(strength[second] - strength[first]))
            rate += bend.get((first, second), 0) + rng.uniform(-1, 1) * shared * rate
            for _ in range(3):
                counts.append([1, 0, 0] if rng.random() < rate else [0, 0, 1])
                a.append(NAMES[first])
                b.append(NAMES[second])
                clusters.append(instance)
    return counts, a, b, clusters


def test_x2_of_independent_ratings_is_pearsons():
    counts, a, b, _ = single_ratings(np.random.default_rng(0), 200, cycle=0.03)
    fit = bradley_terry_fit(counts, system_a=a, system_b=b)
    strengths = bradley_terry(counts, system_a=a, system_b=b).systems
    x2, worst = 0.0, 0.0
    for first, second in {(x, y) for x, y in zip(a, b, strict=True)}:
        won = [c[0] for c, x, y in zip(counts, a, b, strict=True) if (x, y) == (first, second)]
        rate = 1 / (1 + np.exp(strengths[second].value - strengths[first].value))
        x2 += len(won) * (np.mean(won) - rate) ** 2 / (rate * (1 - rate))
        worst = max(worst, abs(np.mean(won) - rate))
    assert fit.p.value == pytest.approx(chi2.sf(x2, 6 - 3), abs=0.01)
    assert abs(fit.observed - fit.fitted) == pytest.approx(worst)


def test_instances_that_differ_do_not_count_as_a_lack_of_fit():
    """Repeated ratings of an instance hardly add information, which a plain X² would not know."""
    p_values, plain = [], []
    for seed in range(100):
        counts, a, b, clusters = single_ratings(np.random.default_rng(seed), 40, shared=1)
        p_values.append(
            bradley_terry_fit(counts, system_a=a, system_b=b, clusters=clusters).p.value
        )
        plain.append(bradley_terry_fit(counts, system_a=a, system_b=b).p.value)
    assert np.mean(np.array(p_values) < 0.05) <= 0.11
    assert np.mean(np.array(plain) < 0.05) > np.mean(np.array(p_values) < 0.05)


def test_a_cycle_is_a_lack_of_fit():
    counts, a, b, clusters = single_ratings(np.random.default_rng(1), 60, cycle=0.2)
    fit = bradley_terry_fit(counts, system_a=a, system_b=b, clusters=clusters)
    assert fit.p.value < 0.001
    assert set(fit.pair) <= set(NAMES[:3])


@pytest.mark.parametrize(
    ("counts", "a", "b", "clusters", "reason"),
    [
        ([[3, 0, 2]] * 20, ["x"] * 20, ["y"] * 20, None, "fits any ratings"),
        ([[3, 0, 2]], ["x"], ["y"], None, "fits any ratings"),
        ([[3, 0, 0]], ["x"], ["y"], None, "no other system ever wins"),
        ([[3, 0, 1], [1, 0, 1]], ["w", "y"], ["x", "z"], None, "never compared"),
        ([[0, 0, 0]], ["w"], ["x"], None, "No rating"),
        ([[2, 0, 1]] * 3, ["x", "y", "x"], ["y", "z", "z"], None, "at least 10 independent"),
        ([[2, 0, 1]] * 30, ["x", "y", "x"] * 10, ["y", "z", "z"] * 10, None, "do not vary"),
    ],
)
def test_what_cannot_be_tested_has_a_reason(counts, a, b, clusters, reason):
    fit = bradley_terry_fit(counts, system_a=a, system_b=b, clusters=clusters)
    assert not fit.p.is_defined
    assert reason in fit.p.reason

"""Levels that hold at once and sets of ranks, beside two-way intervals of single differences."""

from statistics import NormalDist

import numpy as np
import pytest

from tiebreak.errors import InvalidInput
from tiebreak.stats import (
    Estimate,
    RankSet,
    RatedMean,
    joint_confidence_level,
    rank_sets,
    two_way_interval,
)

INSTANCES, RATERS = 60, 8


def rated(rates, *, seed=0, weights=None):
    """Return the ratings of means in which all raters rate all instances."""
    rng = np.random.default_rng(seed)
    instance, rater = (grid.ravel() for grid in np.mgrid[:INSTANCES, :RATERS])
    leaning, skill = rng.normal(0, 0.1, INSTANCES), rng.normal(0, 0.05, (RATERS, len(rates)))
    return {
        f"s{k}": RatedMean(
            (rng.random(len(instance)) < rate + leaning[instance] + skill[rater, k]).astype(float),
            instance,
            rater,
            weights,
        )
        for k, rate in enumerate(rates)
    }


def test_the_level_lies_between_that_of_one_interval_and_bonferronis():
    means = list(rated([0.5] * 6).values())
    level = joint_confidence_level(means)
    assert 0.95 < level <= 1 - 0.05 / 6
    assert joint_confidence_level(means) == level  # a fixed seed
    assert joint_confidence_level(means[:1]) == 0.95
    assert joint_confidence_level(means, confidence_level=0.99) > level


def test_means_that_are_the_same_need_hardly_more_than_one_interval():
    (mean,) = rated([0.5]).values()
    alike = joint_confidence_level([RatedMean(mean.values, mean.instances, [-1] * 480)] * 5)
    apart = joint_confidence_level(list(rated([0.5] * 5).values()))
    assert 0.95 < alike < 0.98 < apart


def test_a_simulated_level_is_never_above_bonferronis(monkeypatch):
    """With few draws, a quantile is often too large."""
    monkeypatch.setattr("tiebreak.stats.core.simultaneous._NUMBERS", 1)
    monkeypatch.setattr("tiebreak.stats.core.simultaneous._MIN_DRAWS", 50)
    means = list(rated([0.5] * 12).values())
    levels = {m: joint_confidence_level(means[:m]) for m in range(2, 13)}
    assert all(level <= 1 - 0.05 / m for m, level in levels.items())
    assert any(level == 1 - 0.05 / m for m, level in levels.items())


def test_with_more_means_than_are_simulated_the_level_is_bonferronis():
    mean = RatedMean([0.0, 1.0] * 10, list(range(20)), [-1] * 20)
    assert joint_confidence_level([mean] * 201) == 1 - 0.05 / 201


def covariance_without_groups(means, group_of):
    """Return the covariance of means by leaving each group out in turn, and the numbers of groups."""
    changes, numbers = [], []
    groups = sorted({group for mean in means for group in group_of(mean)})
    for mean in means:
        values, labels = np.asarray(mean.values), group_of(mean)
        there = [group for group in groups if group in labels]
        scale = np.sqrt((len(there) - 1) / len(there))
        without = [values[[one != group for one in labels]].mean() for group in groups]
        changes.append(scale * (np.array(without) - values.mean()))
        sizes = np.array([labels.count(group) for group in there])
        numbers.append(sizes.sum() ** 2 / (sizes**2).sum())
    return np.array(changes) @ np.array(changes).T, np.array(numbers)


def level_by_hand(means):
    """Return the level by dense covariances, and draws of another generator."""
    instance, n = covariance_without_groups(means, lambda one: list(one.instances))
    rater, raters = covariance_without_groups(means, lambda one: list(one.raters))
    cell, _ = covariance_without_groups(
        means, lambda one: list(zip(one.instances, one.raters, strict=True))
    )
    values, vectors = np.linalg.eigh(instance + rater - cell)
    covariance = vectors @ np.diag(values.clip(0)) @ vectors.T
    error = np.sqrt(np.diag(covariance))
    of_instances, of_raters = np.diag(instance), np.diag(rater)
    variance = of_instances + (of_raters - np.diag(cell)).clip(0)
    freedom = (variance**2 / (of_instances**2 / (n - 1) + of_raters**2 / (raters - 1))).min()
    correlation = covariance / np.outer(error, error) * freedom / (freedom + len(means))
    np.fill_diagonal(correlation, 1)
    draws = np.random.default_rng(9).multivariate_normal(np.zeros(len(means)), correlation, 400_000)
    critical = np.quantile(np.abs(draws).max(axis=1), 0.95)
    return 2 * NormalDist().cdf(critical) - 1


def alike(seed, *, of_cell, of_rater):
    """Return means of ratings that share noise, of which each lacks some instances."""
    rng = np.random.default_rng(seed)
    instance, rater = (grid.ravel() for grid in np.mgrid[:24, :5])
    shared = rng.normal(0, 0.3, 24)[instance] + rng.normal(0, of_rater, 5)[rater]
    shared += rng.normal(0, of_cell, len(instance))
    means = []
    for k in range(5):
        kept = instance % 6 != k
        values = shared + rng.normal(0, 0.1, len(shared))
        means.append(RatedMean(values[kept], instance[kept].tolist(), rater[kept].tolist()))
    return means


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("of_cell", "of_rater"), [(0.1, 0.0), (2.0, 0.0), (0.1, 1.0), (1.0, 0.5)], ids=str
)
def test_the_level_is_that_of_covariances_without_each_group(of_cell, of_rater):
    for seed in range(3):
        means = alike(seed, of_cell=of_cell, of_rater=of_rater)
        assert joint_confidence_level(means) == pytest.approx(level_by_hand(means), abs=4e-4)


def test_a_mean_varies_as_its_two_way_interval_says():
    """With one difference, its set follows from the interval of two_way_interval."""
    changed = 0
    weights = np.random.default_rng(1).choice([1.0, 3.0], INSTANCES)[
        np.mgrid[:INSTANCES, :RATERS][0].ravel()
    ]
    for gap in np.linspace(0, 0.25, 26):
        means = rated([0.5 + gap, 0.5], weights=weights, seed=3)
        first, second = means.values()
        difference = first.values - second.values
        value = float(weights @ difference / weights.sum())
        wide = two_way_interval(
            weights * (difference - value),
            first.instances,
            first.raters,
            narrow=Estimate(value, value, value),
            weights=weights,
        )
        best = RankSet(1, 1) if wide.low > 0 else RankSet(1, 2)
        assert rank_sets(means)["s0"] == best
        changed += best == RankSet(1, 1)
    assert 3 < changed < 23


def test_a_rank_set_counts_who_is_shown_to_be_better_and_worse():
    sets = rank_sets(rated([0.8, 0.5, 0.5, 0.2]))
    assert list(sets.values()) == [RankSet(1, 1), RankSet(2, 3), RankSet(2, 3), RankSet(4, 4)]


def test_rank_sets_hold_for_raters_alike_only_if_raters_are_left_out():
    """Systems that only these raters tell apart are not ranked for others."""
    instance, rater = (grid.ravel() for grid in np.mgrid[:200, :4])
    rng = np.random.default_rng(0)
    taste = np.array([0.95, 0.9, 0.5, 0.05])
    good = RatedMean((rng.random(800) < taste[rater]).astype(float), instance, rater)
    poor = RatedMean((rng.random(800) < 0.4).astype(float), instance, rater)
    assert rank_sets({"good": good, "poor": poor})["good"] == RankSet(1, 2)
    unknown = [RatedMean(one.values, one.instances, [-1] * 800) for one in (good, poor)]
    assert rank_sets(dict(zip("gp", unknown, strict=True)))["g"] == RankSet(1, 1)


def test_few_instances_show_no_order():
    first = RatedMean([1.0] * 8 + [0.0], list(range(9)), [-1] * 9)
    second = RatedMean([0.0] * 8 + [1.0], list(range(9)), [-1] * 9)
    assert set(rank_sets({"a": first, "b": second}).values()) == {RankSet(1, 2)}


def test_of_one_system_the_rank_is_known():
    assert rank_sets({"a": RatedMean([1.0], [0], [0])}) == {"a": RankSet(1, 1)}


@pytest.mark.slow
def test_sets_of_many_equal_systems_rarely_leave_the_truth_out():
    missed = sum(
        any(one.best > 1 for one in rank_sets(rated([0.5] * 5, seed=seed)).values())
        for seed in range(100)
    )
    assert missed <= 12  # 99.9% limit of 5 in 100


def test_lengths_must_agree():
    with pytest.raises(InvalidInput):
        rank_sets({"a": RatedMean([1.0], [0, 1], [0]), "b": RatedMean([1.0], [0], [0])})

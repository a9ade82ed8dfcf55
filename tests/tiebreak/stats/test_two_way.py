"""Intervals over instances and raters against manual values and simulations."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tiebreak.errors import InvalidInput
from tiebreak.stats import (
    Estimate,
    generator_for,
    krippendorff_alpha,
    two_way,
    two_way_mean,
    win_rate,
)
from tiebreak.stats.results import THESE
from tiebreak.stats.two_way import ONE_RATER, UNDEFINED_WITHOUT


def study(seed, *, units=150, raters=12, per_unit=3, severity=1.0):
    """Return ratings by raters who differ in how strongly they prefer one side."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), per_unit)
    rater = np.concatenate([rng.choice(raters, per_unit, replace=False) for _ in range(units)])
    lean = rng.normal(0, 0.4, units)[unit] + severity * rng.normal(0, 1, raters)[rater]
    latent = lean + rng.logistic(size=len(unit))
    label = np.where(latent < -0.5, 2, np.where(latent < 0.5, 1, 0))
    return unit, rater, label


def interval_of(statistic, ratings, *, units=150, raters=12, **options):
    return two_way(statistic, *ratings, n_units=units, n_raters=raters, n_labels=3, **options)


def test_the_variance_is_the_sum_of_both_parts():
    unit, rater, label = study(0)
    both = interval_of(win_rate, (unit, rater, label), rng=generator_for(0), replicates=500)
    counts = np.zeros((150, 3), int)
    np.add.at(counts, (unit, label), 1)
    alone = win_rate(counts, rng=generator_for(0), replicates=500)
    without = []
    for code in range(12):
        left = np.zeros((150, 3), int)
        np.add.at(left, (unit[rater != code], label[rater != code]), 1)
        without.append(win_rate(left).value)
    jackknife = 11 / 12 * np.sum((np.array(without) - np.mean(without)) ** 2)
    assert both.value == alone.value
    assert both.standard_error == pytest.approx(np.sqrt(alone.standard_error**2 + jackknife))
    assert both.high - both.value == pytest.approx(1.959964 * both.standard_error, rel=1e-5)
    assert "12 raters" in both.method


def test_without_a_generator_there_is_no_interval():
    estimate = interval_of(krippendorff_alpha, study(1))
    assert np.isnan(estimate.low)
    assert estimate.is_defined


def test_one_rater_has_no_interval():
    estimate = two_way(
        win_rate,
        range(12),
        [0] * 12,
        [0, 2, 1] * 4,
        n_units=12,
        n_raters=1,
        n_labels=3,
        rng=generator_for(0),
        replicates=50,
    )
    assert estimate.value == 0.5
    assert estimate.reason == ONE_RATER
    assert np.isnan(estimate.standard_error)


def test_raters_without_whom_nothing_is_defined_are_counted():
    estimate = two_way(
        krippendorff_alpha,
        np.repeat(range(12), 2),
        [0, 1] * 12,
        [0, 0, 1, 1, 0, 1] * 4,
        n_units=12,
        n_raters=2,
        n_labels=2,
        rng=generator_for(0),
        replicates=200,
    )
    assert estimate.reason == UNDEFINED_WITHOUT.format(lost=2)
    assert np.isnan(estimate.low)


def test_instances_and_options_are_passed_on():
    ratings = study(2)
    statistic = partial(krippendorff_alpha, level="ordinal")
    estimate = interval_of(
        statistic,
        ratings,
        clusters=np.arange(150) // 3,
        rng=generator_for(0),
        replicates=100,
        confidence_level=0.9,
    )
    assert "instances" in estimate.method
    assert estimate.high - estimate.value == pytest.approx(
        1.644854 * estimate.standard_error, rel=1e-5
    )


@pytest.mark.slow
def test_it_covers_where_raters_differ_and_instances_alone_do_not():
    """The true win rate comes from many instances and many raters."""
    *_, label = study(999, units=60_000, raters=4000)
    truth = (np.mean(label == 0) + np.mean(label == 1) / 2).item()
    held = {"both": 0, "instances": 0}
    for seed in range(400):
        ratings = study(seed, raters=30)
        options = {"rng": generator_for(seed), "replicates": 300}
        both = interval_of(win_rate, ratings, raters=30, **options)
        counts = np.zeros((150, 3), int)
        np.add.at(counts, (ratings[0], ratings[2]), 1)
        alone = win_rate(counts, rng=generator_for(seed), replicates=300)
        held["both"] += both.low <= truth <= both.high
        held["instances"] += alone.low <= truth <= alone.high
    assert held["both"] / 400 >= 0.92
    assert held["instances"] / 400 < 0.8


VALUES = [1, 0, 0.5, 1, 1, 0, 1, 0.5, 0, 1, 1, 1]
INSTANCES = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
RATERS = [0, 1, 2, 0, 1, 3, 2, 0, 1, 3, 2, 0]
NARROW = Estimate(float(np.mean(VALUES)), 0.6, 0.7, 0.02, 4, "bootstrap")


def left_out(groups) -> float:
    """Return the delete-one jackknife variance of the mean, by leaving out each group in turn."""
    kept = [[v for v, g in zip(VALUES, groups, strict=True) if g != out] for out in set(groups)]
    means = np.array([np.mean(values) for values in kept])
    return (len(means) - 1) / len(means) * ((means - np.mean(VALUES)) ** 2).sum()


def test_the_variance_of_a_mean_is_that_of_leaving_out_instances_and_raters():
    cells = list(zip(INSTANCES, RATERS, strict=True))
    expected = left_out(INSTANCES) + max(0.0, left_out(RATERS) - left_out(cells))
    wide = two_way_mean(VALUES, INSTANCES, RATERS, narrow=NARROW)
    assert wide.standard_error**2 == pytest.approx(expected, rel=1e-12)
    assert (wide.value, wide.n, wide.scope.raters) == (NARROW.value, NARROW.n, "new")
    assert [(one.low, one.high, one.scope.raters) for one in wide.narrower] == [(0.6, 0.7, "these")]
    assert "4 instances and 4 raters" in wide.method


def test_the_interval_of_a_mean_stays_in_its_bounds_and_is_mirrored_with_its_values():
    wide = two_way_mean(VALUES, INSTANCES, RATERS, narrow=NARROW)
    assert 0 < wide.low < NARROW.low < NARROW.high < wide.high < 1
    values, narrow = 1 - 2 * np.array(VALUES), Estimate(1 - 2 * NARROW.value, -0.4, -0.2)
    other = two_way_mean(values, INSTANCES, RATERS, narrow=narrow, bounds=(-1, 1))
    assert (other.low, other.high) == pytest.approx((1 - 2 * wide.high, 1 - 2 * wide.low))
    assert other.standard_error == pytest.approx(2 * wide.standard_error)


@pytest.mark.parametrize("raters", [[0, 1] * 6, [0] * 12, [-1, *RATERS[1:]]])
def test_few_or_unknown_raters_speak_of_themselves(raters):
    of_these = replace(NARROW, stated_scope=THESE)
    wide = two_way_mean(VALUES, INSTANCES, raters, narrow=of_these)
    assert (wide.scope.instances, wide.scope.raters, wide.narrower) == ("new", "these", ())
    assert wide.standard_error**2 == pytest.approx(left_out(INSTANCES))
    # What holds for new instances of these raters is not said twice.
    assert two_way_mean(VALUES, INSTANCES, raters, narrow=NARROW) == NARROW


def test_a_shorter_interval_for_new_raters_is_not_believed():
    narrow = Estimate(NARROW.value, 0.01, 0.99)
    wide = two_way_mean(VALUES, INSTANCES, RATERS, narrow=narrow)
    assert (wide.low, wide.high) == (0.01, 0.99)


@pytest.mark.parametrize(
    ("values", "instances", "narrow"),
    [
        (VALUES, INSTANCES, Estimate(0.6, reason="There are too few instances.")),
        ([1] * 12, INSTANCES, Estimate(1.0, 0.9, 1.0)),
        (VALUES, [0] * 12, NARROW),
        ([], [], Estimate(float("nan"), reason="Nobody rated.")),
    ],
)
def test_without_spread_between_instances_nothing_wider_is_said(values, instances, narrow):
    wide = two_way_mean(values, instances, RATERS[: len(values)], narrow=narrow)
    assert wide.as_json() == narrow.as_json()


def test_each_rater_with_one_rating_is_as_many_raters_as_ratings():
    rng = np.random.default_rng(0)
    values, instances = rng.integers(2, size=100_000), np.arange(100_000) // 5
    narrow = Estimate(float(values.mean()), 0.4999, 0.5001)
    wide = two_way_mean(values, instances, np.arange(100_000), narrow=narrow)
    assert wide.scope.raters == "new"
    assert wide.high - wide.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 / 100_000), rel=0.02)


def test_values_out_of_bounds_are_refused():
    with pytest.raises(InvalidInput) as refused:
        two_way_mean([2, *VALUES[1:]], INSTANCES, RATERS, narrow=NARROW)
    assert refused.value.code == "out_of_range"

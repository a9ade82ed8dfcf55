"""Intervals over instances and raters against manual values and simulations."""

from dataclasses import replace

import numpy as np
import pytest

from tiebreak.errors import InvalidInput
from tiebreak.stats import Estimate, two_way_interval, two_way_mean
from tiebreak.stats.core.results import THESE, Scope

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
        (VALUES, [0] * 12, NARROW),
        ([], [], Estimate(float("nan"), reason="Nobody rated.")),
    ],
)
def test_without_spread_between_instances_nothing_wider_is_said(values, instances, narrow):
    wide = two_way_mean(values, instances, RATERS[: len(values)], narrow=narrow)
    assert wide.as_json() == narrow.as_json()


@pytest.mark.parametrize(("raters", "size", "of_pairs"), [(6, 6, 3), (60, 30, 30), (2, 30, 30)])
def test_if_all_instances_agree_the_fewer_of_instances_and_raters_count(raters, size, of_pairs):
    values, instances, rater = np.ones(60), np.arange(60) % 30, np.arange(60) % raters
    narrow = Estimate(1.0, 0.95, 1.0, stated_scope=THESE)
    wide = two_way_mean(values, instances, rater, narrow=narrow)
    assert (wide.low, wide.high) == (pytest.approx(0.025 ** (1 / size)), 1)
    assert wide.scope.raters == ("these" if raters == 2 else "new")
    assert np.isnan(wide.standard_error)
    how = {"narrow": narrow, "bounds": (0, 1)}
    pairs = two_way_interval(0 * values, instances, rater, raters_per_value=2, **how)
    assert pairs.low == pytest.approx(0.025 ** (1 / of_pairs))
    assert two_way_interval(0 * values, instances, rater, **how) == narrow


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


def test_a_mean_with_weights_is_as_if_ratings_were_repeated():
    weights = np.array([1, 2, 3] * 4)
    centre = float(weights @ VALUES) / weights.sum()
    wide = two_way_mean(
        VALUES, INSTANCES, RATERS, narrow=replace(NARROW, value=centre), weights=weights
    )
    values, instances, raters = (np.repeat(x, weights) for x in (VALUES, INSTANCES, RATERS))
    repeated = two_way_mean(values, instances, raters, narrow=replace(NARROW, value=centre))
    assert (wide.low, wide.high) == pytest.approx((repeated.low, repeated.high), rel=1e-12)
    assert (wide.low, wide.high) != (NARROW.low, NARROW.high)


def test_drawn_instances_speak_of_the_dataset():
    narrow = replace(NARROW, stated_scope=Scope("dataset"))
    wide = two_way_mean(VALUES, INSTANCES, RATERS, narrow=narrow)
    assert wide.scope == Scope("dataset", "new")
    assert two_way_mean(VALUES, INSTANCES, [0] * 12, narrow=narrow) == narrow


def test_without_bounds_the_interval_is_symmetric():
    contributions = np.array(VALUES) - np.mean(VALUES)
    narrow = replace(NARROW, low=NARROW.value - 0.01, high=NARROW.value + 0.01)
    wide = two_way_interval(contributions, INSTANCES, RATERS, narrow=narrow)
    assert wide.high - wide.value == pytest.approx(wide.value - wide.low)
    assert "logit" not in wide.method
    bounded = two_way_interval(contributions, INSTANCES, RATERS, narrow=narrow, bounds=(0, 1))
    assert bounded.high < wide.high

"""Differences of two systems, and the margins that their intervals allow."""

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import ttest_1samp

from tiebreak.stats import Estimate, system_difference, two_way_mean, undefined


def test_the_margins_are_those_at_which_one_sided_tests_reject():
    rng = np.random.default_rng(4)
    values = rng.normal(0.06, 0.4, 60)  # differences of instances
    half = stdtrit(59, 0.975) * values.std(ddof=1) / np.sqrt(60)
    mean = values.mean()
    ends = (1 + np.array([mean, mean - half, mean + half])) / 2
    found = system_difference(Estimate(*ends, n=60))
    assert found.difference.value == pytest.approx(mean)
    lower = ttest_1samp(values, -found.first_not_worse_by, alternative="greater").pvalue
    upper = ttest_1samp(values, found.second_not_worse_by, alternative="less").pvalue
    assert (lower, upper) == pytest.approx((0.025, 0.025))
    assert found.equivalent_within == max(found.first_not_worse_by, found.second_not_worse_by)


def test_a_better_system_is_not_worse_by_any_margin():
    found = system_difference(Estimate(0.7, 0.6, 0.8, 0.05))
    assert found.first_not_worse_by == 0
    assert found.second_not_worse_by == pytest.approx(0.6)
    assert found.equivalent_within == pytest.approx(0.6)
    assert found.difference.standard_error == pytest.approx(0.1)


def test_margins_need_an_interval():
    for rate in (Estimate(0.5, reason="Few."), undefined("None.")):
        found = system_difference(rate)
        assert found.difference.reason == rate.reason
        margins = (found.equivalent_within, found.first_not_worse_by, found.second_not_worse_by)
        assert np.isnan(margins).all()


def test_the_narrower_interval_is_of_the_difference_too():
    values, instances, raters = [0, 0, 1, 1] * 6, [k // 2 for k in range(24)], [0, 1, 2] * 8
    narrow = Estimate(0.5, 0.3, 0.7, n=12)
    rate = two_way_mean(values, instances, raters, narrow=narrow)
    (inner,) = system_difference(rate).difference.narrower
    assert (inner.low, inner.high) == pytest.approx((-0.4, 0.4))

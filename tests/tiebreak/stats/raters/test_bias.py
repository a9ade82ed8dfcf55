"""Position and length bias, and the Wilson interval of both."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS
from statsmodels.stats.proportion import proportion_confint

from tests.refusals import refused
from tiebreak.stats import length_bias, position_bias
from tiebreak.stats.core.proportions import wilson_interval
from tiebreak.stats.raters.bias import effect_within


def test_wilson_equals_a_published_interval():
    """The interval of 81 of 263 is in Newcombe 1998, table I, method 3."""
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 10), (10, 10), (3, 1000), (60, 100)])
@pytest.mark.parametrize("confidence_level", [0.8, 0.95])
def test_wilson_equals_statsmodels(successes, n, confidence_level):
    expected = proportion_confint(successes, n, alpha=1 - confidence_level, method="wilson")
    interval = wilson_interval(successes, n, confidence_level=confidence_level)
    assert interval == pytest.approx(expected, abs=1e-12)


def test_an_effect_within_groups_is_that_of_a_regression_with_their_intercepts():
    rng = np.random.default_rng(0)
    groups, weights = rng.integers(0, 4, 200), rng.uniform(1, 3, 200)
    condition = np.where(rng.random(200) < 0.2 + 0.2 * groups, 1.0, -1.0)
    outcome = np.where(rng.random(200) < 0.2 + 0.2 * groups, 1.0, -1.0)
    fit = WLS(outcome, np.column_stack([condition, np.eye(4)[groups]]), weights).fit()
    effect, contributions, information = effect_within(outcome, condition, groups, weights)
    assert effect == pytest.approx(fit.params[0])
    assert contributions.sum() == pytest.approx(0, abs=1e-9)
    # White's variance, with one parameter less for each further group.
    variance = float(contributions @ contributions) / information.sum() ** 2
    assert variance == pytest.approx(fit.cov_HC0[0, 0] * 199 / 196)
    assert np.isnan(effect_within(outcome, np.ones(200), groups, weights)[0])


def test_biases_are_shares_on_their_own_scales():
    low, high = wilson_interval(60, 100)
    position, length = position_bias(60, 40), length_bias(60, 40)
    assert (position.value, position.low, position.high) == pytest.approx(
        (0.1, low - 0.5, high - 0.5)
    )
    assert (length.value, length.low, length.high) == pytest.approx(
        (0.2, 2 * low - 1, 2 * high - 1)
    )


@pytest.mark.parametrize("bias", [position_bias, length_bias])
def test_without_a_preference_there_is_no_bias(bias):
    assert not bias(0, 0).is_defined
    assert bias(0, 0).reason


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3), (0, 0)])
def test_impossible_counts_are_refused(successes, n):
    with refused("out_of_range"):
        wilson_interval(successes, n)

"""Gains that a pilot shows, against closed forms, brute force and simulation."""

import numpy as np
import pytest
from scipy.stats import t as student_t

from tests.refusals import refused
from tiebreak.stats import Estimate
from tiebreak.stats.design.pilot_gains import (
    AT_RANDOM,
    LEFT_OUT,
    NO_REPEATS,
    NO_SPREAD,
    NONE_LEFT_OUT,
    draw_gain,
    explained_share,
    mixed_gain,
    stack_gain,
)


def pilot(seed, *, units=40, ratings=2, between=1.0, within=1.0):
    rng = np.random.default_rng(seed)
    levels = rng.normal(0, np.sqrt(between), units)
    values = levels[:, None] + rng.normal(0, np.sqrt(within), (units, ratings))
    return values.ravel(), np.repeat(np.arange(units), ratings), levels


def by_hand(values, units, share=0.15, ratings=2):
    """Compute the gain from mean squares, as textbooks have them."""
    groups = [values[units == unit] for unit in np.unique(units)]
    sizes = np.array([len(group) for group in groups])
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (sizes - 1).sum()
    means = np.array([group.mean() for group in groups])
    between = (sizes * (means - values.mean()) ** 2).sum() / (len(groups) - 1)
    size = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(groups) - 1)
    spread = max(0, (between - within) / size)
    mixed = (spread + within * (share / ratings + 1 - share)) * (1 + share * (ratings - 1))
    return ratings * (spread + within / ratings) / mixed


class TestMixedGain:
    @pytest.mark.parametrize("is_balanced", [True, False])
    def test_value_and_interval(self, is_balanced):
        values, units, _ = pilot(1)
        if not is_balanced:
            values, units = np.delete(values, [0, 7, 30]), np.delete(units, [0, 7, 30])
        gain = mixed_gain(values, units=units)
        assert gain.value == pytest.approx(by_hand(values, units))
        logs = np.log([by_hand(values[units != k], units[units != k]) for k in range(40)])
        error = np.sqrt(39 / 40 * ((logs - logs.mean()) ** 2).sum())
        expected = np.log(gain.value) - student_t.ppf(0.975, 39) * error
        assert np.log(gain.low) == pytest.approx(expected)

    def test_between_no_items_and_no_noise(self):
        values = np.repeat([0, 1, 1, 0, 1] * 4, 2)
        units = np.repeat(np.arange(20), 2)
        assert mixed_gain(values, units=units).value == pytest.approx(2 / 1.15)
        alike = mixed_gain(np.tile([0, 1], 20), units=units)
        assert alike.value == pytest.approx(2 * 0.5 / (1.15 * 0.925))
        assert alike.value < 1

    def test_is_shown_for_items_that_differ_and_seldom_for_items_alike(self):
        shown = {
            between: np.mean(
                [
                    mixed_gain(values, units=units).low > 1
                    for values, units, _ in (pilot(seed, between=between) for seed in range(200))
                ]
            )
            for between in (0.0, 2.0)
        }
        assert shown[2.0] > 0.9
        assert shown[0.0] < 0.05

    def test_undefined_has_a_reason(self):
        assert mixed_gain([0, 1, 1], units=[0, 1, 2]).reason == NO_REPEATS
        assert mixed_gain([], units=[]).reason == NO_REPEATS
        assert mixed_gain([1.0] * 8, units=[0, 0, 1, 1, 2, 2, 3, 3]).reason == NO_SPREAD
        few = mixed_gain([0, 1, 1, 1, 0, 0], units=[0, 0, 1, 1, 2, 2])
        assert few.is_defined
        assert not few.has_interval
        with refused("out_of_range", naming="share"):
            mixed_gain([0, 1], units=[0, 0], share=1.5)


class TestStackGain:
    def labels(self, seed, n=150, accuracy=1.0):
        rng = np.random.default_rng(seed)
        level = rng.normal(size=n)
        y = level + rng.normal(size=n)
        return y, np.stack([accuracy * level + (1 - accuracy) * rng.normal(size=n)], axis=1)

    def test_is_near_the_ratio_of_variances(self):
        gains = [stack_gain(*self.labels(seed)) for seed in range(40)]
        assert np.median([gain.value for gain in gains]) == pytest.approx(2, rel=0.1)
        assert np.mean([gain.low <= 2 <= gain.high for gain in gains]) > 0.8

    def test_a_machine_that_guesses_is_seldom_believed(self):
        gains = [stack_gain(*self.labels(seed, accuracy=0.0)) for seed in range(200)]
        assert np.mean([gain.low > 1 for gain in gains]) < 0.05
        assert 0.95 < np.mean([gain.value for gain in gains]) < 1.01

    def test_instances_count_once(self):
        y, f = self.labels(3)
        once = stack_gain(y, f)
        twice = stack_gain(np.repeat(y, 2), np.repeat(f, 2, axis=0), clusters=np.arange(300) // 2)
        assert twice.value == pytest.approx(once.value)
        assert twice.low == pytest.approx(once.low)

    def test_undefined_has_a_reason(self):
        assert stack_gain([1.0], [[1.0]]).reason == NO_SPREAD
        assert stack_gain([1.0] * 20, [[1.0]] * 20).reason == NO_SPREAD
        with refused("wrong_shape", naming="predictions"):
            stack_gain([1.0, 0], [1.0, 0])
        with refused("lengths_differ", naming="predictions"):
            stack_gain([1.0, 0], [[1.0]])


class TestExplainedShare:
    def test_is_that_of_the_variance_between_units(self):
        assert explained_share(Estimate(2, 1.5, 3), 0.2, 0.3) == 0.75
        assert explained_share(Estimate(4, 1.5, 8), 0.2, 0.3) == 1

    def test_is_0_where_the_gain_is_not_shown(self):
        assert explained_share(Estimate(2, 0.99, 3), 0.2, 0.3) == 0
        assert explained_share(Estimate(2), 0.2, 0.3) == 0
        assert explained_share(Estimate(2, 1.5, 3), 0.0, 0.3) == 0


@pytest.mark.filterwarnings("error")
def test_a_gain_that_needs_every_item_has_no_interval():
    gain = mixed_gain([0, 1, 0, 0], units=[0, 0, 1, 1])
    assert gain.is_defined
    assert not gain.has_interval
    assert gain.reason == NONE_LEFT_OUT


class TestDrawGain:
    def test_it_is_the_ratio_of_the_variances_of_weighted_means(self):
        """Labels that vary more are drawn more often, each instance with replacement."""
        rng = np.random.default_rng(0)
        n, drawn = 400, 100
        spread = np.repeat([0.1, 0.5], n // 2)
        y = 0.5 + spread * rng.choice([-1, 1], n)
        r = spread / spread.mean()
        gain = draw_gain(y, r)
        squares = (y - y.mean()) ** 2
        assert gain.value == pytest.approx(squares.sum() / (squares / r).sum())
        variances = []
        for density in (np.ones(n), r):
            chosen = rng.choice(n, (4000, drawn), p=density / n)
            weights = 1 / density[chosen]
            variances.append(((weights * y[chosen]).sum(axis=1) / weights.sum(axis=1)).var())
        assert gain.value == pytest.approx(variances[0] / variances[1], rel=0.1)
        assert gain.low < gain.value < gain.high

    def test_what_cannot_be_drawn_leaves_it_undefined(self):
        assert draw_gain([0, 1, 1] * 5, [1, 2, 0] * 5).reason == LEFT_OUT
        assert draw_gain([1] * 12, [0.5, 1.5] * 6).reason == NO_SPREAD
        assert draw_gain([0, 1] * 6, [1] * 12).reason == AT_RANDOM
        with refused("lengths_differ"):
            draw_gain([0, 1], [1])

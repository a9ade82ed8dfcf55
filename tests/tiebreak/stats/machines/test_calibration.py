"""Calibration: against sums by hand, and against simulations whose probabilities are right or wrong."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import calibration, generator_for
from tiebreak.stats.machines.calibration import NO_LABELS


def simulated(seed, *, units=400, raters=3, power=1.0):
    """Return probabilities and labels; with another power than 1 the probabilities are wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.random(units)
    wrong = truth**power / (truth**power + (1 - truth) ** power)
    return wrong, rng.binomial(raters, truth), np.full(units, raters)


def test_by_hand():
    result = calibration([0.95, 0.91, 0.25, 0.5], [2, 1, 0, 0], [2, 2, 3, 0])
    high = result.bins[9]
    assert (high.low, high.high, high.n_ratings) == (0.9, 1.0, 4)
    assert high.probability == pytest.approx(0.93)
    assert high.share.value == 0.75
    assert np.isnan(result.bins[5].probability)
    assert not result.bins[5].share.is_defined
    gap = abs(3 - 2 * 0.95 - 2 * 0.91) + 3 * 0.25
    assert result.expected_calibration_error.value == pytest.approx(gap / 7)
    squares = 2 * 0.05**2 + 0.09**2 + 0.91**2 + 3 * 0.25**2
    assert result.brier_score.value == pytest.approx(squares / 7)
    assert result.brier_score.n == 3


def test_certain_answers_are_in_the_last_bin():
    result = calibration([1.0, 0.0], [1, 0], [1, 1])
    assert [one.n_ratings for one in result.bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert result.brier_score.value == result.expected_calibration_error.value == 0


def test_right_probabilities_lie_on_the_diagonal():
    result = calibration(*simulated(0, units=5000))
    assert all(abs(one.probability - one.share.value) < 0.05 for one in result.bins)
    assert result.expected_calibration_error.value < 0.02


def test_overconfidence_is_seen():
    right, wrong = calibration(*simulated(0)), calibration(*simulated(0, power=3.0))
    assert wrong.expected_calibration_error.value > right.expected_calibration_error.value + 0.05
    assert wrong.brier_score.value > right.brier_score.value


def test_few_units_bias_the_calibration_error_upwards():
    errors = {
        units: np.mean(
            [
                calibration(*simulated(s, units=units)).expected_calibration_error.value
                for s in range(20)
            ]
        )
        for units in (30, 3000)
    }
    assert errors[30] > errors[3000] + 0.05


def test_intervals_resample_instances():
    shares, positive, labelled = simulated(1, units=200)
    options = {"rng": generator_for(0), "replicates": 500}
    alone = calibration(shares, positive, labelled, **options)
    options = {"rng": generator_for(0), "replicates": 500}
    copied = [np.repeat(values, 4) for values in (shares, positive, labelled)]
    together = calibration(*copied, clusters=np.repeat(np.arange(200), 4), **options)
    for name in ("expected_calibration_error", "brier_score"):
        first, second = getattr(alone, name), getattr(together, name)
        assert second.value == pytest.approx(first.value)
        assert second.high - second.low == pytest.approx(first.high - first.low, rel=0.15)
        assert (first.scope.instances, first.scope.raters) == ("new", "these")
    assert together.brier_score.method.startswith("bootstrap over instances")


def test_the_interval_of_the_brier_score_covers():
    hits = 0
    truth = 1 / 6  # E p(1 − p) where p is uniform
    for seed in range(100):
        one = calibration(*simulated(seed, units=80), rng=generator_for(seed), replicates=300)
        hits += one.brier_score.low <= truth <= one.brier_score.high
    assert hits >= 88


def test_without_labels_nothing_is_defined():
    result = calibration([0.3], [0], [0])
    assert result.brier_score.reason == NO_LABELS
    assert result.expected_calibration_error.reason == NO_LABELS


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([1.2], [1], [1]), "out_of_range"),
        (([0.5], [2], [1]), "out_of_range"),
        (([0.5], [1, 1], [1, 1]), "lengths_differ"),
        (([0.5], [-1], [1]), "not_counts"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, code):
    with refused(code):
        calibration(*arguments)


def test_a_probability_is_in_the_range_that_it_begins():
    for hundredths in range(100):
        number = next(
            k
            for k, one in enumerate(calibration([hundredths / 100], [1], [1], bins=100).bins)
            if one.n_ratings
        )
        assert number == hundredths
    bins = calibration([1 - 0.3 - 0.4], [1], [1]).bins
    assert bins[3].n_ratings == 1

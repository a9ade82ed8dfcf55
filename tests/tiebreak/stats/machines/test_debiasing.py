"""Debiasing of probabilities: the published definitions, and the error of a biased judge on LLMBar."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tests.paths import shared_path
from tests.refusals import refused
from tiebreak.formats.readers import convert
from tiebreak.stats import debiasing_threshold, generator_for, position_debiasing, prior_shift
from tiebreak.stats.machines import debiasing
from tiebreak.stats.machines.debiasing import NO_PREFERENCES, shifted


@pytest.fixture(scope="module")
def first():
    return expit(np.random.default_rng(0).normal(0.8, 1.5, size=501))


def test_at_the_threshold_half_of_the_answers_prefer_either_text(first):
    threshold = debiasing_threshold(first)
    assert threshold > 0.6
    assert (first > threshold).sum() == (first < threshold).sum() == 250


def test_the_threshold_is_a_factor_on_the_odds(first):
    threshold = debiasing_threshold(first)
    by_factor = shifted(first, (1 - threshold) / threshold)
    decided = np.abs(first - threshold) > 1e-12
    assert ((by_factor > 0.5) == (first > threshold))[decided].all()


def test_the_shift_makes_the_mean_one_half(first):
    alpha = prior_shift(first)
    assert alpha < 1
    assert shifted(first, alpha).mean() == pytest.approx(0.5)
    assert logit(shifted(first, alpha)) == pytest.approx(logit(first) + np.log(alpha))
    assert prior_shift(1 - first) == pytest.approx(1 / alpha)


def test_certain_answers_stay_as_they_are():
    assert shifted([0.0, 1.0], 0.2).tolist() == [0.0, 1.0]
    assert 0 < prior_shift([0.0, 1.0, 1.0, 0.5, 0.5]) < 1


@pytest.mark.parametrize("first", [[], [1.0, 1.0, 0.2], [0.0, 0.9], [1.0, 0.0]])
def test_no_factor_is_invented(first):
    assert np.isnan(prior_shift(first))


def test_nothing_has_no_threshold():
    assert np.isnan(debiasing_threshold([]))


@pytest.mark.parametrize("function", [debiasing_threshold, prior_shift])
@pytest.mark.parametrize("first", [[0.5, 1.1], [-0.1]])
def test_what_is_no_probability_is_refused(function, first):
    with refused("out_of_range"):
        function(first)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.inf, np.nan])
def test_the_factor_is_a_positive_number(alpha):
    with refused("out_of_range"):
        shifted([0.5], alpha)


def llmbar_labels() -> np.ndarray:
    """Return 1 where the first output of an LLMBar instance is the better one."""
    ratings = convert("llmbar", [shared_path("data", "llmbar")]).ratings
    known = {row["unit"]: row["label"] for row in ratings if row["kind"] == "human"}
    return np.array([int(label == -1) for label in known.values()])


def errors_on_llmbar(*, bias: float, seed: int) -> dict[str, float]:
    """Return the errors of a simulated judge whose log odds are noisy and shifted to the first text."""
    rng, is_first = np.random.default_rng(seed), llmbar_labels()
    quality = np.where(is_first == 1, 1.0, -1.0) + rng.normal(0, 1.5, len(is_first))
    # The second order shows the other text first, with noise of its own.
    noise = rng.normal(0, 0.5, size=(2, len(is_first)))
    ab, ba = expit(bias + quality + noise[0]), expit(bias - quality + noise[1])
    first = np.concatenate([ab, ba])
    right = np.concatenate([is_first, 1 - is_first])
    threshold, alpha = debiasing_threshold(first), prior_shift(first)
    return {
        "raw": np.mean((first > 0.5) != right),
        "threshold": np.mean((first > threshold) != right),
        "shift": np.mean((shifted(first, alpha) > 0.5) != right),
        "both orders": np.mean(((ab + 1 - ba) / 2 > 0.5) != is_first),
    }


@pytest.mark.parametrize("bias", [-1.5, 1.0, 2.0])
def test_debiasing_lowers_the_error_of_a_biased_judge_on_llmbar(bias):
    runs = [errors_on_llmbar(bias=bias, seed=seed) for seed in range(20)]
    mean = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
    assert mean["raw"] - mean["threshold"] > 0.03
    assert mean["raw"] - mean["shift"] > 0.03
    assert mean["raw"] - mean["both orders"] > 0.03


def test_a_judge_without_bias_keeps_its_error_on_llmbar():
    runs = [errors_on_llmbar(bias=0.0, seed=seed) for seed in range(20)]
    assert np.mean([run["raw"] - run["threshold"] for run in runs]) == pytest.approx(0, abs=0.01)


def simulated_answers(seed: int, *, units: int, bias: float) -> dict:
    """Return answers in both orders, with three human labels of each unit."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1.5, units)
    humans = rng.binomial(3, expit(quality))
    ab, ba = expit(bias + quality), expit(bias - quality)
    return {
        "first": np.concatenate([ab, ba]),
        "better": np.concatenate([humans, 3 - humans]),
        "labelled": np.full(2 * units, 3),
        "clusters": np.tile(np.arange(units), 2),
    }


def test_debiasing_is_compared_with_the_answers_as_they_are():
    answers = simulated_answers(0, units=200, bias=1.5)
    result = position_debiasing(**answers, rng=generator_for(0), replicates=500)
    assert result.prefers_first > 0.8
    assert result.threshold == debiasing_threshold(answers["first"])
    assert result.alpha == pytest.approx((1 - result.threshold) / result.threshold)
    assert result.change.value == pytest.approx(result.debiased.value - result.agreement.value)
    assert result.change.low > 0
    assert result.debiased.method.startswith("bootstrap over instances")


def test_each_replicate_has_its_own_threshold():
    answers = simulated_answers(1, units=40, bias=1.0)
    rows = np.argsort(answers["first"])
    values = answers["first"][rows]
    counts = np.random.default_rng(0).integers(0, 3, size=(50, len(values)))
    for median, times in zip(debiasing._medians(values, counts), counts, strict=True):
        assert median == np.median(np.repeat(values, times))
    better = rows % 3
    labels = np.column_stack([np.arange(len(rows)), better, np.full(len(rows), 3)])
    agreement = debiasing._debiased(values, labels, counts.astype(float))
    for share, times in zip(agreement, counts, strict=True):
        drawn = np.repeat(np.arange(len(rows)), times)
        again = position_debiasing(values[drawn], better[drawn], np.full(len(drawn), 3))
        assert share == pytest.approx(again.debiased.value)


def test_the_interval_of_the_change_covers():
    truth = position_debiasing(**simulated_answers(99, units=40_000, bias=1.0)).change.value
    hits = 0
    for seed in range(60):
        answers = simulated_answers(seed, units=100, bias=1.0)
        change = position_debiasing(**answers, rng=generator_for(seed), replicates=300).change
        hits += change.low <= truth <= change.high
    assert hits >= 52


def test_answers_at_the_threshold_agree_by_half():
    result = position_debiasing([0.5, 0.5], [1, 1], [1, 1])
    assert (result.agreement.value, result.prefers_first) == (0.5, 0.5)
    nothing = position_debiasing([0.5], [0], [0])
    assert nothing.agreement.reason == NO_PREFERENCES


def test_probabilities_that_differ_by_rounding_only_are_equal():
    better, labelled = [0, 1] * 5, [1] * 10
    rounded = position_debiasing([2 / 3, 1 - 1 / 3] * 5, better, labelled)
    exact = position_debiasing([2 / 3] * 10, better, labelled)
    assert (exact.debiased.value, exact.change.value) == (0.5, 0)
    assert (rounded.debiased, rounded.change) == (exact.debiased, exact.change)

"""Debiasing of probabilities: the published definitions, and the error of a biased judge on LLMBar."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tests.paths import shared_path
from tests.refusals import refused
from tiebreak.formats.readers import convert
from tiebreak.stats import debiasing_threshold, prior_shift, shifted


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

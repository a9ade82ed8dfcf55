"""Discernment against manual values and enumeration, the harmonic mean, and limits of scores."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from tests.refusals import refused
from tiebreak.stats import discernment, discernment_score, harmonic_mean_p, summarise_discernment
from tiebreak.stats.machines.discernment import NO_PAIRS, NO_SCORES, UNDEFINED_SCORE


def by_enumeration(differences):
    """Return P(signed-rank sum ≥ observed) over all signs of the differences that are not 0."""
    d = np.array([difference for difference in differences if difference])
    ranks = rankdata(np.abs(d))
    observed = ranks[d > 0].sum()
    sums = [ranks[np.array(signs, bool)].sum() for signs in product([0, 1], repeat=len(d))]
    return np.mean(np.array(sums) >= observed)


@pytest.mark.parametrize("differences", [[2, 1, 3, -4, 5, 6], [1, 2, 3, 4, 5], [-1, -2, 3.5, 7]])
def test_one_criterion_equals_the_enumeration_of_signs(differences):
    outcome = discernment(np.array(differences)[:, None], np.zeros((len(differences), 1)))
    assert outcome.p.value == pytest.approx(by_enumeration(differences))
    assert outcome.score.value == pytest.approx(np.log(outcome.p.value) / np.log(0.05))


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
def test_zeros_are_treated_as_asked(zero_method):
    rng = np.random.default_rng(0)
    original = rng.integers(1, 6, size=(80, 2)).astype(float)
    perturbed = np.clip(original - rng.integers(0, 2, size=(80, 2)), 1, 5)
    outcome = discernment(original, perturbed, zero_method=zero_method)
    for column, p_value in enumerate(outcome.p_values):
        difference = (original - perturbed)[:, column]
        expected = wilcoxon(difference, alternative="greater", zero_method=zero_method).pvalue
        assert p_value.value == pytest.approx(expected)
        assert zero_method in p_value.method


@pytest.mark.parametrize("seed", range(20))
def test_means_of_three_raters_are_tied_as_their_sums_are(seed):
    rng = np.random.default_rng(seed)
    original, copies = rng.integers(1, 6, size=(2, 3, 30))
    of_means = discernment(original.mean(axis=0)[:, None], copies.mean(axis=0)[:, None])
    of_sums = discernment(original.sum(axis=0)[:, None], copies.sum(axis=0)[:, None])
    assert of_means.p.value == pytest.approx(of_sums.p.value, rel=1e-12)


def test_scores_that_differ_by_rounding_only_are_equal():
    outcome = discernment([[0.1 + 0.2], [0.6]], [[0.3], [0.2 * 3]])
    assert (outcome.p.value, outcome.score.value) == (1, 0)


def test_it_is_one_sided():
    better = discernment(np.full((8, 1), 4.0), np.arange(1.0, 9)[:, None] / 4)
    worse = discernment(np.arange(1.0, 9)[:, None] / 4, np.full((8, 1), 4.0))
    assert better.p.value < 0.05
    assert worse.p.value > 0.9


def test_no_difference_has_p_1_and_discerns_nothing():
    outcome = discernment([[3, 4], [5, 5]], [[3, 4], [5, 5]])
    assert (outcome.p.value, outcome.score.value) == (1, 0)


def test_harmonic_mean_by_hand():
    assert harmonic_mean_p([0.1, 0.2]) == pytest.approx(2 / (10 + 5))
    assert harmonic_mean_p([0.1, 0.2], weights=[3, 1]) == pytest.approx(4 / (30 + 5))
    assert harmonic_mean_p([0.1, 0.2], weights=[5, 5]) == pytest.approx(harmonic_mean_p([0.1, 0.2]))
    assert harmonic_mean_p([0.1, 0.2], literal=True) == pytest.approx(1 / 15)
    # With weights, the paper's formula is already the weighted harmonic mean.
    assert harmonic_mean_p([0.1, 0.2], weights=[3, 1], literal=True) == pytest.approx(4 / 35)
    assert harmonic_mean_p([0.0, 0.9]) == 0
    assert harmonic_mean_p([0.0, 0.9], weights=[0, 1]) == pytest.approx(0.9)


def test_criteria_are_weighted():
    rng = np.random.default_rng(1)
    original = rng.normal(size=(30, 3))
    perturbed = original - rng.normal([1, 0, 0.3], 1, size=(30, 3))
    outcome = discernment(original, perturbed, weights=[0.5, 0.25, 0.25])
    values = [p_value.value for p_value in outcome.p_values]
    assert outcome.p.value == pytest.approx(harmonic_mean_p(values, weights=[2, 1, 1]))
    alone = discernment(original, perturbed, weights=[0, 0, 7])
    assert alone.p.value == pytest.approx(values[2])


def test_missing_scores_leave_their_criterion():
    original, perturbed = np.array([[5.0, 1], [4, 2], [5, 9]]), np.array([[1.0, 0], [2, 0], [4, 0]])
    perturbed[2, 1] = np.nan
    outcome = discernment(original, perturbed)
    assert [p_value.n for p_value in outcome.p_values] == [3, 2]
    assert outcome.p.n == 2
    perturbed[:, 1] = np.nan
    outcome = discernment(original, perturbed)
    assert np.isnan(outcome.score.value)
    assert outcome.score.reason == NO_PAIRS
    assert discernment(original, perturbed, weights=[1, 0]).score.is_defined


def test_a_score_is_capped_where_p_underflows():
    assert discernment_score(0.05) == pytest.approx(1)
    assert discernment_score(0.0025) == pytest.approx(2)
    assert discernment_score(0.0) == discernment_score(1e-320) == pytest.approx(236.5, abs=0.05)
    assert discernment_score(1.0) == 0


def test_levels_weigh_alike():
    levels = {"a": "characters", "b": "words", "c": "words", "d": "words", "e": "sentences"}
    summary = summarise_discernment({"a": 6.0, "b": 1.0, "c": 2.0, "d": 3.0, "e": 1.0}, levels)
    assert summary.average.value == pytest.approx((6 + 2 + 1) / 3)
    assert summary.minimum.value == 1
    assert summary.levels["words"].value == 2
    assert summary.average.n == 5


def test_an_undefined_score_is_not_averaged_away():
    summary = summarise_discernment({"a": np.nan, "b": 1.0}, {"a": "words", "b": "characters"})
    assert np.isnan(summary.average.value)
    assert summary.minimum.reason == UNDEFINED_SCORE.format(level="words")
    assert summary.levels["characters"].value == 1
    assert summarise_discernment({}, {}).average.reason == NO_SCORES


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"original": [[1.0]]}, "wrong_shape", "perturbed"),
        ({"original": [1.0, 2.0]}, "wrong_shape", "original"),
        ({"perturbed": [[np.inf], [1.0]]}, "not_finite", "perturbed"),
        ({"weights": [1, 2]}, "wrong_length", "weights"),
        ({"weights": [-1]}, "out_of_range", "weights"),
        ({"weights": [0]}, "out_of_range", "weights"),
        ({"zero_method": "none"}, "unknown_choice", "zero_method"),
    ],
)
def test_bad_arguments_are_named(change, code, name):
    with refused(code, naming=name):
        discernment(**({"original": [[1.0], [2.0]], "perturbed": [[0.0], [1.0]]} | change))


def test_bad_p_values_and_levels_are_named():
    with refused("out_of_range", naming="p_values"):
        harmonic_mean_p([1.5])
    with refused("empty", naming="p_values"):
        harmonic_mean_p([])
    with refused("names_missing", naming="'a'"):
        summarise_discernment({"a": 1.0}, {})

"""Paired tests against statsmodels and enumeration, and p-values by number of instances."""

from importlib import import_module
from itertools import product

import numpy as np
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from tests.refusals import refused
from tiebreak.stats import generator_for, p_value_curve, paired_t_test, permutation_test
from tiebreak.stats.rankings.paired_tests import NO_VARIATION, TOO_FEW

paired_tests = import_module("tiebreak.stats.rankings.paired_tests")


@pytest.mark.parametrize("seed", range(3))
def test_t_equals_statsmodels(seed):
    d = np.random.default_rng(seed).normal(0.2, 1, size=25)
    _, p, _ = DescrStatsW(d).ttest_mean(0)
    assert paired_t_test(d).value == pytest.approx(p)


def test_permutations_of_few_instances_are_all_of_them():
    d = np.array([1, 0.5, -0.5, 1, 0, 1, -1, 0.5])
    sums = [abs(np.dot(signs, d)) for signs in product([-1, 1], repeat=8)]
    expected = np.mean(np.array(sums) >= abs(d.sum()))
    estimate = permutation_test(d, rng=generator_for(0))
    assert estimate.value == pytest.approx(expected)
    assert "exact" in estimate.method


def test_random_permutations_equal_a_matrix_of_signs():
    rng = np.random.default_rng(1)
    d = rng.normal(0.25, 1, size=60)
    sums = rng.choice([-1, 1], size=(20_000, 60)) @ d
    expected = np.mean(np.abs(sums) >= abs(d.sum()))
    estimate = permutation_test(d, rng=generator_for(0), permutations=20_000)
    assert estimate.value == pytest.approx(expected, abs=0.01)
    assert "20000" in estimate.method


def test_a_permutation_p_is_never_0():
    estimate = permutation_test(np.ones(100), rng=generator_for(0), permutations=500)
    assert estimate.value == pytest.approx(1 / 501)


@pytest.mark.thorough
def test_p_is_uniform_where_nothing_differs():
    rng = np.random.default_rng(2)
    p = [
        permutation_test(rng.choice([-1, 0, 1], 40), rng=rng, permutations=400).value
        for _ in range(400)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.09
    t = [paired_t_test(rng.normal(size=40)).value for _ in range(1000)]
    assert 0.03 < np.mean(np.array(t) < 0.05) < 0.07


def test_degenerate_differences():
    assert paired_t_test([0, 0, 0]).value == 1
    assert permutation_test([0, 0, 0], rng=generator_for(0)).value == 1
    assert paired_t_test([1, 1, 1]).reason == NO_VARIATION
    for d in ([], [1.0]):
        assert paired_t_test(d).reason == TOO_FEW
        assert permutation_test(d, rng=generator_for(0)).reason == TOO_FEW


class TestCurve:
    def test_p_falls_with_more_instances(self):
        d = np.random.default_rng(3).normal(0.35, 1, size=400)
        for test in ("t", "permutation"):
            curve = p_value_curve(d, [10, 40, 160], rng=generator_for(0), draws=60, test=test)
            assert (np.diff(curve.median) < 0).all()
            assert (np.diff(curve.significant) > 0).all()
            assert (curve.low <= curve.median).all()
            assert (curve.median <= curve.high).all()

    def test_all_instances_give_the_test_itself(self):
        d = np.random.default_rng(4).normal(0.2, 1, size=50)
        curve = p_value_curve(d, [50], rng=generator_for(0), draws=5)
        assert [curve.median[0], curve.high[0]] == pytest.approx([paired_t_test(d).value] * 2)

    @pytest.mark.thorough
    def test_power_is_that_of_the_t_test(self):
        """Subsets of a large population are equivalent to new studies."""
        d = np.random.default_rng(5).normal(0.5, 1, size=100_000)
        curve = p_value_curve(d, [34], rng=generator_for(0), draws=1500)
        assert curve.significant[0] == pytest.approx(0.808, abs=0.03)

    def test_digits_are_those_of_the_seed(self):
        d = np.random.default_rng(6).normal(size=60)
        first, again = (p_value_curve(d, [20], rng=generator_for(1), draws=50) for _ in range(2))
        assert first.median.tolist() == again.median.tolist()

    def test_no_sizes(self):
        assert len(p_value_curve([1.0, 2.0], [], rng=generator_for(0)).median) == 0

    @pytest.mark.parametrize(
        ("sizes", "options", "code", "name"),
        [
            ([1], {}, "out_of_range", "sizes"),
            ([9], {}, "out_of_range", "sizes"),
            ([2], {"test": "z"}, "unknown_choice", "test"),
            ([2], {"draws": 0}, "out_of_range", "draws"),
        ],
    )
    def test_bad_arguments_are_named(self, sizes, options, code, name):
        with refused(code, naming=name):
            p_value_curve([1.0, 0, 1], sizes, rng=generator_for(0), **options)


def test_bad_differences_are_named():
    for test in (paired_t_test, lambda d: permutation_test(d, rng=generator_for(0))):
        with refused("not_finite", naming="differences"):
            test([1.0, np.nan])


@pytest.mark.parametrize("elements", [1, 100])
def test_only_some_subsets_are_in_memory_at_once(monkeypatch, elements):
    d = np.random.default_rng(0).normal(0.2, 1, size=30)
    whole = p_value_curve(d, [5, 30], rng=generator_for(0), draws=40)
    sizes, p_values = [], paired_tests._t_p_values
    monkeypatch.setattr(paired_tests, "_BATCH_ELEMENTS", elements)
    monkeypatch.setattr(
        paired_tests, "_t_p_values", lambda rows: sizes.append(rows.size) or p_values(rows)
    )
    parts = p_value_curve(d, [5, 30], rng=generator_for(0), draws=40)
    assert max(sizes) <= max(elements, 30)
    assert parts.median.tolist() == whole.median.tolist()
    assert parts.significant.tolist() == whole.significant.tolist()

"""Weights of units in statistics: as if a unit were there as many times, and equal ones change no digit."""

from dataclasses import replace

import numpy as np
import pytest

from tests.stats.test_coverage_of_weights import COMMON, RARE, STATISTICS, Study
from tiebreak.errors import InvalidInput
from tiebreak.stats import (
    bradley_terry_fit,
    collect_rating_sets,
    cyclic_triads,
    debiasing_threshold,
    pairwise_agreement,
    position_debiasing,
    prior_shift,
    summarise_rating_sets,
)
from tiebreak.stats.core.bootstrap import generator_for
from tiebreak.stats.core.independence import effective_size, too_few_clusters
from tiebreak.stats.raters.rank_correlations import rank_correlations

TIMES = round(COMMON / RARE)
# Their corrections for small samples count effective units or ratings, not repeated ones.
OF_A_COMPARISON = {"Spearman's ρ of means"}  # which refuses codes of another length
CORRECTED = {"α without a rater", "ICC(1)", "ICC(A)", "ICC(C)"}


@pytest.fixture
def study():
    return Study.drawn(np.random.default_rng(1))


def repeated(study):
    """Return the study with each rare instance as often as it counts."""
    times = np.where(study.is_rare, TIMES, 1)
    return Study(*(np.repeat(column, times, axis=0) for column in vars(study).values()))


@pytest.mark.parametrize("name", STATISTICS)
def test_a_weight_of_k_is_the_unit_k_times(name, study):
    statistic = STATISTICS[name]
    by_weight = statistic(study, study.weights).value
    by_repeating, unweighted = (statistic(one, None).value for one in (repeated(study), study))
    assert by_weight == pytest.approx(by_repeating, abs=0.02 if name in CORRECTED else 1e-9)
    assert abs(unweighted - by_repeating) > 0.01


@pytest.mark.parametrize("name", STATISTICS)
def test_equal_weights_change_no_digit(name, study):
    equal = np.full(len(study.labels), 1 / 0.3)
    weighted, plain = (
        STATISTICS[name](study, weights, rng=generator_for(1, "test"), replicates=50)
        for weights in (equal, None)
    )
    assert replace(weighted, reason=None) == replace(plain, reason=None)
    assert plain.has_interval


@pytest.mark.parametrize("name", [name for name in STATISTICS if name not in OF_A_COMPARISON])
def test_weights_that_are_not_above_0_or_not_of_each_unit_are_refused(name, study):
    units = len(study.labels)
    for weights, code in (
        (np.zeros(units), "out_of_range"),
        (np.ones(units - 1), "lengths_differ"),
    ):
        with pytest.raises(InvalidInput) as error:
            STATISTICS[name](study, weights)
        assert error.value.code == code


def test_thresholds_and_factors_of_debiasing_are_weighted():
    first, times = np.array([0.9, 0.7, 0.6, 0.3, 0.2]), np.array([1, 1, 1, 3, 4])
    again = np.repeat(first, times)
    assert debiasing_threshold(first, times) == debiasing_threshold(again) == 0.3
    assert prior_shift(first, times) == pytest.approx(prior_shift(again))
    assert prior_shift(first, times) != pytest.approx(prior_shift(first))
    labels = np.ones(5, dtype=int)
    found = position_debiasing(first, labels, labels, weights=times)
    assert found.prefers_first == pytest.approx(0.3)
    assert found.threshold == 0.3
    assert np.isnan(prior_shift([0, 0.5, 1], [2, 1, 1]))


def test_each_two_raters_agree_by_weight_and_share_units_in_number():
    unit, rater = np.repeat([0, 1, 2], 2), np.tile([0, 1], 3)
    label, times = [0, 0, 0, 1, 1, 1], np.array([1, 5, 2])
    sizes = {"n_units": 3, "n_raters": 2, "n_labels": 2}
    pairs = pairwise_agreement(unit, rater, label, **sizes, weights=times)
    again = pairwise_agreement(
        np.repeat(np.arange(8), 2),
        np.tile([0, 1], 8),
        np.repeat(np.reshape(label, (3, 2)), times, axis=0).ravel(),
        **sizes | {"n_units": 8},
    )
    assert pairs.agreement == pytest.approx(again.agreement)
    assert pairs.kappa == pytest.approx(again.kappa)
    assert pairs.shared.tolist() == [[3, 3], [3, 3]]


COUNTS, A, B = [[1, 0, 0]] * 2 + [[0, 0, 1]] * 2, [*"xyxx"], [*"yzzz"]


def test_who_wins_a_pair_and_how_one_order_fits_goes_by_weight():
    plain = cyclic_triads(COUNTS, system_a=A, system_b=B)
    counts = [*COUNTS, [1, 0, 0]]
    names = {"system_a": [*A, "x"], "system_b": [*B, "z"]}
    weights = np.array([1, 1, 1, 1, 3])
    assert plain.cyclic == cyclic_triads(counts, **names).cyclic == 1
    assert cyclic_triads(counts, **names, weights=weights).cyclic == 0
    some, others = np.tile(counts, (20, 1)), np.tile(counts, (4, 1))[:, ::-1]
    many, times = np.vstack([some, others]), np.tile(weights, 24)
    sides = {name: np.tile(side, 24) for name, side in names.items()}
    fit = bradley_terry_fit(many, **sides, weights=times)
    again = {name: np.repeat(side, times) for name, side in sides.items()}
    expected = bradley_terry_fit(np.repeat(many, times, axis=0), **again)
    assert fit.pair == expected.pair
    for of in ("difference", "observed", "fitted"):
        assert getattr(fit, of) == pytest.approx(getattr(expected, of))
    with pytest.raises(InvalidInput):
        bradley_terry_fit(counts, **names, weights=weights[1:])


def test_a_few_heavy_instances_have_no_p_value():
    many = {"system_a": A * 10, "system_b": B * 10}
    heavy = np.where(np.arange(40) < 4, 1000, 1)
    fit = bradley_terry_fit(COUNTS * 10, **many, weights=heavy)
    assert not fit.p.is_defined
    few = too_few_clusters(effective_size(heavy))
    assert fit.p.reason == few.replace("interval", "p-value")


def test_the_share_of_mixed_sets_by_guessing_is_weighted():
    labels, sizes = [1] * 5, {"instances": [*"iijjj"], "raters": ["r"] * 5}
    sets = collect_rating_sets(labels, **sizes, units=[*"abcde"])
    assert summarise_rating_sets(sets, weights=[3, 1]).mixed_by_coin == pytest.approx(
        (3 * 0.5 + 0.75) / 4
    )


def test_items_count_by_weight_in_rank_correlations():
    x, y, times = np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 4, 3]), np.array([1, 4, 2, 1])
    everything = [np.arange(4)]
    again = rank_correlations(np.repeat(x, times), np.repeat(y, times), [np.arange(8)])
    assert rank_correlations(x, y, everything, times) == pytest.approx(again)
    assert rank_correlations(x, y, everything) != pytest.approx(again)

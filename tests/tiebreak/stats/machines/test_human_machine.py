"""Majorities, ties, unparsed answers, single humans and Δ against manual values."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import (
    Comparison,
    agreement,
    delta,
    generator_for,
    human_machine,
    machine_machine,
    single_human_machine,
)
from tiebreak.stats.core.bootstrap import NO_WIDTH
from tiebreak.stats.machines.comparison_statistics import (
    AGAINST_MACHINE,
    AMONG_HUMANS,
    NO_ORDER,
    ONE_HUMAN,
)
from tiebreak.stats.raters.additive import NO_PAIR
from tiebreak.stats.raters.rank_correlations import CONSTANT, kendall_value


def test_a_tie_enters_once_per_mode_with_equal_weights():
    # Unit 1 is a tie between labels 0 and 1, and the machine gives label 0, so it is half a hit.
    statistics = human_machine(Comparison.of([[1, 1, 0], [0, 0, 2]], [[1, 0, 0], [0, 0, 1]]))
    assert statistics.percentage_agreement.value == 0.75
    assert statistics.percentage_agreement.n == 2
    assert statistics.randolph_kappa.value == pytest.approx((0.75 - 1 / 3) / (2 / 3))


def test_ties_on_both_sides_enter_as_pairs_of_whole_labels():
    statistics = human_machine(Comparison.of([[1, 1]], [[1, 1]]))
    # Four pairs of weight ¼ give an agreement of ½ and label shares of ½, so every κ is 0.
    assert statistics.percentage_agreement.value == 0.5
    assert statistics.cohen_kappa.value == pytest.approx(0)
    # For one unit with two ratings, o_01 = ½, n = 2 and n_0 = n_1 = 1; α = 1 − (2 − 1) · ½ / 1.
    assert statistics.krippendorff_alpha.value == pytest.approx(0.5)
    assert statistics.krippendorff_alpha.n == 1


def test_the_lower_median_represents_an_even_number_of_humans():
    statistics = human_machine(
        Comparison.of([[1, 0, 1], [0, 0, 2]], [[1, 0, 0], [0, 0, 1]]), level="ordinal"
    )
    assert statistics.percentage_agreement.value == 1.0
    assert statistics.krippendorff_alpha.value == 1.0


def test_the_machine_answers_by_the_majority_of_its_runs():
    statistics = human_machine(Comparison.of([[3, 0], [0, 3]], [[2, 1], [1, 2]]))
    assert statistics.percentage_agreement.value == 1.0


def test_an_unparsed_answer_disagrees_or_is_missing():
    humans = [[3, 0], [0, 3], [3, 0], [0, 3]]
    machine = [[1, 0], [0, 1], [0, 0], [1, 0]]
    statistics = human_machine(Comparison.of(humans, machine, unparsed=[0, 0, 1, 0]))
    assert (statistics.percentage_agreement.value, statistics.percentage_agreement.n) == (0.5, 4)
    assert (statistics.leave_one_out.value, statistics.leave_one_out.n) == (0.5, 4)
    for name in (
        "krippendorff_alpha",
        "randolph_kappa",
        "fleiss_kappa",
        "cohen_kappa",
        "binned_js",
    ):
        assert statistics.estimates()[name].n == 3, name
    assert statistics.randolph_kappa.value == pytest.approx((2 / 3 - 1 / 2) * 2)


def test_units_without_humans_or_without_the_machine_leave():
    humans = [[3, 0], [0, 3], [0, 0], [1, 2]]
    machine = [[1, 0], [0, 1], [1, 0], [0, 0]]
    statistics = human_machine(Comparison.of(humans, machine))
    assert statistics.percentage_agreement.n == 2
    assert statistics.krippendorff_alpha.value == 1.0


def test_no_overlap_is_undefined_with_its_reason():
    statistics = human_machine(Comparison.of([[3, 0]], [[0, 0]]), rng=generator_for(0))
    for name, estimate in statistics.estimates().items():
        assert np.isnan(estimate.value), name
        assert estimate.reason, name


def test_nominal_labels_have_no_rank_correlation():
    statistics = human_machine(Comparison.of([[3, 0], [0, 3]], [[1, 0], [0, 1]]))
    assert statistics.spearman.reason == statistics.kendall.reason == NO_ORDER


def test_a_constant_machine_has_no_rank_correlation():
    statistics = human_machine(Comparison.of([[3, 0], [0, 3]], [[1, 0], [1, 0]]), level="ordinal")
    assert np.isnan(statistics.spearman.value)
    assert statistics.kendall.reason == CONSTANT


def test_leave_one_out_is_against_the_subsets_of_the_humans():
    # Without one 0, the labels 0, 0, 1 are a tie (½ for each label); without the 1, the mode is 0.
    statistics = human_machine(Comparison.of([[2, 1]], [[1, 0]]))
    assert statistics.leave_one_out.value == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_a_single_human_is_the_expectation_over_the_humans():
    pair = Comparison.of([[2, 1], [0, 3]], [[1, 0], [0, 1]])
    statistics = single_human_machine(pair)
    assert statistics.percentage_agreement.value == pytest.approx((2 / 3 + 1) / 2)
    assert statistics.leave_one_out.reason == ONE_HUMAN


def test_a_single_human_equals_the_average_over_draws():
    rng = np.random.default_rng(3)
    humans = np.array([rng.multinomial(3, rng.dirichlet(np.ones(3))) for _ in range(400)])
    machine = np.eye(3, dtype=int)[rng.integers(0, 3, size=400)]
    statistics = single_human_machine(Comparison.of(humans, machine))
    drawn = []
    for _ in range(60):
        picked = np.array([rng.multinomial(1, row / row.sum()) for row in humans])
        drawn.append(human_machine(Comparison.of(picked, machine)).krippendorff_alpha.value)
    assert statistics.krippendorff_alpha.value == pytest.approx(np.mean(drawn), abs=0.01)


def test_runs_of_the_machine_agree_among_themselves():
    pair = Comparison.of([[3, 0], [0, 3]], [[2, 0], [1, 1]])
    expected = agreement([[2, 0], [1, 1]])
    assert machine_machine(pair) == expected
    once = machine_machine(Comparison.of([[3, 0]], [[1, 0]]))
    assert once.krippendorff_alpha.reason == NO_PAIR


def sample(seed=0, units=300):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), size=units)
    humans = np.array([rng.multinomial(5, share) for share in shares])
    machine = np.array([rng.multinomial(1, share) for share in shares])
    return humans, machine


def test_delta_is_the_difference_of_the_two_values():
    humans, machine = sample()
    pair = Comparison.of(humans, machine)
    among, against = agreement(humans).estimates(), human_machine(pair).estimates()
    for name, difference in delta(pair).estimates().items():
        assert difference.value == pytest.approx(among[name].value - against[name].value), name


def test_delta_sees_the_same_replicates_on_both_sides():
    # The machine repeats one of two humans who always agree, so both sides are always equal.
    rng = np.random.default_rng(5)
    humans = 2 * np.eye(3, dtype=int)[rng.integers(0, 3, size=100)]
    differences = delta(Comparison.of(humans, humans // 2), rng=generator_for(0), replicates=500)
    assert differences.krippendorff_alpha.value == differences.randolph_kappa.value == 0
    assert differences.krippendorff_alpha.reason == differences.randolph_kappa.reason == NO_WIDTH


def test_delta_says_which_side_is_undefined():
    differences = delta(Comparison.of([[1, 0], [0, 1]], [[1, 0], [0, 1]]))
    assert differences.krippendorff_alpha.reason == f"{AMONG_HUMANS}: {NO_PAIR}"
    differences = delta(Comparison.of([[2, 0], [0, 2]], [[0, 0], [0, 0]]))
    assert differences.krippendorff_alpha.reason.startswith(AGAINST_MACHINE)


def test_digits_do_not_depend_on_which_others_are_computed():
    humans, machine = sample()
    pair = Comparison.of(humans, machine)
    together = (
        machine_machine(pair, rng=generator_for(0)),
        human_machine(pair, rng=generator_for(0)),
    )
    assert human_machine(pair, rng=generator_for(0)) == together[1]


@pytest.mark.parametrize(
    ("machine", "unparsed", "code", "name"),
    [([[1, 0, 0]], None, "wrong_shape", "machine"), ([[1, 0]], [1, 2], "wrong_length", "unparsed")],
)
def test_shapes_must_fit(machine, unparsed, code, name):
    with refused(code, naming=name):
        Comparison.of([[1, 0]], machine, unparsed=unparsed)


@pytest.mark.filterwarnings("error")
def test_what_rounding_leaves_below_zero_is_no_pair():
    """A table without one instance may have −1e−15 where nothing is left."""
    assert np.isnan(kendall_value(np.array([[1.0, 2.0], [-1e-15, -1e-15]])))

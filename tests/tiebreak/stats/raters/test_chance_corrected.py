"""Coefficients for sixty simulated tables, some with missing ratings, equal those of irrCAC."""

import json

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.paths import GOLDEN
from tests.refusals import refused
from tests.tiebreak.stats.published import counts_of
from tiebreak.stats import (
    brennan_prediger,
    conger_kappa,
    fleiss_kappa,
    generator_for,
    gwet_ac,
    intraclass_correlation,
    krippendorff_alpha,
    randolph_kappa,
    weighted_cohen_kappa,
    weighted_fleiss_kappa,
)
from tiebreak.stats.raters.additive import CERTAIN, NO_PAIR, ONE_LABEL
from tiebreak.stats.raters.intraclass import NO_VARIATION, NOT_CROSSED

TABLES = json.loads((GOLDEN / "chance-corrected.json").read_text(encoding="utf-8"))


def as_counts(table):
    labels = [[-1 if label is None else label - 1 for label in unit] for unit in table["table"]]
    return counts_of(np.array(labels), table["labels"])


def assert_value(estimate, table, name):
    assert estimate.value == pytest.approx(table["values"][name]["value"], abs=5.1e-6)


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_values_are_those_of_another_package(number):
    table = TABLES[number]
    counts = as_counts(table)
    assert_value(krippendorff_alpha(counts), table, "krippendorff/identity")
    assert_value(krippendorff_alpha(counts, level="interval"), table, "krippendorff/quadratic")
    # Brennan and Prediger's coefficient of unweighted labels is Randolph's κ.
    assert_value(randolph_kappa(counts), table, "bp/identity")


def test_fleiss_agrees_where_no_unit_has_a_single_rating():
    """Our label shares leave out units with one rating; those of the other package include them."""
    whole = [table for table in TABLES if (as_counts(table).sum(axis=1) != 1).all()]
    assert len(whole) == 55
    for table in whole:
        assert_value(fleiss_kappa(as_counts(table)), table, "fleiss/identity")


def scores_of(table):
    return np.array([[np.nan if x is None else x for x in unit] for unit in table["table"]], float)


def codes_of(table):
    return np.nan_to_num(scores_of(table), nan=0).astype(int) - 1


@pytest.mark.parametrize("weights", ["identity", "linear", "quadratic"])
@pytest.mark.parametrize("number", range(len(TABLES)))
def test_weighted_coefficients_are_those_of_another_package(number, weights):
    table = TABLES[number]
    counts, labels = as_counts(table), table["labels"]
    assert_value(gwet_ac(counts, weights=weights), table, f"gwet/{weights}")
    assert_value(brennan_prediger(counts, weights=weights), table, f"bp/{weights}")
    assert_value(weighted_fleiss_kappa(counts, weights=weights), table, f"fleiss/{weights}")
    conger = conger_kappa(codes_of(table), n_labels=labels, weights=weights)
    assert_value(conger, table, f"conger/{weights}")


@pytest.mark.parametrize("number", [k for k, t in enumerate(TABLES) if "icc1" in t["values"]])
def test_intraclass_correlations_are_those_of_another_package(number):
    table = TABLES[number]
    for form, name in (("1", "icc1"), ("A", "icc2"), ("C", "icc3")):
        estimate = intraclass_correlation(scores_of(table), form=form)
        assert estimate.value == pytest.approx(table["values"][name]["value"], abs=1e-9)


def test_there_are_tables_with_intraclass_correlations():
    assert sum("icc1" in table["values"] for table in TABLES) == 30


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(12))
def test_weighted_cohen_equals_scikit_learn_on_the_units_that_both_rated(seed, weights):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(-1, 5, size=(2, 60))
    both = (first >= 0) & (second >= 0)
    expected = cohen_kappa_score(first[both], second[both], weights=weights, labels=range(5))
    estimate = weighted_cohen_kappa(first, second, n_labels=5, weights=weights or "identity")
    assert estimate.value == pytest.approx(expected, abs=1e-9)
    assert estimate.n == both.sum()


def test_conger_is_cohen_for_two_raters_of_the_same_units():
    first, second = np.random.default_rng(1).integers(4, size=(2, 60))
    conger = conger_kappa(np.stack([first, second], axis=1), n_labels=4, weights="linear")
    cohen = weighted_cohen_kappa(first, second, n_labels=4, weights="linear")
    assert conger.value == pytest.approx(cohen.value, abs=1e-12)


def test_raters_without_ratings_do_not_change_conger():
    codes = np.random.default_rng(1).integers(-1, 3, size=(40, 3))
    more = np.column_stack([codes, np.full(40, -1)])
    one, other = (conger_kappa(matrix, n_labels=3) for matrix in (codes, more))
    assert one.value == pytest.approx(other.value, abs=1e-12)


def test_distances_follow_the_values_of_labels():
    """The labels 0, 1 and 9 have weights 8/9, 1/9 and 0, whose mean with the diagonal is 5/9."""
    counts = [[2, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 2]]
    estimate = brennan_prediger(counts, weights="linear", values=[0, 1, 9])
    assert estimate.value == pytest.approx(((2 + 16 / 9) / 4 - 5 / 9) / (1 - 5 / 9))


class TestPrevailingLabel:
    """With 19 of 20 units on one label and a split one, chance is all that differs."""

    counts = np.array([[2, 0]] * 19 + [[1, 1]])

    def test_alpha_falls_and_gwets_ac_does_not(self):
        assert krippendorff_alpha(self.counts).value == pytest.approx(0, abs=0.01)
        # π = (.975, .025); C = 2 · 2 · .975 · .025 / 2
        assert gwet_ac(self.counts).value == pytest.approx((0.95 - 0.04875) / (1 - 0.04875))

    def test_one_label_only_is_full_agreement_for_gwet_and_undefined_for_fleiss(self):
        counts = [[2, 0], [2, 0]]
        assert gwet_ac(counts).value == 1
        assert brennan_prediger(counts).value == 1
        assert weighted_fleiss_kappa(counts, weights="identity").reason == ONE_LABEL
        assert conger_kappa([[0, 0], [0, 0]], n_labels=2).reason == ONE_LABEL
        cohen = weighted_cohen_kappa([0, 0], [0, 0], n_labels=2, weights="linear")
        assert cohen.reason == ONE_LABEL


@pytest.mark.parametrize("statistic", [gwet_ac, brennan_prediger])
def test_a_scale_with_one_label_has_no_chance_to_disagree(statistic):
    assert statistic([[2], [3]]).reason == CERTAIN


@pytest.mark.parametrize(
    "estimate",
    [
        gwet_ac([[1, 0], [0, 1]]),
        brennan_prediger([[1, 0], [0, 1]]),
        weighted_fleiss_kappa([[1, 0], [0, 1]], weights="linear"),
        conger_kappa([[0, -1], [-1, 1]], n_labels=2),
        intraclass_correlation([[1, np.nan], [np.nan, 2]]),
        intraclass_correlation([[1, np.nan], [np.nan, 2]], form="A"),
    ],
)
def test_without_a_pair_there_is_no_agreement(estimate):
    assert np.isnan(estimate.value)
    assert (estimate.n, estimate.reason) == (0, NO_PAIR)


class TestIntraclass:
    scores = np.random.default_rng(3).normal(size=(30, 4)) + np.arange(30)[:, None] / 4

    def test_levels_of_raters_lower_absolute_agreement_and_not_consistency(self):
        moved = np.add(self.scores, [0, 2, 4, 6])
        consistency = [intraclass_correlation(s, form="C").value for s in (self.scores, moved)]
        absolute = [intraclass_correlation(s, form="A").value for s in (self.scores, moved)]
        assert consistency[0] == pytest.approx(consistency[1], abs=1e-9)
        assert absolute[1] < absolute[0] - 0.1

    def test_large_scores_lose_no_digits(self):
        for form in "1AC":
            near = intraclass_correlation(self.scores, form=form).value
            far = intraclass_correlation(self.scores + 1e7, form=form).value
            assert far == pytest.approx(near, abs=1e-7)

    def test_unequal_numbers_of_ratings(self):
        """Two units: R = 3(2 − 3)² + 2(4.5 − 3)² = 7.5, W = (2 + ½)/3 and k = 5 − 13/5 = 2.4."""
        estimate = intraclass_correlation([[1, 2, 3], [4, 5, np.nan]])
        within = (2 + 0.5) / 3
        assert estimate.value == pytest.approx((7.5 - within) / (7.5 + 1.4 * within))

    def test_a_gap_leaves_the_one_way_form_only(self):
        gappy = self.scores.copy()
        gappy[0, 0] = np.nan
        assert intraclass_correlation(gappy).is_defined
        for form in "AC":
            assert intraclass_correlation(gappy, form=form).reason == NOT_CROSSED

    def test_raters_without_ratings_do_not_matter(self):
        more = np.column_stack([self.scores, np.full(30, np.nan)])
        for form in "AC":
            assert intraclass_correlation(more, form=form) == intraclass_correlation(
                self.scores, form=form
            )

    def test_units_with_one_rating_do_not_matter(self):
        lonely = np.vstack([self.scores, [1, np.nan, np.nan, np.nan]])
        for form in "1AC":
            assert intraclass_correlation(lonely, form=form).value == pytest.approx(
                intraclass_correlation(self.scores, form=form).value, abs=1e-12
            )

    @pytest.mark.parametrize("form", ["1", "A", "C"])
    @pytest.mark.parametrize("scores", [np.full((5, 3), 0.1), [[1, 2]]])
    def test_without_variation_it_is_undefined(self, scores, form):
        assert intraclass_correlation(scores, form=form).reason == NO_VARIATION

    def test_intervals_resample_units(self):
        estimate = intraclass_correlation(self.scores, rng=generator_for(0), replicates=200)
        assert estimate.low < estimate.value < estimate.high
        assert (estimate.scope.instances, estimate.scope.raters) == ("new", "these")


def test_unknown_weights_are_refused_by_name():
    with refused("unknown_choice", naming="weights"):
        gwet_ac([[1, 1]], weights="cubic")


def test_a_vector_is_no_table_of_raters():
    with refused("wrong_shape", naming="labels"):
        conger_kappa([0, 1], n_labels=2)

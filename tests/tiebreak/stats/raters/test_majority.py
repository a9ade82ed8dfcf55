"""The reliability of several ratings together, against closed forms and simulated raters."""

import numpy as np
import pytest

from tests.metrics.studies import checked, drawn_study, preferences, report_of
from tiebreak.errors import InvalidInput
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.report.sections.raters.strata import NO_EXACT_AGREEMENT
from tiebreak.stats import Estimate, fleiss_kappa, majority_agreement, spearman_brown, undefined
from tiebreak.stats.raters.additive import NO_PAIR
from tiebreak.stats.raters.majority import TOO_MANY, TOO_NEGATIVE


@pytest.mark.parametrize("kappa", [0.0, 0.2, 0.7, 1.0])
def test_majorities_of_one_agree_as_single_ratings_do(kappa):
    shares = np.array([0.2, 0.5, 0.3])
    chance = (shares**2).sum()
    found = majority_agreement(Estimate(kappa), shares, ratings=1).value
    assert found == pytest.approx(chance + kappa * (1 - chance))


def test_two_labels_with_equally_frequent_probabilities_have_the_closed_form():
    # p is uniform at κ = 1/3, and a majority of three has the probability 3 p² − 2 p³.
    found = majority_agreement(Estimate(1 / 3, 0, 1), [0.5, 0.5], ratings=3)
    assert found.value == pytest.approx(26 / 35)
    assert (found.low, found.high) == pytest.approx((0.5, 1))


@pytest.mark.parametrize(("ratings", "alpha"), [(2, [1, 2]), (4, [0.5, 0.5, 1]), (5, [2, 1, 1, 1])])
def test_simulated_majorities_agree_as_often(ratings, alpha):
    rng, alpha = np.random.default_rng(ratings), np.array(alpha)
    items = rng.dirichlet(alpha, 200_000)
    shares = []
    for _ in range(2):
        counts = rng.multinomial(ratings, items)
        top = counts == counts.max(axis=1, keepdims=True)
        shares.append(top / top.sum(axis=1, keepdims=True))
    kappa = Estimate(1 / (1 + alpha.sum()))
    found = majority_agreement(kappa, alpha / alpha.sum(), ratings=ratings).value
    assert found == pytest.approx((shares[0] * shares[1]).sum(axis=1).mean(), abs=0.004)


def test_more_ratings_are_more_reliable_and_too_many_are_not_computed():
    found = [majority_agreement(Estimate(0.3), [0.6, 0.4], ratings=n).value for n in (1, 3, 5, 21)]
    assert found == sorted(found)
    assert majority_agreement(Estimate(0.3), [0.2] * 5, ratings=20).reason == TOO_MANY
    assert majority_agreement(undefined("Why."), [1.0], ratings=3).reason == "Why."
    below = majority_agreement(Estimate(-0.2), [0.5, 0.5], ratings=3)
    assert below.value == pytest.approx(0.5)


def test_the_mean_of_ratings_correlates_as_simulated():
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1, 100_000)
    means = [truth + rng.normal(0, 2 / np.sqrt(5), len(truth)) for _ in range(2)]
    found = spearman_brown(Estimate(0.2, -0.9, 0.5, n=9), ratings=5)
    assert found.value == pytest.approx(np.corrcoef(means)[0, 1], abs=0.005)
    assert (found.low, found.high) == (-1, pytest.approx(2.5 / 3))
    assert spearman_brown(Estimate(-0.3), ratings=5).reason == TOO_NEGATIVE


@pytest.mark.parametrize(("shares", "ratings"), [([0.5, 0.6], 3), ([1.5, -0.5], 3), ([1.0], 0)])
def test_what_cannot_be_is_refused(shares, ratings):
    with pytest.raises(InvalidInput):
        majority_agreement(Estimate(0.5), shares, ratings=ratings)


def section_of(rows: list[dict]):
    (about,) = checked(report_of(rows, sections=["majority"])).criteria.values()
    return about.majority


def test_a_report_has_one_three_five_and_its_own_number_of_ratings():
    rng = np.random.default_rng(1)
    labels = [rng.choice([-1, 0, 1], 4, p=p).tolist() for p in rng.dirichlet([1, 1, 1], 60)]
    found = section_of(preferences(labels))
    assert [*found.majority] == ["1", "3", "4", "5"]
    assert found.mean is None  # which is better has no numbers
    counts = np.array([[row.count(label) for label in (-1, 0, 1)] for row in labels])
    expected = majority_agreement(fleiss_kappa(counts), counts.sum(axis=0) / 240, ratings=4)
    assert found.majority["4"].value == pytest.approx(expected.value)
    (figure,) = figures_of_section("majority", found)
    assert len(figure.rows) == 4


def test_drawn_items_have_weights_and_what_is_undefined_a_reason():
    drawn = section_of(drawn_study("proportional", seed=0, control_share=0.3))
    assert drawn.majority["3"].scope.instances == "dataset"
    single = section_of(preferences([[1]] * 12))
    assert (single.majority, single.reason) == ({}, NO_PAIR)
    assert figures_of_section("majority", single)[0].sentence == NO_PAIR
    scores = [
        {"unit": f"u{n}", "rater": f"r{r}", "label": 7 * n + r + 0.5, "criterion": "c"}
        for n in range(20)
        for r in range(2)
    ]
    sliders = section_of(scores)
    assert sliders.majority["3"].reason == NO_EXACT_AGREEMENT
    assert sliders.mean["3"].value > 0.9

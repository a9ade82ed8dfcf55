"""Intervals for new raters hold what they promise where raters differ, and those beside them do not."""

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.stats.coverage import (
    HIGHEST,
    HIGHEST_OF_FEW,
    LOWEST_OF_FEW,
    MAX_FALSE,
    Design,
    alpha_interval,
    coverage,
    few_coverage,
    finds_a_winner,
    misses_a_rank,
    rate_interval,
    study,
    true_rate,
)

STUDIES = 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        Design(3, 0.1, 100, per_unit=1, is_unequal=True),
        Design(6, 0.2, 30, per_unit=5),
        Design(12, 0.1, 100, missing=0.1),
        Design(12, 0.2, 20, units=5, share=0.8),
        Design(40, 0.1, 100, share=0.2, is_unequal=True),
        Design(200, 0.2, 400, per_unit=1),
        Design(40, 0.1, 100, draw="proportional"),
        Design(40, 0.2, 100, draw="top"),
        Design(12, 0.1, 100, units=5, systems=10),
    ],
    ids=str,
)
def test_the_true_values_are_inside(design):
    of_rate, of_alpha = coverage(design, STUDIES)
    assert of_rate.intervals > 0.9 * STUDIES
    assert not of_rate.misses(design)
    assert bool(of_alpha.intervals) == (design.per_unit > 1)
    assert not of_alpha.misses(design)


@pytest.mark.slow
@pytest.mark.parametrize("instances", [15, 30, 50])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.93])
def test_win_rates_of_few_instances_are_inside(instances, rate):
    few = few_coverage(instances, rate, 3, STUDIES)
    assert few.is_judged == (instances > 15 or rate < 0.9)
    for share, highest in ((few.these, HIGHEST), (few.new, HIGHEST_OF_FEW)):
        ends = binomtest(round(share * STUDIES), STUDIES).proportion_ci(0.99)
        assert ends.high >= LOWEST_OF_FEW
        assert ends.low <= highest


@pytest.mark.slow
@pytest.mark.parametrize(("instances", "systems"), [(10, 2), (50, 2), (20, 10)])
def test_equally_good_systems_are_rarely_told_apart(instances, systems):
    named = sum(finds_a_winner(number, instances, systems) for number in range(STUDIES))
    assert binomtest(named, STUDIES).proportion_ci(0.99).low <= MAX_FALSE


@pytest.mark.slow
@pytest.mark.parametrize("qualities", [(0.0,) * 6, (0.0, 0.0, 0.1, 0.2, 0.3, 0.5)])
def test_sets_of_ranks_hold_the_true_ranks_at_once(qualities):
    missed = sum(misses_a_rank(number, 50, qualities) for number in range(100))
    assert binomtest(missed, 100).proportion_ci(0.99).low <= 0.05


@pytest.mark.slow
def test_the_interval_for_these_raters_does_not_cover_where_six_raters_differ():
    design, held = Design(6, 0.1, 400), []
    truth = true_rate(design)
    for number in range(STUDIES):
        rng = np.random.default_rng(number)
        (inner,) = rate_interval(study(design, rng), rng).narrower
        held.append(inner.low <= truth <= inner.high)
    assert np.mean(held) < 0.8


@pytest.mark.slow
def test_unweighted_agreement_does_not_cover_the_dataset_after_a_draw():
    design, held = Design(40, 0.1, 200, draw="top"), []
    for number in range(60):
        rng = np.random.default_rng(number)
        ratings = study(design, rng)
        alpha = alpha_interval(ratings, rng, is_weighted=False)
        held.append(alpha.low <= ratings.alpha <= alpha.high)
    assert np.mean(held) < 0.7

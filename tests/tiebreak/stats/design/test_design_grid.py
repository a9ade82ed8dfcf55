"""The number of instances by units per instance and ratings per unit."""

import math
import re

import numpy as np
import pytest

from tests.refusals import refused
from tests.stats.coverage import SPREAD, Design, Study, rate_interval, study, true_rate
from tiebreak.stats import VarianceComponents, design_grid, generator_for, variance_components
from tiebreak.stats.design.design_grid import MIN_INSTANCES, NO_DIFFERENCE, TOO_MANY, further_tasks

PILOT = VarianceComponents(0.6, instance=0.05, unit=0.03, rater=0.01, rating=0.12)
SAME_RATERS = VarianceComponents(0.6, instance=0.05, unit=0.03, rater=0, rating=0.12)
STUDIES = 400


def only(pilot: VarianceComponents, **options):
    (option,) = design_grid(pilot, **options)
    return option


def mixed(rated: Study, ratings: int, further: float) -> Study:
    """Leave out the last rating of all units but the share that gets a further one."""
    n_further = further_tasks(further, rated.unit.max() + 1)
    place = np.arange(len(rated.unit)) - np.searchsorted(rated.unit, rated.unit)
    kept = (place < ratings) | (rated.unit < n_further)
    columns = ("is_win", "unit", "instance", "rater")
    return rated._replace(**{name: getattr(rated, name)[kept] for name in columns})


@pytest.mark.slow
@pytest.mark.parametrize("differ", [0, 0.1])
@pytest.mark.parametrize(
    "planned",
    [
        *[(8, 1, 0.35, 0), (12, 3, 0.25, 0), (20, 2, 0.2, 0), (40, 2, 0.15, 0)],
        *[(20, 1, 0.2, 0.15), (40, 1, 0.15, 0.5)],
    ],
)
@pytest.mark.parametrize("goal", ["target_width", "power"])
def test_what_is_promised_comes_true(planned, differ, goal):
    raters, ratings, width, further = planned
    parts = SPREAD**2, SPREAD**2 / 4, differ**2
    rate = true_rate(Design(raters, differ, 100, share=0.65))
    pilot = VarianceComponents(rate, *parts, rate * (1 - rate) - sum(parts))
    target = {goal: width if goal == "target_width" else 0.8}
    option = only(pilot, ratings=[ratings], raters=raters, further_share=further, **target)
    per_unit = ratings + (further > 0)
    design, rng = Design(raters, differ, option.instances, 1, per_unit, 0.65), generator_for(0)
    drawn = [mixed(study(design, rng), ratings, further) for _ in range(STUDIES)]
    assert len(drawn[0].is_win) == option.total
    intervals = [rate_interval(rated, rng) for rated in drawn]
    is_width = goal == "target_width"
    reached = [i.high - i.low <= width if is_width else i.low > 0.5 for i in intervals]
    assert np.mean(reached) >= 0.75


def test_the_plan_for_a_data_set_has_the_width_of_its_interval():
    """The interval of the report, and the plan for that width from the components of its ratings."""
    rng = generator_for(1)
    rated = study(Design(20, 0.1, 300, per_unit=2), rng)
    interval = rate_interval(rated, rng)
    pilot = variance_components(rated.is_win, units=rated.unit, raters=rated.rater)
    width = interval.high - interval.low
    wide, narrow = (
        only(pilot, target_width=share * width, ratings=[2], raters=20, assurance=0.5).instances
        for share in (1.05, 0.95)
    )
    assert wide < 300 < narrow


def test_fewer_than_eight_raters_are_refused_for_others_but_not_for_these():
    with refused("too_few_raters"):
        only(PILOT, target_width=0.4, ratings=[3], raters=7)
    few = only(SAME_RATERS, target_width=0.3, ratings=[3], units_per_rater=50)
    assert (few.instances, few.code) == (None, "too_few_raters")
    most = int(re.search(r"at most (\d+) items", few.reason)[1])
    assert only(SAME_RATERS, target_width=0.3, ratings=[3], units_per_rater=most).raters >= 8
    these = only(SAME_RATERS, target_width=0.3, ratings=[3], units_per_rater=50, new_raters=False)
    assert these.raters < 8 <= MIN_INSTANCES <= these.instances


def test_more_ratings_need_fewer_instances_and_more_ratings_in_all():
    options = design_grid(SAME_RATERS, target_width=0.1, new_raters=False)
    instances, totals = ([getattr(o, name) for o in options] for name in ("instances", "total"))
    assert instances == sorted(instances, reverse=True)
    assert totals == sorted(totals)
    assert [o.ratings for o in options] == list(range(1, 9))


def test_no_plan_has_fewer_instances_than_an_interval_needs():
    assert only(SAME_RATERS, target_width=0.9, ratings=[8], raters=8).instances == MIN_INSTANCES


def test_equal_systems_are_never_told_apart():
    option = only(VarianceComponents(0.5, 0.05, 0, 0, 0.1), power=0.8, ratings=[3])
    assert (option.instances, option.total, option.reason) == (None, None, NO_DIFFERENCE)


def test_a_target_out_of_reach_has_a_reason():
    option = only(PILOT, target_width=0.001, ratings=[1])
    assert option.instances is None
    assert option.reason == TOO_MANY.format(number=20_000)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "not_one_of_two"),
        ({"target_width": 0.1, "power": 0.8}, "not_one_of_two"),
        ({"power": 1.2}, "out_of_range"),
        ({"power": 0.8, "ratings": [0]}, "out_of_range"),
        ({"power": 0.8, "units_per_rater": 0}, "out_of_range"),
    ],
)
def test_refusals(options, code):
    with refused(code):
        design_grid(PILOT, **options)


def test_undefined_components_are_refused():
    with refused("out_of_range"):
        design_grid(VarianceComponents(0.6, math.nan, 0, 0, 0.1), power=0.8)


@pytest.mark.parametrize(
    ("design", "between", "ratings"),
    [
        ({"ratings": [3], "explained": 0.5}, 0.5, 3),
        # E r²/(E r)² with one rating of half of the instances, and three of the others.
        ({"ratings": [1], "further_share": 0.5, "further_ratings": 2}, 5 / 4, 2),
    ],
)
def test_explained_shares_and_mixed_designs_by_hand(design, between, ratings):
    parts = VarianceComponents(0.5, instance=0.04, unit=0.02, rater=0, rating=0.12)
    design |= {"units": [2], "assurance": 0.5, "new_raters": False}
    option = only(parts, target_width=0.1, **design)
    per_instance = (0.04 + 0.02 / 2) * between + 0.12 / (2 * ratings)
    assert option.instances == pytest.approx(per_instance / (0.1 / (2 * 1.96)) ** 2, rel=0.05)
    assert option.total == pytest.approx(2 * ratings * option.instances, abs=2)


@pytest.mark.parametrize("name", ["assurance", "explained"])
def test_shares_are_shares(name):
    parts = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    with refused("out_of_range", naming=name):
        design_grid(parts, target_width=0.1, **{name: 1.5})

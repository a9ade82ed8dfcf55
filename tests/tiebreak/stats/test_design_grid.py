"""The number of instances by units per instance and ratings per unit."""

import math

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import VarianceComponents, design_grid, generator_for, sample_size
from tiebreak.stats.design_grid import MIN_INSTANCES, NO_DIFFERENCE, TOO_MANY

PILOT = VarianceComponents(0.6, instance=0.05, unit=0.03, rater=0.01, rating=0.12)
SAME_RATERS = VarianceComponents(0.6, instance=0.05, unit=0.03, rater=0, rating=0.12)


def only(pilot: VarianceComponents, **options):
    (option,) = design_grid(pilot, **options)
    return option


@pytest.mark.parametrize("target", [{"target_width": 0.1}, {"power": 0.8}], ids=str)
@pytest.mark.parametrize(("units", "ratings"), [(1, 1), (2, 3)])
def test_it_agrees_with_the_simulation(target, units, ratings):
    simulated = sample_size(
        SAME_RATERS, units=units, ratings=ratings, rng=generator_for(0), **target
    )
    planned = only(SAME_RATERS, units=[units], ratings=[ratings], **target)
    assert planned.instances == pytest.approx(simulated.instances, rel=0.12)
    assert planned.total == planned.instances * units * ratings


@pytest.mark.parametrize("per_rater", [20, 50, 5000])
def test_the_planned_number_has_the_width_for_new_raters(per_rater):
    option = only(PILOT, target_width=0.15, ratings=[3], units_per_rater=per_rater)
    rng, n, studies = generator_for(1), option.instances, 4000
    raters = max(3, math.ceil(n * 3 / per_rater))
    severity = math.sqrt(PILOT.rater / raters) * rng.standard_normal(studies)
    variance = (PILOT.instance + PILOT.unit + PILOT.rating / 3) / n
    means = severity + math.sqrt(variance) * rng.standard_normal(studies)
    assert 2 * 1.96 * np.std(means) == pytest.approx(0.15, rel=0.06)


def test_more_ratings_need_fewer_instances_and_more_ratings_in_all():
    options = design_grid(SAME_RATERS, target_width=0.1)
    instances, totals = ([getattr(o, name) for o in options] for name in ("instances", "total"))
    assert instances == sorted(instances, reverse=True)
    assert totals == sorted(totals)
    assert [o.ratings for o in options] == list(range(1, 9))


def test_no_plan_has_fewer_instances_than_an_interval_needs():
    assert only(SAME_RATERS, target_width=0.9, ratings=[8]).instances == MIN_INSTANCES


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


def test_mixed_and_explained_designs_by_hand():
    parts = VarianceComponents(0.6, instance=0.04, unit=0.02, rater=0, rating=0.12)
    (option,) = design_grid(
        parts, target_width=0.1, units=[2], ratings=[3], repeated=0.2, explained=0.5
    )
    error = 0.1 / (2 * 1.959963984540054)
    per_instance = (0.04 + 0.02 / 2) / 2 + 0.12 * (0.2 / 3 + 0.8) / 2
    assert option.instances == int(np.ceil(per_instance / error**2))
    assert option.total == 2 * option.instances + 2 * int(np.ceil(0.4 * option.instances))
    assert option.repeated == 0.2


@pytest.mark.parametrize("name", ["repeated", "explained"])
def test_shares_are_shares(name):
    parts = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    with refused("out_of_range", naming=name):
        design_grid(parts, target_width=0.1, **{name: 1.5})

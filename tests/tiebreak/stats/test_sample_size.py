"""Variance components of a known population, and numbers of instances that reach a target."""

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from tests.refusals import refused
from tiebreak.stats import VarianceComponents, generator_for, sample_size, variance_components
from tiebreak.stats.sample_size import NO_RATERS, NO_UNITS, TOO_MANY


def pilot(seed, *, instances=400, units=2, raters=40, ratings=3, sd=(0.3, 0.2, 0.15, 0.4)):
    """Return ratings with known standard deviations between instances, units, raters and ratings."""
    rng = np.random.default_rng(seed)
    instance = np.repeat(np.arange(instances), units * ratings)
    unit = np.repeat(np.arange(instances * units), ratings)
    rater = np.concatenate(
        [rng.choice(raters, ratings, replace=False) for _ in range(instances * units)]
    )
    effects = [
        rng.normal(0, s, n)
        for s, n in zip(sd, (instances, instances * units, raters, len(unit)), strict=True)
    ]
    values = 0.6 + effects[0][instance] + effects[1][unit] + effects[2][rater] + effects[3]
    return values, {"units": unit, "raters": rater, "instances": instance}


def test_known_components_are_recovered():
    estimates = [variance_components(values, **names) for values, names in map(pilot, range(8))]
    for name, expected in zip(
        ("instance", "unit", "rater", "rating"), (0.09, 0.04, 0.0225, 0.16), strict=True
    ):
        assert np.mean([getattr(components, name) for components in estimates]) == pytest.approx(
            expected, rel=0.12
        )
    assert estimates[0].notes == ()


def test_pairs_by_brute_force():
    values, names = pilot(1, instances=8, units=2, raters=5)
    unit, rater, instance = (names[key] for key in ("units", "raters", "instances"))
    kinds = {"unit": [], "other": [], "rater": [], "nothing": []}
    for i in range(len(values)):
        for j in range(i):
            half = (values[i] - values[j]) ** 2 / 2
            same_rater, same_instance = rater[i] == rater[j], instance[i] == instance[j]
            if unit[i] == unit[j]:
                kinds["unit"].append(half)
            elif same_instance and not same_rater:
                kinds["other"].append(half)
            elif same_rater and not same_instance:
                kinds["rater"].append(half)
            elif not same_rater:
                kinds["nothing"].append(half)
    in_unit, other, by_rater, nothing = (np.mean(halves) for halves in kinds.values())
    components = variance_components(values, **names)
    assert components.rater == pytest.approx(max(nothing - by_rater, 0))
    assert components.unit == pytest.approx(max(other - in_unit, 0))
    assert components.rating == pytest.approx(in_unit - components.rater)


def test_what_cannot_be_told_apart_is_said():
    values, names = pilot(2, units=1)
    components = variance_components(values, **names)
    assert components.unit == 0
    assert components.notes[0] == NO_UNITS
    assert components.instance == pytest.approx(0.09 + 0.04, rel=0.2)
    with_distinct_raters = variance_components(
        values, units=names["units"], raters=np.arange(len(values))
    )
    assert with_distinct_raters.notes[0] == NO_RATERS
    assert with_distinct_raters.rater == 0


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"values": [1.0]}, "too_few", "values"),
        ({"values": [1.0, np.nan]}, "not_finite", "values"),
        ({"units": [0]}, "wrong_length", "units"),
        ({"units": [0, 1]}, "no_repeats", ""),
        ({"units": [0, 0]}, "no_other_instances", ""),
        ({"units": [0, 0], "instances": [0, 1]}, "units_span_instances", "units"),
    ],
)
def test_bad_pilots_are_named(change, code, name):
    with refused(code, naming=name):
        variance_components(**({"values": [1.0, 0.0], "units": [0, 0], "raters": [0, 1]} | change))


def test_the_width_is_that_of_theory():
    components = VarianceComponents(0.6, instance=0.04, unit=0.02, rater=0, rating=0.12)
    size = sample_size(components, target_width=0.08, units=2, ratings=3, rng=generator_for(0))
    variance = 0.04 + 0.02 / 2 + 0.12 / 6
    assert size.instances == pytest.approx((2 * 1.96 / 0.08) ** 2 * variance, rel=0.06)
    assert size.ratings == size.instances * 6
    assert size.reason is None
    assert [study.instances for study in size.tried] == sorted(
        study.instances for study in size.tried
    )


def test_the_power_is_that_of_theory():
    components = VarianceComponents(0.6, instance=0.09, unit=0, rater=0, rating=0)
    size = sample_size(components, power=0.8, rng=generator_for(0))
    expected = TTestPower().solve_power(effect_size=0.1 / 0.3, power=0.8, alpha=0.05)
    assert size.instances == pytest.approx(expected, rel=0.15)


def test_raters_cost_coverage_and_more_of_them_cost_less():
    components = VarianceComponents(0.6, instance=0.02, unit=0, rater=0.05, rating=0.1)
    few, many = (
        sample_size(components, target_width=0.06, units_per_rater=per, rng=generator_for(0))
        for per in (200, 5)
    )
    assert few.tried[-1].coverage < 0.6
    assert many.tried[-1].coverage > 0.75


def test_a_target_out_of_reach_says_so():
    components = VarianceComponents(0.5, instance=0.04, unit=0, rater=0, rating=0.1)
    size = sample_size(components, power=0.9, max_instances=100, rng=generator_for(0))
    assert (size.instances, size.ratings) == (None, None)
    assert size.reason == TOO_MANY.format(number=100)
    assert size.tried[-1].instances == 100


def test_a_plan_is_reproducible_from_its_seed():
    components = VarianceComponents(0.6, instance=0.04, unit=0, rater=0.01, rating=0.1)
    first, again = (
        sample_size(components, target_width=0.1, rng=generator_for(1)) for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({}, "not_one_of_two", "power"),
        ({"target_width": 0.1, "power": 0.8}, "not_one_of_two", "target_width"),
        ({"target_width": 2}, "out_of_range", "target_width"),
        ({"power": 0}, "out_of_range", "power"),
        ({"power": 0.8, "units": 0}, "out_of_range", "units"),
        ({"power": 0.8, "units_per_rater": 0}, "out_of_range", "units_per_rater"),
    ],
)
def test_bad_targets_are_named(options, code, name):
    with refused(code, naming=name):
        sample_size(VarianceComponents(0.6, 0.1, 0, 0, 0.1), rng=generator_for(0), **options)

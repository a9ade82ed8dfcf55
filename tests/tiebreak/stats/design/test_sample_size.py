"""Variance components of a known population."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import variance_components
from tiebreak.stats.design.sample_size import NO_RATERS, NO_UNITS


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

"""A judge's preference for its own family: by hand, where it is undefined, and how its interval covers."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import family_bias, generator_for
from tiebreak.stats.core.independence import MIN_CLUSTERS
from tiebreak.stats.machines.family_bias import NO_PEOPLE


def test_every_unit_has_the_same_weight_whoever_rated_it_how_often():
    found = family_bias([1, 0], [1, 1, 1, 0], [0, 0, 0, 1], clusters=[0, 1])
    assert (found.machine.value, found.humans.value, found.difference.value) == (0.5, 0.5, 0)
    weighted = family_bias([1, 0], [0, 1, 0, 0], [0, 0, 0, 1], clusters=[0, 1], weights=[3, 1])
    assert weighted.humans.value == pytest.approx(3 / 4 * 1 / 3)
    assert weighted.difference.value == pytest.approx(3 / 4 * 2 / 3)


def test_a_unit_that_nobody_rated_is_in_neither_win_rate():
    found = family_bias([1, 0, 0], [1, 0], [0, 1], clusters=[0, 1, 2])
    assert (found.machine.value, found.machine.n) == (0.5, 2)
    nobody = family_bias([1, 1], [], [], clusters=[0, 1])
    assert {one.reason for one in vars(nobody).values()} == {NO_PEOPLE}
    assert np.isnan(nobody.difference.value)


def test_few_instances_have_no_interval_and_neither_has_what_never_differs():
    few = family_bias([1] * 9, [0] * 9, list(range(9)), clusters=list(range(9))).difference
    assert (few.value, few.has_interval) == (1, False)
    assert str(MIN_CLUSTERS) in few.reason
    same = family_bias([1] * 20, [0] * 20, list(range(20)), clusters=list(range(20))).difference
    assert (same.has_interval, bool(same.reason)) == (False, True)


def test_scores_are_shares():
    with refused("out_of_range"):
        family_bias([2], [0], [0], clusters=[0])


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_the_interval_covers_what_new_instances_and_people_would_give(shift):
    """Units of an instance share what is better, people differ, and the judge adds its own preference."""
    rng, covered, studies = generator_for(3), 0, 300
    for _ in range(studies):
        instances, people = 60, 10
        good = rng.normal(0, 0.15, instances)
        unit = np.repeat(np.arange(2 * instances), 3)
        of = np.repeat(np.arange(instances), 2)
        person = rng.integers(people, size=len(unit))
        lean = rng.normal(0, 0.1, people)
        people_win = np.clip(0.5 + good[of][unit] + lean[person], 0, 1)
        human = (rng.random(len(unit)) < people_win).astype(float)
        judge = (rng.random(2 * instances) < np.clip(0.5 + shift + good[of], 0, 1)).astype(float)
        found = family_bias(judge, human, unit, clusters=of, raters=person).difference
        covered += found.low <= shift <= found.high
    assert 0.92 <= covered / studies <= 0.995

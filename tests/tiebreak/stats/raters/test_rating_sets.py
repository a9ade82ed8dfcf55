"""Rating sets and win rates against manual values."""

from itertools import product

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import (
    collect_rating_sets,
    consistency,
    consistency_by_separability,
    generator_for,
    outcome_counts,
    summarise_rating_sets,
    win_rate,
    win_rates,
)
from tiebreak.stats.rankings.win_rates import NO_RATING
from tiebreak.stats.raters.rating_sets import NO_SET

NAN = float("nan")


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [([1, 1, 1], 1), ([1, 0, 0, 1], 0.5), ([-1, 0], 0.5), ([1, -1, 0], 0), ([0, 0], 0)],
)
def test_consistency_of_one_set(ratings, expected):
    assert consistency(ratings) == expected


def test_a_set_without_ratings_has_no_consistency():
    assert np.isnan(consistency([]))


def test_strength_counts_on_a_longer_scale():
    assert consistency([2, 1, 0], max_strength=2) == 0.5
    assert consistency([2, 2], max_strength=2) == 1


def three_sets():
    """Return the sets (1, 1), (1, −1) and (0, 0); a fourth set lacks a rating and is incomplete."""
    labels = [1, 1, 1, -1, 0, 0, 1]
    instances = ["i", "i", "i", "i", "j", "j", "j"]
    raters = ["r", "r", "s", "s", "r", "r", "s"]
    units = ["i1", "i2", "i1", "i2", "j1", "j2", "j1"]
    return collect_rating_sets(labels, instances=instances, raters=raters, units=units)


def test_sets_are_one_rater_on_one_instance_and_complete():
    sets = three_sets()
    assert sets.consistency.tolist() == [1, 0, 0]
    assert sets.preference_strength.tolist() == [1, 0, 0]
    assert sets.instances.tolist() == ["i", "i", "j"]
    assert sets.n_incomplete == 1


def test_the_two_kinds_of_zero_are_told_apart():
    summary = summarise_rating_sets(three_sets())
    assert summary.n == 3
    assert summary.zero.value == pytest.approx(2 / 3)
    assert summary.contradictory.value == pytest.approx(1 / 3)
    assert summary.all_ties.value == pytest.approx(1 / 3)
    assert summary.perfect.value == pytest.approx(1 / 3)
    assert summary.consistency.value == pytest.approx(1 / 3)


@pytest.mark.parametrize(("n", "share"), [(1, 0), (2, 0.5), (5, 0.9375)])
def test_a_coin_gives_mixed_sets_too(n, share):
    assert np.mean([len({*falls}) > 1 for falls in product("ab", repeat=n)]) == share
    sets = collect_rating_sets([1] * n, instances=["i"] * n, raters=["r"] * n, set_size=n)
    assert summarise_rating_sets(sets).mixed_by_coin == share


def test_a_missing_rating_makes_its_set_incomplete():
    sets = collect_rating_sets([1, NAN], instances=[0, 0], raters=[0, 0], units=[0, 1])
    assert (len(sets.totals), sets.n_incomplete) == (0, 1)
    summary = summarise_rating_sets(sets)
    assert summary.consistency.reason == NO_SET


def test_the_design_may_say_how_large_a_set_is():
    options = {"instances": [0, 0], "raters": [0, 0]}
    assert collect_rating_sets([1, 1], set_size=2, **options).n_incomplete == 0
    assert collect_rating_sets([1, 1], set_size=3, **options).n_incomplete == 1
    with refused("no_set_size", naming="set_size"):
        collect_rating_sets([1, 1], **options)


@pytest.mark.parametrize("labels", [[2, 0], [0.5, 0]])
def test_labels_off_the_scale_are_refused(labels):
    with refused("out_of_range", naming="labels"):
        collect_rating_sets(labels, instances=[0, 0], raters=[0, 0], units=[0, 1])


def test_ranges_of_separability_hold_all_sets_with_one():
    rng = np.random.default_rng(0)
    instances = np.repeat(np.arange(40), 6)
    raters = np.tile(np.repeat([0, 1], 3), 40)
    units = np.tile([0, 1, 2], 80) + 3 * instances
    labels = rng.integers(-1, 2, size=240)
    sets = collect_rating_sets(labels, instances=instances, raters=raters, units=units)
    delta = np.linspace(0, 1, 40)[sets.instances]
    delta[:2] = NAN
    by_range = consistency_by_separability(sets, delta, rng=generator_for(0))
    assert [entry.n for entry in by_range] == [20, 18, 20, 20]
    assert (by_range[0].low, by_range[-1].high) == (pytest.approx(1 / 39), 1)
    first = sets.consistency[(delta >= by_range[0].low) & (delta < by_range[0].high)]
    assert by_range[0].consistency.value == pytest.approx(first.mean())
    assert "instances" in by_range[0].consistency.method
    by_edges = consistency_by_separability(sets, delta, edges=[0, 0.5, 1])
    assert sum(entry.n for entry in by_edges) == 78
    assert consistency_by_separability(sets, np.full(80, NAN)) == ()


def test_win_rate_is_wins_and_half_the_ties():
    rate = win_rate([[2, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert rate.value == pytest.approx(2.5 / 4)
    assert rate.n == 2
    assert win_rate([[0, 0, 0]]).reason == NO_RATING


def test_two_systems_mirror_each_other():
    counts = np.random.default_rng(0).multinomial(3, [0.5, 0.2, 0.3], size=50)
    rates = win_rates(counts, system_a=["x"] * 50, system_b=["y"] * 50, rng=generator_for(0))
    x, y = rates.systems["x"], rates.systems["y"]
    assert x == rates.pairs["x", "y"]
    assert (x.value + y.value, x.low + y.high, x.high + y.low) == pytest.approx((1, 1, 1))


def test_many_systems_are_rated_over_all_their_units():
    counts = [[3, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]]
    rates = win_rates(counts, system_a=["x", "y", "x", "z"], system_b=["y", "x", "z", "y"])
    assert rates.pairs["x", "y"].value == 0.5
    assert rates.pairs["x", "z"].value == 0.5
    assert rates.pairs["y", "z"].value == 1.0
    assert rates.systems["x"].value == 0.5
    assert rates.systems["y"].value == pytest.approx(2 / 3)
    assert rates.systems["z"].value == 0.25
    with refused("same_system"):
        win_rates([[1, 0, 0]], system_a=["x"], system_b=["x"])


def test_outcomes_are_signs_of_the_preference_and_leave_out_both_bad():
    counts = [[1, 2, 3, 4, 5, 6]]
    outcomes = outcome_counts(counts, [-2, -1, 0, 1, 2, "bad"])
    assert outcomes.tolist() == [[3, 3, 9]]
    assert outcome_counts([[4, 6]], [-1, 1]).tolist() == [[4, 0, 6]]

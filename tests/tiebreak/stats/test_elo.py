"""Elo and SEP-Elo against published values and manual games, and invariances."""

from itertools import permutations

import numpy as np
import pytest

from tests.refusals import refused
from tests.tiebreak.stats.published import golden
from tiebreak.stats import elo, generator_for, separability_step
from tiebreak.stats.independence import too_few_clusters


def of_two(counts, **options):
    options = {"rng": generator_for(0)} | options
    return elo(counts, system_a=["x"] * len(counts), system_b=["y"] * len(counts), **options)


def played(games, steps=None):
    """Return the final ratings of x and y, given the scores of x in the order of play."""
    x = y = 1000.0
    for k, score in enumerate(games):
        gain = (4 if steps is None else steps[k]) * (score - 1 / (1 + 10 ** ((y - x) / 400)))
        x, y = x + gain, y - gain
    return x, y


def test_steps_by_separability_are_the_published_ones():
    rows = {key[2]: value for key, value in golden().items() if key[0] == "SEP-ELO"}
    assert len(rows) == 5
    for stratum, value in rows.items():
        delta = float(stratum.removeprefix("delta="))
        assert f"{separability_step([delta])[0]:.4f}" == value


def test_steps_keep_what_is_missing_and_refuse_what_is_infinite():
    assert np.isnan(separability_step([np.nan])[0])
    with refused("not_finite", naming="delta"):
        separability_step([np.inf])


def test_one_game_by_hand():
    ratings = of_two([[1, 0, 0]])
    assert (ratings.systems["x"].value, ratings.systems["y"].value) == (1002, 998)
    assert of_two([[0, 1, 0]]).systems["x"].value == 1000


def test_the_value_is_the_mean_over_orders():
    games = [1, 1, 0, 0.5]
    expected = np.mean([played(order)[0] for order in permutations(games)])
    counts = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert of_two(counts, orders=20_000).systems["x"].value == pytest.approx(expected, abs=2e-3)


def test_one_rating_of_a_unit_is_drawn():
    rating = of_two([[3, 0, 1]], orders=4000).systems["x"].value
    assert rating == pytest.approx(1002 * 0.75 + 998 * 0.25, abs=0.15)


def test_both_ratings_move_by_the_same_amount():
    rng = np.random.default_rng(1)
    counts = rng.multinomial(3, [0.4, 0.2, 0.4], size=30)
    a = rng.integers(0, 4, 30)
    b = (a + rng.integers(1, 4, 30)) % 4
    a[:4], b[:4] = range(4), [1, 2, 3, 0]
    ratings = elo(
        counts, system_a=a.astype(str), system_b=b.astype(str), rng=generator_for(0), replicates=50
    )
    assert ratings.bootstrap_values.sum(axis=1) == pytest.approx(4000)


def test_separable_instances_move_ratings_more():
    counts = [[1, 0, 0]]
    for delta in (0.0, 0.4, 1.0):
        rating = of_two(counts, separability=[delta]).systems["x"].value
        assert rating - 1000 == pytest.approx(separability_step([delta])[0] / 2)


def test_units_without_separability_are_counted_and_not_played():
    ratings = of_two([[1, 0, 0], [0, 0, 1], [0, 0, 0]], separability=[0.4, np.nan, np.nan])
    assert ratings.systems["x"].value == 1002
    assert (ratings.systems["x"].n, ratings.n_without_separability) == (1, 1)


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 4])
def test_digits_do_not_depend_on_the_order_of_the_rows(clusters):
    rng = np.random.default_rng(2)
    counts = rng.multinomial(3, [0.5, 0.2, 0.3], size=40)
    delta = rng.random(40)
    order = rng.permutation(40)
    ratings = of_two(counts, separability=delta, clusters=clusters, replicates=30)
    again = of_two(
        counts[order],
        separability=delta[order],
        clusters=None if clusters is None else clusters[order],
        replicates=30,
    )
    assert again.systems == ratings.systems


def test_instances_are_drawn_whole():
    """Ten units of one instance must not increase the precision."""
    counts = np.repeat([[1, 0, 0], [0, 0, 1]] * 10, 10, axis=0)
    alone = of_two(counts).systems["x"]
    shared = of_two(counts, clusters=np.arange(200) // 10).systems["x"]
    assert "instances" in shared.method
    assert shared.standard_error > 1.5 * alone.standard_error


def test_clusters_of_different_sizes_are_played_whole():
    counts = [[1, 0, 0]] * 3 + [[0, 0, 1]]
    ratings = of_two(counts, clusters=["p", "p", "p", "q"], replicates=400)
    kinds = np.unique(ratings.bootstrap_values[:, 0].round(6))
    all_wins, all_losses = played([1] * 6)[0], played([0] * 2)[0]
    assert kinds.max() == pytest.approx(all_wins, abs=1e-6)
    assert kinds.min() == pytest.approx(all_losses, abs=1e-6)


def test_one_unit_has_no_interval():
    assert of_two([[1, 0, 0]]).systems["x"].reason == too_few_clusters(1, "unit")
    assert of_two([[1, 0, 0], [0, 0, 1]], replicates=0).systems["x"].reason is None


def test_nothing_rated():
    assert of_two([[0, 0, 0]]).systems == {}


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({"orders": 0}, "out_of_range", "orders"),
        ({"separability": [0.1, 0.2]}, "wrong_length", "separability"),
        ({"separability": [np.inf]}, "not_finite", "separability"),
        ({"clusters": [1, 2]}, "wrong_length", "clusters"),
        ({"confidence_level": 2}, "out_of_range", "confidence_level"),
    ],
)
def test_bad_arguments_are_named(options, code, name):
    with refused(code, naming=name):
        of_two([[1, 0, 0]], **options)


def test_groups_that_never_meet_are_refused_by_name():
    with refused("disconnected", naming="a, b; c, d"):
        elo([[1, 0, 0]] * 2, system_a=["a", "c"], system_b=["b", "d"], rng=generator_for(0))

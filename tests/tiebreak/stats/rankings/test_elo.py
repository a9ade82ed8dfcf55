"""Elo and SEP-Elo against published values and manual games, and invariances."""

from itertools import permutations

import numpy as np
import pytest

from tests.refusals import refused
from tests.tiebreak.stats.published import golden
from tiebreak.stats import elo, generator_for, separability_step
from tiebreak.stats.core.independence import too_few_clusters


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
    ratings = elo(counts, system_a=a.astype(str), system_b=b.astype(str), rng=generator_for(0))
    assert sum(one.value for one in ratings.systems.values()) == pytest.approx(4000)


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
    ratings = of_two(counts, separability=delta, clusters=clusters)
    again = of_two(
        counts[order],
        separability=delta[order],
        clusters=None if clusters is None else clusters[order],
    )
    assert again.systems == ratings.systems


def test_instances_are_drawn_whole():
    """Ten units of one instance must not increase the precision."""
    counts = np.repeat([[1, 0, 0], [0, 0, 1]] * 10, 10, axis=0)
    alone = of_two(counts).systems["x"]
    shared = of_two(counts, clusters=np.arange(200) // 10).systems["x"]
    assert "instances" in shared.method
    assert shared.standard_error > 1.5 * alone.standard_error


def crowd(rng, *, instances, per_instance=1, separable=False):
    """Return units of three systems by instance, whose instances differ in how they see systems."""
    theta = np.array([0.5, 0.0, -0.5])
    first = rng.integers(0, 3, instances * per_instance)
    second = (first + rng.integers(1, 3, len(first))) % 3
    instance = np.repeat(np.arange(instances), per_instance)
    seen = theta + rng.normal(0, 0.5, (instances, 3))[instance]
    rows = np.arange(len(first))
    better = 1 / (1 + np.exp(seen[rows, second] - seen[rows, first]))
    counts = rng.multinomial(
        3, np.column_stack([0.8 * better, 0 * better + 0.2, 0.8 - 0.8 * better])
    )
    delta = instance % 10 / 10 if separable else None
    names = np.array(["x", "y", "z"])
    return {
        "counts": counts,
        "system_a": names[first],
        "system_b": names[second],
        "clusters": instance,
        "separability": delta,
    }


def ratings_of(made, **options):
    return list(elo(**made, **options).systems.values())


@pytest.mark.parametrize("separable", [False, True])
@pytest.mark.slow
def test_errors_are_those_of_means_over_orders_of_resampled_instances(separable):
    made, drawn = (
        crowd(np.random.default_rng(3), instances=60, per_instance=2, separable=separable),
        [],
    )
    rng, rows = np.random.default_rng(4), np.arange(120).reshape(60, 2)
    for _ in range(150):
        some = rows[rng.integers(0, 60, 60)].ravel()
        again = {name: None if x is None else x[some] for name, x in made.items()}
        again["clusters"] = np.arange(60).repeat(2)
        drawn.append([one.value for one in ratings_of(again, rng=rng, orders=100)])
    errors = [one.standard_error for one in ratings_of(made, rng=rng, orders=1_000)]
    assert errors == pytest.approx(np.std(drawn, axis=0), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("instances", "per_instance", "separable"),
    [(30, 1, False), (400, 1, False), (100, 3, True)],
)
def test_intervals_cover_the_mean_over_orders(instances, per_instance, separable):
    """The truth is the mean over many studies of the same size, which are independent of those."""
    rng, held, widths = np.random.default_rng(5), [], []
    options = {"instances": instances, "per_instance": per_instance, "separable": separable}
    studies = [ratings_of(crowd(rng, **options), rng=rng, orders=50) for _ in range(300)]
    values = np.array([[one.value for one in study] for study in studies])
    truth = values.mean(axis=0)
    for study in studies:
        held.append([one.low <= true <= one.high for one, true in zip(study, truth, strict=True)])
        widths.append([one.standard_error for one in study])
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(widths, axis=0) == pytest.approx(values.std(axis=0), rel=0.12)


def test_many_orders_do_not_widen_and_few_orders_do():
    made = crowd(np.random.default_rng(6), instances=300)
    few, many, more = (
        ratings_of(made, rng=generator_for(1), orders=orders)[0].standard_error
        for orders in (5, 500, 5_000)
    )
    assert many == pytest.approx(more, rel=0.02)
    assert few > 1.05 * many


def test_one_unit_has_no_interval():
    assert of_two([[1, 0, 0]]).systems["x"].reason == too_few_clusters(1, "unit")


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

"""Bradley–Terry against manual values, direct optimisation and another library; missing fits."""

import choix
import numpy as np
import pytest
from scipy.optimize import minimize

from tests.refusals import refused
from tiebreak.stats import bradley_terry, generator_for
from tiebreak.stats.core.bootstrap import OFTEN_UNDEFINED
from tiebreak.stats.core.independence import too_few_clusters
from tiebreak.stats.rankings.bradley_terry import NO_TIE
from tiebreak.stats.rankings.paired_likelihood import NEVER_BEATEN, ONLY_TIES, TIES_BETWEEN

NAMES = np.array(["ada", "bel", "cyd", "dov"])


def games(seed, *, units=120, systems=4, ratings=3, ties=0.25):
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=systems)
    a = rng.integers(0, systems, units)
    b = (a + rng.integers(1, systems, units)) % systems
    win = (1 - ties) / (1 + np.exp(strength[b] - strength[a]))
    counts = rng.multinomial(ratings, np.column_stack([win, np.full(units, ties), 1 - ties - win]))
    return counts, a, b


def fitted(counts, a, b, **options):
    return bradley_terry(counts, system_a=NAMES[a], system_b=NAMES[b], **options)


def values(fit):
    return np.array([strength.value for strength in fit.systems.values()])


def wins_by_rating(counts, a, b):
    """Return (winner, loser) pairs, two for every rating; a tie gives one pair in each order."""
    pairs = []
    for (win, tie, loss), one, other in zip(counts.tolist(), a.tolist(), b.tolist(), strict=True):
        pairs += [(one, other)] * (2 * win + tie) + [(other, one)] * (2 * loss + tie)
    return pairs


def davidson_by_optimisation(counts, a, b, weights=None):
    weights = np.ones(len(counts)) if weights is None else weights

    def cost(x):
        theta, nu = np.append(x[:3], -x[:3].sum()), np.exp(x[3])
        one, other = np.exp(theta[a]), np.exp(theta[b])
        middle = nu * np.sqrt(one * other)
        shares = np.column_stack([one, middle, other]) / (one + other + middle)[:, None]
        return -(weights[:, None] * counts * np.log(shares)).sum()

    best = minimize(cost, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    return np.append(best.x[:3], -best.x[:3].sum()), best.x[3]


def test_two_systems_differ_by_the_logit_of_the_win_rate():
    fit = bradley_terry([[5, 2, 1]], system_a=["x"], system_b=["y"])
    x, y = values(fit)
    assert x - y == pytest.approx(np.log(6 / 2))
    assert x + y == pytest.approx(0)
    assert fit.converged
    assert fit.systems["x"].n == 1


@pytest.mark.parametrize("seed", range(4))
def test_half_wins_equal_another_library(seed):
    data = games(seed)
    expected = choix.opt_pairwise(4, wins_by_rating(*data), method="Newton-CG", tol=1e-12)
    assert values(fitted(*data)) == pytest.approx(expected - expected.mean(), abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_davidson_equals_direct_optimisation(seed, weighted):
    data = games(seed)
    weights = np.random.default_rng(seed).random(120) if weighted else None
    theta, log_nu = davidson_by_optimisation(*data, weights)
    fit = fitted(*data, ties="davidson", weights=weights)
    assert values(fit) == pytest.approx(theta, abs=1e-5)
    assert fit.tie.value == pytest.approx(log_nu, abs=1e-5)


def test_davidson_on_two_systems_by_hand():
    # P = (π, ν √π, 1) / D fits the shares (6, 3, 2) / 11: π = 3, ν = 3 / √12.
    fit = bradley_terry([[6, 3, 2]], system_a=["x"], system_b=["y"], ties="davidson")
    assert np.subtract(*values(fit)) == pytest.approx(np.log(3))
    assert fit.tie.value == pytest.approx(np.log(3 / np.sqrt(12)))


def test_weights_count_like_ratings():
    counts, a, b = games(5)
    twice = np.where(np.arange(120)[:, None] < 40, 2 * counts, counts)
    fit = fitted(counts, a, b, weights=np.where(np.arange(120) < 40, 2.0, 1.0))
    assert values(fit) == pytest.approx(values(fitted(twice, a, b)), abs=1e-9)
    without = fitted(counts[40:], a[40:], b[40:])
    nothing = fitted(counts, a, b, weights=np.where(np.arange(120) < 40, 0.0, 1.0))
    assert values(nothing) == pytest.approx(values(without), abs=1e-9)
    assert nothing.systems["ada"].n == without.systems["ada"].n


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("clusters", [None, np.arange(120) // 3])
def test_digits_do_not_depend_on_order_sides_or_batch(ties, clusters):
    counts, a, b = games(6)
    order = np.random.default_rng(0).permutation(120)
    turned = order % 2 == 0
    reordered_clusters = None if clusters is None else clusters[order]
    options = {"ties": ties, "replicates": 60}
    fit = fitted(counts, a, b, clusters=clusters, rng=generator_for(1), **options)
    again = fitted(
        np.where(turned[:, None], counts[order][:, ::-1], counts[order]),
        np.where(turned, b[order], a[order]),
        np.where(turned, a[order], b[order]),
        clusters=reordered_clusters,
        rng=generator_for(1),
        batch=7,
        **options,
    )
    assert again.systems == fit.systems
    assert "instances" in fit.systems["ada"].method or clusters is None


def test_intervals_are_those_of_refits():
    counts, a, b = games(7, units=60, ties=0)
    fit = fitted(counts, a, b, rng=generator_for(2), replicates=400)
    rng, slow = np.random.default_rng(3), []
    for _ in range(400):
        drawn = rng.integers(0, 60, 60)
        slow.append(values(fitted(counts[drawn], a[drawn], b[drawn])))
    errors = [strength.standard_error for strength in fit.systems.values()]
    assert errors == pytest.approx(np.std(slow, axis=0), rel=0.15)
    assert fit.bootstrap_values.shape == (400, 4)


def test_groups_that_never_meet_are_refused_by_name():
    with refused("disconnected", naming="ada, bel; cyd, dov"):
        bradley_terry([[1, 0, 1], [1, 0, 1]], system_a=["ada", "cyd"], system_b=["bel", "dov"])
    with refused("disconnected"):
        # The unit that would connect the two groups has no rating.
        bradley_terry(
            [[1, 0, 1], [1, 0, 1], [0, 0, 0]],
            system_a=["ada", "cyd", "ada"],
            system_b=["bel", "dov", "cyd"],
        )


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_who_never_loses_has_no_bound(ties):
    fit = bradley_terry(
        [[2, 0, 0], [1, 1, 1]], system_a=["ada", "bel"], system_b=["bel", "cyd"], ties=ties
    )
    assert np.isnan(values(fit)).all()
    assert fit.systems["bel"].reason == NEVER_BEATEN.format(group="ada")
    assert not fit.converged


def test_an_order_that_explains_every_tie_has_no_maximum_for_davidson():
    data = {"system_a": ["x"], "system_b": ["y"]}
    fit = bradley_terry([[5, 3, 0]], ties="davidson", **data)
    assert fit.systems["x"].reason == TIES_BETWEEN
    assert bradley_terry([[5, 3, 0]], **data).systems["x"].value == pytest.approx(
        np.log(13 / 3) / 2
    )


def test_a_cycle_of_wins_bounds_the_ties():
    # No system loses to a system that it beats, but x > y > z > x is not an order.
    fit = bradley_terry(
        [[2, 1, 0], [2, 1, 0], [2, 1, 0]],
        system_a=["x", "y", "z"],
        system_b=["y", "z", "x"],
        ties="davidson",
    )
    assert values(fit) == pytest.approx([0, 0, 0], abs=1e-9)
    assert fit.tie.value == pytest.approx(np.log(1))


def test_ties_alone():
    data = {"system_a": ["x", "y"], "system_b": ["y", "z"]}
    half = bradley_terry([[0, 2, 0], [0, 1, 0]], **data)
    assert values(half) == pytest.approx([0, 0, 0])
    davidson = bradley_terry([[0, 2, 0], [0, 1, 0]], ties="davidson", **data)
    assert davidson.systems["x"].reason == ONLY_TIES


def test_no_tie_leaves_the_strengths_and_says_so():
    counts, a, b = games(8, ties=0)
    fit = fitted(counts, a, b, ties="davidson")
    assert values(fit) == pytest.approx(values(fitted(counts, a, b)), abs=1e-9)
    assert fit.tie.reason == NO_TIE


def test_replicates_without_a_maximum_are_counted():
    # With one loss in twelve games, a third of the replicates have no loss.
    counts = [[1, 0, 0]] * 11 + [[0, 0, 1]]
    fit = bradley_terry(
        counts, system_a=["x"] * 12, system_b=["y"] * 12, rng=generator_for(0), replicates=300
    )
    assert fit.systems["x"].value == pytest.approx(np.log(11) / 2)
    lost = np.isnan(fit.bootstrap_values[:, 0])
    assert fit.systems["x"].reason == OFTEN_UNDEFINED.format(lost=lost.sum(), of=300)
    assert np.isnan(fit.systems["x"].low)
    assert 0.25 < lost.mean() < 0.45


def test_one_unit_has_no_interval():
    fit = bradley_terry([[3, 0, 2]], system_a=["x"], system_b=["y"], rng=generator_for(0))
    assert fit.systems["x"].reason == too_few_clusters(1, "unit")
    assert fit.systems["x"].value == pytest.approx(np.log(3 / 2) / 2)


def test_nothing_rated():
    fit = bradley_terry(np.zeros((2, 3), int), system_a=["x", "x"], system_b=["y", "z"])
    assert fit.systems == {}
    assert not fit.converged


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"counts": [[1, 2]]}, "wrong_shape", "counts"),
        ({"counts": [[1, -2, 0]]}, "not_counts", "counts"),
        ({"system_b": ["x"]}, "same_system", "system_b"),
        ({"system_b": ["y", "z"]}, "lengths_differ", "system_b"),
        ({"ties": "thirds"}, "unknown_choice", "ties"),
        ({"weights": [-1]}, "out_of_range", "weights"),
        ({"weights": [np.nan]}, "not_finite", "weights"),
        ({"weights": [1, 2]}, "wrong_length", "weights"),
        ({"clusters": [1, 2]}, "wrong_length", "clusters"),
        ({"replicates": -1}, "out_of_range", "replicates"),
    ],
)
def test_bad_arguments_are_named(change, code, name):
    with refused(code, naming=name):
        bradley_terry(**({"counts": [[1, 0, 1]], "system_a": ["x"], "system_b": ["y"]} | change))


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_intervals_cover(ties):
    """Simulate 300 comparisons of four systems by one rater each, with ties by Davidson's model."""
    theta, nu = np.array([0.6, 0.1, -0.2, -0.5]), 0.5
    a = np.tile([0, 0, 0, 1, 1, 2], 50)
    b = np.tile([1, 2, 3, 2, 3, 3], 50)
    d = (theta[a] - theta[b]) / 2
    shares = np.column_stack([np.exp(d), np.full(300, nu), np.exp(-d)])
    shares /= shares.sum(axis=1, keepdims=True)
    many = fitted(np.round(shares * 10**7).astype(int), a, b, ties=ties)
    truth, rng, held = values(many), np.random.default_rng(0), []
    for seed in range(500):
        counts = rng.multinomial(1, shares)
        fit = fitted(counts, a, b, ties=ties, rng=generator_for(seed), replicates=400)
        held.append(
            [
                strength.low <= t <= strength.high
                for strength, t in zip(fit.systems.values(), truth, strict=True)
            ]
        )
    assert 0.93 <= np.mean(held) <= 0.97
    if ties == "davidson":
        assert truth == pytest.approx(theta, abs=1e-4)

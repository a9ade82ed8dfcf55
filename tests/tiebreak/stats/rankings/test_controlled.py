"""Controlled win rates against direct optimisation, refits and simulated studies; refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.refusals import refused
from tiebreak.stats import bradley_terry, controlled_win_rates
from tiebreak.stats.rankings.controlled import CONSTANT, EXPLAINED

NAMES = np.array(["ada", "bel", "cyd"])
BETA = np.array([1.0, 0.3])


def study(rng, *, instances=80, raters=6, sd=0.0, ties=0.15):
    """Return ratings whose outcome depends on length and side, and on what raters make of length."""
    theta = np.array([0.5, 0.0, -0.5])
    a, b = np.array([0, 0, 1]), np.array([1, 2, 2])
    instance = np.repeat(np.arange(instances), 9)
    rater = (np.repeat(np.tile(np.arange(3), instances), 3) + instance) % raters
    pair = np.tile(np.arange(3), 3 * instances)
    lengths = np.array([0.3, 0.0, -0.2]) + rng.normal(0, 0.4, (instances, 3))
    longer = lengths[instance, a[pair]] - lengths[instance, b[pair]]
    side = rng.choice([-1.0, 1.0], len(pair))
    logit = theta[a[pair]] - theta[b[pair]] + (BETA[0] + rng.normal(0, sd, raters)[rater]) * longer
    values = (rng.random(len(pair)) < 1 / (1 + np.exp(-logit - BETA[1] * side))).astype(float)
    values[rng.random(len(pair)) < ties] = 0.5
    return {
        "values": values,
        "system_a": NAMES[a[pair]],
        "system_b": NAMES[b[pair]],
        "covariates": {"length": longer, "side": side},
        "clusters": instance,
        "raters": rater,
    }


def by_optimisation(made, weights):
    """Return strengths with mean 0 and effects, fitted without code of the library."""
    a, b = (np.searchsorted(NAMES, made[side]) for side in ("system_a", "system_b"))
    x, y = np.column_stack(list(made["covariates"].values())), made["values"]

    def cost(p):
        theta = np.append(p[:2], -p[:2].sum())
        logit = theta[a] - theta[b] + x @ p[2:]
        return -(weights * (y * logit - np.logaddexp(0, logit))).sum()

    best = minimize(cost, np.zeros(4), method="BFGS", options={"gtol": 1e-10}).x
    theta = np.append(best[:2], -best[:2].sum())
    chance = 1 / (1 + np.exp(theta[b] - theta[a]))
    rates = []
    for k in range(3):
        of = np.where(a == k, chance, 1 - chance)
        played = (a == k) | (b == k)
        rates.append(np.average(of[played], weights=weights[played]))
    return theta, best[2:], rates


def numbers(estimates):
    return [one.value for one in estimates.values()]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_direct_optimisation(seed, weighted):
    rng = np.random.default_rng(seed)
    made = study(rng)
    weights = rng.uniform(0.5, 2, 80)[made["clusters"]] if weighted else np.ones(720)
    theta, effects, rates = by_optimisation(made, weights)
    fit = controlled_win_rates(**made, weights=weights)
    assert numbers(fit.strengths) == pytest.approx(theta, abs=1e-6)
    assert numbers(fit.effects) == pytest.approx(effects, abs=1e-6)
    assert numbers(fit.controlled) == pytest.approx(rates, abs=1e-6)
    for k, name in enumerate(NAMES):
        of = np.where(made["system_a"] == name, made["values"], 1 - made["values"])
        played = (made["system_a"] == name) | (made["system_b"] == name)
        rate = np.average(of[played], weights=weights[played])
        assert numbers(fit.win_rate)[k] == pytest.approx(rate)


def test_a_covariate_without_effect_leaves_strengths_and_errors_as_they_are():
    made = study(np.random.default_rng(3), ties=0)
    rows = np.arange(720)
    # Every rating once with each sign of a covariate, so that its effect is exactly 0.
    twice = {name: np.concatenate([made[name]] * 2) for name in made if name != "covariates"}
    sign = np.concatenate([np.where(rows % 2, 1.0, -1.0), np.where(rows % 2, -1.0, 1.0)])
    fit = controlled_win_rates(**twice, covariates={"coin": sign})
    counts = np.column_stack([twice["values"], 0 * sign, 1 - twice["values"]]).astype(int)
    options = {name: twice[name] for name in ("system_a", "system_b", "clusters", "raters")}
    plain = bradley_terry(counts, **options)
    assert fit.effects["coin"].value == pytest.approx(0, abs=1e-9)
    for name, strength in fit.strengths.items():
        other = plain.systems[name]
        assert strength.value == pytest.approx(other.value, abs=1e-9)
        assert strength.standard_error == pytest.approx(other.standard_error, rel=1e-9)


@pytest.mark.thorough
def test_errors_of_controlled_rates_are_those_of_refitted_bootstrap_samples():
    rng = np.random.default_rng(4)
    made = study(rng)
    made["raters"] = None
    fit, drawn = controlled_win_rates(**made), []
    rows_of = np.arange(720).reshape(80, 9)
    for _ in range(200):
        rows = rows_of[rng.integers(0, 80, 80)].ravel()
        some = {name: made[name][rows] for name in ("values", "system_a", "system_b", "clusters")}
        covariates = {name: x[rows] for name, x in made["covariates"].items()}
        again = controlled_win_rates(**some, covariates=covariates)
        drawn.append(numbers(again.controlled) + numbers(again.win_rate) + numbers(again.effects))
    errors = [
        one.standard_error
        for part in (fit.controlled, fit.win_rate, fit.effects)
        for one in part.values()
    ]
    assert errors == pytest.approx(np.std(drawn, axis=0), rel=0.2)


def test_both_scopes_and_bounds():
    fit = controlled_win_rates(**study(np.random.default_rng(5), sd=1.0))
    for one in [*fit.controlled.values(), *fit.effects.values()]:
        (inner,) = one.narrower
        assert one.low <= inner.low < one.value < inner.high <= one.high
        assert (one.scope.raters, inner.scope.raters) == ("new", "these")
    assert all(0 < one.low < one.high < 1 for one in fit.controlled.values())


def test_covariates_that_are_not_identified_are_left_out_and_named():
    made = study(np.random.default_rng(6))
    better = np.where(made["system_a"] == "ada", 1.0, 0.0)  # ada is always system A
    all_zero = np.zeros(720)
    covariates = made["covariates"] | {"is_ada": better, "nothing": all_zero}
    fit = controlled_win_rates(**made | {"covariates": covariates})
    assert fit.effects["is_ada"].reason == EXPLAINED.format(name="is_ada")
    assert fit.effects["nothing"].reason == CONSTANT.format(name="nothing")
    alone = controlled_win_rates(**made)
    assert numbers(fit.controlled) == pytest.approx(numbers(alone.controlled))
    with refused("no_covariates"):
        controlled_win_rates(**made | {"covariates": {"nothing": all_zero}})


def test_separated_and_few_ratings_are_refused():
    made = study(np.random.default_rng(7), ties=0)
    made["values"] = (made["covariates"]["length"] > 0).astype(float)
    with refused("separated"):
        controlled_win_rates(**made)
    few = {name: x[:39] for name, x in made.items() if name != "covariates"}
    covariates = {name: x[:39] for name, x in made["covariates"].items()}
    with refused("too_few"):
        controlled_win_rates(**few, covariates=covariates)
    with refused("out_of_range", naming="values"):
        controlled_win_rates(**made | {"values": made["values"] + 1})


@pytest.mark.slow
def test_intervals_cover_the_controlled_rates_of_new_raters():
    large = study(np.random.default_rng(98), instances=40_000, raters=40_000, sd=0.8)
    expected = numbers(controlled_win_rates(**large).controlled)
    rng, held = np.random.default_rng(9), []
    for _ in range(200):
        fit = controlled_win_rates(**study(rng, raters=8, sd=0.8))
        for one, true in zip(fit.controlled.values(), expected, strict=True):
            held.append(one.low <= true <= one.high)
    assert 0.92 <= np.mean(held) <= 0.995

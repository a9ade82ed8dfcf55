"""Selection designs: probabilities against simulations, unbiased estimates, and edge cases."""

from itertools import combinations

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import (
    Estimate,
    floored_weights,
    generator_for,
    hajek_estimate,
    instances_saved,
    logistic_weights,
    ratings_saved,
    select,
)
from tiebreak.stats.design.hajek import NO_ERRORS, NOTHING, OF_EVERY, OF_SELECTED, ONE
from tiebreak.stats.design.selection import ONLY_TOP, systematic

DELTA = np.round(np.random.default_rng(0).beta(2, 3, size=40), 2)
DESIGNS = ("uniform", "proportional", "top", "strata")


def drawn(design, n=12, seed=0, delta=DELTA, **options):
    weights = logistic_weights(delta) if design == "proportional" else None
    return select(delta, n, design=design, weights=weights, rng=generator_for(seed), **options)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("control_share", [0, 0.25, 1])
@pytest.mark.parametrize("n", [1, 7, 12, 40])
def test_as_many_as_asked_are_drawn(design, control_share, n):
    for seed in range(5):
        selection = drawn(design, n, seed, control_share=control_share)
        assert selection.selected.sum() == n
        assert (selection.phase == "control").sum() == round(control_share * n)
        assert selection.inclusion.sum() == pytest.approx(n, rel=0.01)
        assert np.isnan(selection.conditional).tolist() == (selection.phase == "control").tolist()
        assert np.nansum(selection.conditional) == pytest.approx(
            (selection.phase == "design").sum()
        )
        assert ((selection.inclusion >= 0) & (selection.inclusion <= 1 + 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("control_share", [0, 0.25])
def test_inclusion_probabilities_are_those_of_many_draws(design, control_share, monkeypatch):
    """With 1,500 draws, the standard error of a frequency is up to 0.013."""
    # All δ differ, because the random order of equal δ would be part of the draw.
    delta = np.arange(40) / 40
    inclusion = drawn(design, 12, 1500, delta, control_share=control_share).inclusion
    # They are simulated after each draw, and are the same for all of them.
    monkeypatch.setattr("tiebreak.stats.design.selection.N_SIMULATED_CONTROLS", 1)
    times = np.zeros(40)
    for seed in range(1500):
        times += drawn(design, 12, seed, delta, control_share=control_share).selected
    assert times / 1500 == pytest.approx(inclusion, abs=0.055)
    assert np.abs(times / 1500 - inclusion).mean() < 0.015


@pytest.mark.slow
def test_conditional_probabilities_are_those_of_many_draws():
    """The control sample is fixed, so draws differ only in the second phase."""
    first = drawn("proportional", 12, 1, control_share=0.25)
    control = first.phase == "control"
    rng, times = generator_for(3), np.zeros(40)
    rest = np.flatnonzero(~control)
    for _ in range(6000):
        times[rest[systematic(first.conditional[rest], np.zeros(len(rest), int), rng)]] += 1
    assert times[rest] / 6000 == pytest.approx(first.conditional[rest], abs=0.03)


def test_proportional_probabilities_are_proportional_until_certain():
    delta = np.array([0.1, 0.2, 0.3, 0.4])
    selection = select(
        delta, 2, design="proportional", weights=[1, 1, 1, 7], rng=generator_for(0), control_share=0
    )
    # 7/10 of two draws is more than 1, so this instance is certain; the others share one draw.
    assert selection.inclusion == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert selection.selected[3]


def test_certainty_is_found_again_after_what_was_shared_out():
    weights = [1, 1, 4, 20]
    selection = select(
        np.arange(4) / 4,
        3,
        design="proportional",
        weights=weights,
        rng=generator_for(0),
        control_share=0,
    )
    assert selection.inclusion == pytest.approx([1 / 2, 1 / 2, 1, 1])


def test_top_with_a_control_sample_by_enumeration():
    """Of six instances, one is drawn for the control sample, and the top three of the others."""
    delta = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    times = np.zeros(6)
    for (control,) in combinations(range(6), 1):
        rest = [k for k in range(6) if k != control][:3]
        times[[control, *rest]] += 1 / 6
    selection = select(delta, 4, design="top", rng=generator_for(0), control_share=0.25)
    assert selection.inclusion == pytest.approx(times)
    assert selection.covers
    assert selection.warning is None


def test_top_alone_covers_the_top_only_and_says_so():
    selection = drawn("top", control_share=0)
    chosen = np.sort(DELTA[selection.selected])
    assert chosen[0] >= np.sort(DELTA[~selection.selected])[-1]
    assert not selection.covers
    assert selection.warning == ONLY_TOP


def test_equals_at_the_top_are_drawn_at_random():
    first = [
        np.flatnonzero(drawn("top", 1, seed, np.ones(5), control_share=0).selected)[0]
        for seed in range(60)
    ]
    assert set(first) == set(range(5))


def test_strata_share_equally_and_pass_on_what_they_lack():
    delta = np.array([0.0] * 20 + [0.4] * 2 + [0.6] * 10 + [1.0] * 10)
    selection = drawn("strata", 16, 0, delta, control_share=0)
    counts = [int(selection.selected[delta == value].sum()) for value in (0, 0.4, 0.6, 1)]
    assert counts[1] == 2
    assert sum(counts) == 16
    assert all(4 <= count <= 5 for k, count in enumerate(counts) if k != 1)
    assert selection.inclusion[20] == 1
    assert selection.inclusion[0] == pytest.approx(14 / 3 / 20)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_plan_is_reproducible_from_its_seed(design):
    first, again, other = (drawn(design, seed=seed) for seed in (4, 4, 5))
    assert first.phase.tolist() == again.phase.tolist()
    assert first.inclusion.tolist() == again.inclusion.tolist()
    assert first.phase.tolist() != other.phase.tolist()


def test_weights():
    assert logistic_weights([0.4, 1, -1]) == pytest.approx(
        [0.5, 1 / (1 + np.exp(-3.6)), 1 / (1 + np.exp(8.4))]
    )
    assert floored_weights([-0.2, 0, 0.5], floor=0.1).tolist() == [0.1, 0.1, 0.6]
    with refused("out_of_range", naming="floor"):
        floored_weights([0.1], floor=0)


@pytest.mark.parametrize("design", ["proportional", "strata"])
def test_hajek_estimates_have_no_bias_where_the_selected_mean_has(design):
    rng = np.random.default_rng(7)
    delta = rng.beta(2, 3, size=400)
    value = np.clip(delta + rng.normal(0, 0.1, 400), 0, 1)
    estimates, naive, inside = [], [], 0
    weights = logistic_weights(delta) if design == "proportional" else None
    for seed in range(150):
        selection = select(
            delta, 80, design=design, weights=weights, rng=generator_for(seed), control_share=0
        )
        estimate = hajek_estimate(
            value[selection.selected], selection.inclusion[selection.selected]
        )
        estimates.append(estimate.value)
        naive.append(value[selection.selected].mean())
        inside += estimate.low <= value.mean() <= estimate.high
    assert np.mean(estimates) == pytest.approx(value.mean(), abs=0.006)
    assert abs(np.mean(naive) - value.mean()) > 0.02
    assert inside / 150 >= 0.9


def test_hajek_by_hand():
    estimate = hajek_estimate([2, 0, 3], [0.5, 0.25, 1], sizes=[3, 3, 3])
    value = (4 + 0 + 3) / (6 + 12 + 3)
    shares = np.array([(2 - 3 * value) * 2, (0 - 3 * value) * 4, 3 - 3 * value]) / 21
    assert estimate.value == pytest.approx(value)
    assert estimate.standard_error == pytest.approx(np.sqrt(1.5 * (shares**2).sum()))
    assert OF_EVERY in estimate.method
    assert OF_SELECTED in hajek_estimate([1, 0], [1, 1], covers=False).method


def test_equal_probabilities_give_the_mean_and_its_error():
    y = np.random.default_rng(0).random(30)
    estimate = hajek_estimate(y, np.full(30, 0.2))
    assert estimate.value == pytest.approx(y.mean())
    assert estimate.standard_error == pytest.approx(y.std(ddof=1) / np.sqrt(30))


def test_hajek_of_one_or_none():
    assert hajek_estimate([1], [0.5]).reason == ONE
    assert hajek_estimate([], []).reason == NOTHING


def test_ratings_saved_may_be_negative():
    control = Estimate(0.5, standard_error=0.1, n=20)
    better = ratings_saved(Estimate(0.5, standard_error=0.05, n=60), control)
    worse = ratings_saved(Estimate(0.5, standard_error=0.08, n=60), control)
    assert better.value == pytest.approx(20)
    assert worse.value == pytest.approx(20 / 0.64 - 60)
    assert ratings_saved(Estimate(0.5, n=3), control).reason == NO_ERRORS


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"n": 0}, "out_of_range", "n"),
        ({"n": 4}, "out_of_range", "n"),
        ({"design": "best"}, "unknown_choice", "design"),
        ({"design": "proportional"}, "weights_missing", "weights"),
        ({"design": "proportional", "weights": [1, 0, 1]}, "bad_weights", "weights"),
        ({"design": "proportional", "weights": [1]}, "bad_weights", "weights"),
        ({"control_share": 1.5}, "out_of_range", "control_share"),
        ({"delta": [0.1, np.nan, 0.2]}, "not_finite", "delta"),
        ({"ranges": 0}, "out_of_range", "ranges"),
    ],
)
def test_bad_arguments_are_named(change, code, name):
    arguments = {"delta": [0.1, 0.2, 0.3], "n": 2, "design": "top"} | change
    with refused(code, naming=name):
        select(**arguments, rng=generator_for(0))


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (([1], [0]), "out_of_range", "inclusion"),
        (([1], [1.5]), "out_of_range", "inclusion"),
        (([1], [0.5, 0.5]), "lengths_differ", "inclusion"),
        (([np.nan], [0.5]), "not_finite", "values"),
    ],
)
def test_bad_totals_are_named(arguments, code, name):
    with refused(code, naming=name):
        hajek_estimate(*arguments)
    with refused("out_of_range", naming="sizes"):
        hajek_estimate([1], [0.5], sizes=[0])


def drawn_study(rng, *, effect=0.0, control_share=0.2):
    """Draw 300 of 1,000 instances with three ratings each; wins may depend on separability."""
    delta = rng.beta(2, 3, size=1000)
    wins = np.clip(0.5 + effect * (delta - 0.4) + 0.2 * rng.standard_normal(1000), 0.02, 0.98)
    selection = select(
        delta,
        300,
        design="proportional",
        weights=logistic_weights(delta),
        control_share=control_share,
        rng=rng,
    )
    place = np.flatnonzero(selection.selected)
    totals = rng.binomial(3, wins[place])
    return totals, selection.inclusion[place], selection.phase[place] == "control", np.full(300, 3)


def test_the_interval_of_a_saving_leaves_instances_out_one_at_a_time():
    totals, inclusion, control, sizes = drawn_study(generator_for(1))
    saving = instances_saved(totals, inclusion, control, sizes=sizes)

    def log_ratio(kept):
        chosen = hajek_estimate(totals[kept], inclusion[kept], sizes=sizes[kept])
        alone = kept & control
        uniform = hajek_estimate(totals[alone], np.ones(alone.sum()), sizes=sizes[alone])
        return np.log(ratings_saved(chosen, uniform).value / chosen.n + 1)

    everything = np.ones(300, dtype=bool)
    assert log_ratio(everything) == pytest.approx(np.log(saving.value / 300 + 1))
    without = np.array([log_ratio(np.arange(300) != i) for i in range(300)])
    variance = sum((m.sum() - 1) * without[m].var() for m in (control, ~control))
    reach = np.log((saving.high + 300) / (saving.value + 300))
    assert reach == pytest.approx(np.log((saving.value + 300) / (saving.low + 300)))
    assert 1.96 < reach / np.sqrt(variance) < 2.02
    assert saving.scope.instances == "dataset"


@pytest.mark.parametrize("controls", [0, 4, 9])
def test_a_saving_against_few_control_instances_is_undefined(controls):
    totals, inclusion, _, sizes = drawn_study(generator_for(1))
    saving = instances_saved(totals, inclusion, np.arange(300) < controls, sizes=sizes)
    assert not saving.is_defined
    assert saving.reason


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.6])
def test_the_interval_of_a_saving_covers(effect):
    """At least 92% of 250 intervals contain the saving computed from the mean variances."""
    ends, chosen, uniform = [], [], []
    for seed in range(250):
        totals, inclusion, control, sizes = drawn_study(generator_for(seed), effect=effect)
        saving = instances_saved(totals, inclusion, control, sizes=sizes)
        ends.append((saving.low, saving.high))
        chosen.append(hajek_estimate(totals, inclusion, sizes=sizes).standard_error)
        alone = hajek_estimate(totals[control], np.ones(60), sizes=sizes[control])
        uniform.append(alone.standard_error)
    truth = 60 * np.mean(np.square(uniform)) / np.mean(np.square(chosen)) - 300
    low, high = np.array(ends).T
    assert ((low <= truth) & (truth <= high)).mean() >= 0.92

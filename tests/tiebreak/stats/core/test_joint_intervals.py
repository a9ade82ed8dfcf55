"""Intervals of jointly fitted strengths against deletion, the bootstrap and simulated studies."""

import numpy as np
import pytest

from tiebreak.stats import bradley_terry, generator_for, joint_ranks, two_way_interval
from tiebreak.stats.core.independence import too_few_clusters
from tiebreak.stats.core.joint_intervals import NO_SPREAD
from tiebreak.stats.core.results import THESE, Estimate

NAMES = np.array(["ada", "bel", "cyd"])


def study(rng, *, instances=60, raters=6, sd=0.5, sd_of_instances=0.5):
    """Return ratings of all pairs by raters and instances that differ in how they see each system.

    Each instance is rated by three raters. The truth is the strengths that fit infinitely many.
    """
    theta = np.array([0.4, 0.0, -0.4])
    of_rater, of_instance = (
        rng.normal(0, sd, (raters, 3)),
        rng.normal(0, sd_of_instances, (instances, 3)),
    )
    a, b = np.array([0, 0, 1]), np.array([1, 2, 2])
    instance = np.repeat(np.arange(instances), 9)
    rater = (np.repeat(np.tile(np.arange(3), instances), 3) + instance) % raters
    pair = np.tile(np.arange(3), 3 * instances)
    seen = theta + of_rater[rater] + of_instance[instance]
    rows = np.arange(len(pair))
    wins = rng.random(len(pair)) < 1 / (1 + np.exp(seen[rows, b[pair]] - seen[rows, a[pair]]))
    counts = np.column_stack([wins, np.zeros(len(pair)), ~wins]).astype(int)
    return counts, NAMES[a[pair]], NAMES[b[pair]], instance, rater


def fitted(counts, a, b, instance, rater=None, **options):
    return bradley_terry(counts, system_a=a, system_b=b, clusters=instance, raters=rater, **options)


def truth(sd, sd_of_instances):
    """Return the strengths of a study so large that its error is small."""
    rng = np.random.default_rng(99)
    made = study(rng, instances=40_000, raters=40_000, sd=sd, sd_of_instances=sd_of_instances)
    return [one.value for one in fitted(*made[:4]).systems.values()]


def test_the_variance_of_two_systems_is_that_of_their_mean():
    """Two strengths are ± half the logit of the win rate, whose two-way interval is known."""
    rng = np.random.default_rng(1)
    instance, rater = np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20)
    wins = rng.random(80) < 0.6
    counts = np.column_stack([wins, np.zeros(80), ~wins]).astype(int)
    strength = fitted(counts, ["x"] * 80, ["y"] * 80, instance, rater).systems["x"]
    share = wins.mean()
    rate = Estimate(share, share, share, stated_scope=THESE)
    wide = two_way_interval(wins - share, instance, rater, narrow=rate)
    slope = 1 / (2 * share * (1 - share))
    assert strength.value == pytest.approx(np.log(share / (1 - share)) / 2)
    assert strength.standard_error == pytest.approx(wide.standard_error * slope, rel=1e-6)
    assert (strength.scope.raters, strength.narrower[0].scope.raters) == ("new", "these")
    half_width = (wide.high - wide.low) / 2 * slope
    assert (strength.high - strength.low) / 2 == pytest.approx(half_width, rel=0.02)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_errors_of_these_raters_are_those_of_refitted_bootstrap_samples(ties):
    rng = np.random.default_rng(2)
    counts, a, b, instance, _ = study(rng, instances=80)
    drawn = rng.random(len(counts)) < 0.2
    counts[drawn] = [0, 1, 0]
    weights = rng.uniform(0.5, 2, 80)[instance]
    options = {"ties": ties, "weights": weights}
    closed = fitted(counts, a, b, instance, **options)
    refits = fitted(counts, a, b, instance, rng=generator_for(0), replicates=2_000, **options)
    of = [fit.systems.values() for fit in (closed, refits)]
    errors, slow = ([one.standard_error for one in strengths] for strengths in of)
    assert errors == pytest.approx(slow, rel=0.08)
    if ties == "davidson":
        assert closed.tie.standard_error == pytest.approx(refits.tie.standard_error, rel=0.08)


def test_weights_of_ratings_are_those_of_repeated_instances():
    counts, a, b, instance, rater = study(np.random.default_rng(3), instances=30)
    twice = instance < 10
    weighted = fitted(counts, a, b, instance, rater, weights=np.where(twice, 2.0, 1.0))
    repeated = fitted(*(np.concatenate([x, x[twice]]) for x in (counts, a, b, instance, rater)))
    for one, other in zip(weighted.systems.values(), repeated.systems.values(), strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_few_or_unknown_raters_speak_of_themselves():
    counts, a, b, instance, rater = study(np.random.default_rng(4))
    for some in (None, rater % 2):
        fit = fitted(counts, a, b, instance, some)
        assert {one.scope.raters for one in fit.systems.values()} == {"these"}
        assert {one.narrower for one in fit.systems.values()} == {()}


def test_few_instances_and_no_spread_have_no_interval():
    counts, a, b, instance, rater = study(np.random.default_rng(5), instances=9)
    assert fitted(counts, a, b, instance, rater).systems["ada"].reason == too_few_clusters(9)
    always = fitted([[2, 0, 1]] * 12, ["x"] * 12, ["y"] * 12, np.arange(12))
    assert always.systems["x"].reason == NO_SPREAD


def test_ranks_of_close_systems_are_uncertain_and_wider_for_new_raters():
    made = study(np.random.default_rng(6), sd=1.0)
    fit = fitted(*made)
    by_system = joint_ranks(fit.systems, fit.linearised, rng=generator_for(0))
    again = joint_ranks(fit.systems, fit.linearised, rng=generator_for(0))
    assert by_system == again
    order = sorted(fit.systems, key=lambda name: -fit.systems[name].value)
    assert [by_system[name].value for name in order] == [1, 2, 3]
    for rank in by_system.values():
        (inner,) = rank.narrower
        assert rank.low <= inner.low <= rank.value <= inner.high <= rank.high
        assert (rank.scope.raters, inner.scope.raters) == ("new", "these")
    assert any(
        rank.low < rank.narrower[0].low or rank.high > rank.narrower[0].high
        for rank in by_system.values()
    )


def test_draws_have_the_errors_of_the_intervals():
    fit = fitted(*study(np.random.default_rng(7), raters=40))
    draws = fit.linearised.draws(40_000, generator_for(0), new_raters=True)
    errors = [one.standard_error for one in fit.systems.values()]
    middle = np.subtract(*np.quantile(draws, [0.75, 0.25], axis=0)) / 1.349
    assert middle == pytest.approx(errors, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sd", "raters", "instances"), [(0.5, 8, 60), (0.5, 20, 60), (0.0, 8, 30), (0.8, 5, 100)]
)
def test_intervals_cover_the_truth_for_new_raters(sd, raters, instances):
    expected = truth(sd, 0.5)
    rng, wide, narrow = np.random.default_rng(8), [], []
    for _ in range(400):
        fit = fitted(*study(rng, instances=instances, raters=raters, sd=sd))
        for one, true in zip(fit.systems.values(), expected, strict=True):
            wide.append(one.low <= true <= one.high)
            narrow.append(one.narrower[0].low <= true <= one.narrower[0].high)
    assert 0.92 <= np.mean(wide) <= 0.995
    if sd:
        assert np.mean(narrow) < np.mean(wide) - 0.03

"""Confidence sequences against manual values, an independent capital process and simulations."""

import re

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats.design.confidence_sequences import (
    CELLS,
    EMPTY,
    NOTHING_RATED,
    confidence_sequence,
)

ALPHA = 0.05
ROUNDING = 1e-12


def studies(seed, number, *, instances, win=0.3, tie=0.3, spread=2.0):
    """Simulate win shares of instances with 3 to 5 ratings, and the times of completion.

    Both arrays have one row for each study and one column for each instance. Every instance has
    different label probabilities, so its ratings are correlated. Ties take longer, so instances
    that are complete early have fewer ties.
    """
    rng = np.random.default_rng(seed)
    centre = np.array([win, tie, 1 - win - tie])
    chances = rng.dirichlet(spread * centre, size=(number, instances))
    ratings = rng.integers(3, 6, size=(number, instances))
    counts = rng.multinomial(ratings, chances)
    shares = (counts[..., 0] + counts[..., 1] / 2) / ratings
    times = rng.exponential(size=ratings.shape) + 3 * counts[..., 1] / ratings
    return shares, times + np.arange(instances) / instances


def misses(shares, truth, **options):
    """Return whether the interval after any instance excludes the true value."""
    sequence = confidence_sequence(shares, **options)
    inside = (sequence.low <= truth + ROUNDING) & (truth - ROUNDING <= sequence.high)
    return not inside.all()


def in_order_of(times, shares):
    return np.take_along_axis(shares, np.argsort(times, axis=1), axis=1)


def error(shares, truths, **options):
    return np.mean([misses(x, truth, **options) for x, truth in zip(shares, truths, strict=True)])


def capital(x, m, population=None):
    """Return the capital after each observation for one candidate, written as in the paper."""
    total, centre, squares, best = 0.0, 0.5, 0.25, [1.0]
    for t, value in enumerate(x, start=1):
        at = m if population is None else (population * m - total) / (population - t + 1)
        variance = squares / t
        bet = (centre - at) / (variance + (centre - at) ** 2)
        bet = min(max(bet, -0.5 / (1 - at)), 0.5 / at)
        best.append(best[-1] * (1 + bet * (value - at)))
        total += value
        centre = (0.5 + total) / (t + 1)
        squares += (value - centre) ** 2
    return np.array(best[1:])


def test_one_win_excludes_what_the_capital_of_one_bet_excludes():
    # The bet is 0 at ½ and at most ½ / m, so the capital after one observation is at most 1.5.
    sequence = confidence_sequence([1.0])
    assert (sequence.low[0], sequence.high[0]) == (0, 1)
    assert not sequence.stop.stop


@pytest.mark.parametrize("population", [None, 200])
def test_ends_agree_with_the_capital_of_the_paper(population):
    x = studies(1, 1, instances=120)[0][0]
    sequence = confidence_sequence(x, population=population)
    step = 1 / CELLS
    for end, inward in ((sequence.current.low, step), (sequence.current.high, -step)):
        outside = capital(x, end - inward, population).max()
        inside = capital(x, end + 3 * inward, population).max()
        assert inside < 1 / ALPHA < outside * 1.1
        # Rounding is outward, so the paper's capital also excludes what is excluded here.
        assert outside > 1 / ALPHA


def test_coarse_cells_round_outward():
    x = studies(2, 1, instances=300)[0][0]
    for population in (None, 400):
        coarse = confidence_sequence(x, cells=100, population=population)
        fine = confidence_sequence(x, cells=4000, population=population)
        # A coarse cell has one bet for all its candidates, so its interval may be narrower by
        # chance, but by less than the width of a cell.
        assert (coarse.low < fine.low + 0.01).all()
        assert (coarse.high > fine.high - 0.01).all()
        assert (
            coarse.current.high - coarse.current.low < fine.current.high - fine.current.low + 0.05
        )


def test_intervals_never_widen_and_digits_do_not_depend_on_the_batch():
    x = studies(3, 1, instances=200)[0][0]
    sequence = confidence_sequence(x, population=300)
    assert (np.diff(sequence.low) >= 0).all()
    assert (np.diff(sequence.high) <= 0).all()
    for batch in (1, 7, 1000):
        again = confidence_sequence(x, population=300, batch=batch)
        assert again.low.tolist() == sequence.low.tolist()
        assert again.high.tolist() == sequence.high.tolist()


def test_wins_and_losses_mirror():
    x = studies(4, 1, instances=150)[0][0]
    sequence, other = confidence_sequence(x), confidence_sequence(1 - x)
    assert other.low == pytest.approx(1 - sequence.high)
    assert other.high == pytest.approx(1 - sequence.low)


def test_an_unfinished_instance_holds_back_all_later_ones():
    x = studies(5, 1, instances=60)[0][0]
    waiting = x.copy()
    waiting[[40, 45]] = np.nan
    sequence, prefix = confidence_sequence(waiting), confidence_sequence(x[:40])
    assert (sequence.current, sequence.stop) == (prefix.current, prefix.stop)
    assert (sequence.current.n, sequence.n_held_back, sequence.next_index) == (40, 18, 40)
    assert (prefix.n_held_back, prefix.next_index) == (0, None)


def test_what_comes_later_does_not_change_an_earlier_look():
    x = studies(6, 1, instances=90)[0][0]
    whole, part = confidence_sequence(x), confidence_sequence(x[:50])
    assert whole.low[:50].tolist() == part.low.tolist()
    assert whole.high[:50].tolist() == part.high.tolist()


def test_a_whole_dataset_is_known():
    x = studies(7, 1, instances=80)[0][0]
    sequence = confidence_sequence(x, population=80)
    assert sequence.current.low == sequence.current.high == pytest.approx(x.mean())
    almost = confidence_sequence(x[:-1], population=80).current
    assert almost.low >= x[:-1].sum() / 80 - ROUNDING
    assert almost.high <= (x[:-1].sum() + 1) / 80 + ROUNDING
    assert almost.low < x.mean() < almost.high


def test_a_whole_dataset_that_is_even_stops_because_it_is_whole():
    sequence = confidence_sequence([0.0, 1.0], population=2)
    assert sequence.stop.rule == "complete"
    assert (sequence.stop.stop, sequence.stop.n) == (True, 2)
    assert "2" in sequence.stop.sentence


def test_a_known_dataset_needs_fewer_instances():
    x = studies(8, 1, instances=400)[0][0]
    open_ended = confidence_sequence(x).current
    of_500 = confidence_sequence(x, population=500).current
    assert of_500.high - of_500.low < 0.7 * (open_ended.high - open_ended.low)


def test_it_stops_when_even_is_excluded_or_when_it_is_narrow():
    wins = confidence_sequence([1.0] * 30)
    assert (wins.stop.rule, wins.stop.stop) == ("excludes ½", True)
    assert wins.low[wins.stop.n - 1] > 0.5
    assert wins.low[wins.stop.n - 2] <= 0.5
    assert str(wins.stop.n) in wins.stop.sentence
    ties = confidence_sequence([0.5] * 300, target_width=0.1)
    assert (ties.stop.rule, ties.stop.stop) == ("width", True)
    assert ties.high[ties.stop.n - 1] - ties.low[ties.stop.n - 1] < 0.1
    assert "0.1" in ties.stop.sentence
    go_on = confidence_sequence([0.0, 1.0] * 10, target_width=0.1).stop
    assert (go_on.stop, go_on.rule, go_on.n) == (False, None, None)
    assert re.search(r"\b20\b.*\b0\.1\b", go_on.sentence)


def test_a_drift_that_leaves_nothing_is_undefined_with_a_reason():
    sequence = confidence_sequence([0.0] * 150 + [1.0] * 400)
    assert np.isnan([sequence.current.low, sequence.current.high]).all()
    assert sequence.current.reason == EMPTY
    of_a_dataset = confidence_sequence([0.0] * 400 + [1.0] * 300, population=700)
    assert np.isnan(of_a_dataset.low[-2])
    assert of_a_dataset.current.low == pytest.approx(3 / 7)


def test_nothing_complete_is_undefined_with_a_reason():
    for means in ([], [np.nan, 0.5]):
        sequence = confidence_sequence(means)
        assert np.isnan(sequence.current.value)
        assert sequence.current.reason == NOTHING_RATED
        assert not sequence.stop.stop
        assert len(sequence.low) == len(sequence.mean) == 0
    assert confidence_sequence([np.nan, 0.5]).n_held_back == 1


@pytest.mark.parametrize(
    ("means", "options", "code", "name"),
    [
        ([0.5, 1.2], {}, "out_of_range", "means"),
        ([-1, 0, 1], {}, "out_of_range", "means"),
        ([0.5, np.inf], {}, "not_finite", "means"),
        ([[0.5]], {}, "wrong_shape", "means"),
        ([0.5] * 3, {"population": 2}, "out_of_range", "population"),
        ([0.5], {"target_width": 0}, "out_of_range", "target_width"),
        ([0.5], {"cells": 11}, "not_even", "cells"),
        ([0.5], {"confidence_level": 1}, "out_of_range", "confidence_level"),
        ([0.5], {"batch": 0}, "out_of_range", "batch"),
    ],
)
def test_bad_input_is_named(means, options, code, name):
    with refused(code, naming=name):
        confidence_sequence(means, **options)


def test_it_is_wider_than_a_fixed_interval_by_half_and_not_by_more():
    shares, _ = studies(9, 10, instances=500)
    ratio = []
    for x in shares:
        current = confidence_sequence(x).current
        ratio.append((current.high - current.low) / (2 * 1.96 * x.std() / np.sqrt(500)))
    assert 1.2 < np.mean(ratio) < 1.6


def test_planned_order_keeps_the_error_and_completion_order_does_not():
    shares, times = studies(10, 200, instances=300, win=0.3, tie=0.6)
    truths = np.full(200, 0.6)
    early = in_order_of(times, shares)[:, :150]
    assert error(shares, truths, cells=100) <= ALPHA
    assert error(early, truths, cells=100) > 2 * ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("win", [0.2, 0.35, 0.8])
def test_error_stays_under_five_percent_with_a_look_after_every_instance(win, spread):
    """In 400 studies, an error of 8% is seen in nearly every run."""
    shares, _ = studies(11, 400, instances=400, win=win, tie=0.1, spread=spread)
    assert error(shares, np.full(400, win + 0.05), cells=400) <= ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("rated", [150, 300])
def test_error_stays_under_five_percent_without_replacement(rated):
    shares, times = studies(12, 400, instances=300, win=0.3, tie=0.6)
    options = {"cells": 400, "population": 300}
    truths = shares.mean(axis=1)
    assert error(shares[:, :rated], truths, **options) <= ALPHA
    early = in_order_of(times, shares)[:, :rated]
    assert error(early, truths, **options) > 0.5


@pytest.mark.slow
def test_single_ratings_break_the_error_that_instances_keep():
    # The five ratings of an instance are equal, so they must not count as five observations.
    rng = np.random.default_rng(13)
    settled = rng.beta(0.05, 0.05, size=(500, 200)) > 0.5
    ratings = np.repeat(settled, 5, axis=1).astype(float)
    assert error(settled.astype(float), np.full(500, 0.5), cells=200) <= ALPHA
    assert error(ratings, np.full(500, 0.5), cells=200) > 3 * ALPHA

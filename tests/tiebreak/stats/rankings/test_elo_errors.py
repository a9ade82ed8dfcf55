"""Errors of Elo ratings beside derivatives of the expected path, and beside its end in closed form."""

import warnings

import numpy as np
import pytest

from tiebreak.stats.rankings.elo_errors import PlayedGames, _Path

SCALE, BASE = 400, 10
UNIT = np.log(BASE) / SCALE
# Who plays whom on the path, and the sums of K times the scores and of K of each pair.
FIRST, SECOND = np.array([0, 0, 1]), np.array([1, 2, 2])
CLUSTERS = 20
GAINED, PLAYED = np.array([950.0, 700.0, 100.0]), np.array([1_000.0, 800.0, 900.0])


def final(gained, played, times=5_000):
    """Return the ratings after the expected path, by Heun's method."""

    def change(ratings):
        chance = 1 / (1 + BASE ** ((ratings[SECOND] - ratings[FIRST]) / SCALE))
        gain = (gained - played * chance) / times
        return np.bincount(FIRST, gain, 3) - np.bincount(SECOND, gain, 3)

    ratings = np.zeros(3)
    for _ in range(times):
        once = change(ratings)
        ratings = ratings + (once + change(ratings + once)) / 2
    return ratings


@pytest.mark.thorough
def test_slopes_are_derivatives_of_the_expected_path():
    by_gain, by_play = _Path(FIRST, SECOND, GAINED, PLAYED, 3, UNIT).slopes()
    for pair in range(3):
        little = np.eye(3)[pair]
        gain = final(GAINED + little, PLAYED) - final(GAINED - little, PLAYED)
        play = final(GAINED, PLAYED + little) - final(GAINED, PLAYED - little)
        assert by_gain[:, pair] == pytest.approx(gain / 2, abs=0.005)
        assert by_play[:, pair] == pytest.approx(play / 2, abs=0.005)


def hub_games(leaves, games=40, step=6_000.0):
    """Return games of many systems with the last one, so many that the path ends at rest."""
    score = np.random.default_rng(0).choice([0, 0.5, 1], (leaves, games), p=[0.3, 0.3, 0.4])
    first = np.arange(leaves).repeat(games)
    cluster = np.arange(leaves * games) % CLUSTERS
    every = np.full(leaves * games, step)
    played = PlayedGames(
        first, np.full_like(first, leaves), every, score.ravel(), cluster, leaves + 1
    )
    return played, score


@pytest.mark.parametrize("leaves", [1, 30])
def test_errors_after_many_games_are_those_of_log_odds(leaves):
    played, score = hub_games(leaves)
    games = score.shape[1]
    share = score.mean(axis=1, keepdims=True)
    # The rating of a leaf is the log odds of its share, above that of the last system; the sum is 0.
    of_odds = ((score - share) / (share * (1 - share) * UNIT * games)).ravel()
    hub = -of_odds / (leaves + 1)
    of_first = hub + np.where(played.first == 0, of_odds, 0)
    expected = [_error_of(np.bincount(played.cluster, part)) for part in (of_first, hub)]
    errors = played.standard_errors(scale=SCALE, base=BASE)
    assert errors[[0, -1]] == pytest.approx(expected, rel=1e-4)


def _error_of(sums):
    return np.sqrt(len(sums) * sums.var(ddof=1))


def test_the_error_over_a_single_cluster_is_unknown():
    one = PlayedGames(*np.array([[0, 0], [1, 1]]), np.ones(2), np.ones(2), np.zeros(2, int), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(one.standard_errors(scale=SCALE, base=BASE)).all()

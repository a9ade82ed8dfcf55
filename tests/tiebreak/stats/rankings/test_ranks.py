"""Ranks of systems, comparison schedules and win–loss ratios."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import (
    Estimate,
    bradley_terry,
    generator_for,
    ranks,
    schedule,
    shared_ranks,
    win_loss_ratio,
    win_rate,
)
from tiebreak.stats.core.bootstrap import OFTEN_UNDEFINED
from tiebreak.stats.design.schedules import NEVER_COMPARED
from tiebreak.stats.rankings.ranks import NO_SCORE


def test_overlapping_intervals_share_a_rank():
    scores = {
        "top": Estimate(0.9, 0.8, 1.0),
        "second": Estimate(0.7, 0.6, 0.85),
        "third": Estimate(0.6, 0.5, 0.7),
        "last": Estimate(0.1, 0.0, 0.2),
        "unknown": Estimate(0.5, reason="No interval."),
    }
    assert shared_ranks(scores) == {
        "top": 1,
        "second": 1,
        "third": 2,
        "last": 4,
        "unknown": None,
    }


def test_touching_intervals_overlap():
    assert shared_ranks({"x": Estimate(2, 1, 3), "y": Estimate(0, -1, 1)}) == {"x": 1, "y": 1}


def test_ranks_with_intervals():
    drawn = np.array([[3, 2, 1]] * 95 + [[2, 3, 1]] * 5)
    by_system = ranks({"x": Estimate(3, n=7), "y": Estimate(2), "z": Estimate(1)}, drawn)
    assert [rank.value for rank in by_system.values()] == [1, 2, 3]
    assert (by_system["x"].low, by_system["x"].high, by_system["x"].n) == (1, 2, 7)
    assert (by_system["z"].low, by_system["z"].high) == (3, 3)


def test_equal_scores_share_their_mean_rank():
    by_system = ranks({"x": Estimate(2), "y": Estimate(2), "z": Estimate(1)}, np.zeros((0, 3)))
    assert [rank.value for rank in by_system.values()] == [1.5, 1.5, 3]


def test_undefined_scores_have_no_rank_and_replicates_are_counted():
    drawn = np.array([[2.0, 1.0]] * 9 + [[np.nan, 1.0]])
    by_system = ranks({"x": Estimate(2), "y": Estimate(1)}, drawn)
    assert by_system["x"].reason == OFTEN_UNDEFINED.format(lost=1, of=10)
    missing = ranks({"x": Estimate(2), "y": Estimate(np.nan, reason="Why.")}, np.zeros((0, 2)))
    assert (missing["x"].value, missing["y"].reason) == (1, "Why.")
    assert ranks({"x": Estimate(np.nan)}, np.zeros((0, 1)))["x"].reason == NO_SCORE


def test_ranks_of_a_fit():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(5, [0.6, 0.1, 0.3], size=200)
    a, b = np.array([["p", "q", "p"], ["q", "r", "r"]])[:, np.arange(200) % 3]
    fit = bradley_terry(counts, system_a=a, system_b=b, rng=generator_for(0), replicates=200)
    by_system = ranks(fit.systems, fit.bootstrap_values)
    assert [rank.value for rank in by_system.values()] == [1, 2, 3]
    assert shared_ranks(fit.systems) == {"p": 1, "q": 2, "r": 3}


def test_bad_replicates_are_named():
    with refused("wrong_shape", naming="bootstrap_values"):
        ranks({"x": Estimate(1)}, [[1, 2]])


@pytest.mark.parametrize(("tie", "expected"), [(0, 0.5), (0.5, 0.625), (1, 0.75)])
def test_what_a_tie_is_worth(tie, expected):
    assert win_rate([[2, 1, 1]], tie=tie).value == expected


def test_a_tie_is_worth_no_more_than_a_win():
    with refused("out_of_range", naming="tie"):
        win_rate([[2, 1, 1]], tie=2)


class TestSchedules:
    def drawn(self, kind, comparisons, seed=0, candidates=6):
        return schedule(candidates, comparisons, kind=kind, rng=generator_for(seed))

    def test_random_draws_ordered_pairs_once(self):
        pairs = self.drawn("random", 30)
        assert len({tuple(pair) for pair in pairs.tolist()}) == 30

    def test_no_repeat_compares_a_pair_once_in_either_order(self):
        pairs = self.drawn("no-repeat", 15)
        assert len({frozenset(pair) for pair in pairs.tolist()}) == 15
        first_shown = np.mean([(self.drawn("no-repeat", 15, s) @ [1, -1] > 0) for s in range(99)])
        assert 0.45 < first_shown < 0.55

    def test_symmetric_has_both_orders(self):
        pairs = self.drawn("symmetric", 12).tolist()
        assert len({frozenset(pair) for pair in pairs}) == 6
        assert pairs[::2] == [pair[::-1] for pair in pairs[1::2]]

    @pytest.mark.parametrize("kind", ["random", "no-repeat", "symmetric"])
    def test_every_pair_is_as_likely(self, kind):
        counted = np.zeros((4, 4))
        for seed in range(1500):
            first, second = self.drawn(kind, 4, seed, candidates=4).T
            np.add.at(counted, (first, second), 1)
        shares = counted[~np.eye(4, dtype=bool)] / 1500
        assert shares == pytest.approx(4 / 12, abs=0.05)

    @pytest.mark.parametrize(
        ("kind", "comparisons", "code", "name"),
        [
            ("random", 31, "out_of_range", "30"),
            ("no-repeat", 16, "out_of_range", "15"),
            ("symmetric", 3, "not_even", "comparisons"),
            ("symmetric", 0, "out_of_range", "comparisons"),
            ("all", 2, "unknown_choice", "kind"),
        ],
    )
    def test_impossible_schedules_are_refused(self, kind, comparisons, code, name):
        with refused(code, naming=name):
            self.drawn(kind, comparisons)
        with refused("out_of_range", naming="candidates"):
            schedule(1, 1, kind="random", rng=generator_for(0))


class TestWinLossRatio:
    def test_by_hand(self):
        scores = win_loss_ratio([[0, 1], [1, 2], [2, 0]], [1, 0.5, 0.25], candidates=4)
        assert [score.value for score in scores[:3]] == [(1 + 0.75) / 2, 0.25, 0.375]
        assert scores[3].reason == NEVER_COMPARED

    def test_unparsed_answers_are_no_comparison(self):
        scores = win_loss_ratio([[0, 1], [0, 1]], [1, np.nan], candidates=2)
        assert [(score.value, score.n) for score in scores] == [(1, 1), (0, 1)]

    def test_a_comparison_counts_as_much_as_its_weight(self):
        pairs, outcomes = [[0, 1], [1, 0], [0, 2]], [1, 1, 0]
        scores = win_loss_ratio(pairs, outcomes, candidates=3, weights=[3, 1, 0])
        assert [(score.value, score.n) for score in scores[:2]] == [(0.75, 3), (0.25, 2)]
        assert scores[2].reason == NEVER_COMPARED
        with refused("out_of_range", naming="weights"):
            win_loss_ratio(pairs, outcomes, candidates=3, weights=[3, -1, 0])

    def test_position_bias_cancels_in_a_symmetric_schedule_and_not_in_others(self):
        """The judge always prefers the text shown first."""
        for kind, alike in (("symmetric", True), ("no-repeat", False)):
            pairs = schedule(6, 8, kind=kind, rng=generator_for(1))
            scores = win_loss_ratio(pairs, np.ones(8), candidates=6)
            known = [score.value for score in scores if score.is_defined]
            assert bool(np.ptp(known) == 0) is alike

    def test_scores_stay_between_0_and_1(self):
        rng = np.random.default_rng(0)
        pairs = schedule(8, 20, kind="random", rng=rng)
        scores = win_loss_ratio(pairs, rng.random(20), candidates=8)
        assert all(0 <= score.value <= 1 for score in scores if score.is_defined)

    @pytest.mark.parametrize(
        ("pairs", "outcomes", "code", "name"),
        [
            ([[0, 0]], [1], "same_candidate", "pairs"),
            ([[0, 5]], [1], "out_of_range", "pairs"),
            ([0, 1], [1], "wrong_shape", "pairs"),
            ([[0, 1]], [2], "out_of_range", "outcomes"),
            ([[0, 1]], [1, 0], "lengths_differ", "outcomes"),
        ],
    )
    def test_bad_arguments_are_named(self, pairs, outcomes, code, name):
        with refused(code, naming=name):
            win_loss_ratio(pairs, outcomes, candidates=3)

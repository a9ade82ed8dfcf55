"""Confidence sequences of planned instances, looked at after every completed instance."""

import math

import numpy as np
import pytest

from tiebreak.report.sections.planning.stopping import (
    MAX_POINTS,
    PlannedPair,
    pair_sequence,
    split_level,
)

NAN = math.nan
RATINGS, INSTANCES = 3, 60


def test_the_path_ends_with_the_current_interval_and_counts_ratings():
    pair = PlannedPair(("a", "b"), [1.0] * 200 + [NAN, 1.0], [3] * 200 + [1, 3])
    sequence = pair_sequence(pair, statements=1)
    last = sequence.path[-1]
    assert (last.instances, last.ratings) == (200, 600)
    assert (last.low, last.high) == (sequence.win_rate.low, sequence.win_rate.high)
    assert len(sequence.path) <= MAX_POINTS
    assert (sequence.planned, sequence.complete, sequence.held_back) == (202, 201, 1)
    assert sequence.excluded_half_after < 20


def test_nothing_entered_has_a_reason_and_no_path():
    sequence = pair_sequence(PlannedPair(("a", "b"), [NAN, 1.0], [0, 3]), statements=1)
    assert sequence.path == ()
    assert sequence.win_rate.reason
    assert not sequence.win_rate.is_defined


def test_more_statements_widen_each_interval():
    pair = PlannedPair(("a", "b"), [1.0, 0.5, 0.7] * 20, [3] * 60)
    one, ten = (pair_sequence(pair, statements=n).win_rate for n in (1, 10))
    assert ten.low < one.low
    assert split_level(10) == pytest.approx(0.995)


def test_the_dataset_is_known_exactly_once_all_of_it_is_rated():
    means = [1.0, 0.5, 0.0, 0.5]
    sequence = pair_sequence(PlannedPair(("a", "b"), means, [3] * 4), statements=1)
    assert (sequence.of_dataset.low, sequence.of_dataset.high) == (0.5, 0.5)
    assert sequence.of_dataset.scope.instances == "dataset"
    assert sequence.win_rate.high - sequence.win_rate.low > 0.5
    drawn = PlannedPair(("a", "b"), means, [3] * 4, is_dataset=False)
    assert pair_sequence(drawn, statements=1).of_dataset is None


def simulated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return instance means in the planned order, and when each instance is complete.

    The systems are equally good, ratings of an instance are alike, and instances on which the first
    system wins are finished sooner.
    """
    win = rng.beta(0.4, 0.4, INSTANCES)
    means = rng.binomial(RATINGS, win) / RATINGS
    started = np.arange(INSTANCES) / 4
    return means, started + rng.exponential(20, INSTANCES) * (1.5 - means)


def false_findings(studies: int, *, in_planned_order: bool) -> float:
    """Return the share of studies in which ½ is excluded at some look, after each completion."""
    rng, n_false = np.random.default_rng(5), 0
    for _ in range(studies):
        means, finished = simulated(rng)
        by_time = np.argsort(finished)
        n_false += any(
            _excludes_half(means, by_time[: look + 1], in_planned_order=in_planned_order)
            for look in range(4, INSTANCES, 3)
        )
    return n_false / studies


def _excludes_half(means: np.ndarray, complete: np.ndarray, *, in_planned_order: bool) -> bool:
    if in_planned_order:
        seen = np.full(INSTANCES, NAN)
        seen[complete] = means[complete]
    else:
        seen = means[complete]
    pair = PlannedPair(("a", "b"), seen.tolist(), [RATINGS] * len(seen))
    rate = pair_sequence(pair, statements=1, with_forecasts=False).win_rate
    return rate.has_interval and not rate.low <= 0.5 <= rate.high


@pytest.mark.slow
def test_at_most_one_study_in_twenty_states_a_false_finding_over_all_looks():
    studies = 1000
    share = false_findings(studies, in_planned_order=True)
    assert share <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)


@pytest.mark.slow
def test_the_order_of_completion_would_state_false_findings():
    assert false_findings(100, in_planned_order=False) > 0.1


def test_forecasts_are_of_instances_in_all_and_say_if_none_reaches_the_target():
    means = [1.0, 0.0, 0.5] * 20
    needed = pair_sequence(PlannedPair(("a", "b"), means, [3] * 60), statements=1).needed
    by_width = {target.width: target.instances for target in needed}
    assert 60 < by_width[0.2] < by_width[0.1]
    assert by_width[0.05] is None
    assert by_width[None] is None  # the systems are equally good
    few = pair_sequence(PlannedPair(("a", "b"), means[:9], [3] * 9), statements=1)
    assert few.needed == ()


def test_a_target_that_is_reached_needs_no_more_than_there_are():
    pair = PlannedPair(("a", "b"), [1.0] * 200, [3] * 200)
    reached = {
        target.width: target.instances for target in pair_sequence(pair, statements=1).needed
    }
    assert reached[0.2] <= 200
    assert reached[None] == pair_sequence(pair, statements=1).excluded_half_after

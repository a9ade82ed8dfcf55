"""Agreement with a machine that drops: by hand, against the weighted sum, and in simulated streams."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import agreement_drift, agreement_with_machine

STREAMS = 2_000
HORIZON = 2_000


def test_labels_are_compared_with_the_machines_mode_or_lower_median():
    machine = [[3, 1, 0], [1, 1, 0], [1, 0, 2], [0, 0, 0], [0, 0, 0]]
    units, labels = [0, 0, 1, 2, 2, 3, 4, 0], [0, 1, 0, 2, 0, 0, 0, -1]
    by_mode = agreement_with_machine(units, labels, machine, unparsed=[0, 0, 0, 0, 2])
    np.testing.assert_equal(by_mode, [1, 0, 0.5, 1, 0, np.nan, 0, np.nan])
    by_median = agreement_with_machine(units, labels, machine, level="ordinal")
    np.testing.assert_equal(by_median, [1, 0, 1, 1, 0, np.nan, np.nan, np.nan])


def evidence(x, reference, n, drop, horizon):
    """Return the weighted sum over the labels at which a drop may begin, written out."""
    known = (reference * n + 0.5) / (n + 1)
    factors = []
    for t, value in enumerate(x):
        p = min(known, (reference * n + 0.5 + sum(x[:t])) / (n + 1 + t))
        q = max(p - drop, 0)
        factors.append(value * q / p + (1 - value) * (1 - q) / (1 - p))
    weights = [0.5] + [0.5 / (horizon - 1)] * (horizon - 1)
    return [
        sum(weights[k] * np.prod(factors[k : t + 1]) for k in range(t + 1)) for t in range(len(x))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_drop_is_shown_when_the_weighted_sum_reaches_one_in_twenty(seed):
    x = np.random.default_rng(seed).binomial(2, 0.5, size=120) / 2
    expected = evidence(x.tolist(), 0.8, 300, 0.1, 500)
    first = next(t for t, value in enumerate(expected, start=1) if value >= 20)
    assert first > 5
    drift = agreement_drift(x, reference=0.8, n_reference=300, horizon=500)
    assert drift.dropped_after == first
    assert (drift.agreement, drift.labels) == (pytest.approx(x.mean()), 120)


def test_better_agreement_first_does_not_make_the_old_level_a_drop():
    x = [1] * 1_000 + [1, 1, 1, 0] * 100
    assert agreement_drift(x, reference=0.75, n_reference=100).dropped_after is None


def test_without_labels_there_is_no_agreement_and_no_drop():
    drift = agreement_drift([], reference=0.8, n_reference=10)
    assert np.isnan(drift.agreement)
    assert (drift.labels, drift.dropped_after) == (0, None)


@pytest.mark.parametrize("reference", [0.0, 1.0])
def test_a_reference_at_an_end_is_no_division_by_zero(reference):
    with np.errstate(all="raise"):
        drift = agreement_drift([0.0] * 300, reference=reference, n_reference=50)
    assert (drift.dropped_after is None) == (reference == 0)


@pytest.mark.parametrize(
    "options",
    [
        {"reference": 1.5},
        {"n_reference": 0},
        {"drop": -0.1},
        {"false_alarms": 2},
        {"horizon": 1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with refused("out_of_range"):
        agreement_drift([1], **{"reference": 0.8, "n_reference": 10, **options})


def alarms(before, after, n, *, starts=0, seed=0):
    """Return after how many labels each stream had an alarm, infinity without one.

    The reference of each stream is estimated from its own n observations.
    """
    rng = np.random.default_rng(seed)
    probability = np.where(np.arange(HORIZON) < starts, before, after)
    shown = [
        agreement_drift(
            rng.random(HORIZON) < probability, reference=rng.binomial(n, before) / n, n_reference=n
        ).dropped_after
        for _ in range(STREAMS)
    ]
    return np.array([np.inf if one is None else one for one in shown])


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 500, 5_000])
@pytest.mark.parametrize("agreement", [0.6, 0.8, 0.9])
def test_without_a_drop_at_most_one_in_twenty_streams_has_an_alarm(agreement, n):
    assert np.isfinite(alarms(agreement, agreement, n)).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.8, 0.85, 0.9])
def test_a_drop_by_ten_points_is_shown_within_150_labels(agreement):
    assert np.median(alarms(agreement, agreement - 0.1, 500)) <= 150


@pytest.mark.slow
def test_a_large_drop_is_shown_by_few_observations_in_the_reference():
    assert np.median(alarms(0.8, 0.3, 100)) <= 25


@pytest.mark.slow
def test_a_drop_that_begins_later_takes_longer():
    after = alarms(0.8, 0.7, 500, starts=500)
    assert 150 < np.median(after[after > 500]) - 500 <= 270

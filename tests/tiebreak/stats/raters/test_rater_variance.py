"""The variance of raters' preferences against closed forms, and its interval by simulation."""

import numpy as np
import pytest
from scipy.stats import chi2

from tiebreak.errors import InvalidInput
from tiebreak.stats import rater_variance
from tiebreak.stats.raters.rater_variance import NO_REPEATS, ONE_RATER, TOO_ALIKE, TOO_FEW_RATERS


def apart(wins: list[int], n: int):
    """Return the variance among raters who each win so many of n instances of their own."""
    values = [float(k < won) for won in wins for k in range(n)]
    raters = np.repeat(np.arange(len(wins)), n)
    return rater_variance(values, raters=raters, instances=np.arange(len(values)))


def test_balanced_raters_have_the_closed_form():
    wins, n = np.array([18, 10, 2, 14, 9]), 20
    found, k = apart(wins.tolist(), n).variance, len(wins)
    between = np.var(wins / n, ddof=1)
    error = (wins * (n - wins)).sum() / (k * n * (n - 1)) / n  # half the mean squared difference
    assert found.value == pytest.approx(between - error)
    low, high = ((k - 1) * between / chi2.ppf(q, k - 1) - error for q in (0.975, 0.025))
    assert (found.low, found.high) == pytest.approx((low, min(high, 0.25)))
    assert found.scope.raters == "new"


def test_what_instances_share_does_not_make_raters_differ():
    """All raters rate all instances without error, so only the raters differ, by exactly this."""
    instance, rater = (code.ravel() for code in np.indices((30, 4)))
    leaning = np.array([0.1, 0.2, 0.4, 0.3])
    values = leaning[rater] + 0.3 * (instance % 2)
    found = rater_variance(values, raters=rater, instances=instance)
    assert found.variance.value == pytest.approx(np.var(leaning, ddof=1))


def test_ratings_of_a_rater_and_an_instance_count_as_one():
    once = apart([18, 10, 2], 20)
    values = [float(k < won) for won in (18, 10, 2) for k in range(20) for _ in range(3)]
    raters, instances = np.repeat([0, 1, 2], 60), np.repeat(np.arange(60), 3)
    assert rater_variance(values, raters=raters, instances=instances) == once


def test_unequal_loads_count_as_fewer_raters():
    raters = [0] * 30 + [1] * 10 + [2] * 10
    found = rater_variance([0, 1] * 25, raters=raters, instances=np.arange(50))
    assert found.raters == 3
    assert found.effective_raters == pytest.approx(50**2 / (900 + 100 + 100))


@pytest.mark.parametrize(
    ("wins", "n", "value", "reason"),
    [
        ([12], 20, np.nan, ONE_RATER),
        ([1, 0, 1] * 5, 1, np.nan, NO_REPEATS),
        ([20, 20, 20], 20, 0, TOO_ALIKE),
        ([10, 10, 10, 10, 10, 10], 20, 0, TOO_ALIKE),
    ],
)
def test_without_an_interval_there_is_a_reason(wins, n, value, reason):
    found = apart(wins, n).variance
    assert found.value == pytest.approx(value, nan_ok=True)
    assert (found.has_interval, found.reason) == (False, reason)


def test_two_raters_and_few_instances_have_no_interval():
    two = apart([18, 2], 20).variance
    assert two.value > 0.2
    assert two.reason == TOO_FEW_RATERS
    few = apart([3, 0, 2], 3).variance
    assert few.is_defined
    assert not few.has_interval


def test_vectors_have_one_length():
    with pytest.raises(InvalidInput):
        rater_variance([1, 0], raters=[0], instances=[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raters", "per_item", "spread", "systems"),
    [(12, 3, 0.1, 2), (12, 3, 0.0, 2), (6, 6, 0.1, 2), (8, 1, 0.1, 2), (10, 3, 0.1, 4)],
)
def test_the_interval_covers_the_variance_of_raters_who_differ(raters, per_item, spread, systems):
    rng, studies, n = np.random.default_rng(raters), 200, 120
    covered = 0
    for _ in range(studies):
        leaning = rng.normal(0, spread / np.sqrt(2), (raters, systems))
        columns = []
        for pair, (a, b) in enumerate(zip(*np.triu_indices(systems, 1), strict=True)):
            rater = np.argsort(rng.random((n, raters)))[:, :per_item]
            rate = 0.55 + rng.normal(0, 0.15, (n, 1)) + leaning[rater, a] - leaning[rater, b]
            value = rng.random(rater.shape) < rate
            instance = np.repeat(np.arange(n), per_item)
            columns.append((value.ravel(), rater.ravel(), instance, np.full(value.size, pair)))
        values, rater, instance, pairs = map(np.concatenate, zip(*columns, strict=True))
        found = rater_variance(
            values, raters=rater, instances=instance, groups=pairs, free_groups=systems - 1
        ).variance
        covered += not found.has_interval or found.low <= spread**2 <= found.high
    assert covered / studies > 0.91

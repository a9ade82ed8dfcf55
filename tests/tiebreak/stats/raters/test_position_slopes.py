"""The slope of an outcome over positions, beside a regression with an intercept for each rater."""

import numpy as np
import pytest

from tiebreak.stats import position_slope


def study(rng, raters=12, items=60, slope=0.01, spread=0.02):
    """Return outcomes, positions, raters and instances; raters differ in level, slope and length."""
    difficulty, rows = rng.normal(0, 0.5, items), []
    for rater in range(raters):
        order = rng.permutation(items)[: 20 + 2 * rater]
        level, own_slope = rng.normal(0, 2), rng.normal(slope, spread)
        rows += [
            (level + own_slope * k + difficulty[item] + rng.normal(), k, rater, item)
            for k, item in enumerate(order)
        ]
    return tuple(np.array(rows).T)


def test_the_slope_is_that_of_a_regression_with_raters():
    values, positions, raters, instances = study(np.random.default_rng(0))
    dummies = (raters[:, None] == np.unique(raters)).astype(float)
    fitted = np.linalg.lstsq(np.column_stack([positions, dummies]), values, rcond=None)[0]
    assert position_slope(values, positions, raters, instances).value == pytest.approx(fitted[0])


def test_the_variance_is_that_of_contributions_by_instance_and_by_rater():
    values, positions, raters, instances = study(np.random.default_rng(0))
    estimate = position_slope(values, positions, raters, instances)
    mean = {r: positions[raters == r].mean() for r in raters}
    level = {r: values[raters == r].mean() for r in raters}
    x = positions - [mean[r] for r in raters]
    z = x * (values - [level[r] for r in raters] - estimate.value * x) / (x @ x)

    def variance(keys):
        sums = [sum(z[k] for k in range(len(z)) if keys[k] == key) for key in {*keys}]
        return sum(s * s for s in sums) * len(sums) / (len(sums) - 1)

    cells = list(zip(raters, instances, strict=True))
    expected = variance(list(instances)) + variance(list(raters)) - variance(cells)
    assert estimate.standard_error**2 == pytest.approx(expected)


def test_raters_who_start_higher_or_stop_early_do_not_bend_the_slope():
    values = [*range(10), *range(100, 103)]
    positions, raters = [*range(10), *range(3)], [0] * 10 + [1] * 3
    assert position_slope(values, positions, raters, range(13)).value == pytest.approx(1)


def test_the_interval_holds_the_slope_of_new_raters():
    covered = []
    for seed in range(200):
        estimate = position_slope(*study(np.random.default_rng(seed)))
        covered.append(estimate.low <= 0.01 <= estimate.high)
    assert np.mean(covered) > 0.9


def test_the_interval_for_these_raters_is_inside():
    estimate = position_slope(*study(np.random.default_rng(2)))
    (inner,) = estimate.narrower
    assert (estimate.scope.raters, inner.scope.raters) == ("new", "these")
    assert estimate.low < inner.low < inner.high < estimate.high


def test_two_raters_say_nothing_about_others():
    values, positions, raters, instances = study(np.random.default_rng(3), raters=2)
    estimate = position_slope(values, positions, raters, instances)
    assert (estimate.scope.instances, estimate.scope.raters) == ("new", "these")
    assert not estimate.narrower


@pytest.mark.parametrize(
    ("values", "positions", "raters", "reason"),
    [
        ([1.0, 2.0], [1, 1], [0, 1], "two positions"),
        ([], [], [], "two positions"),
        ([1.0, 2.0, 4.0], [1, 2, 3], [0, 0, 0], "at least 10"),
        ([1.0] * 12, range(12), [0] * 12, "does not vary"),
    ],
)
def test_without_an_interval_there_is_a_reason(values, positions, raters, reason):
    estimate = position_slope(values, positions, raters, range(len(values)))
    assert not estimate.has_interval
    assert reason in estimate.reason

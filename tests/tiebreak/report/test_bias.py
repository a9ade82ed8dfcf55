"""Whom the intervals of a judge's position and length bias speak of."""

import pytest
from scipy.stats import binomtest

from tests.metrics.studies import report_of
from tiebreak.stats import Estimate

UNITS = 40


def verdicts(of_unit) -> list[dict]:
    """Return a judge's verdicts on each unit in both orders; ``of_unit`` returns the two."""
    return [
        {"unit": f"u{k}", "instance": f"i{k}", "rater": "judge", "kind": "machine", "order": order}
        | {"label": label, "chars_a": 10, "chars_b": 20, "run": 1, "criterion": "preference"}
        for k in range(UNITS)
        for order, label in zip(("ab", "ba"), of_unit(k), strict=True)
    ]


def position(of_unit) -> Estimate:
    report = report_of(verdicts(of_unit), scales={"preference": "preference"})
    return report.criteria["preference"].bias.machines["judge"].position


def test_two_orders_of_a_firm_judge_are_not_independent():
    # In one unit of ten the judge takes whatever is first; elsewhere, its two answers cancel.
    bias = position(lambda k: (-1, 1) if k % 10 == 0 else (1, 1))
    assert bias.value == pytest.approx(0.05)
    assert bias.scope.instances == "new"
    # The standard error over 40 means of a unit, of which 4 are ½ and the others 0.
    assert bias.standard_error == pytest.approx((0.05 * 0.45 / 39) ** 0.5)
    assert bias.high < 0.12  # that of 80 independent ratings reaches 0.16


@pytest.mark.parametrize(("labels", "value"), [((-1, -1), 0.0), ((-1, 1), 0.5)])
def test_where_no_instance_differs_the_interval_is_exact_over_instances(labels, value):
    bias = position(lambda _: labels)
    assert (bias.value, bias.scope.instances, bias.scope.raters) == (value, "new", "these")
    exact = binomtest(round((0.5 + value) * UNITS), UNITS).proportion_ci()
    assert (bias.low, bias.high) == pytest.approx((exact.low - 0.5, exact.high - 0.5))


def test_people_have_an_interval_for_these_annotators_beside_that_for_new_ones():
    rows = [
        {"unit": f"u{k}", "instance": f"i{k}", "rater": f"r{r}", "side_a": "left", "kind": "human"}
        | {"label": -1 if (k * 7 + r * 3) % 5 < 3 else 1, "criterion": "preference"}
        for k in range(UNITS)
        for r in range(4)
    ]
    report = report_of(rows, scales={"preference": "preference"})
    bias = report.criteria["preference"].bias.position
    (inner,) = bias.narrower
    assert (bias.scope.raters, inner.scope.raters) == ("new", "these")
    assert inner.scope.instances == "new"
    assert bias.low <= inner.low <= inner.high <= bias.high

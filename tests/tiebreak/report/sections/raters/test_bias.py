"""Whom the intervals of a judge's position and length bias speak of."""

from dataclasses import replace

import pytest
from scipy.stats import binomtest

from tests.metrics.studies import report_of
from tests.tiebreak.reading.findings.situations import with_biases
from tiebreak.reading.figures.raters.bias import TITLE, bias_figure
from tiebreak.report.model.raters import BiasSection
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
        {"unit": f"u{k}", "instance": f"i{k}", "rater": f"r{r}", "kind": "human"}
        | {"side_a": ("left", "right")[k % 2]}
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


def by_systems(pairs: dict[tuple[str, str], int], **more) -> BiasSection:
    """Return biases where the first system of a pair wins 4 of 5, whatever stands first or is longer.

    Of four items of a pair, ``pairs`` says how many show its first system first, with a longer text.
    """
    rows = [
        {"unit": f"{a}{b}{k}", "instance": f"{a}{k}", "rater": f"r{k % 5}", "kind": "human"}
        | {"system_a": a, "system_b": b, "label": -1 if (k // 4) % 5 else 1}
        | {"side_a": "left" if k % 4 < firsts else "right", "criterion": "preference"}
        | {"chars_a": 30 if k % 4 < firsts else 10, "chars_b": 20}
        for (a, b), firsts in pairs.items()
        for k in range(40)
    ]
    report = report_of(rows, scales={"preference": "preference"}, **more)
    return report.criteria["preference"].bias


def test_a_preference_for_a_system_is_neither_one_for_a_position_nor_for_a_length():
    # As shares of all ratings, position and length would be −.15 and −.30, and worse with the second pair.
    for bias in (by_systems({("a", "b"): 1}), by_systems({("b", "a"): 1, ("c", "d"): 0})):
        for one in (bias.position, bias.length):
            assert one.value == pytest.approx(0, abs=1e-12)
            assert one.n == 40
            assert one.low < 0 < one.high


def test_no_effect_is_stated_where_each_pair_has_one_constant_side():
    bias = by_systems({("a", "b"): 4, ("c", "d"): 0})
    assert not bias.position.is_defined
    assert not bias.length.is_defined
    assert bias.position.reason != bias.length.reason
    section = replace(with_biases(bias.position, bias.length), bias=bias)
    assert bias_figure(section).finding == TITLE


def test_two_tests_of_one_heading_share_their_error():
    bias = by_systems({("a", "b"): 2})
    one, wide = bias.position, bias.simultaneous.position
    assert wide.low < one.low < one.high < wide.high


def test_a_single_rating_of_one_side_is_no_contrast():
    rows = [
        {"unit": f"u{k}", "instance": f"i{k}", "rater": f"r{k % 5}", "kind": "human"}
        | {"system_a": "a", "system_b": "b", "criterion": "preference"}
        | {"side_a": "left" if k else "right", "label": -1 if k % 5 else 1}
        for k in range(40)
    ]
    report = report_of(rows, scales={"preference": "preference"})
    position = report.criteria["preference"].bias.position
    assert position.value == pytest.approx(((32 - 7) / 39 + 1) / 4)
    assert not position.has_interval

"""Agreement of rates with an order of the systems that is known from elsewhere."""

import math

import numpy as np
import pytest

from tests.tiebreak.report.test_prompt_questions import league
from tests.tiebreak.report.test_sections import of
from tiebreak.reading.figures.systems.success_rates import known_order_sentence
from tiebreak.reading.figures.systems.systems import win_rates_figure
from tiebreak.report.sections.systems.known_order import ALL_EQUAL, kendall_with
from tiebreak.stats import Estimate, undefined

STRENGTHS = {"a": 2, "b": 0.7, "c": -0.7, "d": -2}
REVERSE = {name: -strength for name, strength in STRENGTHS.items()}


def test_kendall_with_a_known_order():
    rates = {
        name: Estimate(value) for name, value in zip("abcd", (0.9, 0.7, 0.8, 0.1), strict=True)
    }
    assert kendall_with("abcd", rates).value == pytest.approx((5 - 1) / 6)
    assert kendall_with("dcba", rates).value == pytest.approx(-(5 - 1) / 6)
    tied = rates | {"b": Estimate(0.8)}
    assert kendall_with("abcd", tied).value == pytest.approx(5 / math.sqrt(5 * 6))
    assert kendall_with("axb", rates).value == 1
    assert kendall_with("axb", rates).n == 2
    lacking = rates | {"a": undefined("Not rated.")}
    for order, known in (("ab", lacking), ("bc", tied), ("x", rates)):
        tau = kendall_with(order, known)
        assert not tau.is_defined
        assert tau.reason


def rated(instances=60):
    """Return comparisons by an annotator, and by a judge of the reverse taste who rated twice as many."""
    rng = np.random.default_rng(5)
    people = league(STRENGTHS, instances, rng)
    return [*people, *league(REVERSE, 2 * instances, rng, raters=("judge",), kind="machine")]


def test_win_rates_of_every_kind_are_compared_with_the_order():
    known = of(rated(), known_order=("a", "b", "c", "d", "other")).systems.known_order
    assert (known.order, known.missing) == (("a", "b", "c", "d", "other"), ("other",))
    assert (known.human.value, known.machines["judge"].value) == (1, -1)
    # Annotators correct the judge.
    assert (known.powered["judge"].value, known.powered_lambda_1["judge"].value) == (1, 1)
    assert known.human.n == 4


def test_a_machine_that_rated_nothing_more_has_only_its_own_rate():
    rows = [row for row in rated() if int(row["instance"][1:]) < 60]
    section = of(rows, known_order=("d", "c", "b", "a"))
    known = section.systems.known_order
    assert (known.human.value, known.machines["judge"].value, known.powered) == (-1, 1, {})
    sentence = win_rates_figure(section).sentence
    assert known_order_sentence(known) in sentence
    assert "d, c, b, a" in sentence
    assert "judge alone: 1" in sentence
    assert "λ" not in sentence


def test_without_an_order_nothing_is_told_of_one():
    section = of(rated())
    assert section.systems.known_order is None
    assert "τ" not in win_rates_figure(section).sentence


def test_rates_that_differ_by_rounding_only_are_tied():
    rates = {"a": Estimate(0.1 + 0.2), "b": Estimate(0.3), "c": Estimate(0.1)}
    exact = rates | {"a": Estimate(0.3)}
    assert kendall_with(["b", "a", "c"], rates).value == kendall_with(["b", "a", "c"], exact).value
    assert kendall_with(["a", "b"], rates).reason == ALL_EQUAL

"""A machine's position bias is computed from the presentation order of its passes."""

import pytest

from tiebreak.formats import FormatError, RatingTable
from tiebreak.report import build_report


def passes(orders, labels, **columns):
    return [
        {
            "unit": f"u{i}",
            "rater": "judge",
            "kind": "machine",
            "criterion": "preference",
            "order": order,
            "label": label,
            "system_a": "one",
            "system_b": "two",
            **columns,
        }
        for i, (order, label) in enumerate(zip(orders, labels, strict=True))
    ]


def position(rows):
    report = build_report(RatingTable.from_rows(rows), replicates=10)
    return report.criteria["preference"].bias.machines["judge"].position


def test_what_a_pass_shows_first_is_said_by_its_order():
    # The first text is preferred three times out of four: A in "ab" twice, B in "ba" once.
    bias = position(passes(["ab", "ab", "ba", "BA"], [-1, -1, 1, -1]))
    assert (bias.value, bias.n) == (0.25, 4)


def test_a_side_that_is_given_counts_for_more_than_the_order():
    rows = passes(["ab", "ab"], [-1, 1])
    bias = position([rows[0] | {"side_a": "right"}, rows[1] | {"side_a": "left"}])
    assert (bias.value, bias.n) == (-0.5, 2)


def test_an_order_of_another_kind_says_nothing_of_sides():
    bias = position(passes(["shuffled", ""], [-1, 1]))
    assert not bias.is_defined
    assert bias.reason


@pytest.mark.parametrize("phase", ["control", "design"])
def test_a_drawn_unit_without_its_probability_is_named_with_its_line(phase, tmp_path):
    rows = passes(["ab", "ba"], [1, 1], phase=phase)
    rows[0]["inclusion_probability"] = 0.5
    with pytest.raises(FormatError) as refusal:
        RatingTable.from_rows(rows, name="ratings.csv")
    [problem] = refusal.value.problems
    assert (problem.file, problem.line) == ("ratings.csv", 2)
    assert "inclusion_probability" in problem.reason


def test_one_row_of_a_unit_may_say_its_probability_for_all():
    rows = [*passes(["ab"], [1], phase="design"), *passes(["ba"], [1], phase="design")]
    rows[1]["inclusion_probability"] = 0.5
    assert len(RatingTable.from_rows(rows)) == 2

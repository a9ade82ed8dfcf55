"""A judge's answer is read strictly: exactly one answer on the last line, or none."""

import pytest

from tiebreak.asking.answers import (
    allowed_answers,
    answer_text,
    in_system_order,
)
from tiebreak.asking.replies import parse_answer
from tiebreak.scales import PREFERENCES, Scale

TIE = Scale.parse("preference:tie")
SCALES = (
    *PREFERENCES,
    *(f"{name}+bad" for name in PREFERENCES),
    "nominal:yes,no,no idea",
    "ordinal:1..5",
    "interval:0..100",
    'nominal:"quoted",(a),a,[none],C.,C',
    "nominal:.NET,NET,other (specify),verdict: good,good,_x,x,Yes,yes",
)


@pytest.mark.parametrize("spec", SCALES)
def test_each_label_is_read_from_its_own_answer(spec):
    scale = Scale.parse(spec)
    assert len(set(allowed_answers(scale))) == len(scale.labels)
    for label in scale.labels:
        assert parse_answer(f"Let me see.\n\n{answer_text(scale, label)}", scale) == label


@pytest.mark.parametrize(
    "text",
    ["A", "a.", "**A**", "Answer: A", "Final answer: **A**", "B first, then\nA\n\n", "A is better"],
)
def test_the_last_line_is_the_answer_whatever_surrounds_it(text):
    assert parse_answer(text, TIE) == -1


@pytest.mark.parametrize(
    "text",
    [
        *("", "   \n", "C", "A or B", "A, because it is short", "A\nThat is all."),
        *("I prefer the first text.", "AA", "Réponse : A", "-1", "A is slightly better"),
    ],
)
def test_nothing_is_guessed(text):
    assert parse_answer(text, TIE) is None


def test_marks_alone_are_no_label_of_other_marks():
    assert parse_answer("**", Scale.parse("nominal:*,+")) is None
    assert parse_answer("*", Scale.parse("nominal:*,+")) == "*"


def test_a_text_that_was_cut_off_is_no_answer():
    assert parse_answer("It could be\nA", TIE, finish_reason="length") is None
    assert parse_answer("It could be\nA", TIE, finish_reason="stop") == -1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(
            ("**(a)**", "(a)"),
            ("Answer: (a)", "(a)"),
            ("Answer: a", "a"),
            ("[a]", None),
            ("a.", None),
        ),
        *(("(.net)", ".NET"), ("`NET`", "NET"), ("Other (specify)", "other (specify)")),
        *(("Answer: verdict: good", "verdict: good"), ("VERDICT: GOOD", "verdict: good")),
        *(("Answer: .5", None), ("YES", None), ("Yes", "Yes")),
    ],
)
def test_what_surrounds_an_answer_is_no_part_of_a_label(text, label):
    scale = Scale.parse("nominal:(a),a,.NET,NET,other (specify),verdict: good,good,5,Yes,yes")
    assert parse_answer(text, scale) == label


@pytest.mark.parametrize("text", [".5", "**.5**", "Answer: .5", "1.5", "5/5"])
def test_a_part_of_a_number_is_no_label(text):
    assert parse_answer(text, Scale.parse("ordinal:1..5")) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(("3.5", 3.5), ("Answer: 12", 12.0), (".5", 0.5), ("**.25**", 0.25), ("(7).", 7.0)),
        *(("12.", 12.0), ("1e3", 1000.0), ("+2", 2.0), ("Verdict: **.75**", 0.75)),
    ],
)
def test_where_any_number_is_allowed_a_number_is_read(text, label):
    assert parse_answer(text, Scale.parse("ratio")) == label


@pytest.mark.parametrize(
    "text", ["-3", "three", "3 of 5", "nan", "inf", "1_000", "٣", "1,000", "."]
)
def test_what_is_no_number_of_the_scale_is_no_answer(text):
    assert parse_answer(text, Scale.parse("ratio")) is None


def test_a_preference_is_turned_round_where_the_second_system_was_shown_first():
    assert [in_system_order(x, TIE, is_a_first=False) for x in (-1, 0, 1, None)] == [1, 0, -1, None]
    assert in_system_order(-1, TIE, is_a_first=True) == -1
    assert in_system_order("bad", Scale.parse("preference+bad"), is_a_first=False) == "bad"
    assert in_system_order(2, Scale.parse("ordinal:1..5"), is_a_first=False) == 2

"""Figures of single raters and of perception: what they draw, and what they say without data."""

import re
from html import unescape

import pytest

from tests.metrics.studies import preferences, report_of
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.raters.perception import MAX_PAIRS, perception_figures
from tiebreak.reading.figures.raters.single_raters import (
    MAX_DRAWN,
    confusion_figure,
    dawid_skene_figure,
    self_consistency_figure,
)
from tiebreak.report.model.report import CriterionSection


def of(rows: list[dict], **options) -> CriterionSection:
    (section,) = report_of(rows, **options).criteria.values()
    return section


def alternative(figure: Figure) -> str:
    return unescape(re.search(r'aria-label="([^"]*)"', figure.chart.file())[1])


@pytest.fixture(scope="module")
def section() -> CriterionSection:
    """Return 20 units with three annotators and a judge; r2 always says A and repeats five units."""
    rows = preferences([[1, 1, -1], [1, 1, -1], [-1, -1, -1], [0, 0, -1]] * 5)
    machine = [row | {"rater": "judge", "kind": "machine", "label": 1} for row in rows[::3]]
    again = [row | {"repeat": 1, "label": -1 if n else 1} for n, row in enumerate(rows[2::3][:5])]
    return of([*rows, *machine, *again])


def test_one_raters_answers_beside_the_others(section):
    figure = confusion_figure(section, "r2")
    cells = {row[1:3]: row[3:] for row in figure.rows}
    assert cells[1, -1] == (10, 1)  # the others say B, r2 says A
    assert cells[-1, -1] == (5, 1)
    assert cells[0, 1] == (0, 0)
    assert figure.query == "rater=r2"
    assert "r2" in figure.finding
    assert "b: a 100%, tie 0%, b 0%" in alternative(figure)
    assert "verdict" in figure.reading


def test_all_annotators_together_without_a_rater_or_with_an_unknown_one(section):
    everybody = confusion_figure(section)
    assert confusion_figure(section, "nobody").rows == everybody.rows
    assert sum(row[3] for row in everybody.rows) == 60
    assert everybody.query == ""


def test_labels_that_the_others_never_give_have_no_share(section):
    only = of(preferences([[1, 1], [1, 1]]))
    shares = {row[1]: row[4] for row in confusion_figure(only).rows}
    assert shares == {-1: None, 0: None, 1: 1}


def test_a_machine_is_drawn_in_its_own_colour(section):
    assert 'class="machine"' in confusion_figure(section, "judge").chart.page()
    assert 'class="machine"' not in confusion_figure(section, "r0").chart.page()


def test_nobody_to_compare_with_is_said():
    alone = confusion_figure(of(preferences([[1], [-1]])), "r0")
    assert not alone.chart
    assert alone.sentence.endswith(".")


def test_the_model_of_dawid_and_skene_of_all_and_of_one(section):
    everybody = dawid_skene_figure(section)
    fit = section.dawid_skene.raters
    assert [row[:2] for row in everybody.rows] == sorted(
        ((name, rater.accuracy) for name, rater in fit.items()), key=lambda row: (row[1], row[0])
    )
    assert everybody.rows[0][0] == "r2"
    assert everybody.chart.page().count("<circle") == 2 * len(fit) + len(everybody.legend)
    one = dawid_skene_figure(section, "r2")
    assert [row[4] for row in one.rows] == [n for row in fit["r2"].confusion for n in row]
    assert not dawid_skene_figure(of(preferences([[1, 1]] * 3))).chart


def test_self_consistency_of_all_and_of_each(section):
    figure = self_consistency_figure(section)
    assert figure.finding == figure.title  # five repeats are too few for a heading
    assert figure.sentence.startswith("80%")
    assert [(row[0], row[2]) for row in figure.rows] == [("All annotators", 0.8), ("r2", 0.8)]
    empty = self_consistency_figure(of(preferences([[1, 1]])))
    assert not empty.chart
    assert empty.sentence


def test_many_raters_are_all_in_the_file_and_not_all_in_the_chart():
    rows = preferences([[1] * (MAX_DRAWN + 5)] * 2)
    section = of([*rows, *(row | {"repeat": 1} for row in rows if row["unit"] == "u0")])
    figure = self_consistency_figure(section)
    assert len(figure.rows) == MAX_DRAWN + 6
    assert figure.chart.file().count("<circle") == MAX_DRAWN + 1
    assert str(MAX_DRAWN) in figure.sentence


def pairs_of(n: int) -> list[dict]:
    return [
        row | {"unit": f"{row['unit']}-{k}", "system_b": f"b{k:02}"}
        for k in range(n)
        for row in preferences([[1, 1, 0], [-1, -1, 1]])
    ]


def test_perception_by_pair_of_systems_is_a_figure_of_its_own():
    rows = pairs_of(2)
    machine = [row | {"rater": "judge", "kind": "machine", "label": 1} for row in rows[::3]]
    figures = perception_figures(of([*rows, *machine]))
    assert [figure.name for figure in figures] == ["perception", "perception-pairs"]
    by_pair = figures[1]
    assert {row[0] for row in by_pair.rows} == {"a vs b00", "a vs b01"}
    assert ("a vs b00", "1", 0.5, "judge", "1", 1.0) in by_pair.rows
    assert "a vs b01: a in 50% of items" in alternative(by_pair)


def test_one_pair_of_systems_has_one_figure():
    assert len(perception_figures(of(preferences([[1, 1]] * 2)))) == 1


def test_pairs_that_are_not_drawn_are_in_the_file():
    _, by_pair = perception_figures(of(pairs_of(MAX_PAIRS + 2)))
    assert by_pair.sentence.startswith("2 ")
    assert len({row[0] for row in by_pair.rows}) == MAX_PAIRS + 2
    headings = [s.name for s in by_pair.chart.strips if s.css == "group"]
    assert len({name.partition(",")[0] for name in headings}) == MAX_PAIRS


def test_perception_on_an_ordered_scale_goes_by_the_median():
    rows = [
        {"unit": f"u{n}", "rater": r, "label": label, "criterion": "c"}
        for n, labels in enumerate([(1, 4, 5), (0, 0, 3)])
        for r, label in zip("abc", labels, strict=True)
    ]
    section = of(rows, scales={"c": "ordinal:0..5"})
    (figure,) = perception_figures(section)
    assert {row[1] for row in figure.rows} == {"4", "0"}  # 0 is a score here, not a tie
    assert "tie" not in figure.sentence
    assert "median" in figure.finding


def test_perception_of_many_labels_is_not_drawn():
    rows = [
        {"unit": f"u{n}", "rater": r, "label": n / 2, "criterion": "c"}
        for n in range(20)
        for r in "ab"
    ]
    (figure,) = perception_figures(of(rows, scales={"c": "ratio"}))
    assert not figure.chart
    assert figure.sentence

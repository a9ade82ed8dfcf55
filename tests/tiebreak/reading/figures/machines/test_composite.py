"""The figures of the composite."""

import re

import numpy as np
import pytest

from tests.tiebreak.report.sections.machines.test_composite import rows_of, section_of
from tiebreak.reading.figures.machines.composite import composite_figures
from tiebreak.report.sections.machines.composite import TOO_FEW


@pytest.fixture(scope="module")
def section():
    skill = (("chatty", "chat"), ("newsy", "news"), ("lazy", "chat"))
    return section_of(rows_of(skill=skill, skips={("lazy", number) for number in range(30)}))


def test_the_table_has_all_raters_by_category_and_the_composites_held_out_value(section):
    overall, categories, _ = composite_figures(section)
    assert [row[0] for row in overall.rows] == ["annotators", "composite", "chatty", "newsy"]
    assert re.findall(r"\d+", overall.sentence) == ["40", "10", "10"]
    assert "lazy" in overall.sentence
    assert categories.columns == ("rater", "all items", "chat", "news")
    items, *rows = categories.rows
    assert items == ("items", 40, 20, 20)
    by_name = {name: values for name, *values in rows}
    assert by_name["composite"][0] == section.composite.all_units.value
    assert by_name["composite"][0] == pytest.approx(np.mean(by_name["composite"][1:]))
    assert by_name["composite"][1] == by_name["chatty"][1]


def test_it_says_in_how_many_folds_which_rater_was_chosen(section):
    chosen = composite_figures(section)[2]
    assert ("chat", "chatty", 10, 10) in chosen.rows
    assert ("chat", "newsy", 0, 10) in chosen.rows
    assert "chat: chatty 100%" in chosen.chart.file()


def test_a_machine_called_composite_is_a_row_of_its_own():
    section = section_of(rows_of(skill=(("composite", "chat"), ("annotators", "news"))))
    names = [row[0] for row in composite_figures(section)[0].rows]
    assert names == ["annotators", "composite", "annotators", "composite"]


def test_without_a_composite_the_figure_says_why():
    (figure,) = composite_figures(section_of(rows_of(skill=(("chatty", "chat"),))))
    assert not figure.chart
    assert TOO_FEW in figure.sentence

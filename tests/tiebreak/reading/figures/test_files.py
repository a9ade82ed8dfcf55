"""Figures as files, and their data as a table."""

import csv
import io
import re
from dataclasses import replace
from math import isnan, nan
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from tiebreak.reading.charts.chart import WIDTH
from tiebreak.reading.charts.intervals import LINE_KEY, IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import MAX_MARKS, SHAPES, Svg, kinds_of, width_of, wrapped
from tiebreak.reading.figures.figure import MAX_ROWS, Figure
from tiebreak.reading.figures.files import figure_file
from tiebreak.stats import Estimate, undefined

NAME = "système δ <b> \U0001f642 " + "long " * 60
WIDE_NAME = "統計的機械翻訳" * 6
REASON = "No unit has two ratings."
JUDGES = [f"judge {n}" for n in range(len(SHAPES))]


def drawn(judges: list[str] = JUDGES) -> Figure:
    """Return a figure of annotators and judges, with a row that is undefined."""
    kinds = kinds_of(judges)
    value = Estimate(0.5, low=0.4, high=0.6, n=9)
    marks = (Mark("human", value, "annotators"), *(Mark(kinds[j], value, j) for j in judges))
    rows = [
        IntervalRow(NAME, marks),
        IntervalRow(WIDE_NAME, marks),
        IntervalRow("unknown", (Mark("human", undefined(REASON), "annotators"),)),
    ]
    chart = interval_chart(rows, finding="A description", label="win rate (share)")
    cells = (("=1+1", 1 / 3), ("plain", None))
    return Figure("one", "A finding", "", chart, ("name", "value"), cells, "Read it.")


@pytest.fixture
def figure() -> Figure:
    return drawn()


def texts(figure: Figure) -> list[str]:
    """Return the letters of a file, without titles."""
    root = ElementTree.fromstring(figure_file(figure, "svg"))
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_figure_is_typeset_as_pdf_and_png(figure):
    assert figure_file(figure, "pdf").startswith(b"%PDF-")
    png = figure_file(figure, "png")
    assert png.startswith(b"\x89PNG")
    width = int.from_bytes(png[16:20])
    assert width > 1500  # the width of a file at 300 dots per inch


def test_a_file_explains_itself(figure):
    """It has the marks with their names, the axis title, values, and reasons; a caption has the finding."""
    words = texts(figure)
    assert "A finding" not in words
    assert {"annotators", *JUDGES, "win rate (share)", "unknown", REASON} <= set(words)
    assert figure.caption.startswith("A finding. ")
    assert LINE_KEY[1:] in figure.caption
    assert words.count("0.50 (0.40 to 0.60)") == 2 * MAX_MARKS
    root = ElementTree.fromstring(figure_file(figure, "svg"))
    shapes = {path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")}
    assert set(SHAPES.values()) <= shapes


@pytest.mark.parametrize("kind", ["svg", "csv"])
def test_a_file_of_simulated_ratings_says_so_and_one_of_texts_does_not(figure, kind):
    assert b"simulated" in figure_file(figure, kind, is_simulated=True)
    assert b"simulated" not in figure_file(figure, kind)
    of_texts = replace(figure, is_of_ratings=False)
    assert b"simulated" not in figure_file(of_texts, kind, is_simulated=True)


def test_no_letter_of_a_file_is_outside_it(figure):
    ends = {"end": 1.0, "middle": 0.5}
    root = ElementTree.fromstring(figure_file(figure, "svg"))
    height = float(root.get("height"))
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        width = width_of(element.text, float(element.get("font-size", 14)))
        start = float(element.get("x")) - width * ends.get(element.get("text-anchor"), 0.0)
        assert 0 <= start <= start + width <= WIDTH, element.text
        assert 14 <= float(element.get("y")) < height


def test_more_raters_than_marks_have_a_picture_each_with_people_as_a_band():
    judges = [f"judge {n}" for n in range(MAX_MARKS)]
    many = drawn(judges)
    assert [kind for kind, _ in many.legend] == ["human"]
    assert [words for words in texts(many) if words in judges] == judges
    assert many.chart.file().count('fill-opacity="0.2"') == 2 * len(judges)
    assert len(drawn().legend) == MAX_MARKS
    assert "fill-opacity" not in drawn().chart.file()


@pytest.mark.parametrize("also", [[], [(-2.0, "the least"), (3.0, "the most"), (nan, "unknown")]])
def test_the_names_of_all_lines_to_compare_with_stand_at_one_height(also):
    row = IntervalRow("one", (Mark("human", Estimate(0.5, low=0.4, high=0.6, n=9)),))
    chart = interval_chart([row], finding="", label="win rate", reference=0.5, also=also)
    names = ["no preference", *(name for value, name in also if not isnan(value))]
    for drawing in (chart.page(), chart.file()):
        assert all(name in drawing for name in names)
        assert drawing.count('class="reference"') == len(names)
    assert [strip.name for strip in chart.strips] == ["", "one", "", ""]


@pytest.mark.parametrize("words", [NAME, WIDE_NAME, "a-name/of-parts", ""])
def test_lines_are_as_wide_as_allowed_and_lose_no_letter(words):
    lines = wrapped(words, 100)
    assert all(width_of(line) <= 100 for line in lines)
    assert "".join("".join(lines).split()) == "".join(words.split())


def test_the_page_and_the_file_have_the_same_values(figure):
    values = re.findall(r'class="value">([^<]*)<', str(figure.chart))
    assert [text for text in texts(figure) if " to " in text] == values
    assert isinstance(str(figure.chart), Svg)


def test_the_data_keep_all_digits_and_run_no_formula(figure):
    rows = list(csv.reader(io.StringIO(figure_file(figure, "csv").decode("utf-8-sig"))))
    assert rows == [["name", "value"], ["'=1+1", repr(1 / 3)], ["plain", ""]]


def test_a_long_name_is_shortened_with_the_whole_as_its_title(figure):
    for drawing in (figure.chart.page(), figure.chart.file()):
        assert "…" in drawing
        assert escape(NAME) in drawing
        assert "<b>" not in drawing


def test_a_page_shows_the_first_rows_and_the_file_has_all(figure):
    rows = tuple((f"row {n}", n) for n in range(MAX_ROWS + 3))
    long = replace(figure, rows=rows)
    assert len(list(long.cells)) == MAX_ROWS
    assert long.left_out == 3
    assert figure_file(long, "csv").count(b"\n") == len(rows) + 1

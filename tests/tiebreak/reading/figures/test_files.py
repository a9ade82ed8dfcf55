"""Figures as files, and their data as a table."""

import csv
import io
import re
from dataclasses import replace
from html import unescape
from xml.sax.saxutils import escape

import pytest

from tiebreak.reading.charts.intervals import IntervalRow, Mark, interval_chart
from tiebreak.reading.charts.svg import MAX_NAME, Svg
from tiebreak.reading.figures.figure import MAX_ROWS, Figure
from tiebreak.reading.figures.files import figure_file
from tiebreak.stats import Estimate

NAME = "système δ <b> \U0001f642 " + "long " * 60


@pytest.fixture
def figure() -> Figure:
    rows = [IntervalRow(NAME, (Mark("human", Estimate(0.5, low=0.4, high=0.6, n=9)),))]
    chart = interval_chart(rows, finding="A finding", label="win rate")
    cells = (("=1+1", 1 / 3), ("plain", None))
    return Figure("one", "A finding", "", chart, ("name", "value"), cells, "Read it.")


def test_a_figure_is_typeset_as_pdf_and_png(figure):
    assert figure_file(figure, "pdf").startswith(b"%PDF-")
    png = figure_file(figure, "png")
    assert png.startswith(b"\x89PNG")
    width = int.from_bytes(png[16:20])
    assert width > 1500  # about 700 pixels of a chart at 300 dots per inch


def test_the_svg_file_is_what_the_page_shows(figure):
    assert figure_file(figure, "svg").decode() == figure.chart


def test_the_data_keep_all_digits_and_run_no_formula(figure):
    rows = list(csv.reader(io.StringIO(figure_file(figure, "csv").decode("utf-8-sig"))))
    assert rows == [["name", "value"], ["'=1+1", repr(1 / 3)], ["plain", ""]]


def test_a_long_name_is_shortened_with_the_whole_as_its_title(figure):
    assert "…" in figure.chart
    assert f"<title>{escape(NAME)}</title>" in figure.chart
    assert len(unescape(re.findall("<text[^>]*>([^<]*)</text>", figure.chart)[-1])) <= MAX_NAME
    assert isinstance(figure.chart, Svg)
    assert "<b>" not in figure.chart


def test_a_page_shows_the_first_rows_and_the_file_has_all(figure):
    rows = tuple((f"row {n}", n) for n in range(MAX_ROWS + 3))
    long = replace(figure, rows=rows)
    assert len(list(long.cells)) == MAX_ROWS
    assert long.left_out == 3
    assert figure_file(long, "csv").count(b"\n") == len(rows) + 1

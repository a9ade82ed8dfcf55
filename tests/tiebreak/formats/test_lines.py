"""Lines made from columns are those that would be made from rows."""

import csv
import io
import math

import orjson
import pytest
from hypothesis import given, strategies as st

from tiebreak.formats.lines import Batch, csv_lines, json_lines
from tiebreak.formats.rows import escape_formula

# Few values, so that columns repeat some: those that are equal but written differently, and those
# that need quotes or have commas.
ODD = (
    None,
    "",
    "a",
    "=a",
    "'a",
    ",",
    '"',
    "\n",
    "\r",
    " ",
    "é",
    "{",
    1,
    1.0,
    True,
    0,
    0.0,
    -0.0,
    False,
)
CELLS = st.sampled_from((*ODD, math.pi, 10**15))
ROWS = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1, max_size=6)
)


def batch_of(rows: list[tuple[object, ...]]) -> Batch:
    return {f"column {i}": column for i, column in enumerate(zip(*rows, strict=True))}


@given(rows=ROWS)
def test_json_lines_are_those_of_rows(rows):
    expected = [
        orjson.dumps({f"column {i}": v for i, v in enumerate(row) if v is not None}) + b"\n"
        for row in rows
    ]
    assert list(json_lines(batch_of(rows))) == expected


@given(rows=ROWS)
def test_csv_lines_are_those_of_the_standard_library(rows):
    file = io.StringIO()
    for row in rows:
        # A last column, because a row of one empty cell is quoted by the library only.
        csv.writer(file).writerow([*map(_cell, row), "end"])
    batch = batch_of(rows) | {"last": ["end"] * len(rows)}
    assert b"".join(csv_lines(batch)) == file.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return escape_formula(value) if isinstance(value, str) else value


def test_equal_numbers_may_be_written_in_two_ways():
    batch: Batch = {"number": [0.0, -0.0], "flag": [True, 1]}
    assert list(csv_lines(batch)) == [b"0.0,true\r\n", b"-0.0,1\r\n"]


def test_an_undefined_number_and_a_nested_value_are_written_for_each_row():
    turns = [{"role": "user", "content": "a"}]
    batch: Batch = {"number": [math.nan, 1.5, float("nan")], "messages": [turns, None, []]}
    assert list(json_lines(batch)) == [
        b'{"number":null,"messages":[{"role":"user","content":"a"}]}\n',
        b'{"number":1.5}\n',
        b'{"number":null,"messages":[]}\n',
    ]


@pytest.mark.parametrize("lines", [json_lines, csv_lines])
@pytest.mark.parametrize("batch", [{}, {"unit": []}])
def test_no_rows_are_no_lines(lines, batch):
    assert list(lines(batch)) == []

"""Hostile and mistaken tables: every problem is named with its row, column and code."""

import csv
import gzip
import io
import json
import random
import zipfile

import openpyxl
import pytest

from tests.refusals import refused_file
from tests.tiebreak.formats.tables.test_guessing import summary_of
from tiebreak.formats.limits import Limits
from tiebreak.formats.tables import TableProblems, TableReading, open_table

TEXT = "A text that is long enough to look like one."
HEADER = ["id", "source", "gpt", "llama"]


def cells(i, **changed):
    names = {"id": i, "source": f"{TEXT} {i}", "gpt": f"{TEXT} g{i}", "llama": f"{TEXT} l{i}"}
    return list((names | changed).values())


def csv_of(*rows, header=HEADER):
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue().encode()


def workbook(change):
    book = openpyxl.Workbook()
    for values in [HEADER, *(cells(i) for i in range(5))]:
        book.active.append(values)
    change(book.active)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def two_headers(sheet):
    sheet.insert_rows(1)
    sheet["A1"], sheet["C1"] = "Item", "Systems"
    sheet.merge_cells("C1:D1")


def formula(sheet):
    sheet["C3"] = "=A1&B1"


def bomb():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 60_000_000)
    return file.getvalue()


GOOD = [cells(i) for i in range(5)]
LONG = ["item", "model", "output"]
BAD = {
    "empty text.csv": (csv_of(*GOOD, cells(9, llama="")), [(7, "llama", "empty_text")]),
    "blank text.csv": (csv_of(*GOOD, cells(9, gpt=" \n ")), [(7, "gpt", "empty_text")]),
    "empty system.csv": (
        csv_of(*(cells(i, llama="") for i in range(5))),
        [(None, "llama", "empty_system")],
    ),
    "nameless system.csv": (
        csv_of(*([i, m, f"{TEXT} {i}{m}"] for i in range(3) for m in ("p", "")), header=LONG),
        [(3, "model", "empty"), (5, "model", "empty"), (7, "model", "empty")],
    ),
    "same id, other source.csv": (
        csv_of(*GOOD, cells(9, id=3)),
        [(7, "id", "duplicate_id")],
    ),
    "same id and source.csv": (
        csv_of(*GOOD, cells(3, gpt="Another text.")),
        [(7, "id", "duplicate_id")],
    ),
    "same text in long.csv": (
        csv_of(*([i % 6, m, f"{TEXT} {i}{m}"] for i in range(7) for m in "pq"), header=LONG),
        [(14, "item", "duplicate_text"), (15, "item", "duplicate_text")],
    ),
    "other source in long.csv": (
        csv_of(
            *([i, m, f"{TEXT} {i}", f"{TEXT} {i}{m}"] for i in range(6) for m in "pq"),
            [3, "r", "Another source altogether.", f"{TEXT} 3r"],
            header=["item", "model", "prompt", "output"],
        ),
        [(14, "item", "duplicate_id")],
    ),
    "id with a line break.csv": (
        csv_of(*GOOD, cells(9, id="a\nb")),
        [(7, "id", "unprintable_character")],
    ),
    "long id.csv": (csv_of(*GOOD, cells(9, id="x" * 201)), [(7, "id", "id_too_long")]),
    "too few cells.csv": (csv_of(*GOOD, [9, TEXT]), [(7, None, "wrong_cell_count")]),
    "NUL.csv": (csv_of(*GOOD, cells(9, gpt="a\0b")), [(7, "gpt", "unstorable_character")]),
    "mixed.csv": (
        csv_of(*GOOD, cells(9, gpt="schön")) + f"10,grün,{TEXT},{TEXT} ü\r\n".encode("cp1252"),
        [(8, "source", "mixed_encodings")],
    ),
    "mixed name.csv": (
        "id,grün,gpt\r\n".encode("cp1252") + f"1,ü {TEXT},{TEXT}\r\n".encode(),
        [(2, None, "mixed_encodings")],
    ),
    "odd name.jsonl": (b'{"a\\ud800": "x"}', [(1, None, "unstorable_character")]),
    "unnamed.csv": (csv_of(*GOOD, header=["id", "", "gpt", "llama"]), [(1, None, "bad_header")]),
    "named twice.csv": (csv_of(*GOOD, header=["id", "s", "gpt", "gpt"]), [(1, None, "bad_header")]),
    "two headers.csv": (
        csv_of(["Nr", "Text", "Modell 1", "Modell 2"], *GOOD),
        [(2, None, "two_headers")],
    ),
    "empty.csv": (b"", [(None, None, "empty")]),
    "header.csv": (csv_of(), [(None, None, "empty")]),
    "wide.csv": (
        csv_of(*[["x"] * 2000] * 9, header=[f"c{i}" for i in range(2000)]),
        [(None, None, "too_many_columns")],
    ),
    "deep.json": (b"[" * 100_000, [(1, None, "nested_too_deep")]),
    "deep.jsonl": (
        b'{"id": 1, "gpt": "%s"}\n{"id": ' % TEXT.encode() + b"[" * 100_000,
        [(2, None, "nested_too_deep")],
    ),
    "overflow.json": (b'[{"id": 1, "gpt": 1e999}]', [(1, None, "not_finite")]),
    "cut.json": (json.dumps([{"id": 1, "gpt": TEXT}] * 3)[:-20].encode(), [(3, None, "not_json")]),
    "number.json": (b"[1, 2]", [(1, None, "not_an_object"), (2, None, "not_an_object")]),
    "keys.jsonl": (
        "\n".join(json.dumps({f"k{i}{j}": "x" for j in range(9)}) for i in range(99)).encode(),
        [(None, None, "too_many_columns")],
    ),
    "cut.parquet": (b"PAR1aaaa", [(None, None, "not_parquet")]),
    "merged.xlsx": (
        workbook(lambda sheet: sheet.merge_cells("C3:D3")),
        [(3, None, "merged_cells"), (3, "llama", "empty_text")],
    ),
    "two headers.xlsx": (
        workbook(two_headers),
        [(1, None, "merged_cells"), (None, None, "bad_header")],
    ),
    "formula.xlsx": (workbook(formula), [(3, "gpt", "formula")]),
    "bomb.xlsx": (bomb(), [(None, None, "packed_too_tight")]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_named_by_row_column_and_code(name, tmp_path):
    content, places = BAD[name]
    (tmp_path / name).write_bytes(content)
    summary = summary_of(tmp_path / name)
    named = [(problem.row, problem.column, problem.code) for problem in summary.problems]
    assert named == places
    assert all(problem.reason.endswith((".", ")")) for problem in summary.problems)


CLOSED = {
    "pairs.xml": (b'<?xml version="1.0"?>\n<list><a x="1, 2">b, c</a></list>', "not_a_table"),
    "bare.xml": (b'\xef\xbb\xbf<list n="2">\n  <a>b, c</a>\n</list>', "not_a_table"),
    "wide.xml": ('<?xml version="1.0"?>\n<list>\n</list>'.encode("utf-16"), "not_a_table"),
    "page.html": (b"\n<!DOCTYPE html>\n<table><tr><td>1, 2</td></tr></table>", "not_a_table"),
    "page.xls": (b"<html><table><tr><td>1, 2</td></tr></table></html>", "not_a_table"),
    "word.rtf": (b"{\\rtf1 one, two}", "not_a_table"),
    "list.yaml": (b"# ratings\nitems:\n  - id: 1\n    text: one, two\n", "not_a_table"),
    "document.yaml": (b"---\nid: 1\ntext: one, two\n", "not_a_table"),
    "items.yml": (b"- id: 1\n  text: one, two\n- id: 2\n  text: three\n", "not_a_table"),
    "tables.pdf": (b"%PDF-1.7", "unknown_format"),
    "old.xls": (b"\xd0\xcf\x11\xe0aaaaaaaa", "unknown_format"),
    "cut.gz": (gzip.compress(csv_of(*GOOD))[:-5], "not_gzip"),
    "noise.csv": (random.Random(1).randbytes(100_000).replace(b"\1", b"\0" * 99), "not_text"),
    "big.csv.gz": (gzip.compress(b"a" * 3_000_000), "unpacks_too_large"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_file_that_is_no_table_is_refused(name, tmp_path):
    content, code = CLOSED[name]
    (tmp_path / name).write_bytes(content)
    limits = Limits(unpacked=2_000_000)
    with refused_file((name, None, code)), open_table(tmp_path / name, limits=limits):
        pass


@pytest.mark.parametrize(
    "text",
    ["<b>id</b>,text\n1,two\n", "id,text\n1,<a><b>\n", "- a,text\n- b,two\n", "a: 1,b\nc: 2,d\n"],
)
def test_a_table_with_marks_in_its_cells_is_a_table(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with open_table(tmp_path / "t.csv") as table:
        assert len(list(table.rows(TableProblems()))) == 1


def test_the_limits_name_the_row_and_the_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(csv_of(*GOOD, cells(9, gpt="x" * 2000)))
    with open_table(path, limits=Limits(cell=1000)) as table:
        reading = TableReading(table)
        assert len(list(reading.rows())) == 5
    (problem,) = reading.summary().problems
    assert (problem.row, problem.column, problem.code) == (7, "gpt", "text_too_long")
    with open_table(path, limits=Limits(rows=4)) as table:
        reading = TableReading(table)
        assert not list(reading.rows())
    (problem,) = reading.summary().problems
    assert (problem.row, problem.code) == (6, "too_many_rows")
    assert not reading.summary().is_usable


@pytest.mark.thorough
def test_a_cell_of_fifty_megabytes_is_named(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"id": 1, "gpt": TEXT}, {"id": 2, "gpt": "x" * 50_000_000}]))
    (problem,) = summary_of(path).problems
    assert (problem.row, problem.column, problem.code) == (2, "gpt", "text_too_long")


def test_the_values_that_formulas_had_are_read(tmp_path):
    """Excel stores the value beside the formula; openpyxl writes formulas alone."""
    path = tmp_path / "t.xlsx"
    path.write_bytes(workbook(formula))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"<v />", b"<v>Stored text of a formula</v>")
    parts[sheet] = parts[sheet].replace(b"<v></v>", b"<v>Stored text of a formula</v>")
    parts[sheet] = parts[sheet].replace(b'<c r="C3">', b'<c r="C3" t="str">')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    summary = summary_of(path)
    assert not summary.problems
    assert summary.generations == 10

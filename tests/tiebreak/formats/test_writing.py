"""Files of many batches: written beside the reading, complete or not at all."""

import tempfile
from collections.abc import Iterator
from functools import partial
from threading import Event, current_thread

import openpyxl
import pytest

from tests.refusals import refused
from tiebreak.formats import write_rows, writing
from tiebreak.formats.tables import TableProblems, open_table
from tiebreak.formats.writing import (
    MAX_SHEET_CELL,
    Batch,
    Columns,
    rows_of,
    write_batches,
    write_in_batches,
)

ENDINGS = ["jsonl", "csv", "xlsx", "parquet"]
# Longer than any machine needs to read a batch of one row.
LONGEST_WAIT_SECONDS = 30


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_and_columns_give_the_same_file(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "BATCH", 2)
    rows = [{"unit": f"=u{i}", "label": i if i else None, "late": i == 1} for i in range(5)]
    columns = ("unit", "label", "late", "run")
    batches: list[Batch] = [
        {name: [row.get(name) for row in some] for name in columns} for some in (rows[:2], rows[2:])
    ]
    made = [partial(dict, batch) for batch in batches]
    by_rows, by_columns = tmp_path / f"rows.{ending}", tmp_path / f"columns.{ending}"
    assert list(write_in_batches(by_rows, rows, iter(columns))) == [2, 4, 5]
    assert list(write_batches(by_columns, made, iter(columns))) == [2, 5]
    if ending == "xlsx":  # which has the time in it
        assert read_sheet(by_rows) == read_sheet(by_columns)
    elif ending != "parquet":  # which stores every batch as a group of its own
        assert by_rows.read_bytes() == by_columns.read_bytes()
    assert [row["unit"] for batch in batches for row in rows_of(batch)] == [r["unit"] for r in rows]


def read_sheet(path):
    problems = TableProblems()
    with open_table(path) as table:
        rows = [row for _, row in table.rows(problems)]
    assert problems.items == []
    return rows


def test_a_workbook_has_texts_and_numbers_exactly_as_they_are(tmp_path):
    texts = [
        "=1+1",
        "+1",
        "-1 x",
        "@a",
        "'=1",
        "007",
        "1",
        " a ",
        "a\r\nb\tc",
        "\x07\uffff",
    ]
    texts += ["_x0007_", "__x000D_", "é😀" * 9000, "x" * MAX_SHEET_CELL, "TRUE", "2026-11-26"]
    texts += ["=HYPERLINK(1)", "\t"]
    numbers = [0.1 + 0.2, 2**53, 2**63, True, -1, 1e-300, None]
    rows = [{"text": text, "label": numbers[i % 7]} for i, text in enumerate(texts)]
    write_rows(tmp_path / "ratings.xlsx", rows, ["text", "label"])
    read = read_sheet(tmp_path / "ratings.xlsx")
    assert [row["text"] for row in read] == texts
    expected = [str(2**63) if row["label"] == 2**63 else row["label"] for row in rows]
    assert [row["label"] for row in read] == expected
    cells = openpyxl.load_workbook(tmp_path / "ratings.xlsx")["ratings"]["A"]
    assert {cell.data_type for cell in cells} == {"s"}


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([{"text": "x" * (MAX_SHEET_CELL + 1)}], "text_too_long_for_xlsx"),
        ([{"text": "😀" * (MAX_SHEET_CELL // 2 + 1)}], "text_too_long_for_xlsx"),
        ([{"text": "x"}] * 9, "too_many_rows_for_xlsx"),
    ],
)
def test_what_no_sheet_holds_is_refused_and_leaves_no_file(rows, code, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SHEET_ROWS", 9)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with refused(code):
        write_rows(tmp_path / "r.xlsx", rows, ["text"])
    assert list(tmp_path.iterdir()) == []


def test_the_next_batch_is_read_while_one_is_written():
    second_is_asked_for, waited = Event(), []

    def batches() -> Iterator[Columns]:
        yield lambda: {"unit": ["u0"]}
        second_is_asked_for.set()
        yield lambda: {"unit": ["u1"]}

    def write(_: Batch) -> None:
        waited.append(second_is_asked_for.wait(LONGEST_WAIT_SECONDS))

    assert list(writing._written(batches(), write)) == [1, 1]
    assert waited == [True, True]


def test_columns_are_made_where_they_are_written():
    threads = []

    def columns() -> Batch:
        threads.append(current_thread())
        return {"unit": ["u0"]}

    assert list(writing._written([columns], lambda _: threads.append(current_thread()))) == [1]
    assert threads[0] is threads[1] is not current_thread()


def test_empty_cells_are_left_out_of_json_lines_but_not_an_unparsed_label(tmp_path):
    batch = {"unit": ["u", "v"], "run": [None, None], "note": [None, "x"], "label": [None, None]}
    list(write_batches(tmp_path / "r.jsonl", [partial(dict, batch)], batch))
    lines = (tmp_path / "r.jsonl").read_text().splitlines()
    assert lines == ['{"unit":"u","label":null}', '{"unit":"v","note":"x","label":null}']


def test_what_cannot_be_written_raises_and_leaves_no_file(tmp_path):
    with pytest.raises(TypeError):
        list(write_in_batches(tmp_path / "r.jsonl", [{"unit": object()}], ["unit"]))
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_is_given_up_leaves_no_file(tmp_path):
    batches: Iterator[Columns] = (partial(dict, {"unit": [f"u{i}"]}) for i in range(9))
    counts = write_batches(tmp_path / "r.jsonl", batches, ["unit"])
    assert next(counts) == 1
    counts.close()
    assert list(tmp_path.iterdir()) == []

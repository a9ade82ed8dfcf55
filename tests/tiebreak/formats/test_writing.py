"""Files of many batches: written beside the reading, complete or not at all."""

from collections.abc import Iterator
from functools import partial
from threading import Event, current_thread

import pytest

from tiebreak.formats import writing
from tiebreak.formats.writing import Batch, Columns, rows_of, write_batches, write_in_batches

ENDINGS = ["jsonl", "csv", "parquet"]
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
    if ending != "parquet":  # which stores every batch as a group of its own
        assert by_rows.read_bytes() == by_columns.read_bytes()
    assert [row["unit"] for batch in batches for row in rows_of(batch)] == [r["unit"] for r in rows]


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

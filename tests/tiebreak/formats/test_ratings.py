import csv
import json

import pytest

from tiebreak.formats import FormatError, RatingTable, read_ratings, write_rows
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.ratings import canonical_digest

ROWS = [
    {"unit": "u1", "rater": "r1", "label": -1, "instance": "i1", "separability": 0.25},
    {"unit": "u1", "rater": "r2", "label": 0, "instance": "i1", "surplus": True},
    {"unit": "u1", "rater": "m", "label": None, "raw": "=1+1", "kind": "machine"},
]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_written_is_read_back(ending, tmp_path):
    path = tmp_path / f"ratings.{ending}"
    assert write_rows(path, ROWS, COLUMNS) == 3
    found, expected = read_ratings(path), RatingTable.from_rows(ROWS)
    assert canonical_digest(found) == canonical_digest(expected)
    assert list(found["surplus"]) == [False, True, False]
    assert found["separability"][0] == 0.25
    assert found["raw"][2] == "=1+1"
    assert found["label"][2] is None


def test_20_what_people_typed_is_no_formula_in_a_spreadsheet(tmp_path):
    write_rows(tmp_path / "r.csv", ROWS, COLUMNS)
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[2]["raw"] == "'=1+1"
    assert rows[0]["label"] == "-1"


def test_29_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("old")

    def broken():
        yield ROWS[0]
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_rows(path, broken(), COLUMNS)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_sample_index_stands_for_both_samples():
    table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1, "sample_index": 3}])
    assert (table["sample_a"][0], table["sample_b"][0]) == (3, 3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"unit": ""}, "unit is empty"),
        ({"unit": "x" * 201}, "at most 200"),
        ({"kind": "robot"}, "kind must be one of human, machine"),
        ({"role": "extra"}, "role must be one of"),
        ({"repeat": -1}, "repeat must be a whole number"),
        ({"separability": "high"}, "separability must be a number"),
        ({"separability": 1e999}, "must be finite"),
        ({"late": "perhaps"}, "late must be true or false"),
        ({"label": None}, "may not be empty"),
        ({"label": None, "kind": "machine"}, "column raw"),
        ({"label": [1]}, "label must be a number or a text"),
    ],
)
def test_22_a_bad_cell_is_named_with_its_line(change, sentence):
    with pytest.raises(FormatError, match=f"line 2: .*{sentence}"):
        RatingTable.from_rows([ROWS[0], {**ROWS[0], "rater": "other", **change}])


@pytest.mark.parametrize("missing", ["unit", "rater", "label"])
def test_a_missing_column_is_named(missing):
    row = {name: value for name, value in ROWS[0].items() if name != missing}
    with pytest.raises(FormatError, match=f"the column {missing} is missing"):
        RatingTable.from_rows([row])


def test_a_second_rating_names_both_lines():
    with pytest.raises(FormatError, match=r"line 2: rater r1 rates unit u1 .* line 1 does already"):
        RatingTable.from_rows([ROWS[0], {**ROWS[0], "label": 1}])


def test_a_machine_may_rate_again_in_another_run_or_order():
    machine = {**ROWS[0], "kind": "machine"}
    table = RatingTable.from_rows([machine, {**machine, "run": "2"}, {**machine, "order": "ba"}])
    assert len(table) == 3


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("unit,rater,label\nu,r\n", "line 2: has 2 cells, the header 3"),
        ("unit,unit\n1,2\n", "line 1: names a column twice"),
        ("", "is empty"),
    ],
)
def test_22_a_broken_csv_is_named(content, sentence, tmp_path):
    (tmp_path / "r.csv").write_text(content)
    with pytest.raises(FormatError, match=sentence):
        read_ratings(tmp_path / "r.csv")


def test_22_what_is_no_parquet_is_named(tmp_path):
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FormatError, match="is not a Parquet file"):
        read_ratings(tmp_path / "r.parquet")


def test_22_a_million_columns_are_refused(tmp_path):
    row = {f"c{i}": 1 for i in range(1000)}
    (tmp_path / "r.jsonl").write_text(json.dumps(row))
    with pytest.raises(FormatError, match="1000 columns"):
        read_ratings(tmp_path / "r.jsonl")

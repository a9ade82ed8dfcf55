import csv
import json
import re
from codecs import BOM_UTF8

import pytest

from tests.refusals import refused_file
from tiebreak.formats import RatingTable, read_ratings, write_rows
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.ratings import canonical_digest
from tiebreak.nonresponse import BROKEN, CANNOT_SAY

ROWS = [
    {"unit": "u1", "rater": "r1", "label": -1, "instance": "i1", "separability": 0.25},
    {"unit": "u1", "rater": "r2", "label": 0, "instance": "i1", "surplus": True},
    {"unit": "u1", "rater": "m", "label": None, "raw": "=1+1", "kind": "machine"},
]
NONRESPONSE = {"label": None, "nonresponse": CANNOT_SAY, "reason": " Both say\nthe same. "}


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_written_is_read_back(ending, tmp_path):
    path = tmp_path / f"ratings.{ending}"
    rows = [*ROWS, ROWS[0] | {"rater": "s"} | NONRESPONSE]
    assert write_rows(path, rows, COLUMNS) == 4
    table, expected = read_ratings(path), RatingTable.from_rows(rows)
    assert canonical_digest(table) == canonical_digest(expected)
    assert list(table["surplus"]) == [False, True, False, False]
    assert table["separability"][0] == 0.25
    assert table["raw"][2] == "=1+1"
    assert (table["label"][2], table["label"][3]) == (None, None)
    assert table["nonresponse"].tolist() == ["", "", "", CANNOT_SAY]
    assert table["reason"][3] == NONRESPONSE["reason"]


def test_what_people_typed_is_no_formula_in_a_spreadsheet(tmp_path):
    write_rows(tmp_path / "r.csv", ROWS, COLUMNS)
    assert (tmp_path / "r.csv").read_bytes().startswith(BOM_UTF8)
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert rows[2]["raw"] == "'=1+1"
    assert rows[0]["label"] == "-1"


class Interrupted(OSError):
    """An error as from a full disk."""


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("old")

    def broken():
        yield ROWS[0]
        raise Interrupted

    with pytest.raises(Interrupted):
        write_rows(path, broken(), COLUMNS)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["r.jsonl"]


def test_a_sample_index_stands_for_both_samples():
    table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1, "sample_index": 3}])
    assert (table["sample_a"][0], table["sample_b"][0]) == (3, 3)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"unit": ""}, "empty"),
        ({"unit": "x" * 201}, "id_too_long"),
        ({"kind": "robot"}, "unknown_value"),
        ({"role": "extra"}, "unknown_value"),
        ({"repeat": -1}, "not_a_whole_number"),
        ({"separability": "high"}, "not_a_number"),
        ({"separability": 1e999}, "not_finite"),
        ({"late": "perhaps"}, "not_a_truth_value"),
        ({"label": None}, "label_missing"),
        ({"label": None, "kind": "machine"}, "raw_missing"),
        ({"label": [1]}, "not_a_label"),
        ({"nonresponse": "broken"}, "label_with_nonresponse"),
        ({"nonresponse": "tired", "label": None}, "unknown_value"),
    ],
)
def test_a_bad_cell_is_named_with_its_line_and_column(change, code):
    with refused_file(("ratings", 2, code)) as refusal:
        RatingTable.from_rows([ROWS[0], {**ROWS[0], "rater": "other", **change}])
    assert next(iter(change)) in refusal.value.problems[0].reason


@pytest.mark.parametrize("missing", ["unit", "rater", "label"])
def test_a_missing_column_is_named(missing):
    row = {name: value for name, value in ROWS[0].items() if name != missing}
    with refused_file(("ratings", 1, "column_missing")) as refusal:
        RatingTable.from_rows([row])
    assert missing in refusal.value.problems[0].reason


def test_a_second_rating_names_both_lines():
    with refused_file(("ratings", 2, "duplicate_rating")) as refusal:
        RatingTable.from_rows([ROWS[0], {**ROWS[0], "label": 1}])
    assert re.search(r"\br1\b.*\bu1\b.*\b1\b", refusal.value.problems[0].reason)


def test_a_machine_may_rate_again_in_another_run_or_order():
    machine = {**ROWS[0], "kind": "machine"}
    table = RatingTable.from_rows([machine, {**machine, "run": "2"}, {**machine, "order": "ba"}])
    assert len(table) == 3


@pytest.mark.parametrize(
    ("content", "line", "code"),
    [
        ("unit,rater,label\nu,r\n", 2, "wrong_cell_count"),
        ("unit,unit\n1,2\n", 1, "bad_header"),
        ("", None, "empty"),
    ],
)
def test_a_broken_csv_is_named(content, line, code, tmp_path):
    (tmp_path / "r.csv").write_text(content)
    with refused_file(("r.csv", line, code)):
        read_ratings(tmp_path / "r.csv")


def test_what_is_no_parquet_is_named(tmp_path):
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and then nothing")
    with refused_file(("r.parquet", None, "not_parquet")):
        read_ratings(tmp_path / "r.parquet")


def test_a_million_columns_are_refused(tmp_path):
    row = {f"c{i}": 1 for i in range(1000)}
    (tmp_path / "r.jsonl").write_text(json.dumps(row))
    with refused_file(("r.jsonl", 1, "too_many_columns")):
        read_ratings(tmp_path / "r.jsonl")


def test_a_nonresponse_is_a_row_without_a_label_and_enters_no_statistic():
    rows = [
        ROWS[0] | {"reason": "shorter"},
        ROWS[0] | {"rater": "s"} | NONRESPONSE,
        ROWS[0] | {"rater": "t", "excluded": True} | NONRESPONSE,
        ROWS[0] | {"rater": "t", "role": "repeat"} | NONRESPONSE,
        ROWS[0] | {"rater": "m", "kind": "machine", "raw": "?"} | NONRESPONSE,
        ROWS[0] | {"rater": "n", "kind": "machine"} | NONRESPONSE | {"label": "NA"},
    ]
    table = RatingTable.from_rows(rows)
    assert table["label"].tolist() == [ROWS[0]["label"], *[None] * 5]
    assert table["reason"].tolist() == ["shorter", *[NONRESPONSE["reason"]] * 5]
    assert table.is_counted.tolist() == [True] + [False] * 5
    assert table.is_nonresponse.tolist() == [False, True, False, False, True, True]
    assert not (table.is_set_aside | table.is_planned_repeat).any()


def test_a_label_and_a_nonresponse_of_one_rater_name_both_lines():
    with refused_file(("ratings", 2, "duplicate_rating")):
        RatingTable.from_rows([ROWS[0], ROWS[0] | NONRESPONSE])


def test_the_digest_has_nonresponses_and_their_kind():
    tables = [
        RatingTable.from_rows([ROWS[0], *([ROWS[0] | {"rater": "s"} | more] if more else [])])
        for more in (None, NONRESPONSE, NONRESPONSE | {"nonresponse": BROKEN})
    ]
    assert len({canonical_digest(table) for table in tables}) == 3

"""Ratings files: what is read is what was written, in each format; bad ones are named."""

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from studies.formats.limits import Limits
from studies.formats.problems import FormatError
from studies.formats.ratings import read_ratings, write_ratings
from studies.formats.row_writers import open_ratings_writer
from studies.formats.table import RatingTable

ROWS = [
    {
        "unit": "u1",
        "rater": "r1",
        "label": -1,
        "kind": "human",
        "sample_a": 0,
        "sample_b": 2,
        "separability": 0.25,
        "late": False,
        "excluded_reason": "=HYPERLINK(1)",
    },
    {
        "unit": "u2",
        "rater": "-r2",
        "label": 1,
        "kind": "human",
        "sample_a": None,
        "sample_b": None,
        "separability": None,
        "late": True,
        "excluded_reason": "'=1\ntwo lines",
    },
]
ENDINGS = [".jsonl", ".csv", ".parquet"]


def write_lines(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refused(path, **options):
    with pytest.raises(FormatError) as caught:
        read_ratings(path, **options)
    return caught.value


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_come_back_as_they_were_written(tmp_path, ending):
    path = tmp_path / f"ratings{ending}"
    assert write_ratings(path, ROWS) == 2
    table = read_ratings(path)
    assert list(table.rows()) == ROWS
    assert [type(label) for label in table.label.values] == [int, int]


@pytest.mark.parametrize("ending", ENDINGS)
def test_mixed_labels_keep_their_meaning(tmp_path, ending):
    rows = [
        {"unit": "u", "rater": str(k), "label": label}
        for k, label in enumerate([0.5, -1, "bad", "-a"])
    ]
    path = tmp_path / f"ratings{ending}"
    write_ratings(path, rows)
    labels = [str(row["label"]) for row in read_ratings(path).rows()]
    assert labels == ["0.5", "-1", "bad", "-a"]


def test_a_spreadsheet_finds_no_formula_in_what_people_typed_security_20(tmp_path):
    path = tmp_path / "ratings.csv"
    write_ratings(path, ROWS)
    with path.open(newline="", encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    assert [r["label"] for r in records] == ["-1", "1"], "a number stays a number"
    assert records[0]["excluded_reason"] == "'=HYPERLINK(1)"
    assert records[1]["rater"] == "'-r2"


def test_absent_columns_are_missing_or_at_their_default(tmp_path):
    path = write_lines(tmp_path / "r.jsonl", '{"unit": "u", "rater": "r", "label": 1}')
    table = read_ratings(path)
    assert table.text("kind").values == ("human",)
    assert list(table.text("criterion").decoded()) == ["preference"]
    assert list(table.text("instance").decoded()) == [None]
    assert table.integer("sample_a").tolist() == [-1]
    assert math.isnan(table.number("separability")[0])
    assert not table.flag("late")[0]
    assert table.counted.tolist() == [True]


def test_unknown_columns_are_named_and_left_out(tmp_path):
    path = write_lines(
        tmp_path / "r.jsonl", '{"unit": "u", "rater": "r", "label": 1, "mood": {"a": []}}'
    )
    assert read_ratings(path).ignored == ("mood",)


def test_sample_index_sets_both_samples_and_texts_set_lengths(tmp_path):
    row = {"unit": "u", "rater": "r", "label": 1, "sample_index": 3, "text_a": "äb", "text_b": "c"}
    path = write_lines(tmp_path / "r.jsonl", json.dumps(row))
    table = read_ratings(path, columns=["sample_a", "sample_b", "chars_a", "chars_b"])
    assert [table.integer(n)[0] for n in ("sample_a", "sample_b", "chars_a", "chars_b")] == [
        *(3, 3),
        *(2, 1),
    ]
    assert not table.has("text_a")


def test_an_unparsed_answer_is_for_machines_and_says_raw(tmp_path):
    good = '{"unit": "u", "rater": "m", "label": null, "kind": "machine", "raw": "?"}'
    human = '{"unit": "u", "rater": "h", "label": null, "raw": "?"}'
    silent = '{"unit": "u", "rater": "n", "label": null, "kind": "machine"}'
    error = refused(write_lines(tmp_path / "r.jsonl", good, human, silent))
    assert [problem.line for problem in error.problems] == [2, 3]
    assert "label is empty" in error.message


def test_a_second_rating_names_both_lines(tmp_path):
    row = '{"unit": "u", "rater": "r", "label": 1}'
    error = refused(write_lines(tmp_path / "r.jsonl", row, "", row))
    assert (error.problems[0].line, error.total) == (3, 1)
    assert "in line 1" in error.message


@pytest.mark.parametrize(
    "difference",
    [
        {"late": True},
        {"superseded": True},
        {"repeat": 1},
        {"role": "gold"},
        {"run": "2"},
        {"order": "BA"},
        {"criterion": "fluency"},
    ],
)
def test_what_is_no_second_rating(tmp_path, difference):
    row = {"unit": "u", "rater": "r", "label": 1}
    path = write_lines(tmp_path / "r.jsonl", json.dumps(row), json.dumps(row | difference))
    assert len(read_ratings(path)) == 2


def test_a_unit_and_a_rater_are_the_same_in_every_row(tmp_path):
    rows = [
        {"unit": "u", "rater": "r", "label": 1, "instance": "i"},
        {"unit": "u", "rater": "s", "label": 1, "instance": None},
        {"unit": "u", "rater": "t", "label": 1, "instance": "j"},
        {"unit": "v", "rater": "r", "label": 1, "kind": "machine"},
    ]
    error = refused(write_lines(tmp_path / "r.jsonl", *map(json.dumps, rows)))
    assert {(problem.line, problem.reason.split()[1]) for problem in error.problems} == {
        (3, "unit"),
        (4, "rater"),
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"unit": "u", "rater": "r", "label": NaN}', "NaN is no number"),
        ('{"unit": "u", "rater": "r", "label": -Infinity}', "-Infinity is no number"),
        ('{"unit": "u", "rater": "r", "label": 1e999}', "too large"),
        ('{"unit": "u", "rater": "r", "label": true}', "label: a truth value"),
        ('{"unit": "u", "rater": "r", "label": [1]}', "label: a list"),
        ('{"unit": "u", "rater": "r", "label": 1, "label": 0}', "stands twice"),
        ('{"unit": 1.0, "rater": "r", "label": 1}', "unit: a number with a fraction"),
        ('{"unit": "", "rater": "r", "label": 1}', "unit is empty"),
        ('{"unit": "a\\u0000b", "rater": "r", "label": 1}', "NUL"),
        ('{"unit": "a\\nb", "rater": "r", "label": 1}', "control character"),
        ('{"unit": "\\ud800", "rater": "r", "label": 1}', "surrogate"),
        ('{"unit": "u", "rater": "r", "label": 1, "kind": "robot"}', "kind: 'robot' is none of"),
        ('{"unit": "u", "rater": "r", "label": 1, "sample_a": -1}', "sample_a: -1"),
        ('{"unit": "u", "rater": "r", "label": 1, "sample_a": 1.5}', "sample_a: 1.5"),
        ('{"unit": "u", "rater": "r", "label": 1, "late": "maybe"}', "late: 'maybe'"),
        ('{"unit": "u", "rater": "r", "label": 1, "inclusion_probability": 0}', "must be above 0"),
        ('{"unit": "u", "rater": "r"', "not JSON"),
        ("[1, 2]", "one JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"unit": "u", "rater": "r", "label": ' + "9" * 5000 + "}", "digits"),
    ],
)
def test_a_bad_line_is_named_with_its_reason_security_22(tmp_path, line, reason):
    good = '{"unit": "good", "rater": "r", "label": 1}'
    error = refused(write_lines(tmp_path / "r.jsonl", good, line))
    assert [problem.line for problem in error.problems] == [2]
    assert error.problems[0].file == "r.jsonl"
    assert reason in error.problems[0].reason


def test_numbers_that_are_not_finite_are_refused_in_every_format_security_22(tmp_path):
    table = pa.table({"unit": ["u"], "rater": ["r"], "label": [float("nan")]})
    pq.write_table(table, tmp_path / "r.parquet")
    assert "finite" in refused(tmp_path / "r.parquet").message
    path = write_lines(tmp_path / "r.csv", "unit,rater,label,separability", "u,r,1,inf")
    assert refused(path).problems[0].line == 2


def test_a_missing_column_is_one_problem(tmp_path):
    path = write_lines(tmp_path / "r.csv", "unit,label", "u,1", "v,1")
    error = refused(path)
    assert error.total == 1
    assert "the column rater is missing" in error.message


def test_broken_csv_is_named_with_its_line_security_22(tmp_path):
    short = write_lines(tmp_path / "short.csv", "unit,rater,label", "u,r,1", "v,r")
    assert refused(short).problems[0].line == 3
    twice = write_lines(tmp_path / "twice.csv", "unit,unit,rater,label")
    assert "stands twice" in refused(twice).message
    wide = write_lines(tmp_path / "wide.csv", ",".join(f"c{k}" for k in range(100_000)))
    assert "columns" in refused(wide).message
    assert "empty" in refused(write_lines(tmp_path / "none.csv")).message


def test_lines_of_a_csv_are_those_where_a_record_begins(tmp_path):
    path = write_lines(tmp_path / "r.csv", "unit,rater,label,raw", 'u,r,1,"a', 'b"', "v,r,1,", "v")
    assert refused(path).problems[0].line == 5


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_huge_cell_is_refused_security_22(tmp_path, ending):
    path = tmp_path / f"r{ending}"
    cell = "x" * 50_000_000
    if ending == ".csv":
        write_lines(path, "unit,rater,label,raw", f'u,r,1,"{cell}"')
    else:
        write_lines(path, "", f'{{"unit": "u", "rater": "r", "label": 1, "raw": "{cell}"}}')
    assert refused(path).problems[0].line == 2


def test_a_cell_just_over_the_limit_is_refused(tmp_path):
    line = '{"unit": "u", "rater": "r", "label": 1, "raw": "%s"}'
    path = write_lines(tmp_path / "r.jsonl", line % ("x" * 11))
    assert "11 characters; 10" in refused(path, limits=Limits(cell_characters=10)).message
    assert len(read_ratings(path, limits=Limits(cell_characters=11))) == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_not_utf8_or_not_the_format_is_refused_security_22(tmp_path, ending):
    path = tmp_path / f"r{ending}"
    path.write_bytes(b"unit,rater,label\n\xff\xfe,r,1\n")
    assert "UTF-8" in refused(path).message or "Parquet" in refused(path).message


def test_other_files_are_refused(tmp_path):
    assert "must end in" in refused(tmp_path / "r.xlsx").message
    assert "no such file" in refused(tmp_path / "r.csv").message


def test_the_first_problems_are_shown_and_all_are_counted(tmp_path):
    path = write_lines(tmp_path / "r.jsonl", *["{}}"] * 100)
    error = refused(path)
    assert (len(error.problems), error.total) == (20, 100)
    assert error.message.endswith("… and 80 more.")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failed_write_leaves_the_old_file_and_nothing_else_security_29(tmp_path, ending):
    path = tmp_path / f"r{ending}"
    path.write_bytes(b"old")

    def fail(writer):
        writer.write(ROWS[0])
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), open_ratings_writer(path) as writer:
        fail(writer)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(path.name, b"old")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rating_is_a_file_too(tmp_path, ending):
    path = tmp_path / f"r{ending}"
    assert write_ratings(path, []) == 0
    assert len(read_ratings(path)) == 0


def test_select_and_concat_keep_what_rows_say():
    table = RatingTable.from_rows(ROWS)
    other = RatingTable.from_rows([{"unit": "u2", "rater": "x", "label": 0, "instance": "i"}])
    joined = RatingTable.concat([table.select(np.array([False, True])), other])
    assert list(joined.text("unit").decoded()) == ["u2", "u2"]
    assert list(joined.text("instance").decoded()) == [None, "i"]
    assert list(joined.label.decoded()) == [1, 0]
    assert joined.lines.tolist() == [2, 1]


def test_columns_that_appear_late_are_missing_before(tmp_path, monkeypatch):
    monkeypatch.setattr("studies.formats.chunks.CHUNK_ROWS", 2)
    rows = [{"unit": f"u{k}", "rater": "r", "label": k % 2} for k in range(5)]
    rows[4]["sample_a"] = 7
    table = RatingTable.from_rows(rows)
    assert table.integer("sample_a").tolist() == [-1, -1, -1, -1, 7]
    assert list(table.text("unit").decoded()) == ["u0", "u1", "u2", "u3", "u4"]

"""Parquet files are read as columns, with the results and refusals of reading rows."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.refusals import refused_file
from tiebreak.formats import RatingTable, rating_columns, ratings, read_ratings
from tiebreak.formats.coded import CodedColumn, combined
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.ratings import canonical_digest, ratings_of

ROW = {
    "unit": "u",
    "rater": "r",
    "label": "1",
    "kind": "human",
    "instance": "i",
    "separability": 0.25,
    "repeat": None,
    "late": False,
    "created_at": "2026-03-01T14:05:09Z",
    "probabilities": "",
}
ROWS = [
    ROW,
    ROW | {"unit": "ü", "rater": "s", "label": "-1", "instance": None, "separability": None},
    ROW
    | {"unit": "v", "rater": "m", "kind": "machine", "label": None, "raw": "a\nb", "late": True},
    ROW
    | {"unit": "w", "rater": "m2", "kind": "machine", "probabilities": '{"-1": 0.25, "1": 0.75}'},
    ROW | {"unit": "x", "label": None, "nonresponse": "broken", "reason": " a\nb "},
]


def written(tmp_path, rows, **options):
    path = tmp_path / "r.parquet"
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    pq.write_table(pa.table(columns), path, **options)
    return path


def no_rows(*_args):
    raise AssertionError("the file was read row by row")


@pytest.mark.parametrize("row_group_size", [1, 100])
def test_columns_are_those_of_rows(row_group_size, tmp_path, monkeypatch):
    path = written(tmp_path, ROWS, row_group_size=row_group_size)
    monkeypatch.setattr(ratings, "read_rows", no_rows)
    table, expected = read_ratings(path), RatingTable.from_rows(ROWS)
    for name in COLUMNS:
        np.testing.assert_array_equal(table[name], expected[name], err_msg=name)
        assert table[name].dtype == expected[name].dtype, name
    assert canonical_digest(table) == canonical_digest(expected)


def batches_of(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        {name: [row.get(name) for row in part] for name in names} for part in (rows[:2], rows[2:])
    ]


def test_batches_of_columns_are_read_as_rows_are():
    typed = [row | {"label": k or row["label"], "extra": k} for k, row in enumerate(ROWS[:2])]
    for rows in (ROWS, [*typed, ROWS[2] | {"extra": 0.5, "repeat": 2}]):
        table, expected = ratings_of(batches_of(rows)), RatingTable.from_rows(rows)
        assert table.unread == expected.unread
        for name in COLUMNS:
            np.testing.assert_array_equal(table[name], expected[name], err_msg=name)
            assert table[name].dtype == expected[name].dtype, name
        assert canonical_digest(table) == canonical_digest(expected)


@pytest.mark.parametrize(
    "change", [{"rater": ""}, {"late": "perhaps"}, {"label": None}, {"unit": "u", "rater": "r"}]
)
def test_batches_with_something_wrong_are_left_to_the_reader_of_rows(change):
    changed = ROW | {"unit": "w", "rater": "t"} | change
    assert ratings_of(batches_of([*ROWS, changed])) is None


def test_each_distinct_value_is_checked_once(tmp_path, monkeypatch):
    checked = []
    parse_cell = rating_columns.parse_cell
    monkeypatch.setattr(
        rating_columns,
        "parse_cell",
        lambda name, value: checked.append(name) or parse_cell(name, value),
    )
    sizes = []
    for n in (100, 1_000):
        checked.clear()
        rows = [ROW | {"unit": f"u{k}", "kind": None if k else "human"} for k in range(n)]
        read_ratings(written(tmp_path, rows))
        sizes.append(len(checked))
    assert sizes[0] == sizes[1] < 2 * len(COLUMNS)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"unit": " u"}, "space_around"),
        ({"unit": "u\u200b"}, "unprintable_character"),
        ({"rater": ""}, "empty"),
        ({"kind": "robot"}, "unknown_value"),
        ({"nonresponse": "tired", "label": None}, "unknown_value"),
        ({"nonresponse": "broken"}, "label_with_nonresponse"),
        ({"separability": float("nan")}, "not_finite"),
        ({"separability": 0.5, "unit": "u"}, "contradiction"),
        ({"instance": "i\0"}, "unstorable_character"),
        ({"created_at": "yesterday"}, "not_a_time"),
        ({"probabilities": '{"1": 0.7}'}, "not_probabilities"),
        ({"created_at": "2026-03-01T14:05:09.1234567Z"}, "not_a_time"),
    ],
)
def test_a_bad_cell_is_named_with_its_line(change, code, tmp_path):
    changed = ROW | {"unit": "w", "rater": "t"} | change
    with refused_file(("r.parquet", 2, code)):
        read_ratings(written(tmp_path, [ROW, changed]))


@pytest.mark.parametrize("value", [-1.0, 0.5, 2.0**54])
def test_a_number_that_is_not_whole_is_named(value, tmp_path):
    with refused_file(("r.parquet", 1, "not_a_whole_number")):
        read_ratings(written(tmp_path, [ROW | {"duration_ms": value}]))


@pytest.mark.thorough
def test_a_cell_that_repeats_is_kept_once(tmp_path):
    rows = [ROW | {"rater": f"r{k}", "text_a": "x" * 500_000} for k in range(400)]
    table = read_ratings(written(tmp_path, rows))
    column = table.columns["text_a"]
    assert isinstance(column, CodedColumn)
    assert column.stored.nbytes < 10**6
    assert column.codes.nbytes == 400


def test_the_digest_orders_lines_as_texts():
    texts = ["a", 'a"', "a1", "a b", "ä", "A", "a\\"]
    rows = [{"unit": unit, "rater": rater, "label": 1} for unit in texts for rater in texts]
    lines = sorted(
        json.dumps(
            [row["unit"], row["rater"], "preference", "human", "", "", "1", ""], ensure_ascii=False
        )
        for row in rows
    )
    expected = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert canonical_digest(RatingTable.from_rows(rows)) == expected


def test_texts_are_ranked_as_sorting_them_would():
    values = ["b", "a", "ö", "z", "B"]
    codes = np.array([3, 0, 2, 0, 4])
    for column in (CodedColumn.of([*values, "a"]), CodedColumn.from_codes(codes, pa.array(values))):
        names, codes = np.unique(column.values.astype(str), return_inverse=True)
        ranked = column.ranked()
        assert ranked[0].tolist() == names.tolist()
        assert ranked[1].tolist() == codes.tolist()


def test_a_combined_code_is_equal_for_equal_rows_only():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**31, (50, 4)).repeat(2, axis=0)
    key = combined(rows.T)
    assert len(np.unique(key)) == 50
    assert (key[::2] == key[1::2]).all()


def test_nothing_is_written_into_an_array_that_is_not_the_column():
    table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1}])
    with pytest.raises(ValueError, match="read-only"):
        table["label"][0] = 2
    assert table["label"].tolist() == [1]


@pytest.mark.parametrize("split", [0, 1, 3])
def test_joined_tables_are_those_of_all_rows(split, tmp_path):
    first = read_ratings(written(tmp_path, ROWS[:1]))  # most columns are constants
    rest = RatingTable.from_rows(ROWS[1:])
    halves = rest.select(np.arange(split)), rest.select(np.arange(split, len(rest)))
    joined = first.joined(halves[0]).joined(halves[1])
    expected = RatingTable.from_rows(ROWS)
    for name in COLUMNS:
        np.testing.assert_array_equal(joined[name], expected[name], err_msg=name)
        distinct = joined.coded(name).distinct.tolist()
        assert len(distinct) == len({(type(value), value) for value in distinct})
    assert canonical_digest(joined) == canonical_digest(expected)


@pytest.mark.parametrize("label", [None, "", "  "])
def test_empty_labels_of_annotators_are_left_out_with_their_lines(label, tmp_path):
    changed = ROW | {"unit": "w", "label": label}
    assert read_ratings(written(tmp_path, [ROW, changed])).unlabelled == (2,)
    with refused_file(("r.parquet", None, "no_ratings")):
        read_ratings(written(tmp_path, [changed]))


def test_spaces_around_names_and_labels_are_cut(tmp_path):
    rows = [
        ROW | {"label": " yes", "criterion": "style "},
        ROW | {"rater": "s", "label": "yes\u00a0"},
    ]
    table = read_ratings(written(tmp_path, rows))
    assert set(table["label"]) == {"yes"}
    assert set(table["criterion"]) == {"style", "preference"}


@pytest.mark.parametrize("label", ["9007199254740993", "-9007199254740993.0", 2**53 + 1, 1e17])
def test_labels_that_floats_would_merge_are_refused(label, tmp_path):
    with refused_file(("r.parquet", 1, "number_too_large")):
        read_ratings(written(tmp_path, [ROW | {"label": label}]))


def test_an_infinite_label_that_is_in_no_file_is_refused():
    with refused_file(("rows", 1, "number_too_large")):
        RatingTable.from_rows([ROW | {"label": float("inf")}], name="rows")

"""Which column holds what: guessed, and corrected by hand."""

from pathlib import Path

import pytest

from tests.refusals import refused
from tests.tiebreak.formats.tables.cases import CASES, delimited, words
from tiebreak.formats.tables import TableReading, TableSummary, open_table


def summary_of(path: Path, **choice) -> TableSummary:
    with open_table(path) as table:
        reading = TableReading(table, **choice)
        for _ in reading.rows():
            pass
        return reading.summary()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_guessed_without_a_correction(name, tmp_path):
    case = CASES[name]
    summary = summary_of(written(tmp_path / name, case.content))
    assert not summary.problems
    assert (summary.plan.layout, dict(summary.plan.columns)) == (case.layout, case.columns)
    assert (summary.instances, summary.generations) == (case.instances, case.generations)


def wide(tmp_path):
    rows = [
        {"id": i, "a": words(9), "b": words(9), "topic": "news", "note": words(5)} for i in range(8)
    ]
    return written(tmp_path / "t.csv", delimited(rows))


def test_a_chosen_column_is_not_guessed_and_the_others_are(tmp_path):
    summary = summary_of(
        wide(tmp_path), columns={"source": "note", "text:old": "a", "text:new": "b"}
    )
    assert summary.systems == ("old", "new")
    assert dict(summary.plan.columns) == {
        "source": "note",
        "text:old": "a",
        "text:new": "b",
        "instance": "id",
    }


def test_of_a_complete_choice_nothing_is_guessed(tmp_path):
    columns = {"text:old": "a", "text:new": "b"}
    summary = summary_of(wide(tmp_path), columns=columns, is_complete=True)
    assert dict(summary.plan.columns) == columns


def test_a_layout_can_be_chosen(tmp_path):
    rows = [{"item": i, "model": m, "answer": words(9)} for i in range(4) for m in "pq"]
    path = written(tmp_path / "t.csv", delimited(rows))
    assert summary_of(path).plan.layout == "long"
    summary = summary_of(path, layout="wide")
    assert summary.plan.layout == "wide"
    assert summary.systems == ("answer",)


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"layout": "round"}, "unknown_layout"),
        ({"columns": {"author": "a"}}, "unknown_role"),
        ({"columns": {"text:": "a"}}, "unknown_role"),
        ({"columns": {"source": "c"}}, "unknown_column"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(choice, code, tmp_path):
    with refused(code):
        summary_of(wide(tmp_path), **choice)


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"system": "topic"}, "no_text"),
        ({"text": "a"}, "no_system"),
        ({"text": "a", "system": "topic"}, "no_instance"),
        ({"source": "a"}, "no_text"),
        ({"text_a": "a", "system_a": "id"}, "half_a_pair"),
    ],
)
def test_roles_that_are_missing_are_named(columns, code, tmp_path):
    layout = "long" if {"system", "text"} & columns.keys() else None
    summary = summary_of(wide(tmp_path), layout=layout, columns=columns, is_complete=True)
    assert [problem.code for problem in summary.problems] == [code]
    assert not summary.is_usable


def test_a_table_of_votes_alone_has_no_texts(tmp_path):
    rows = [
        {"question_id": i, "model_a": "p", "model_b": "q", "winner": "model_a"} for i in range(9)
    ]
    summary = summary_of(written(tmp_path / "t.csv", delimited(rows)))
    assert [problem.code for problem in summary.problems] == ["no_text"]

"""A single changed rating or exclusion is detected and named."""

import json
from pathlib import Path

import pytest

from tests.tiebreak.test_cli import run
from tiebreak.formats import RatingTable
from tiebreak.formats.comparison import compare_ratings
from tiebreak.formats.ratings import canonical_digest

ROWS = [
    {"unit": f"u{u}", "rater": f"r{r}", "label": (u + r) % 3 - 1, "duration_ms": 5}
    for u in range(3)
    for r in range(2)
]


def table(rows: list[dict]) -> RatingTable:
    return RatingTable.from_rows(rows)


def changed(at: int, **values) -> list[dict]:
    return [row | values if n == at else row for n, row in enumerate(ROWS)]


def test_the_same_ratings_in_another_order_do_not_differ():
    assert compare_ratings(table(ROWS), table(ROWS[::-1])) == ()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"label": 1}, {"label": ("-1", "1")}),
        (
            {"label": None, "nonresponse": "broken", "reason": "no text"},
            {
                "label": ("-1", "none"),
                "nonresponse": ("none", "broken"),
                "reason": ("none", "no text"),
            },
        ),
        (
            {"excluded": True, "excluded_reason": "speed"},
            {"excluded": ("False", "True"), "excluded_reason": ("none", "speed")},
        ),
    ],
)
def test_one_change_is_named(values, expected):
    first, second = table(ROWS), table(changed(0, **values))
    (difference,) = compare_ratings(first, second)
    assert difference.changes == expected
    assert (difference.rating["unit"], difference.rating["rater"]) == ("u0", "r0")
    assert (difference.kind, difference.lines) == ("changed", (1, 1))
    assert canonical_digest(first) != canonical_digest(second)


def test_a_missing_and_an_additional_rating_are_named():
    (removed,) = compare_ratings(table(ROWS), table(ROWS[1:]))
    (added,) = compare_ratings(table(ROWS[1:]), table(ROWS))
    assert (removed.kind, removed.lines) == ("removed", (1, None))
    assert (added.kind, added.lines) == ("added", (None, 1))


def test_a_corrected_answer_is_one_change_and_one_addition():
    corrected = [*changed(0, superseded=True), ROWS[0] | {"label": 1}]
    kinds = {d.kind: d.changes for d in compare_ratings(table(ROWS), table(corrected))}
    assert kinds.keys() == {"changed", "added"}


def test_times_are_not_compared():
    assert compare_ratings(table(ROWS), table(changed(0, duration_ms=99))) == ()


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_names_the_ratings(tmp_path, capsys):
    first = write(tmp_path / "a.jsonl", ROWS)
    second = write(tmp_path / "b.jsonl", changed(3, label=0))
    assert run("compare", first, second) == 0
    text = capsys.readouterr().out
    assert "unit u1, rater r1" in text
    assert "label: 1 → 0" in text
    assert run("compare", first, second, "--json", "--limit", "0") == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["n_differences"], counts["differences"]) == (1, [])
    assert len(set(counts["rows_sha256"])) == 2
    assert run("compare", first, first, "--json") == 0
    assert json.loads(capsys.readouterr().out)["is_same"]


def test_a_file_that_is_no_file_is_refused(tmp_path, capsys):
    assert run("compare", tmp_path / "none", tmp_path / "none") == 1
    assert "none" in capsys.readouterr().err


def test_of_two_equal_rows_one_can_be_missing():
    superseded = [ROWS[0] | {"superseded": True}] * 2
    (removed,) = compare_ratings(table([*superseded, *ROWS]), table([superseded[0], *ROWS]))
    assert removed.kind == "removed"

"""Equal problems of a file are said once, in this process and from another."""

import pytest

from tests.refusals import refused
from tiebreak.formats.confined import LINES, read_confined
from tiebreak.formats.errors import FormatError, Problems
from tiebreak.formats.ratings import read_ratings


def problems() -> Problems:
    found = Problems()
    for line in range(2, 82):
        found.add("r.csv", line, "column_missing", f"the column of “r{line}” is missing")
    found.add("r.csv", 90, "column_missing", "the column unit is missing")
    found.add("r.csv", None, "empty", "is empty")
    return found


def kinds(error: FormatError) -> list[tuple[int, list[int]]]:
    return [(kind.count, kind.lines) for kind in error.kinds]


def test_problems_that_differ_in_what_they_quote_are_equal():
    with pytest.raises(FormatError) as refusal:
        problems().check()
    error = refusal.value
    assert kinds(error) == [(80, [2, 3, 4, 5, 6]), (1, [90]), (1, [])]
    assert (len(error.problems), error.total, len(error.message.splitlines())) == (50, 82, 3)
    assert kinds(FormatError.from_json(error.as_json())) == kinds(error)
    gathered = Problems()
    gathered.extend(error)
    gathered.add("r.csv", 99, "empty", "is empty")
    assert [kind.count for kind in gathered.kinds] == [80, 1, 2]


def test_a_column_that_every_line_lacks_is_said_once(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("item,r1,r2\n" + "1,2,3\n" * 12)
    with refused("bad_file") as refusal:
        read_ratings(path)
    assert kinds(refusal.value)[0] == (12, [2, 3, 4, 5, 6])
    assert len(refusal.value.message.splitlines()) == 1
    assert read_confined(LINES, path).size == path.stat().st_size

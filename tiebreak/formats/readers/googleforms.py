"""Responses of Google Forms: the first column has the time of the response, the others a question each.

The columns of a grid end in the name of its row, in square brackets.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError
from tiebreak.formats.rating_names import asked_of_things
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import table_rows
from tiebreak.formats.readers.questionnaires import Column, add_responses
from tiebreak.formats.readers.recognition import Head, Reader

# What the column of times is called in English and French.
TIMES = ("Timestamp", "Horodateur")
# Who the respondent is, and the points of a quiz.
PERSONAL = ("Email Address", "Email address", "Username", "Score", "Total score")
_GRID = re.compile(r"(.*\S)\s*\[(.+)\]", re.DOTALL)
_TIME = re.compile(r"\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T,].*\d:\d\d.*")


def read_googleforms(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read responses; respondents are numbered, because their addresses are not kept."""
    answers = Answers("Imported from Google Forms", ", ".join(path.name for path in paths))
    n = 0
    for path in paths:
        rows = [row for _, _, row in table_rows([path])]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names or names.pop(0) not in TIMES:
            reason = f"does not begin with a column of times, called {' or '.join(TIMES)}"
            raise FormatError.of(path.name, None, "other_layout", reason)
        for name in PERSONAL:
            answers.left_out[f"column {name}"] += sum(row.get(name) is not None for row in rows)
        names = [name for name in names if name not in PERSONAL]
        things = asked_of_things(name for name in names if not _GRID.fullmatch(name))
        columns = [_column(name, *things.get(name, ("", name))) for name in names]
        raters = (f"{path.stem}-{number}" for number in range(1, len(rows) + 1))
        add_responses(answers, columns, zip(raters, rows, strict=True))
        n += len(rows)
    return answers.converted(f"These are responses of Google Forms: {counted(n, 'response')}.")


def _column(name: str, thing: str, question: str) -> Column:
    grid = _GRID.fullmatch(name)
    return Column(name, grid[1], item=grid[2]) if grid else Column(name, question, item=thing)


def _knows(head: Head) -> bool:
    """Whether the first column has times, and others are called by questions rather than names."""
    if not head.columns or head.columns[0] not in TIMES:
        return False
    times = [str(row.get(head.columns[0])) for row in head.rows]
    questions = [n for n in head.columns[1:] if n.endswith(("?", "]")) or len(n.split()) > 3]
    return bool(questions) and all(_TIME.fullmatch(time.replace("T", " ")) for time in times)


READER: Reader = Reader(read_googleforms, _knows)

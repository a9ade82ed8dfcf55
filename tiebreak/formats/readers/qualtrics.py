"""Exports of Qualtrics: three rows of headers, with the names, the words and the ids of the columns.

Questions have ids that begin with QID, behind the number of the round in a loop. Other columns are about the response, such as ResponseId, or
are embedded data.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError
from tiebreak.formats.readers.answers import Answers
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.questionnaires import Column, add_responses
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import TableProblems, open_table

IMPORT_ID = '{"ImportId":'
PREVIEWS = ("Survey Preview", "1")
# Ids of what is no answer: texts, clicks and times, and the order in which choices were shown.
_QUESTION = re.compile(r"(?:(\d+)_)?QID\d+.*")
_NO_ANSWER = re.compile(
    r".*_(TEXT|FIRST_CLICK|LAST_CLICK|PAGE_SUBMIT|CLICK_COUNT|DO.*|Id|Name|Size|Type)"
)


def read_qualtrics(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read responses; the rows of headers name questions, and are never answers or texts."""
    answers = Answers("Imported from Qualtrics", ", ".join(path.name for path in paths))
    n = unfinished = 0
    for path in paths:
        header, rows = _split(path)
        columns = [column for column in map(_column, *zip(*header, strict=True)) if column]
        for name, _, key in header:
            if _NO_ANSWER.fullmatch(key) and _QUESTION.fullmatch(key):
                what = f"answers of {name}, which are free text or times"
                answers.left_out[what] += sum(row.get(name) is not None for row in rows)
        n += len(rows)
        unfinished += sum(str(row.get("Finished")).lower() in ("false", "0") for row in rows)
        previews = sum(str(row.get("Status")) in PREVIEWS for row in rows)
        answers.left_out["previews of the survey"] += previews
        add_responses(answers, columns, _responses(rows, path))
    about = f"This is an export of Qualtrics: {counted(n, 'response')}"
    return answers.converted(f"{about}, {unfinished} of them unfinished.")


def _split(path: Path) -> tuple[list[tuple[str, str, str]], list[Row]]:
    """Return name, words and id of each column, and the responses."""
    problems = TableProblems()
    with open_table(path) as table:
        rows = [row for _, row in table.readers[0](table.files[0], problems)]
    at = next((i for i, row in enumerate(rows[:3]) if _are_ids(row)), None)
    if at is None or problems.items:
        reason = str(problems.items[0]) if problems.items else "has no row of ids below its header"
        raise FormatError.of(path.name, None, "other_layout", f"{reason} ({IMPORT_ID}…)")
    words = rows[0] if at else {}
    ids = {name: json.loads(str(cell))["ImportId"] for name, cell in rows[at].items() if cell}
    header = [(name, str(words.get(name) or ""), str(key)) for name, key in ids.items()]
    return header, rows[at + 1 :]


def _are_ids(row: Row) -> bool:
    cells = [str(cell) for cell in row.values() if cell]
    return bool(cells) and all(cell.startswith(IMPORT_ID) for cell in cells)


def _column(name: str, words: str, key: str) -> Column | None:
    """Return a question, and the thing it is asked of: a line of a matrix, or a round of a loop.

    A line's words are behind the last dash.
    """
    match = _QUESTION.fullmatch(key)
    if match is None or _NO_ANSWER.fullmatch(key):
        return None
    round_ = match[1] or ""
    own = name.removeprefix(f"{round_}_")
    stem, _, part = own.rpartition("_")
    if not (stem and part.isdigit()):
        return Column(name, own, words, round_)
    question, dash, line = words.rpartition(" - ")
    line = line if dash else own
    return Column(name, stem, question or words, f"{round_}: {line}" if round_ else line)


def _responses(rows: Sequence[Row], path: Path) -> Iterator[tuple[str, Row]]:
    for number, row in enumerate(rows, start=1):
        if str(row.get("Status")) not in PREVIEWS:
            yield str(row.get("ResponseId") or f"{path.stem}-{number}"), row


READER: Reader = Reader(read_qualtrics, lambda head: any(map(_are_ids, head.rows[:3])))

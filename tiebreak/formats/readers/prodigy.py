"""Annotations of Prodigy: a line for each task and annotator, as `prodigy db-out` writes them.

Choices are the ids of options in `accept`; without options, a task asks whether its label fits.
"""

from collections.abc import Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats.readers.answers import CHOSEN, Answers
from tiebreak.formats.readers.converted import Converted, cell, rows_of
from tiebreak.formats.readers.recognition import Head, Reader
from tiebreak.formats.rows import Row

CHOICE = "choice"
DECIDED = {"reject": CHOSEN[0], "accept": CHOSEN[1]}


def read_prodigy(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read annotations of choices and of single labels. `systems` is ignored."""
    answers = Answers("Imported from Prodigy", ", ".join(path.name for path in paths))
    n = 0
    for path in paths:
        for line, row in rows_of(path):
            n += 1
            unit = answers.item(
                str(cell(row, "_task_hash", path, line)), str(row.get("text") or "")
            )
            rater = row.get("_annotator_id") or row.get("_session_id") or path.stem
            facts = {"unit": unit, "instance": unit, "rater": answers.rater(rater)}
            question, answer = _answer(row)
            answers.add(question, answer, **facts)
    return answers.converted(f"This is an export of Prodigy: {counted(n, 'annotation')}.")


def _answer(row: Row) -> tuple[str, tuple[str, ...] | None]:
    """Return the question and what was chosen; nothing was, if the task was ignored or rejected."""
    if not row.get("options"):
        decided = DECIDED.get(str(row.get("answer")))
        return str(row.get("label") or CHOICE), (decided,) if decided else None
    chosen = tuple(str(option) for option in row.get("accept") or ())
    return CHOICE, chosen if chosen and row.get("answer") == "accept" else None


def _knows(head: Head) -> bool:
    has_question = head.any_begins("options") or (
        head.has("label") and not head.any_begins("spans")
    )
    return head.has("_task_hash", "answer") and has_question


READER: Reader = Reader(read_prodigy, _knows)

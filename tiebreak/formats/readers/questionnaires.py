"""What the readers of questionnaires share: a row for each respondent, a column for each question.

A question that is asked of several things has a column for each: its things are the units, and the
question is the criterion. Other questions are criteria of the questionnaire as a whole.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiebreak.formats.readers.answers import Answers, as_text
from tiebreak.formats.readers.converted import labels_of
from tiebreak.formats.rows import Row
from tiebreak.scales import Scale

WHOLE = "questionnaire"
MAX_POINTS = 11
PARTIAL = "unfinished responses, flagged partial"


@dataclass(frozen=True)
class Column:
    """A column with answers: its question's name and words, and the thing that it is asked of."""

    name: str
    question: str
    words: str = ""
    item: str = ""


def add_responses(
    answers: Answers,
    columns: Sequence[Column],
    responses: Iterable[tuple[str, Row, Mapping[str, bool]]],
) -> None:
    """Add the answers of respondents, each with their name and the flags of their ratings."""
    rows = list(responses)
    asked = Counter(column.question for column in columns)
    for column in columns:
        given = [
            as_text(row[column.name]) for _, row, _ in rows if row.get(column.name) is not None
        ]
        reason = _reason(column, given, asked[column.question] > 1)
        if reason:
            answers.left_out[f"answers of {column.question}, {reason}"] += len(given)
            continue
        if column.words:
            answers.questions[column.question] = column.words
        key = answers.item(column.item or WHOLE)
        for rater, row, flags in rows:
            facts: Row = {"unit": key, "instance": key, "rater": answers.rater(rater), **flags}
            answers.add(column.question, row.get(column.name), **facts)


def _reason(column: Column, given: Sequence[str], is_grid: bool) -> str:
    """Return why answers are no ratings, or "": ratings are of several things, or have few points."""
    if not given:
        return "which are empty"
    read = labels_of(given, column.question)
    if is_grid and "free text" not in read.note:
        return ""  # each of its columns may have one answer only
    if not read.scale:
        return read.note
    points = Scale.parse(read.scale).labels
    if points is None or len(points) > MAX_POINTS:
        return f"which have more than {MAX_POINTS} points"
    return "which have no order" if read.scale.startswith("nominal") else ""

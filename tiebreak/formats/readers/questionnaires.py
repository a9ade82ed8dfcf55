"""What the readers of questionnaires share: a row for each respondent, a column for each question.

A question that is asked of several things has a column for each: its things are the units, and the
question is the criterion. Other questions are criteria of the questionnaire as a whole.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tiebreak.formats.rating_names import is_criterion, stem_of
from tiebreak.formats.readers.answers import Answers, as_name, as_text
from tiebreak.formats.readers.converted import labels_of
from tiebreak.formats.rows import Row
from tiebreak.scales import Scale

WHOLE = "questionnaire"
MAX_POINTS = 11


@dataclass(frozen=True)
class Column:
    """A column with answers: its question's name and words, and the thing that it is asked of."""

    name: str
    question: str
    words: str = ""
    item: str = ""


def add_responses(
    answers: Answers, columns: Sequence[Column], responses: Iterable[tuple[str, Row]]
) -> None:
    """Add the answers of respondents, each with their name."""
    rows = list(responses)
    columns = _turned(list(_joined(columns)))
    asked = Counter(column.question for column in columns)
    choices: dict[str, set[str]] = defaultdict(set)
    for column in columns:
        cells = [(rater, row.get(column.name)) for rater, row in rows]
        given = [as_text(cell) for _, cell in cells if cell is not None]
        reason = _reason(column, given, asked[column.question] > 1)
        if reason:
            answers.left_out[f"answers of {column.question}, {reason}"] += len(given)
            continue
        if column.words:
            answers.questions[column.question] = column.words
        if column.item:
            choices[column.question].update(given)
        key = answers.item(column.item or WHOLE)
        for rater, cell in cells:
            facts = {"unit": key, "instance": key, "rater": answers.rater(rater)}
            answers.add(column.question, cell, **facts)
    # What all chose in one question of a grid is one of several choices in another.
    for question, own in choices.items():
        if more := next(
            (of_all for of_all in choices.values() if len(own) == 1 and own < of_all), None
        ):
            scale = labels_of(sorted(more), question, were_offered=True).scale
            answers.scales.setdefault(as_name(question), scale)


def _joined(columns: Sequence[Column]) -> Iterator[Column]:
    """Yield the columns; those with the same words are one question, asked of several things.

    Such as R1Q1 and R2Q1: what their names end in is the question, what they begin with the thing.
    Questions of a line each, such as sliders, have their lines as things.
    """
    same: dict[str, list[Column]] = {}
    for column in columns:
        if column.words:
            same.setdefault(column.words, []).append(column)
    for column in columns:
        alike = same.get(column.words, [])
        names = list(dict.fromkeys(one.question for one in alike))
        lines = {one.item for one in alike}
        if len(names) < 2 or (column.item and len(lines) < len(alike)):
            yield column
        elif column.item:
            yield replace(column, question=as_name(column.words))
        else:
            ending = re.search(r"[^\W\d]\w*$", _common_ending(names))
            question = ending[0] if ending and ending[0] not in names else as_name(column.words)
            yield replace(column, question=question, item=column.question.removesuffix(question))


def _turned(columns: Sequence[Column]) -> list[Column]:
    """Return the columns with things as items, also where a grid is about a thing and has criteria as lines.

    Such as `Summary 1 [Fluency]`, or a text over several lines and `[Which sentence is better?]`.
    """
    grids = [column for column in columns if column.item]
    things, lines = {c.question for c in grids}, {c.item for c in grids}
    is_about_things = len(things) > 1 and len({stem_of(thing) or thing for thing in things}) == 1
    has_criteria = any(map(is_criterion, lines)) and not any(map(is_criterion, things))
    are_asked = all(line.endswith("?") for line in lines) and all("\n" in t for t in things)
    if not (is_about_things and has_criteria) and not (len(things) > 1 and are_asked):
        return [*columns]
    return [replace(c, question=c.item, item=c.question) if c.item else c for c in columns]


def _common_ending(names: Sequence[str]) -> str:
    letters = zip(*(name[::-1] for name in names), strict=False)
    return "".join(same[0] for same in takewhile(lambda at: len({*at}) == 1, letters))[::-1]


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

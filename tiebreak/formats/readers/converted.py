"""The result that all readers return, and functions that several readers share."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats import (
    FormatError,
    GenerationRow,
    InstanceRow,
    StudySpec,
    write_bundle,
    write_rows,
)
from tiebreak.formats.cells import check_cells, parse_json
from tiebreak.formats.errors import Problems
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rows import Row, read_rows
from tiebreak.formats.tables.nesting import answer_of, is_conversation, text_of
from tiebreak.formats.tables.problems import BadCell
from tiebreak.missing_labels import MISSING, is_missing
from tiebreak.scales import Scale, infer_scale

MAX_CHOICES, MAX_CHOICE_LENGTH = 20, 60
# Sets of words whose order is unmistakable, from the lowest to the highest.
ORDERED_WORDS = tuple(
    tuple(words.split(" < "))
    for words in (
        "strongly disagree < disagree < neutral < agree < strongly agree",
        "strongly disagree < disagree < neither agree nor disagree < agree < strongly agree",
        "strongly disagree < somewhat disagree < neither agree nor disagree < somewhat agree"
        " < strongly agree",
        "strongly disagree < disagree < somewhat disagree < neither agree nor disagree"
        " < somewhat agree < agree < strongly agree",
        "low < medium < high",
        "very low < low < medium < high < very high",
        "never < rarely < sometimes < often < always",
        "very bad < bad < neutral < good < very good",
        "very poor < poor < fair < good < very good",
        "poor < fair < good < very good < excellent",
        "not at all < slightly < moderately < very < extremely",
        "very difficult < difficult < neutral < easy < very easy",
    )
)
# "1 - Strongly disagree", "1: bad", "1 = bad".
_NUMBERED = re.compile(r"(-?\d{1,3})\s*[-–—:=.()]\s*(\D.*)", re.DOTALL)
_NO_CHOICE = re.compile(r"[\[{]|https?:|\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{4}")


@dataclass(frozen=True)
class Converted:
    """A published study: the parts of a bundle, with ratings.

    A rating may also have `line`, its place in its file, which is not written. `left_out` counts what
    of the files is in none of the parts, or does not count, by its kind. `about` says in a sentence
    what kind of file it was.
    """

    spec: StudySpec
    instances: list[InstanceRow]
    generations: list[GenerationRow]
    ratings: list[Row]
    left_out: Mapping[str, int] = field(default_factory=dict)
    about: str = ""

    def write(self, path: Path) -> None:
        """Write a ratings file, or a bundle folder if the path has no ending of ratings files."""
        present = {name for row in self.ratings for name in row}
        columns = [name for name in COLUMNS if name in present]
        if path.suffix in {".jsonl", ".csv", ".parquet"}:
            write_rows(path, self.ratings, columns)
            return
        write_bundle(
            path,
            self.spec,
            self.instances,
            self.generations,
            extra=lambda folder: write_rows(folder / "ratings.jsonl", self.ratings, columns),
        )


@dataclass(frozen=True)
class Labels:
    """A scale, the label of each answer that is one, and what a reader of the result should know."""

    scale: str = ""
    labels: Mapping[str, int | float | str] = field(default_factory=dict)
    note: str = ""


def labels_of(
    answers: Sequence[str], name: str, *, scale: str = "", were_offered: bool = False
) -> Labels:
    """Return the labels that answers are, or no scale and a note on what they are instead."""
    distinct = [text for text in dict.fromkeys(answers) if not is_missing(text)]
    if not all(map(_number, distinct)):  # among words, None and a dash may be labels
        distinct = [t for t in dict.fromkeys(answers) if t.casefold() not in MISSING]
    if scale:
        return Labels(scale, {text: Scale.parse(scale).parse_label(text) for text in distinct})
    read = _numbers(distinct, name) or _ordered_words(distinct, name)
    if read:
        return read
    if len(distinct) < 2 < len(answers):
        return Labels(note="which are all the same and no number")
    if not were_offered and not _are_choices(distinct, len(answers)):
        return Labels(note="which are free text")
    names = {text: " ".join(text.replace(",", ";").split()) for text in distinct}
    return Labels("nominal:" + ",".join(sorted({*names.values()})), names)


def _numbers(distinct: Sequence[str], name: str) -> Labels | None:
    """Return labels that are numbers, or are numbered as in "1 - Strongly disagree"."""
    matches = {text: None if _number(text) else _NUMBERED.fullmatch(text) for text in distinct}
    points = {text: match[1] if match else text for text, match in matches.items()}
    worded = [text for text, match in matches.items() if match]
    is_clear = not worded or len({*points.values()}) == len(points) > 1
    if not (points and is_clear and all(map(_number, points.values()))):
        return None
    read = infer_scale(points.values(), name)
    if read.labels is None and not all(0 <= float(point) <= 100 for point in points.values()):
        return Labels(note="which are numbers beyond 0 to 100")
    note = f"Answers of {name} such as “{worded[0]}” are their number." if worded else ""
    return Labels(read.spec, {t: read.parse_label(point) for t, point in points.items()}, note)


def _ordered_words(distinct: Sequence[str], name: str) -> Labels | None:
    words = {text: " ".join(text.casefold().split()) for text in distinct}
    order = next((order for order in ORDERED_WORDS if {*words.values()} <= {*order}), ())
    # Two single words, such as good and bad, may be all there was to choose from.
    if not order or not (len(distinct) > 2 or any(" " in word for word in words.values())):
        return None
    note = f"The answers {', '.join(order)} are the points 1 to {len(order)} of {name}."
    labels = {text: order.index(word) + 1 for text, word in words.items()}
    return Labels(f"ordinal:1..{len(order)}", labels, note)


def _are_choices(distinct: Sequence[str], n: int) -> bool:
    """Whether texts are few, short and repeated, as those are that were offered as choices."""
    are_short = all(len(t) <= MAX_CHOICE_LENGTH and not _NO_CHOICE.match(t) for t in distinct)
    return are_short and len(distinct) <= min(MAX_CHOICES, max(5, n / 4), n - 1)


def _number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", text) is not None


def files_of(paths: Sequence[Path], pattern: str) -> list[Path]:
    """Return the files, with each folder replaced with the files in it that match the pattern."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob(pattern)) if path.is_dir() else [path]
    if not files:
        names = ", ".join(path.name for path in paths)
        raise FormatError.of(names, None, "no_file_fits", f"has no files that match {pattern}")
    return files


def load_json(path: Path) -> Any:
    try:
        return parse_json(path.read_bytes())
    except InvalidInput as error:
        raise FormatError.of(path.name, None, error.code, error.message) from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise FormatError.of(path.name, None, "unreadable_file", reason) from error


def rows_of(path: Path) -> list[tuple[int, Row]]:
    """Return the rows of a .csv, .jsonl or .json file, with their lines or numbers."""
    if path.suffix == ".json":
        return list(enumerate(load_list(path), start=1))
    problems = Problems()
    if not path.is_file():
        raise FormatError.of(path.name, None, "no_such_file", "does not exist")
    rows = list(read_rows(path, problems))
    problems.check()
    return rows


def load_list(path: Path) -> list[Row]:
    rows = load_json(path)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise FormatError.of(path.name, None, "not_a_list", "is not a list of objects")
    problems = Problems()
    for number, row in enumerate(rows, start=1):
        with problems.at(path.name, number):
            check_cells(row)
    problems.check()
    return rows


def text_cell(row: Row, name: str, path: Path, line: int) -> str:
    """Return the text of a required column; raise `FormatError` for what is no text."""
    return checked_text(cell(row, name, path, line), name, path, line)


def checked_text(value: Any, name: str, path: Path, line: int) -> str:
    """Return a cell as text; raise `FormatError` for what is no text."""
    try:
        return answer_of(value) if is_conversation(value) else text_of(value)
    except BadCell as error:
        raise FormatError.of(path.name, line, error.code, f"{name}: {error.message}") from error


def cell(row: Row, name: str, path: Path, line: int) -> Any:
    """Return the value of a required column."""
    if name not in row or row[name] is None:
        reason = f"the column {name} is missing or empty"
        raise FormatError.of(path.name, line, "column_missing", reason)
    return row[name]

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
from tiebreak.formats.label_cells import rule_for
from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.rows import Row, read_rows
from tiebreak.formats.tables.nesting import answer_of, is_conversation, text_of
from tiebreak.formats.tables.problems import BadCell
from tiebreak.nonresponse import MISSING, is_missing
from tiebreak.scales import Scale, infer_scale, ordered_words

MAX_CHOICES, MAX_CHOICE_LENGTH = 20, 60
ALL_THE_SAME = "which are all the same and no number"
_NO_CHOICE = re.compile(r"[\[{]|https?:|\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{4}")

NO_RATINGS = "would be empty: the files have texts, but no ratings. Name a folder to write a bundle"


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
    missing: int = 0
    """Number of answers that were asked for and not given, where the others are ratings."""

    def write(self, path: Path) -> None:
        """Write a ratings file, or a bundle folder if the path has no ending of ratings files."""
        present = {name for row in self.ratings for name in row}
        columns = [name for name in COLUMNS if name in present]
        if path.suffix in {".jsonl", ".csv", ".parquet"}:
            if not self.ratings:
                raise FormatError.of(path.name, None, "no_ratings", NO_RATINGS)
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
    read = _on_a_scale(distinct, name)
    if read:
        return read
    if len(distinct) < 2 < len(answers):
        return Labels(note=ALL_THE_SAME)
    if not were_offered and not _are_choices(distinct, len(answers)):
        return Labels(note="which are free text")
    if len(distinct) < 2:
        return Labels(note=ALL_THE_SAME)
    names = {text: " ".join(text.replace(",", ";").split()) for text in distinct}
    return Labels("nominal:" + ",".join(sorted({*names.values()})), names)


def _on_a_scale(distinct: Sequence[str], name: str) -> Labels | None:
    """Return labels that are numbers, points with words, or words whose order is beyond doubt."""
    rule = rule_for(distinct)
    cells = {text: rule(text) for text in distinct}
    if distinct and all(_number(str(cell)) for cell in cells.values()):
        scale, note = infer_scale(cells.values(), name), rule.note
    elif words := ordered_words(distinct):
        scale = Scale.parse(f"ordinal:{','.join(words)}")
        note = f"The answers {', '.join(words)} are in this order."
    else:
        return None
    if scale.labels is None and not all(0 <= float(cell) <= 100 for cell in cells.values()):
        return Labels(note="which are numbers beyond 0 to 100")
    labels = {text: scale.parse_label(cell) for text, cell in cells.items()}
    return Labels(scale.spec, labels, f"{name}: {note}" if note else "")


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
        return parse_json(path.read_bytes(), is_table=True)
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

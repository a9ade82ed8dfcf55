"""The ratings table: one row a rating, read from JSONL, CSV, Parquet or the database."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.formats.errors import FormatError, Problem, Problems
from studies.formats.rows import MAX_CELL, Row, read_rows

SUFFIXES = (".jsonl", ".csv", ".parquet")
KINDS = ("human", "machine")
ROLES = ("main", "repeat", "gold", "training", "qualification")
EXCLUDING_FLAGS = ("surplus", "superseded", "partial", "late", "excluded")
FLAGS = (*EXCLUDING_FLAGS, "simulated")
INTEGERS = (
    "repeat",
    "sample_a",
    "sample_b",
    "position",
    "hit_position",
    "duration_ms",
    "study_version",
)
NUMBERS = (
    "separability",
    "separability_raw",
    "inclusion_probability",
    "chars_a",
    "chars_b",
)
TEXTS = (
    "criterion",
    "run",
    "order",
    "instance",
    "system_a",
    "system_b",
    "category",
    "similarity",
    "phase",
    "side_a",
    "layout",
    "created_at",
    "participation",
    "excluded_reason",
    "raw",
    "text_a",
    "text_b",
)
COLUMNS = ("unit", "rater", "label", "kind", "role", *TEXTS, *INTEGERS, *NUMBERS, *FLAGS)
ARROW_TYPES = (
    dict.fromkeys(INTEGERS, "int64")
    | dict.fromkeys(NUMBERS, "float64")
    | dict.fromkeys(FLAGS, "bool_")
)
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


@dataclass(frozen=True)
class RatingTable:
    """Ratings in columns, all of one length; texts are "" and numbers NaN where absent.

    `label` holds what the file said, None for an unparsed answer; the scale makes sense of it.
    `lines` are the lines of the file, or the count of rows where there is none.
    """

    columns: dict[str, NDArray[Any]]
    lines: NDArray[np.int64]
    name: str

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def select(self, mask: NDArray[Any]) -> "RatingTable":
        """The rows of a mask or an index."""
        columns = {name: column[mask] for name, column in self.columns.items()}
        return RatingTable(columns, self.lines[mask], self.name)

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Which rows enter the statistics: main, no repeat, no flag that takes them out."""
        flagged = np.zeros(len(self), dtype=bool)
        for flag in EXCLUDING_FLAGS:
            flagged |= self[flag]
        main = (self["role"] == "main") & (self["repeat"] == 0)
        return np.asarray(main & ~flagged, dtype=bool)

    @classmethod
    def from_rows(
        cls, rows: Iterable[Row], *, name: str = "ratings", problems: Problems | None = None
    ) -> "RatingTable":
        """A table of rows that are plain dicts, numbered from 1. Raises `FormatError`."""
        return _build(enumerate(rows, start=1), name, problems or Problems())


def is_ratings_file(path: Path) -> bool:
    return path.suffix in SUFFIXES


def read_ratings(path: Path, *, max_cell: int = MAX_CELL) -> RatingTable:
    """Read a ratings file. Every bad row is named with its line and reason in one `FormatError`."""
    if not path.is_file():
        raise FormatError([Problem(path.name, None, "there is no such file")])
    problems = Problems()
    return _build(read_rows(path, problems, max_cell), path.name, problems)


def canonical_digest(table: RatingTable) -> str:
    """A digest of the counted rows, equal however they were stored and in whatever order."""
    names = ("unit", "rater", "criterion", "kind", "run", "order", "label", "instance")
    rows = sorted(
        json.dumps([_plain(table[name][i]) for name in names], ensure_ascii=False)
        for i in np.flatnonzero(table.is_counted)
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _plain(value: Any) -> str | None:
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return None if value is None else str(value)


def _build(rows: Iterator[tuple[int, Row]] | Any, name: str, problems: Problems) -> RatingTable:
    parsed, lines = [], []
    for line, row in rows:
        with problems.at(name, line):
            parsed.append(_parse(row))
            lines.append(line)
    problems.check()
    columns = {
        column: np.array([row[column] for row in parsed], dtype=_dtype(column))
        for column in COLUMNS
    }
    table = RatingTable(columns, np.array(lines, dtype=np.int64), name)
    _refuse_duplicates(table, problems)
    _refuse_contradictions(table, problems)
    problems.check()
    return table


def _dtype(column: str) -> Any:
    if column in FLAGS:
        return bool
    return float if column in INTEGERS or column in NUMBERS else object


def _parse(row: Row) -> Row:
    """One row with every column present and typed, or `ValueError`."""
    if "sample_index" in row:
        row = {"sample_a": row["sample_index"], "sample_b": row["sample_index"]} | row
    parsed: Row = {"unit": _required(row, "unit"), "rater": _required(row, "rater")}
    parsed["kind"] = _one_of("kind", row.get("kind"), KINDS)
    parsed["role"] = _one_of("role", row.get("role"), ROLES)
    for column, parse in _PARSERS.items():
        parsed[column] = parse(column, row.get(column))
    parsed["criterion"] = parsed["criterion"] or "preference"
    parsed["repeat"] = 0.0 if math.isnan(parsed["repeat"]) else parsed["repeat"]
    parsed["label"] = _label(row, parsed)
    return parsed


def _label(row: Row, parsed: Row) -> Any:
    if "label" not in row:
        raise ValueError("the column label is missing")
    label = row["label"]
    if label is None and parsed["kind"] == "human":
        raise ValueError("a human's label may not be empty")
    if label is None and not parsed["raw"]:
        raise ValueError("a machine's empty label needs its answer in the column raw")
    if isinstance(label, float) and not math.isfinite(label):
        raise ValueError(f"label {label} is not a finite number")
    if isinstance(label, (dict, list, bool)):
        raise ValueError(f"label must be a number or a text, not {label!r}"[:200])
    return label


def _required(row: Row, column: str) -> str:
    value = row.get(column)
    if column not in row:
        raise ValueError(f"the column {column} is missing")
    return check_id(column, value)


def check_id(column: str, value: Any) -> str:
    """An id as text: not empty, at most 200 characters, none of them a control character."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"{column} must be a text, not {value!r}"[:200])
    text = str(value).strip()
    if not text:
        raise ValueError(f"{column} is empty")
    if len(text) > 200:
        raise ValueError(f"{column} has {len(text)} characters; at most 200 are allowed")
    if not text.isprintable():
        raise ValueError(f"{column} contains a control character")
    return text


def _one_of(column: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value in (None, ""):
        return allowed[0]
    if value not in allowed:
        raise ValueError(f"{column} must be one of {', '.join(allowed)}, not {value!r}"[:200])
    return str(value)


def _text(column: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise ValueError(f"{column} must be a text")
    return "" if value is None else str(value)


def _number(column: str, value: Any) -> float:
    if value is None or value == "":
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{column} must be a number, not {value!r}"[:200]) from None
    if not math.isfinite(number):
        raise ValueError(f"{column} must be finite, not {value!r}")
    return number


def _integer(column: str, value: Any) -> float:
    number = _number(column, value)
    if not math.isnan(number) and (number != int(number) or number < 0):
        raise ValueError(f"{column} must be a whole number from 0, not {value!r}")
    return number


def _flag(column: str, value: Any) -> bool:
    word = "" if value is None else str(value).strip().lower()
    if word not in _TRUE + _FALSE:
        raise ValueError(f"{column} must be true or false, not {value!r}"[:200])
    return word in _TRUE


def _probability(column: str, value: Any) -> float:
    number = _number(column, value)
    if not math.isnan(number) and not 0 < number <= 1:
        raise ValueError(f"{column} must lie above 0 and up to 1, not {value!r}")
    return number


_PARSERS: dict[str, Callable[[str, Any], Any]] = (
    dict.fromkeys(TEXTS, _text)
    | dict.fromkeys(INTEGERS, _integer)
    | dict.fromkeys(NUMBERS, _number)
    | dict.fromkeys(FLAGS, _flag)
    | {"inclusion_probability": _probability}
)


def _refuse_contradictions(table: RatingTable, problems: Problems) -> None:
    """A unit is of one instance and pair, and a rater of one kind, wherever rows say so."""
    for owner, fact in (
        ("unit", "instance"),
        ("unit", "system_a"),
        ("unit", "system_b"),
        ("rater", "kind"),
    ):
        seen: dict[str, str] = {}
        for key, value, line in zip(table[owner], table[fact], table.lines, strict=True):
            if value and seen.setdefault(key, value) != value:
                reason = f"{owner} {key} has {fact} {value}, and {seen[key]} in an earlier line"
                problems.add(table.name, int(line), reason)


def _refuse_duplicates(table: RatingTable, problems: Problems) -> None:
    """A second counted row with the same key would count a rater twice."""
    seen: dict[tuple[Any, ...], int] = {}
    keys = [table[name] for name in ("unit", "rater", "criterion", "run", "order")]
    for i in np.flatnonzero(table.is_counted):
        key = tuple(column[i] for column in keys)
        line = int(table.lines[i])
        first = seen.setdefault(key, line)
        if first != line:
            reason = (
                f"rater {key[1]} rates unit {key[0]} on {key[2]} again; line {first} does already."
                " Flag one of them superseded, or number the machine's passes in run."
            )
            problems.add(table.name, line, reason)

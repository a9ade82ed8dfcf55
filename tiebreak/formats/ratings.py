"""The ratings table: one row a rating, read from JSONL, CSV, Parquet or the database."""

import hashlib
import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import (
    COLUMNS,
    EXCLUDING_FLAGS,
    FLAGS,
    INTEGERS,
    NUMBERS,
    parse_rating,
)
from tiebreak.formats.rows import Row, read_rows

SUFFIXES = (".jsonl", ".csv", ".parquet")
# The phase of a unit where every instance was taken.
ALL_PHASES = "all"
# Texts up to here are kept in memory once, however many rows say them.
LONGEST_SHARED = 200
# What a unit is: the same in every row that says it.
UNIT_FACTS = (
    "instance",
    "system_a",
    "system_b",
    "sample_a",
    "sample_b",
    "phase",
    "inclusion_probability",
    "separability",
    "separability_raw",
    "similarity",
)
_FACTS = {
    "unit": (*UNIT_FACTS, "category"),
    "rater": ("kind",),
}


@dataclass(frozen=True)
class RatingTable:
    """Ratings in columns, all of one length; texts are "" and numbers NaN where absent.

    `label` holds what the file said, None for an unparsed answer; the scale makes sense of it.
    `lines` are the lines of the file, or the count of rows where there is none.
    """

    columns: dict[str, NDArray[Any]]
    lines: NDArray[np.int64]
    name: str
    # Columns of the file that nothing here reads.
    unread: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def select(self, mask: NDArray[Any]) -> "RatingTable":
        """The rows of a mask or an index."""
        columns = {name: column[mask] for name, column in self.columns.items()}
        return RatingTable(columns, self.lines[mask], self.name, self.unread)

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
        gathered = problems or Problems()
        table = _build(enumerate(rows, start=1), name, gathered)
        gathered.check()
        return table


def is_ratings_file(path: Path) -> bool:
    return path.suffix in SUFFIXES


def read_ratings(
    path: Path, *, limits: Limits = LIMITS, problems: Problems | None = None
) -> RatingTable:
    """Read a ratings file. Every bad row is named with its line and reason in one `FormatError`.

    Where `problems` are given they are added to and not raised, and the good rows are returned.
    """
    gathered = Problems() if problems is None else problems
    if path.is_file():
        table = _build(read_rows(path, gathered, limits), path.name, gathered)
    else:
        gathered.add(path.name, None, "no_such_file", "there is no such file")
        table = _build(iter(()), path.name, gathered)
    if problems is None:
        gathered.check()
    return table


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


@dataclass
class _Columns:
    """The table while it grows: numbers packed, and equal texts one text in memory."""

    values: dict[str, Any] = field(default_factory=lambda: {name: _store(name) for name in COLUMNS})
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    texts: dict[str, str] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def add(self, line: int, row: Row) -> None:
        parsed = parse_rating(row)
        self.lines.append(line)
        self.others.update(row.keys() - _READ)
        for name, column in self.values.items():
            value = parsed[name]
            column.append(self._shared(value) if type(value) is str else value)

    def _shared(self, text: str) -> str:
        return self.texts.setdefault(text, text) if len(text) <= LONGEST_SHARED else text

    def table(self, name: str) -> RatingTable:
        columns = {
            column: np.array(values, dtype=_dtype(column)) for column, values in self.values.items()
        }
        lines = np.array(self.lines, dtype=np.int64)
        return RatingTable(columns, lines, name, tuple(sorted(self.others)))


_READ = {*COLUMNS, "sample_index"}


def _store(column: str) -> Any:
    if column in FLAGS:
        return bytearray()
    return array("d") if column in INTEGERS or column in NUMBERS else []


def _build(rows: Iterable[tuple[int, Row]], name: str, problems: Problems) -> RatingTable:
    columns = _Columns()
    for line, row in rows:
        with problems.at(name, line):
            columns.add(line, row)
    table = columns.table(name)
    _refuse_duplicates(table, problems)
    _refuse_contradictions(table, problems)
    _refuse_unweighted(table, problems)
    return table


def _dtype(column: str) -> Any:
    if column in FLAGS:
        return bool
    return float if column in INTEGERS or column in NUMBERS else object


def _refuse_contradictions(table: RatingTable, problems: Problems) -> None:
    """A unit is of one instance and pair, and a rater of one kind, wherever rows say so."""
    for owner, facts in _FACTS.items():
        for fact in facts:
            column = table[fact]
            known = np.flatnonzero(is_known(column))
            seen: dict[str, Any] = {}
            for i in known:
                key, value = table[owner][i], column[i]
                if seen.setdefault(key, value) != value:
                    reason = f"{owner} {key} has {fact} {value}, and {seen[key]} in an earlier line"
                    problems.add(table.name, int(table.lines[i]), "contradiction", reason)


def is_known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells say anything."""
    known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    return np.asarray(known, dtype=bool)


def _refuse_unweighted(table: RatingTable, problems: Problems) -> None:
    """A unit whose instance was drawn is weighed by the probability that it was."""
    weighed = set(table["unit"][is_known(table["inclusion_probability"])])
    phase = table["phase"]
    for i in np.flatnonzero((phase != "") & (phase != ALL_PHASES)):
        unit = table["unit"][i]
        if unit not in weighed:
            weighed.add(unit)
            reason = (
                f"unit {unit} was drawn (phase {phase[i]}), so its inclusion_probability is"
                " needed; leave phase empty if instances were not drawn"
            )
            problems.add(table.name, int(table.lines[i]), "probability_missing", reason)


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
            problems.add(table.name, line, "duplicate_rating", reason)

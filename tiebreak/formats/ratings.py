"""The ratings table, with one row per rating, from JSONL, CSV, Parquet or the database."""

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
# Phase of units if all instances were selected rather than a random sample.
ALL_PHASES = "all"
# Equal texts of up to this length share one object in memory.
MAX_INTERNED_LENGTH = 200
# Columns that describe the unit, so all rows of a unit must have the same values.
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
    """Ratings in columns, with one row per rating.

    Attributes
    ----------
    columns : dict of str to ndarray
        Columns of the ratings format by name, all of the same length. Missing text is "", missing
        numbers are NaN, and `label` is None if a machine's answer could not be parsed.
    lines : ndarray of int, shape (n_ratings,)
        Line number of each rating in the file, or its row number, starting at 1.
    name : str
        Name of the file.
    unread : tuple of str
        Columns of the file that were ignored.
    is_counted : ndarray of bool, shape (n_ratings,)
        Whether each row enters the statistics.
    is_planned_repeat : ndarray of bool, shape (n_ratings,)
        Whether each row repeats a unit, and enters only the raters' self-consistency.

    See Also
    --------
    read_ratings : Read a table from a file.

    Examples
    --------
    >>> table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1}])
    >>> len(table), table["kind"].tolist()
    (1, ['human'])
    """

    columns: dict[str, NDArray[Any]]
    lines: NDArray[np.int64]
    name: str
    unread: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    def select(self, mask: NDArray[Any]) -> "RatingTable":
        """Select rows.

        Parameters
        ----------
        mask : ndarray of bool or int
            Boolean mask or indices of the rows.

        Returns
        -------
        RatingTable
            Table with these rows.
        """
        columns = {name: column[mask] for name, column in self.columns.items()}
        return RatingTable(columns, self.lines[mask], self.name, self.unread)

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Whether each row enters the statistics: its role is main, and no flag excludes it."""
        main = (self["role"] == "main") & (self["repeat"] == 0)
        return np.asarray(main & ~self._is_flagged, dtype=bool)

    @property
    def is_planned_repeat(self) -> NDArray[np.bool_]:
        """Whether each row is a planned repeat that no flag excludes."""
        repeat = np.isin(self["role"].astype(str), ["main", "repeat"]) & (self["repeat"] > 0)
        return np.asarray(repeat & ~self._is_flagged, dtype=bool)

    @property
    def _is_flagged(self) -> NDArray[np.bool_]:
        flagged = np.zeros(len(self), dtype=bool)
        for flag in EXCLUDING_FLAGS:
            flagged |= self[flag]
        return flagged

    @classmethod
    def from_rows(
        cls, rows: Iterable[Row], *, name: str = "ratings", problems: Problems | None = None
    ) -> "RatingTable":
        """Build a table from rows.

        Parameters
        ----------
        rows : iterable of dict
            Rows as values by column. ``unit``, ``rater`` and ``label`` are required.
        name : str, default "ratings"
            Name of the table in error messages.
        problems : Problems, optional
            Collection to which problems are added.

        Returns
        -------
        RatingTable
            The table.

        Raises
        ------
        FormatError
            If a row is invalid. The error lists the number of each such row, and the reason.

        Examples
        --------
        >>> rows = [{"unit": "u", "rater": name, "label": 1} for name in ("r", "s")]
        >>> RatingTable.from_rows(rows)["rater"].tolist()
        ['r', 's']
        """
        gathered = problems or Problems()
        table = _build(enumerate(rows, start=1), name, gathered)
        gathered.check()
        return table


def is_ratings_file(path: Path) -> bool:
    """Check whether a path has the ending of a ratings file.

    Parameters
    ----------
    path : Path
        Path to check.

    Returns
    -------
    bool
        Whether the path ends in .jsonl, .csv or .parquet.

    Examples
    --------
    >>> is_ratings_file(Path("ratings.csv")), is_ratings_file(Path("bundle.zip"))
    (True, False)
    """
    return path.suffix in SUFFIXES


def read_ratings(
    path: Path, *, limits: Limits = LIMITS, problems: Problems | None = None
) -> RatingTable:
    r"""Read a ratings file.

    Parameters
    ----------
    path : Path
        File that ends in .jsonl, .csv or .parquet. Parquet needs the extra ``parquet``.
    limits : Limits, optional
        Largest sizes that are accepted.
    problems : Problems, optional
        Collection to which problems are added. With it, the function returns the valid rows and
        does not raise.

    Returns
    -------
    RatingTable
        The ratings.

    Raises
    ------
    FormatError
        If the file does not exist or a row is invalid. The error lists the line of each such row,
        and the reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("unit,rater,label\nu,r,1\n")
    ...     read_ratings(path)["label"].tolist()
    ['1']
    """
    gathered = Problems() if problems is None else problems
    if path.is_file():
        table = _build(read_rows(path, gathered, limits), path.name, gathered)
    else:
        gathered.add(path.name, None, "no_such_file", "does not exist")
        table = _build(iter(()), path.name, gathered)
    if problems is None:
        gathered.check()
    return table


def canonical_digest(table: RatingTable) -> str:
    """Return a digest of the counted rows that does not depend on their order or file format."""
    names = ("unit", "rater", "criterion", "kind", "run", "order", "label", "instance")
    rows = sorted(
        json.dumps([_canonical(table[name][i]) for name in names], ensure_ascii=False)
        for i in np.flatnonzero(table.is_counted)
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _canonical(value: Any) -> str | None:
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return None if value is None else str(value)


@dataclass
class _TableBuilder:
    """A table under construction, which packs numbers and interns texts to save memory."""

    values: dict[str, Any] = field(
        default_factory=lambda: {name: _container(name) for name in COLUMNS}
    )
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    texts: dict[str, str] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)

    def add(self, line: int, row: Row) -> None:
        parsed = parse_rating(row)
        self.lines.append(line)
        self.ignored.update(row.keys() - _KNOWN_COLUMNS)
        for name, column in self.values.items():
            value = parsed[name]
            column.append(self._interned(value) if type(value) is str else value)

    def _interned(self, text: str) -> str:
        return self.texts.setdefault(text, text) if len(text) <= MAX_INTERNED_LENGTH else text

    def table(self, name: str) -> RatingTable:
        columns = {
            column: np.array(values, dtype=_dtype(column)) for column, values in self.values.items()
        }
        lines = np.array(self.lines, dtype=np.int64)
        return RatingTable(columns, lines, name, tuple(sorted(self.ignored)))


_KNOWN_COLUMNS = {*COLUMNS, "sample_index"}


def _container(column: str) -> Any:
    """Return an empty, appendable container for the values of a column."""
    if column in FLAGS:
        return bytearray()
    return array("d") if column in INTEGERS or column in NUMBERS else []


def _build(rows: Iterable[tuple[int, Row]], name: str, problems: Problems) -> RatingTable:
    builder = _TableBuilder()
    for line, row in rows:
        with problems.at(name, line):
            builder.add(line, row)
    table = builder.table(name)
    _check_duplicates(table, problems)
    _check_consistency(table, problems)
    _check_probabilities(table, problems)
    return table


def _dtype(column: str) -> Any:
    if column in FLAGS:
        return bool
    return float if column in INTEGERS or column in NUMBERS else object


def _check_consistency(table: RatingTable, problems: Problems) -> None:
    """Check that all rows of a unit describe it alike, and all rows of a rater have one kind."""
    for owner, facts in _FACTS.items():
        for fact in facts:
            column = table[fact]
            first: dict[str, Any] = {}
            for i in np.flatnonzero(is_known(column)):
                key, value = table[owner][i], column[i]
                if first.setdefault(key, value) != value:
                    reason = (
                        f"{fact} of {owner} {key} is {value}, but {first[key]} on an earlier line"
                    )
                    problems.add(table.name, int(table.lines[i]), "contradiction", reason)


def is_known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each cell has a value."""
    known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    return np.asarray(known, dtype=bool)


def _check_probabilities(table: RatingTable, problems: Problems) -> None:
    """Check that every unit of a drawn instance has an inclusion probability for its weight."""
    checked = set(table["unit"][is_known(table["inclusion_probability"])])
    phase = table["phase"]
    for i in np.flatnonzero((phase != "") & (phase != ALL_PHASES)):
        unit = table["unit"][i]
        if unit not in checked:
            checked.add(unit)
            reason = (
                f"unit {unit} has the phase {phase[i]} and must have an inclusion_probability;"
                " leave phase empty if the instances were not drawn at random"
            )
            problems.add(table.name, int(table.lines[i]), "probability_missing", reason)


def _check_duplicates(table: RatingTable, problems: Problems) -> None:
    """Check that no two counted rows have the same key, which would count a rater twice."""
    line_of: dict[tuple[Any, ...], int] = {}
    keys = [table[name] for name in ("unit", "rater", "criterion", "run", "order")]
    for i in np.flatnonzero(table.is_counted):
        key = tuple(column[i] for column in keys)
        line = int(table.lines[i])
        first = line_of.setdefault(key, line)
        if first != line:
            reason = (
                f"rater {key[1]} already rated unit {key[0]} for {key[2]} on line {first};"
                " flag one of the two as superseded, or give each pass of a machine its own run"
            )
            problems.add(table.name, line, "duplicate_rating", reason)

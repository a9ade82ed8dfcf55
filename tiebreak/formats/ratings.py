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
# The phase of a unit if every instance was taken, so that none was drawn.
ALL_PHASES = "all"
# Equal texts of up to this length share one object in memory.
MAX_INTERNED_LENGTH = 200
# Columns that describe the unit, and so must agree in all of its rows.
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
    """Ratings in columns, one row a rating.

    Attributes
    ----------
    columns : dict of str to ndarray
        Columns of the ratings format by name, all of one length. Where nothing is known, texts are
        "" and numbers NaN; a `label` is None where a machine's answer could not be read.
    lines : ndarray of int, shape (n_ratings,)
        Line of the file, or number of the row from 1.
    name : str
        Name of the file.
    unread : tuple of str
        Columns of the file that were not read.
    is_counted : ndarray of bool, shape (n_ratings,)
        Which rows enter the statistics.

    See Also
    --------
    read_ratings : A table from a file.

    Examples
    --------
    >>> table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1}])
    >>> len(table), table["kind"].tolist()
    (1, ['human'])
    """

    columns: dict[str, NDArray[Any]]
    lines: NDArray[np.int64]
    name: str
    # Names of the file's columns that were ignored.
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
            Which rows.

        Returns
        -------
        RatingTable
            A table of these rows.
        """
        columns = {name: column[mask] for name, column in self.columns.items()}
        return RatingTable(columns, self.lines[mask], self.name, self.unread)

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Which rows enter the statistics: main ones, no repeats, no flag that takes them out."""
        flagged = np.zeros(len(self), dtype=bool)
        for flag in EXCLUDING_FLAGS:
            flagged |= self[flag]
        main = (self["role"] == "main") & (self["repeat"] == 0)
        return np.asarray(main & ~flagged, dtype=bool)

    @classmethod
    def from_rows(
        cls, rows: Iterable[Row], *, name: str = "ratings", problems: Problems | None = None
    ) -> "RatingTable":
        """Build a table from rows.

        Parameters
        ----------
        rows : iterable of dict
            Values by column. ``unit``, ``rater`` and ``label`` are required.
        name : str, default "ratings"
            What problems call the table.
        problems : Problems, optional
            Where to gather problems.

        Returns
        -------
        RatingTable
            The table.

        Raises
        ------
        FormatError
            If a row is wrong. Every such row is named by number and reason.

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
    """Tell whether a path names a ratings file.

    Parameters
    ----------
    path : Path
        A path.

    Returns
    -------
    bool
        Whether it ends in .jsonl, .csv or .parquet.

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
        File in JSONL, CSV or Parquet, by its ending. Parquet needs the extra ``parquet``.
    limits : Limits, optional
        How much is read at most.
    problems : Problems, optional
        Where to gather problems. If it is given, nothing is raised and the good rows are returned.

    Returns
    -------
    RatingTable
        The ratings.

    Raises
    ------
    FormatError
        If a row is wrong, or there is no such file. Every bad row is named by line and reason.

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
    """A digest of the counted rows, independent of their order and of the file format."""
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
    """A table under construction: packed numbers, interned texts."""

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
    """An empty, appendable container for the values of a column."""
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
    """All rows of a unit agree on what it is, and all rows of a rater on the rater's kind."""
    for owner, facts in _FACTS.items():
        for fact in facts:
            column = table[fact]
            first: dict[str, Any] = {}
            for i in np.flatnonzero(is_known(column)):
                key, value = table[owner][i], column[i]
                if first.setdefault(key, value) != value:
                    reason = (
                        f"{owner} {key} has {fact} {value}, but {first[key]} in an earlier line"
                    )
                    problems.add(table.name, int(table.lines[i]), "contradiction", reason)


def is_known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells are not missing."""
    known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    return np.asarray(known, dtype=bool)


def _check_probabilities(table: RatingTable, problems: Problems) -> None:
    """Every unit of a drawn instance has an inclusion probability, which weights it."""
    checked = set(table["unit"][is_known(table["inclusion_probability"])])
    phase = table["phase"]
    for i in np.flatnonzero((phase != "") & (phase != ALL_PHASES)):
        unit = table["unit"][i]
        if unit not in checked:
            checked.add(unit)
            reason = (
                f"unit {unit} was drawn (phase {phase[i]}) and needs an inclusion_probability;"
                " leave phase empty if instances were not drawn"
            )
            problems.add(table.name, int(table.lines[i]), "probability_missing", reason)


def _check_duplicates(table: RatingTable, problems: Problems) -> None:
    """No two counted rows have the same key, which would count a rater twice."""
    line_of: dict[tuple[Any, ...], int] = {}
    keys = [table[name] for name in ("unit", "rater", "criterion", "run", "order")]
    for i in np.flatnonzero(table.is_counted):
        key = tuple(column[i] for column in keys)
        line = int(table.lines[i])
        first = line_of.setdefault(key, line)
        if first != line:
            reason = (
                f"rater {key[1]} already rated unit {key[0]} on {key[2]} in line {first}."
                " Flag one of the two as superseded, or number a machine's passes in run."
            )
            problems.add(table.name, line, "duplicate_rating", reason)

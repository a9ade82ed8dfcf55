"""The ratings table, with one row per rating, from JSONL, CSV, Parquet or the database."""

import hashlib
import itertools
import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.formats.coded import CodedColumn, Column, as_coded, as_objects, combined
from tiebreak.formats.errors import FormatError, Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.lines import Batch
from tiebreak.formats.rating_cells import (
    COLUMNS,
    DEFAULTS,
    EXCLUDING_FLAGS,
    FLAGS,
    INTEGERS,
    NUMBERS,
    parse_rating,
)
from tiebreak.formats.rating_columns import Read, gather_columns, read_columns
from tiebreak.formats.rows import Row, read_rows

# The columns that every ratings file has.
RATING_COLUMNS = frozenset({"unit", "rater", "label"})
SUFFIXES = (".jsonl", ".csv", ".parquet")
# Phase of units if all instances were selected rather than a random sample.
ALL_PHASES = "all"
_JOINED_AT_ONCE, _JOINED_TEXTS = 100_000, 10_000
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
    "perturbation",
    "original_system",
)
_FACTS = {
    "unit": (*UNIT_FACTS, "category"),
    "rater": ("kind",),
}


@dataclass(frozen=True)
class RatingTable:
    """Ratings in columns, with one row per rating.

    See Also
    --------
    read_ratings : Read a table from a file.

    Examples
    --------
    >>> table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1}])
    >>> len(table), table["kind"].tolist()
    (1, ['human'])
    """

    columns: Mapping[str, Column]
    """Columns of the ratings format by name, all of the same length. Missing text is "", missing
    numbers are NaN, and `label` is None if a machine's answer could not be parsed. Most columns
    store each distinct value once; ``table[name]`` is an array with a value for each rating. It is
    read-only for these, because what is written into it would not be in the table."""
    lines: NDArray[np.int64]
    """Line number of each rating in the file, or its row number, starting at 1; shape (n_ratings,)."""
    name: str
    """Name of the file."""
    unread: tuple[str, ...] = ()
    """Columns of the file that were ignored."""
    unlabelled: tuple[int, ...] = ()
    """Lines that were left out, because annotators gave no label."""
    looked_at: set[str] = field(default_factory=set, compare=False, repr=False)
    """Columns that someone asked for."""

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, column: str) -> NDArray[Any]:
        self.looked_at.add(column)
        return _values(self.columns[column])

    def value(self, column: str, row: int) -> Any:
        """Return one value. Unlike ``table[column][row]``, it does not build the whole column.

        Parameters
        ----------
        column : str
            Name of the column.
        row : int
            Index of the rating.

        Returns
        -------
        object
            Value of the rating in this column.

        Examples
        --------
        >>> table = RatingTable.from_rows([{"unit": "u", "rater": "r", "label": 1}])
        >>> table.value("rater", 0)
        'r'
        """
        self.looked_at.add(column)
        values = self.columns[column]
        if isinstance(values, CodedColumn):
            return values.distinct[values.codes[row]]
        return values[row]

    def coded(self, column: str) -> CodedColumn:
        """Return a column with its distinct values.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        CodedColumn
            A code for each rating, and the distinct values, some of which may have no rating.

        Examples
        --------
        >>> rows = [{"unit": "u", "rater": name, "label": 1} for name in ("r", "s")]
        >>> table = RatingTable.from_rows(rows)
        >>> table.coded("rater").in_order, table.coded("label").codes.tolist()
        (['r', 's'], [0, 0])
        """
        self.looked_at.add(column)
        return as_coded(self.columns[column])

    def ranked(
        self, column: str, rows: NDArray[Any] | slice = slice(None)
    ) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
        """Return the texts of a column in order, and the index of each rating's text.

        Parameters
        ----------
        column : str
            Name of the column.
        rows : ndarray of bool or int, optional
            The ratings to look at; all by default.

        Returns
        -------
        (ndarray of str, ndarray of int)
            What `numpy.unique` returns with ``return_inverse``, without sorting the ratings.

        Examples
        --------
        >>> rows = [{"unit": "u", "rater": name, "label": 1} for name in ("s", "r")]
        >>> names, rater = RatingTable.from_rows(rows).ranked("rater")
        >>> names.tolist(), rater.tolist()
        (['r', 's'], [1, 0])
        """
        return self.coded(column)[rows].ranked()

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
        if mask.dtype == np.bool_ and mask.all():
            return self
        columns = {name: column[mask] for name, column in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[mask])

    def joined(self, other: "RatingTable") -> "RatingTable":
        """Return a table with these rows, and then all others.

        Parameters
        ----------
        other : RatingTable
            Ratings that are not in this table.

        Returns
        -------
        RatingTable
            Table with the rows of both, and with this table's name.

        Examples
        --------
        >>> tables = [RatingTable.from_rows([{"unit": "u", "rater": r, "label": 1}]) for r in "rs"]
        >>> tables[0].joined(tables[1])["rater"].tolist()
        ['r', 's']
        """
        columns: dict[str, Column] = {}
        for name, first in self.columns.items():
            second = other.columns[name]
            if _has_texts(first) and _has_texts(second):
                columns[name] = as_coded(first).joined(as_coded(second))
            else:
                columns[name] = np.concatenate([_values(first), _values(second)])
        lines = np.concatenate([self.lines, other.lines])
        unread = tuple(sorted({*self.unread, *other.unread}))
        return replace(self, columns=columns, lines=lines, unread=unread)

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Whether each row enters the statistics: its role is main, and no flag excludes it."""
        return np.asarray(self._is_main_first & ~self._is_flagged, dtype=bool)

    @property
    def is_set_aside(self) -> NDArray[np.bool_]:
        """Whether each row is an annotator's that would enter the statistics without a flag."""
        is_human = self.coded("kind").equals("human")
        return np.asarray(self._is_main_first & is_human & self._is_flagged, dtype=bool)

    @property
    def _is_main_first(self) -> NDArray[np.bool_]:
        return np.asarray(self._is_first & self._is_response, dtype=bool)

    @property
    def is_nonresponse(self) -> NDArray[np.bool_]:
        """Whether each row would enter the statistics if it had a label, but its rater gave none."""
        return np.asarray(self._is_first & ~self._is_response & ~self._is_flagged, dtype=bool)

    @property
    def _is_first(self) -> NDArray[np.bool_]:
        return np.asarray(self.coded("role").equals("main") & (self["repeat"] == 0), dtype=bool)

    @property
    def _is_response(self) -> NDArray[np.bool_]:
        return self.coded("nonresponse").equals("")

    @property
    def is_planned_repeat(self) -> NDArray[np.bool_]:
        """Whether each row is a planned repeat that no flag excludes."""
        role = self.coded("role")
        repeat = (role.equals("main") | role.equals("repeat")) & (self["repeat"] > 0)
        return np.asarray(repeat & self._is_response & ~self._is_flagged, dtype=bool)

    @property
    def _is_flagged(self) -> NDArray[np.bool_]:
        flagged = np.zeros(len(self), dtype=bool)
        for flag in EXCLUDING_FLAGS:
            flagged |= self[flag]
        return flagged

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Row],
        *,
        name: str = "ratings",
        problems: Problems | None = None,
        lines: Iterable[int] | None = None,
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
        lines : iterable of int, optional
            Where each row was in its file. By default rows are numbered from 1.

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
        numbers = itertools.count(1) if lines is None else lines
        table = table_of(zip(numbers, rows, strict=False), name, gathered)
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


def has_rating_columns(path: Path) -> bool:
    r"""Check whether a file has the columns that the ratings format requires.

    Parameters
    ----------
    path : Path
        File with the ending of a ratings file.

    Returns
    -------
    bool
        Whether the header or the first row names unit, rater and label.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("item,coder1,coder2\n")
    ...     has_rating_columns(path)
    False
    """
    try:
        rows = read_rows(path, Problems())
        names = (
            {*_first_line(path).split(",")} if path.suffix == ".csv" else {*next(rows, (1, {}))[1]}
        )
    except (FormatError, OSError, UnicodeError):
        return False
    return {name.strip().strip('"') for name in names} >= RATING_COLUMNS


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(LIMITS.line).decode("utf-8-sig").rstrip("\r\n")


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
        does not raise. Without it, empty labels of annotators are left out, and `unlabelled` lists them.

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
        table = _by_columns(path, limits, gathered)
        if table is None:
            rows = read_rows(path, gathered, limits)
            table = table_of(rows, path.name, gathered, may_lack_labels=problems is None)
    else:
        gathered.add(path.name, None, "no_such_file", "does not exist")
        table = table_of(iter(()), path.name, gathered)
    if problems is None:
        gathered.check()
    return table


def canonical_digest(table: RatingTable) -> str:
    """Return a digest of the counted rows that does not depend on their order or file format.

    Nonresponses are in it, too, because the report counts them.
    """
    names = ["unit", "rater", "criterion", "kind", "run", "order", "label", "instance"]
    nonresponses = table.is_nonresponse
    counted = table.is_counted | nonresponses
    if nonresponses.any():  # so that the digests of all other tables stay as they were
        names.append("nonresponse")
    columns = _joined([_written(table.coded(name)[counted]) for name in names])
    # A JSON text ends where its quote does, so ordered columns order the lines, as sorting them would.
    order = np.argsort(combined(column.codes for column in columns), kind="stable")
    texts = [column.distinct.copy() for column in columns]
    for number, column_texts in enumerate(texts):
        before = ", " if number else "\n["
        after = "]" if number == len(texts) - 1 else ""
        texts[number] = as_objects([f"{before}{text}{after}" for text in column_texts])
    digest = hashlib.sha256()
    for start in range(0, len(order), _JOINED_AT_ONCE):
        rows = order[start : start + _JOINED_AT_ONCE]
        cells = [text[column.codes[rows]] for text, column in zip(texts, columns, strict=True)]
        lines = "".join(np.stack(cells, axis=1).ravel().tolist())
        digest.update(lines[0 if start else 1 :].encode())
    return digest.hexdigest()


def ratings_of(batches: Iterable[Batch], name: str = "ratings") -> RatingTable | None:
    """Return the table of batches of columns, or None if something is wrong, as only rows can say.

    Cells are checked once for each distinct value, so this takes a sixth of the time of
    `RatingTable.from_rows`. All batches have the same columns.
    """
    problems = Problems()
    table = _of_columns(gather_columns(batches), name, problems)
    return None if problems.total else table


def _written(column: CodedColumn) -> CodedColumn:
    """Return the values as JSON texts, with codes in the order of the texts."""
    used = column.used
    texts = _as_json(column.distinct[used].tolist())
    ordered = sorted({*texts})
    rank_of = dict(zip(ordered, range(len(ordered)), strict=True))
    codes = np.zeros(len(column.distinct), dtype=np.int64)
    codes[used] = [rank_of[text] for text in texts]
    return CodedColumn.from_codes(codes[column.codes], ordered)


def _joined(columns: list[CodedColumn]) -> list[CodedColumn]:
    """Join columns that stand side by side and have few distinct values together."""
    joined = columns[:1]
    for column in columns[1:]:
        last = joined[-1]
        both = len(last.distinct) * len(column.distinct)
        if both > _JOINED_TEXTS:
            joined.append(column)
            continue
        texts = [f"{first}, {second}" for first in last.distinct for second in column.distinct]
        codes = last.codes.astype(np.int64) * len(column.distinct) + column.codes
        joined[-1] = CodedColumn.from_codes(codes, texts)
    return joined


def _as_json(values: list[Any]) -> list[str]:
    """Return each value as a JSON text; one call for all of them takes a tenth of the time."""
    whole = (int(v) if isinstance(v, float) and v == int(v) else v for v in values)
    cells = [None if value is None else str(value) for value in whole]
    # No text has a line break, because JSON writes it as two characters.
    lines = json.dumps(cells, ensure_ascii=False, separators=("\n", ":"))[1:-1]
    return lines.split("\n") if cells else []


@dataclass
class _TableBuilder:
    """A table under construction, which packs numbers and codes texts to save memory.

    `values` has the columns of which any row has a cell, because most files have few of all.
    """

    values: dict[str, Any] = field(default_factory=dict)
    lines: "array[int]" = field(default_factory=lambda: array("q"))
    ignored: set[str] = field(default_factory=set)

    def add(self, line: int, row: Row) -> None:
        parsed = parse_rating(row)
        self.ignored.update(row.keys() - _KNOWN_COLUMNS)
        for name in parsed.keys() - self.values.keys():
            self.values[name] = _container(name, len(self.lines))
        self.lines.append(line)
        for name, column in self.values.items():
            column.append(parsed[name] if name in parsed else DEFAULTS[name])

    def table(self, name: str) -> RatingTable:
        columns: dict[str, Column] = {}
        for column in COLUMNS:
            values = self.values.get(column) or _container(column, len(self.lines))
            columns[column] = (
                values.column()
                if isinstance(values, _Texts)
                else np.array(values, dtype=bool if isinstance(values, bytearray) else float)
            )
        lines = np.array(self.lines, dtype=np.int64)
        return RatingTable(columns, lines, name, tuple(sorted(self.ignored)))


_KNOWN_COLUMNS = {*COLUMNS, "sample_index"}


@dataclass
class _Texts:
    """A column of texts or labels under construction."""

    codes: "array[int]" = field(default_factory=lambda: array("q"))
    index: dict[Any, int] = field(default_factory=dict)

    def append(self, value: Any) -> None:
        # The label 1 differs from the label 1.0, which is equal to it.
        key = value if type(value) is str else (type(value), value)
        self.codes.append(self.index.setdefault(key, len(self.index)))

    def column(self) -> CodedColumn:
        distinct = [key if type(key) is str else key[1] for key in self.index]
        return CodedColumn.from_codes(np.array(self.codes, dtype=np.int64), distinct)


def _has_texts(column: Column) -> bool:
    return isinstance(column, CodedColumn) and column.distinct.dtype == object


def _values(column: Column) -> NDArray[Any]:
    return column.values if isinstance(column, CodedColumn) else column


def _container(column: str, length: int) -> Any:
    """Return an appendable container for the values of a column, with this many missing ones."""
    if column in FLAGS:
        return bytearray(length)
    if column in INTEGERS or column in NUMBERS:
        return array("d", [DEFAULTS[column]]) * length
    return _Texts(array("q", [0]) * length, {DEFAULTS[column]: 0} if length else {})


def _by_columns(path: Path, limits: Limits, problems: Problems) -> RatingTable | None:
    """Return the table of a Parquet file in which nothing is wrong, or None if rows must be read."""
    read = read_columns(path, limits) if path.suffix == ".parquet" else None
    return _of_columns(read, path.name, problems)


def _of_columns(read: Read | None, name: str, problems: Problems) -> RatingTable | None:
    if read is None:
        return None
    columns, length, unread = read
    table = RatingTable(columns, np.arange(1, length + 1), name, unread)
    _check(table, problems)
    return table


def table_of(
    rows: Iterable[tuple[int, Row]],
    name: str,
    problems: Problems,
    *,
    may_lack_labels: bool = False,
) -> RatingTable:
    """Return the table of numbered rows, and add to ``problems`` what is wrong with them."""
    builder, unlabelled = _TableBuilder(), []
    for line, row in rows:
        with problems.at(name, line):
            try:
                builder.add(line, row)
            except InvalidInput as error:
                if error.code != "label_missing" or not may_lack_labels:
                    raise
                unlabelled.append(line)
    table = replace(builder.table(name), unlabelled=tuple(unlabelled))
    if unlabelled and not len(table):
        problems.add(name, None, "no_ratings", "has no rating, because all labels are empty")
    _check(table, problems)
    return table


def _check(table: RatingTable, problems: Problems) -> None:
    _check_duplicates(table, problems)
    _check_consistency(table, problems)
    _check_probabilities(table, problems)


def _check_consistency(table: RatingTable, problems: Problems) -> None:
    """Check that all rows of a unit describe it alike, and all rows of a rater have one kind."""
    for owner, facts in _FACTS.items():
        owners = table.coded(owner)
        for fact in facts:
            column = table.columns[fact]
            value = column.codes if isinstance(column, CodedColumn) else column
            rows = np.flatnonzero(is_known(column))
            code = owners.codes[rows]
            first = np.zeros(len(owners.stored), dtype=np.int64)
            first[code[::-1]] = rows[::-1]
            for i in rows[value[rows] != value[first[code]]].tolist():
                of_owner = owners.codes[i]
                now, before = (table.value(fact, k) for k in (i, first[of_owner]))
                reason = (
                    f"{fact} of {owner} {owners.distinct[of_owner]} is {now}, but {before} on an"
                    " earlier line"
                )
                problems.add(table.name, int(table.lines[i]), "contradiction", reason)


def is_known(column: Column) -> NDArray[np.bool_]:
    """Return whether each cell has a value."""
    if isinstance(column, CodedColumn):
        return column.mapped(is_known(column.distinct))
    known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    return np.asarray(known, dtype=bool)


def _check_probabilities(table: RatingTable, problems: Problems) -> None:
    """Check that every unit of a drawn instance has an inclusion probability for its weight."""
    phase, units = table.coded("phase"), table.coded("unit")
    is_drawn = ~(phase.equals("") | phase.equals(ALL_PHASES))
    has_cell = is_known(table.columns["inclusion_probability"])
    if phase.equals("").all() and has_cell.any():  # without phases, all instances were drawn
        is_drawn = table.is_counted
    if not is_drawn.any():
        return
    has_probability = np.zeros(len(units.stored), dtype=bool)
    has_probability[units.codes[has_cell]] = True
    rows = np.flatnonzero(is_drawn & ~has_probability[units.codes])
    for i in rows[np.sort(np.unique(units.codes[rows], return_index=True)[1])].tolist():
        reason = (
            f"unit {table.value('unit', i)} was drawn (phase {table.value('phase', i) or 'not given'})"
            " and must have an inclusion_probability; leave phase and inclusion_probability empty if"
            " the instances were not drawn at random"
        )
        problems.add(table.name, int(table.lines[i]), "probability_missing", reason)


def _check_duplicates(table: RatingTable, problems: Problems) -> None:
    """Check that no two counted rows have the same key, which would count a rater twice."""
    counted = np.flatnonzero(table.is_counted | table.is_nonresponse)
    names = ("unit", "rater", "criterion", "run", "order")
    key = combined(table.coded(name).codes[counted] for name in names)
    in_order = np.sort(key)
    if (in_order[1:] > in_order[:-1]).all():
        return
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    unit, rater, criterion = (table[name][counted] for name in names[:3])
    lines = table.lines[counted]
    for k in np.flatnonzero(first[inverse] != np.arange(len(key))).tolist():
        reason = (
            f"rater {rater[k]} already rated unit {unit[k]} for {criterion[k]} on line"
            f" {int(lines[first[inverse[k]]])}; flag one of the two as superseded, or give each pass"
            " of a machine its own run"
        )
        problems.add(table.name, int(lines[k]), "duplicate_rating", reason)

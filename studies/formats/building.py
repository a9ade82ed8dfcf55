"""Builds a table from chunks: each distinct cell is checked once, then rows are codes."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from studies.formats.chunks import Chunk
from studies.formats.columns import ALLOWED_TYPES, COLUMNS, REQUIRED, Cell, Column, cell_parser
from studies.formats.derived import derived_columns, needed_columns
from studies.formats.limits import Limits
from studies.formats.problems import Problems
from studies.formats.rules import check_rules
from studies.formats.table import MISSING, Coded, Codes, RatingTable
from studies.formats.table import Column as TableColumn

_BAD = -2
_UNUSABLE = object()  # stands in for a cell of a refused type, which might not even be hashable


def table_from_chunks(
    chunks: Iterable[Chunk],
    *,
    source: str,
    columns: Iterable[str] | None,
    limits: Limits,
) -> RatingTable:
    """The table of all chunks; raise FormatError with the first problems if there is any."""
    builder = _TableBuilder(source, columns, limits)
    for chunk in chunks:
        builder.add(chunk)
    return builder.finish()


class _Codebook(dict[object, int]):
    """Cell → code. Parses a cell when it is met for the first time, and only then."""

    def __init__(self, column: Column, limits: Limits) -> None:
        super().__init__()
        self.parse = cell_parser(column, limits)
        self.code_by_value: dict[Cell, int] = {}
        self[_UNUSABLE] = _BAD

    def __missing__(self, cell: object) -> int:
        try:
            value = self.parse(cell)
        except ValueError:
            return _BAD
        code = MISSING
        if value is not None:
            code = self.code_by_value.setdefault(value, len(self.code_by_value))
        self[cell] = code
        return code


class _ColumnBuilder:
    """Codes of one column, chunk after chunk."""

    def __init__(self, column: Column, limits: Limits, rows_before: int) -> None:
        self.column = column
        self.book = _Codebook(column, limits)
        self.parts: list[Codes] = []
        self.add_missing(rows_before)

    def add_missing(self, rows: int) -> None:
        if rows:
            self.parts.append(np.full(rows, self.book[None], dtype=np.int32))

    def add(self, cells: list[object]) -> NDArray[np.intp]:
        """Take the cells in; the positions of those that cannot be used are returned."""
        allowed = ALLOWED_TYPES[self.column.kind]
        usable = cells
        if not set(map(type, cells)) <= allowed:
            usable = [cell if type(cell) in allowed else _UNUSABLE for cell in cells]
        codes = np.fromiter(map(self.book.__getitem__, usable), np.int32, len(cells))
        self.parts.append(codes)
        return np.flatnonzero(codes == _BAD)

    def reason(self, cell: object) -> str:
        if type(cell) not in ALLOWED_TYPES[self.column.kind]:
            return f"a {_TYPE_NAMES.get(type(cell), 'value of this type')} cannot stand here."
        try:
            self.book.parse(cell)
        except ValueError as error:
            return str(error)
        raise AssertionError(f"{cell!r} was refused without a reason")

    def finish(self) -> TableColumn:
        codes = np.concatenate(self.parts) if self.parts else np.zeros(0, dtype=np.int32)
        values = tuple(self.book.code_by_value)
        if self.column.kind in {"text", "label"}:
            return Coded(codes, values)  # type: ignore[return-value]
        missing, kind = _DECODED[self.column.kind]
        return np.array([*values, missing], dtype=kind)[codes]


_TYPE_NAMES: dict[type, str] = {
    bool: "truth value",
    float: "number with a fraction",
    list: "list",
    dict: "nested object",
}
_DECODED: dict[str, tuple[float, type]] = {
    "integer": (MISSING, np.int64),
    "number": (float("nan"), np.float64),
    "flag": (False, np.bool_),
}


class _TableBuilder:
    def __init__(self, source: str, columns: Iterable[str] | None, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.asked = frozenset(COLUMNS if columns is None else columns)
        self.wanted = needed_columns(self.asked)
        self.builders: dict[str, _ColumnBuilder] = {}
        self.ignored: dict[str, None] = {}
        self.lines: list[NDArray[np.int64]] = []
        self.n_rows = 0
        self.problems = Problems(limits.problems)

    def add(self, chunk: Chunk) -> None:
        for line, reason in chunk.problems:
            self.problems.add(self.source, line, reason)
        self._meet_columns(chunk)
        for name, builder in self.builders.items():
            cells = chunk.cells.get(name)
            if cells is None:
                builder.add_missing(len(chunk.lines))
                continue
            self._report(chunk, name, builder.add(cells))
        self.lines.append(np.array(chunk.lines, dtype=np.int64))
        self.n_rows += len(chunk.lines)

    def _report(self, chunk: Chunk, name: str, positions: NDArray[np.intp]) -> None:
        builder, cells = self.builders[name], chunk.cells[name]
        self.problems.add_all(
            self.source,
            [chunk.lines[position] for position in positions],
            lambda k: f"{name}: {builder.reason(cells[positions[k]])}",
        )

    def _meet_columns(self, chunk: Chunk) -> None:
        for name in chunk.cells:
            if name not in COLUMNS:
                self.ignored[name] = None
            elif name in self.wanted and name not in self.builders:
                self.builders[name] = _ColumnBuilder(COLUMNS[name], self.limits, self.n_rows)

    def finish(self) -> RatingTable:
        absent = [name for name in REQUIRED if name not in self.builders]
        if absent and self.n_rows:
            reason = f"the column {', '.join(absent)} is missing; every ratings file needs it."
            self.problems.add(self.source, None, reason)
        self.problems.raise_if_any()
        for name in absent:
            self.builders[name] = _ColumnBuilder(COLUMNS[name], self.limits, 0)
        table = self._table()
        check_rules(table, self.problems)
        self.problems.raise_if_any()
        return table

    def _table(self) -> RatingTable:
        lines = np.concatenate(self.lines) if self.lines else np.zeros(0, dtype=np.int64)
        given = {name: builder.finish() for name, builder in self.builders.items()}
        columns = derived_columns(given, wanted=self.asked)
        return RatingTable(self.source, lines, columns, tuple(self.ignored))

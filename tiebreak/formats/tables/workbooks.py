"""Rows of XLSX workbooks: of one sheet, by default the first that has a table."""

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from datetime import date, datetime, time
from itertools import chain, islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers.expat import ExpatError

from tiebreak import optional
from tiebreak.errors import InvalidInput
from tiebreak.formats.archive import ZIP_ERRORS, check_members
from tiebreak.formats.errors import FormatError
from tiebreak.formats.gate import SheetScan, column_number
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rows import Row, unescape_from_sheet
from tiebreak.formats.tables.delimited import SAMPLE_ROWS, checked_header, rows_above_header
from tiebreak.formats.tables.problems import TableProblems

# The texts of a workbook have to fit into memory, unlike a CSV file's.
MAX_UNPACKED = 200_000_000
MAX_WIDTH = 16_384
MAX_NAMED = 300
# A longer text below a merged cell is rather a row of the table.
MAX_NAME = 60
XML = {".xml", ".rels"}
SKIPPED_IN_SHEETS = ("above_header", "empty_rows")
_AREA = re.compile(
    r"(?P<column>[A-Z]{1,3})(?P<row>\d{1,7}):(?P<last>[A-Z]{1,3})(?P<last_row>\d{1,7})"
)
ERRORS = {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}


def is_workbook(path: Path) -> bool:
    """Whether a .zip file is an XLSX workbook."""
    try:
        with zipfile.ZipFile(path) as file:
            return "xl/workbook.xml" in file.namelist()
    except ZIP_ERRORS:
        return False


def has_sheets(path: Path) -> bool:
    """Whether a workbook has more than one sheet."""
    with zipfile.ZipFile(path) as file:
        return sum(name.startswith("xl/worksheets/sheet") for name in file.namelist()) > 1


def read_workbook(
    path: Path, problems: TableProblems, limits: Limits = LIMITS
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of ``problems.sheet``, or else of the first sheet that has a table.

    Formulas have the values that are stored with them.
    """
    try:
        facts = _Facts.of(path, limits)
        with ExitStack() as stack:
            values = _opened(path, stack, data_only=True)
            # Opening a book reads all its texts and, where its size is not written, all its cells.
            formulas = _opened(path, stack, data_only=False) if facts.has_formulas else values
            yield from _Sheet(values, formulas, facts, problems).rows()
    except FormatError as error:
        problem = error.problems[0]
        problems.stop(None, problem.code, f"The workbook {problem.reason.rstrip('.')}.")
    except InvalidInput as error:
        problems.stop(None, error.code, error.message)
    except (*ZIP_ERRORS, ExpatError, LookupError, TypeError, AttributeError, SyntaxError) as error:
        reason = f"The file is not a readable XLSX workbook ({str(error)[:100]}). Save it again."
        problems.stop(None, "not_xlsx", reason)


def _opened(path: Path, stack: ExitStack, *, data_only: bool) -> Any:
    # openpyxl refuses a name with another ending, but not an open file.
    file = stack.enter_context(path.open("rb"))
    load = optional.load("openpyxl").load_workbook
    return stack.enter_context(closing(load(file, read_only=True, data_only=data_only)))


class _Facts:
    """What the sheets' XML says: merged cells, and whether there are formulas."""

    def __init__(self) -> None:
        self.merged: dict[str, list[tuple[int, str]]] = {}
        self.has_formulas = False
        self.elements = 0

    @classmethod
    def of(cls, path: Path, limits: Limits) -> "_Facts":
        """Return the facts of a workbook. Raises `FormatError` if its XML exceeds the limits."""
        facts = cls()
        with zipfile.ZipFile(path) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            check_members(path.name, members, Limits(unpacked=min(MAX_UNPACKED, limits.unpacked)))
            for member in members:
                is_xml = PurePosixPath(member.filename).suffix in XML
                # Readers rely on what a workbook says about its parts, not on their names.
                with nullcontext() if is_xml else suppress(ExpatError):
                    facts._scan(member.filename, file, limits)
        return facts

    def _scan(self, name: str, file: zipfile.ZipFile, limits: Limits) -> None:
        scan = SheetScan(name, limits, self.elements)
        with file.open(name) as part:
            scan.read(part)
        self.elements = scan.elements
        if name.startswith("xl/worksheets/"):
            self.merged[name] = scan.merged
            self.has_formulas |= scan.has_formulas


class _Sheet:
    """One sheet, read twice side by side if it has formulas: their values, and where they are."""

    def __init__(self, values: Any, formulas: Any, facts: _Facts, problems: TableProblems) -> None:
        self.facts, self.problems = facts, problems
        self.values, self.formulas = values, formulas
        problems.sheets = [sheet.title for sheet in values.worksheets]
        self.name = self._chosen(problems.sheet) if problems.sheet else self._first()
        problems.sheet = self.name or ""
        others = [name for name in problems.sheets if name != self.name]
        if self.name and others:
            problems.notes.append(_others_note(self.name, others))

    def _chosen(self, name: str) -> str:
        if name not in self.problems.sheets:
            names = ", ".join(self.problems.sheets)[:MAX_NAMED]
            reason = f"The workbook has no sheet “{name}”. Its sheets are: {names}."
            raise InvalidInput("unknown_sheet", reason)
        return name

    def _first(self) -> str | None:
        sheets = (s for s in self.values.worksheets if s.sheet_state == "visible")
        filled = [(sheet.title, widths) for sheet in sheets if (widths := _widths(sheet))]
        # A sheet of notes has one cell in each row, and may have several rows.
        tables = [title for title, widths in filled if sum(n > 1 for n in widths) > 1]
        self.problems.tables = tables
        return next(iter(tables or [title for title, _ in filled]), None)

    def rows(self) -> Iterator[tuple[int, Row]]:
        if self.name is None:
            self.problems.stop(None, "empty", "The workbook has no sheet with rows.")
            return
        sheet = self.values[self.name]
        for book in (self.values, self.formulas):
            book[self.name].reset_dimensions()  # as many cells as a row has, not as the file says
        first = sheet.iter_rows(max_row=SAMPLE_ROWS, values_only=True)
        sample = [*first]
        above = rows_above_header(sample)
        above += self._names_groups(sheet, above, sample[above : above + 2])
        self.problems.left_out["above_header"] += above
        below = self._merged_below(sheet, above)
        header: list[str] = []
        empty = 0
        numbered = self.problems.numbered(self._pairs(sheet))
        for number, (cells, formulas) in islice(numbered, above, None):
            present = [cell for cell in cells if cell not in (None, "")]
            # Workbooks have empty rows below the last, which nobody has written.
            self.problems.left_out["empty_rows"] += empty if present else 0
            empty = 0 if present else empty + 1
            if not header and present:
                if len(cells) > MAX_WIDTH:
                    sentence = f"The sheet has {len(cells):,} columns."
                    raise InvalidInput("too_many_columns", sentence)
                names = [str(_plain(cell) or "").strip() for cell in cells]
                header = checked_header(names, number)
                self._note_merged(below, header)
            elif header and present:
                whole = below.filled(number, cells, len(header))
                with self.problems.at(number):
                    row = self._row(header, whole)
                    if self._is_usable(header, whole, formulas, number):
                        yield number, row

    def _pairs(self, sheet: Any) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        values = sheet.iter_rows(values_only=True)
        if not self.facts.has_formulas:
            yield from ((cells, ()) for cells in values)
            return
        yield from zip_longest(
            values, self.formulas[self.name].iter_rows(values_only=True), fillvalue=()
        )

    def _names_groups(self, sheet: Any, above: int, rows: list[tuple[Any, ...]]) -> bool:
        """Whether the first row of a table has nothing but merged cells, each over names of columns."""
        if len(rows) < 2:
            return False
        spans = [
            range(column_number(area["column"]) - 1, column_number(area["last"]))
            for row, cells in self._merged(sheet)
            if row == above + 1 and (area := _AREA.fullmatch(cells))
            if area["row"] == area["last_row"]
        ]
        names = [k for k, cell in enumerate(rows[1]) if cell not in (None, "")]
        below = [rows[1][k] for k in names]
        are_names = all(isinstance(one, str) and len(one) <= MAX_NAME for one in below)
        return (
            bool(spans)
            and names == sorted(chain.from_iterable(spans))
            and are_names
            and len({*below}) == len(below)
        )

    def _merged(self, sheet: Any) -> list[tuple[int, str]]:
        path = str(getattr(sheet, "_worksheet_path", "")).lstrip("/")
        return self.facts.merged.get(path, [])

    def _merged_below(self, sheet: Any, above: int) -> "_Merged":
        """Return the merged cells of one column each; other areas may mean anything, and are named."""
        merged = _Merged()
        for row, cells in self._merged(sheet):
            if row > above and not (row > above + 1 and merged.add(cells)):
                reason = f"The cells {cells} are merged. Split them, and fill in each cell."
                self.problems.add(row, None, "merged_cells", reason)
        return merged

    def _note_merged(self, merged: "_Merged", header: list[str]) -> None:
        names = [header[k] for k in sorted(merged.columns) if k < len(header)]
        if names:
            n = sum(merged.columns[k] for k in merged.columns if k < len(header))
            cells = "1 merged cell repeats" if n == 1 else f"{n:,} merged cells repeat"
            self.problems.notes.append(f"{cells} the value above, in {', '.join(names)}.")

    def _row(self, header: list[str], cells: tuple[Any, ...]) -> Row:
        plain = [_plain(cell) for cell in cells[: len(header)]]
        plain += [None] * (len(header) - len(plain))
        if any(cell not in (None, "") for cell in cells[len(header) :]):
            raise InvalidInput("wrong_cell_count", "The row has more cells than the header.")
        return dict(zip(header, plain, strict=True))

    def _is_usable(
        self, header: list[str], cells: tuple[Any, ...], formulas: tuple[Any, ...], number: int
    ) -> bool:
        """Name errors, and formulas whose value the workbook does not have."""
        is_usable = True
        for i, column in enumerate(header):
            value = cells[i] if i < len(cells) else None
            formula = formulas[i] if i < len(formulas) else None
            is_formula = isinstance(formula, str) and formula.startswith("=") and formula != value
            if value in ERRORS:
                reason = f"The cell contains the error {value}. Correct it."
                self.problems.add(number, column, "error_in_cell", reason)
            elif is_formula and value is None:
                reason = "The cell is a formula whose value is not stored. Paste the value instead."
                self.problems.add(number, column, "formula", reason)
            else:
                continue
            is_usable = False
        return is_usable


class _Merged:
    """Merged cells below each other, all of which have the value of the first."""

    def __init__(self) -> None:
        self.begins: dict[int, dict[int, int]] = defaultdict(dict)
        """For the row in which an area begins: its last row, by column."""
        self.columns: dict[int, int] = defaultdict(int)
        """Number of cells below the first, by column."""
        self._values: dict[int, tuple[int, Any]] = {}

    def add(self, cells: str) -> bool:
        """Take an area such as A2:A5, or return False if it has several columns."""
        area = _AREA.fullmatch(cells)
        if area is None or area["column"] != area["last"]:
            return False
        column = column_number(area["column"]) - 1
        first, last = int(area["row"]), int(area["last_row"])
        self.begins[first][column] = last
        self.columns[column] += last - first
        return True

    def filled(self, row: int, cells: tuple[Any, ...], width: int) -> tuple[Any, ...]:
        """Return the cells of a row with the values of the areas that it is in."""
        if not self.begins:
            return cells
        for column, last in self.begins.get(row, {}).items():
            if column < width:
                self._values[column] = last, cells[column] if column < len(cells) else None
        here = [*cells, *[None] * (width - len(cells))]
        for column, (last, value) in self._values.items():
            if row <= last and here[column] in (None, ""):
                here[column] = value
        return tuple(here)


def _others_note(name: str, others: list[str]) -> str:
    names = ", ".join(others)
    names = names if len(names) <= MAX_NAMED else f"{names[:MAX_NAMED]}…"
    return f"The sheet “{name}” was read. Sheets that were not read: {len(others)} ({names})."


def _widths(sheet: Any) -> list[int]:
    """Return the numbers of cells of the first rows that have any."""
    rows = sheet.iter_rows(max_row=50, values_only=True) if hasattr(sheet, "iter_rows") else ()
    return [n for row in rows if (n := sum(cell is not None for cell in row))]


def _plain(value: Any) -> Any:
    """Return a cell's value as text, a number or a truth value."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool):
        return unescape_from_sheet(value) or None if isinstance(value, str) else value
    return str(value)

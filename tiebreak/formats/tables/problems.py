"""Problems of a table, with the row, the column and the reason of each."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from tiebreak.errors import InvalidInput
from tiebreak.formats.errors import (
    FIRST_LINES,
    FormatError,
    Problem,
    ProblemKind,
    ProblemKinds,
    shorten,
)

T = TypeVar("T")
MAX_LISTED = 1000
# Rows that are left out although nothing is wrong with them, by reason: one of them, and several.
LEFT_OUT = {
    "above_header": (
        "1 row above the header was left out.",
        "{:,} rows above the header were left out.",
    ),
    "footer_rows": (
        "1 row below the table looks like a note and was left out{}.",
        "{:,} rows below the table look like notes and were left out{}.",
    ),
    "empty_rows": ("1 empty row was left out.", "{:,} empty rows were left out."),
    "header_rows": (
        "1 further header row of Qualtrics was left out.",
        "{:,} further header rows of Qualtrics were left out.",
    ),
    "repeated_rows": (
        "1 row repeats the texts of an earlier row, which counts once{}.",
        "{:,} rows repeat the texts of earlier rows, which count once{}.",
    ),
    "total_rows": ("1 row of totals was left out{}.", "{:,} rows of totals were left out{}."),
}


def named_rows(rows: list[int], n: int) -> str:
    """Return which rows these are, of which there may be more, such as " (rows 3, 7, …)"."""
    more = ", …" if n > len(rows) else ""
    return f" (row{'s' if n > 1 else ''} {', '.join(map(str, rows))}{more})" if rows else ""


@dataclass(frozen=True)
class TableProblem:
    """A problem in a table: where it is, and what is wrong."""

    row: int | None
    """Number of the row as a spreadsheet counts, or None if the problem is about the whole table."""
    column: str | None
    """Name of the column, or None if the problem is about the whole row."""
    code: str
    """Code of the problem, for programs."""
    reason: str
    """Description of the problem, to be read, as a complete sentence."""
    keeps_row: bool = False
    """Whether the rest of the row can be used without this cell."""

    @property
    def place(self) -> tuple[str | None, int | None]:
        """The column, and the row."""
        return self.column, self.row

    def __str__(self) -> str:
        where = [f"row {self.row}"] if self.row else []
        where += [f"column {self.column}"] if self.column else []
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


class BadCell(InvalidInput):
    """A cell, or with no column a row, that cannot be used."""

    def __init__(self, code: str, message: str, column: str | None = None) -> None:
        super().__init__(code, message)
        self.column = column


@dataclass
class TableProblems:
    """The problems of a table: the first `MAX_LISTED`, and the number of all of them.

    ``is_fatal`` says whether one of them ended the reading, so there may be more rows. ``notes``
    has sentences on what was left out without being wrong.
    """

    items: list[TableProblem] = field(default_factory=list)
    kinds: ProblemKinds[TableProblem] = field(default_factory=ProblemKinds)
    total: int = 0
    rows: set[int] = field(default_factory=set)
    """Numbers of all rows with problems."""
    is_fatal: bool = False
    notes: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of rows that were left out without being wrong, by reason."""
    left_out_rows: dict[str, list[int]] = field(default_factory=dict)
    """The first of these rows, for reasons that name them."""
    filled: Counter[str] = field(default_factory=Counter)
    """Number of empty cells that got the value above, by column."""
    sheet: str = ""
    """The sheet of a workbook: which is wanted, and then which was read."""
    sheets: list[str] = field(default_factory=list)
    """All sheets of a workbook."""
    tables: list[str] = field(default_factory=list)
    """Those that may hold a table and are not hidden, where none is wanted."""
    # More rows than this are not looked at, be they empty or unusable.
    most: int = 10_000_000

    def numbered(self, rows: Iterable[T]) -> Iterator[tuple[int, T]]:
        """Number all that a reader finds; what it skips also takes time, so it ends after too much."""
        for number, row in enumerate(rows, start=1):
            if number > self.most:
                reason = f"The table has more than {self.most:,} rows, empty and bad ones included."
                self.stop(number, "too_many_rows", reason)
                return
            yield number, row

    def all_notes(self) -> list[str]:
        """Return the notes, and how many rows were left out for which reason."""
        counted = [(reason, n) for reason, n in self.left_out.items() if n]
        sentences = [self._sentence(reason, n) for reason, n in counted]
        if n := self.filled.total():
            cells = "1 empty cell repeats" if n == 1 else f"{n:,} empty cells repeat"
            sentences.append(f"{cells} the value above, in {', '.join(self.filled)}.")
        return [*self.notes, *sentences]

    def _sentence(self, reason: str, n: int) -> str:
        rows = named_rows(self.left_out_rows.get(reason, []), n)
        return LEFT_OUT[reason][n > 1].format(*([rows] if n == 1 else [n, rows]))

    def leave_out(self, reason: str, row: int) -> None:
        """Count a row that is left out without being wrong."""
        self.left_out[reason] += 1
        rows = self.left_out_rows.setdefault(reason, [])
        rows += [row] if len(rows) < FIRST_LINES else []

    def add(self, row: int | None, column: str | None, code: str, reason: str) -> None:
        """Add a problem of a row, which can be left out."""
        self._add(TableProblem(row, column, code, shorten(reason)))

    def add_cell(self, row: int, error: BadCell) -> None:
        """Add a problem of a cell that can be left out without the rest of its row."""
        reason = shorten(error.message)
        self._add(TableProblem(row, error.column, error.code, reason, keeps_row=True))

    def stop(self, row: int | None, code: str, reason: str, column: str | None = None) -> None:
        """Add a problem that ends the reading, so no row can be used; it is always listed."""
        self._add(TableProblem(row, column, code, shorten(reason)), is_listed=True)
        self.is_fatal = True

    def _add(self, problem: TableProblem, *, is_listed: bool = False) -> None:
        self.total += 1
        self.rows |= {problem.row} if problem.row else set()
        self.kinds.add(problem, is_kept=is_listed)
        if is_listed or len(self.items) < MAX_LISTED:
            self.items.append(problem)

    def as_error(self, file: str) -> FormatError:
        """Return the problems as those of a file whose reader refuses it."""
        listed = [Problem(file, p.row, p.code, p.reason) for p in self.items]
        kinds = [
            ProblemKind(Problem(file, k.first.row, k.first.code, k.first.reason), k.count, k.lines)
            for k in self.kinds
        ]
        return FormatError(listed, self.total, kinds)

    @contextmanager
    def at(self, row: int) -> Iterator[None]:
        """Record an `InvalidInput` that is raised in the block as a problem of this row."""
        try:
            yield
        except BadCell as error:
            self.add(row, error.column, error.code, error.message)
        except InvalidInput as error:
            self.add(row, None, error.code, error.message)

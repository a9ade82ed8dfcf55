"""Problems of a table, with the row, the column and the reason of each."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from tiebreak.errors import InvalidInput
from tiebreak.formats.errors import shorten

T = TypeVar("T")
MAX_LISTED = 1000


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
    total: int = 0
    is_fatal: bool = False
    notes: list[str] = field(default_factory=list)
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

    def add(self, row: int | None, column: str | None, code: str, reason: str) -> None:
        """Add a problem of a row, which can be left out."""
        self.total += 1
        if len(self.items) < MAX_LISTED:
            self.items.append(TableProblem(row, column, code, shorten(reason)))

    def stop(self, row: int | None, code: str, reason: str, column: str | None = None) -> None:
        """Add a problem that ends the reading, so no row can be used; it is always listed."""
        self.total += 1
        self.items.append(TableProblem(row, column, code, shorten(reason)))
        self.is_fatal = True

    @contextmanager
    def at(self, row: int) -> Iterator[None]:
        """Record an `InvalidInput` that is raised in the block as a problem of this row."""
        try:
            yield
        except BadCell as error:
            self.add(row, error.column, error.code, error.message)
        except InvalidInput as error:
            self.add(row, None, error.code, error.message)

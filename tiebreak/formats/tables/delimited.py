"""Rows of CSV and TSV files, with any usual separator and way of quoting."""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.rows import Row, padded
from tiebreak.formats.tables.problems import BadCell, TableProblems

SEPARATORS = (",", ";", "\t", "|")
# Named as the csv module names its options.
STANDARD: dict[str, Any] = {"strict": True}
BACKSLASHED: dict[str, Any] = {"strict": True, "doublequote": False, "escapechar": "\\"}
# Tabs hardly occur in texts, so many programs do not quote cells between them.
UNQUOTED: dict[str, Any] = {"quoting": csv.QUOTE_NONE}
SAMPLE_CHARACTERS, SAMPLE_ROWS = 200_000, 200
# Larger than a cell may be, so a cell that is too long is named with its row and column.
MAX_LINE = 64 * 1024 * 1024
TWO_HEADERS = "If the table has two header rows, delete one of them."


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are separated and quoted, and whether a line says so."""

    separator: str
    quoting: dict[str, Any]
    skips_line: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `csv.reader`."""
        return {"delimiter": self.separator, **self.quoting}


def dialect_of(path: Path) -> Dialect:
    """Return the separator and the quoting for which the first rows have the same number of cells."""
    with _text(path) as file:
        sample = file.read(SAMPLE_CHARACTERS)
    first = sample.partition("\n")[0].strip()
    if first.lower().startswith("sep=") and first[4:] in SEPARATORS:  # as Excel writes it
        return Dialect(first[4:], STANDARD, skips_line=True)
    lines = sample.splitlines(keepends=True)
    if len(sample) == SAMPLE_CHARACTERS and len(lines) > 1:
        lines.pop()
    candidates = [Dialect(separator, STANDARD) for separator in SEPARATORS]
    candidates.append(Dialect("\t", UNQUOTED))
    candidates += [Dialect(separator, BACKSLASHED) for separator in SEPARATORS]
    best = max(candidates, key=lambda dialect: _evenness(lines, dialect))
    return best if _evenness(lines, best) > (0, 0) else candidates[0]


def _evenness(lines: list[str], dialect: Dialect) -> tuple[float, int]:
    """Return the share of rows with the most frequent number of cells, and that number."""
    csv.field_size_limit(MAX_LINE)
    try:
        rows = list(islice(csv.reader(lines, **dialect.options), SAMPLE_ROWS))
    except csv.Error:
        return 0, 0
    widths = Counter(len(cells) for cells in rows if cells)
    width, n = widths.most_common(1)[0] if widths else (0, 0)
    return (round(n / widths.total(), 1), width) if width > 1 else (0, 0)


def read_delimited(
    path: Path, dialect: Dialect, problems: TableProblems
) -> Iterator[tuple[int, Row]]:
    """Yield the rows with their numbers, counted as a spreadsheet counts: the header is row 1."""
    csv.field_size_limit(MAX_LINE)
    number = 0
    with _text(path) as file:
        lines = _lines(file)
        if dialect.skips_line:
            next(lines, None)
        try:
            header: list[str] = []
            for number, cells in problems.numbered(csv.reader(lines, **dialect.options)):
                if not header:
                    header = checked_header([cell.strip() for cell in cells], number)
                elif not any(cells):
                    problems.left_out["empty_rows"] += 1
                else:
                    with problems.at(number):
                        yield number, _row(header, cells)
        except InvalidInput as error:
            problems.stop(number or 1, error.code, error.message)
        except csv.Error as error:
            reason = f"The row is not valid CSV ({error}). Check the quotation marks of its cells."
            problems.stop(number + 1, "not_csv", reason)
    if number == 0:
        problems.stop(None, "empty", "The file is empty.")


def _text(path: Path) -> Any:
    return path.open("r", encoding="utf-8-sig", errors="surrogateescape", newline="")


def _lines(file: Any) -> Iterator[str]:
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE and not line.endswith("\n"):
            raise InvalidInput(
                "line_too_long", f"The row is longer than {MAX_LINE:,} characters. Shorten it."
            )
        yield line


# Longer headers are a mistake or an attack; how many columns a row may have is checked with it.
MAX_HEADER = 20_000


def checked_header(names: list[str], row: int) -> list[str]:
    """Return the names of the columns; raise `BadCell` if one is missing or occurs twice, or for too many."""
    if len(names) > MAX_HEADER:
        reason = f"The table has {len(names):,} columns. Keep those that are needed."
        raise BadCell("too_many_columns", reason)
    while names and not names[-1]:
        names = names[:-1]
    if names and not names[0]:  # the index that pandas writes
        names = ["column 1", *names[1:]]
    if "" in names:
        number = names.index("") + 1
        raise BadCell("bad_header", f"Column {number} has no name in row {row}. {TWO_HEADERS}")
    repeated = next((name for name, n in Counter(names).items() if n > 1), None)
    if repeated is not None:
        reason = f"Two columns are called “{repeated}”. {TWO_HEADERS} Otherwise rename one column."
        raise BadCell("bad_header", reason)
    return names


def _row(header: list[str], cells: list[str]) -> Row:
    if len(cells) > len(header) and not any(cells[len(header) :]):
        cells = cells[: len(header)]
    cells = padded(cells, header)
    if len(cells) != len(header):
        raise BadCell(
            "wrong_cell_count",
            f"The row has {len(cells)} cells, but the header has {len(header)}. Check its"
            " separators and quotation marks.",
        )
    return {name: cell or None for name, cell in zip(header, cells, strict=True)}

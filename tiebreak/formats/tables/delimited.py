"""Rows of CSV and TSV files, with any usual separator and way of quoting."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats.rows import Row, padded
from tiebreak.formats.tables.problems import BadCell, TableProblems
from tiebreak.formats.tables.profiles import is_number

SEPARATORS = (",", ";", "\t", "|")
# Named as the csv module names its options.
STANDARD: dict[str, Any] = {"strict": True}
BACKSLASHED: dict[str, Any] = {"strict": True, "doublequote": False, "escapechar": "\\"}
# Tabs hardly occur in texts, so many programs do not quote cells between them.
UNQUOTED: dict[str, Any] = {"quoting": csv.QUOTE_NONE}
NEARLY_ALL = 0.9
# A header further down is none: there would be more notes than anyone writes above a table.
MAX_ABOVE = 20
SAMPLE_CHARACTERS, SAMPLE_ROWS = 200_000, 200
# Larger than a cell may be, so a cell that is too long is named with its row and column.
MAX_LINE = 64 * 1024 * 1024
NO_HEADER = "The first row has data and no names, so the columns are called by their numbers."
OTHER_MARK = "The names of the columns are divided by another mark than the rows."
TWO_HEADERS = "If the table has two header rows, delete one of them."


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are separated and quoted, and whether a line says so."""

    separator: str
    quoting: dict[str, Any]
    skips_line: bool = False
    above: int = 0
    """Number of rows above the header, such as a title, notes and empty rows."""
    has_header: bool = True
    width: int = 0
    """Number of cells of the rows, if the header has only one."""
    blank: frozenset[int] = frozenset()
    """Places of columns that have neither a name nor a cell in the first rows."""

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `csv.reader`."""
        return {"delimiter": self.separator, **self.quoting}


def dialect_of(path: Path) -> Dialect:
    """Return the separator and the quoting for which the first rows have the same number of cells."""
    with _text(path) as file:
        _skip_comments(file)
        sample = file.read(SAMPLE_CHARACTERS)
    lines = sample.splitlines(keepends=True)
    if len(sample) == SAMPLE_CHARACTERS and len(lines) > 1:
        lines.pop()
    first = sample.partition("\n")[0].strip()
    if first.lower().startswith("sep=") and first[4:] in SEPARATORS:  # as Excel writes it
        said = Dialect(first[4:], STANDARD, skips_line=True)
        return replace(said, above=_above(lines[1:], said))
    candidates = [Dialect(separator, STANDARD) for separator in SEPARATORS]
    candidates.append(Dialect("\t", UNQUOTED))
    candidates += [Dialect(separator, BACKSLASHED) for separator in SEPARATORS]
    best = max(candidates, key=lambda dialect: _evenness(lines, dialect))
    if _evenness(lines, best) <= (0, 0):
        return candidates[0]
    width = _evenness(lines, best)[1]
    if len(_names_in(next(iter(lines)), best.separator, width)) == width:
        return replace(best, width=width)
    above = _above(lines, best)
    rows = _rows_of(lines, best)[above:]
    blank = {k for k in range(width) if not any("".join(row[k : k + 1]).strip() for row in rows)}
    return replace(
        best, above=above, has_header=not (rows and _begins_with_data(rows)), blank=frozenset(blank)
    )


def _names_in(line: str, separator: str, width: int) -> list[str]:
    """Return the names of a header that is divided otherwise than its rows, by blanks or another mark; else []."""
    splits = [line.split(), *(line.split(other) for other in SEPARATORS)]
    fitting = [[name.strip() for name in names] for names in splits if len(names) == width]
    return (
        fitting[0]
        if fitting and separator not in line and not any(map(is_number, fitting[0]))
        else []
    )


def _above(lines: list[str], dialect: Dialect) -> int:
    """Return the number of rows above the header, below which nearly all rows must have as many cells."""
    rows = _rows_of(lines, dialect)
    above = rows_above_header(rows)
    are_even = [len(row) == len(rows[above]) for row in rows[above:] if row]
    return above if sum(are_even) >= NEARLY_ALL * len(are_even) else 0


def _rows_of(lines: list[str], dialect: Dialect) -> list[list[str]]:
    """Return the first rows, as far as they can be read."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(islice(csv.reader(lines, **dialect.options), SAMPLE_ROWS))
    return rows


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


def rows_above_header(rows: Sequence[Sequence[object]]) -> int:
    """Return how many of the first rows of any table are a title, notes, and empty rows around them."""
    plain = [_trimmed(cells) for cells in rows]
    for k, names in enumerate(plain[:MAX_ABOVE]):
        above = plain[:k]
        are_notes = all(sum(map(bool, row)) < 2 or len(row) <= len(names) / 2 for row in above)
        is_below = any(above) and are_notes
        if is_below and _may_be_header(names, plain[k + 1 :], is_apart=not above[-1]):
            return k
    return 0


def _trimmed(cells: Sequence[object]) -> list[str]:
    """Return the cells as texts, without the empty ones at the end."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _may_be_header(names: list[str], below: list[list[str]], *, is_apart: bool) -> bool:
    """Whether a row has several different names, and nearly all rows below have cells for them alone.

    Two names have to be set apart from what is above: a text without quotes may have one comma as well.
    """
    width, filled = len(names), [row for row in below if row]
    if width < 3 - is_apart or not all(names) or len({*names}) < width or not filled:
        return False
    if any(re.search(r"\d", name) and not re.search(r"[^\W\d_]", name) for name in names):
        return False
    are_cells = sum(len(row) > width / 2 for row in filled) > len(filled) / 2
    return are_cells and sum(len(row) <= width for row in filled) >= NEARLY_ALL * len(filled)


def _begins_with_data(rows: list[list[str]]) -> bool:
    """Whether the first row has numbers where the second has, and as no header does one twice or a cell from below it."""
    first, second = rows[0], rows[1] if len(rows) > 1 else []
    numbers = [cell for cell in first if is_number(cell)]
    if not numbers or [*map(is_number, first)] != [*map(is_number, second)]:
        return False
    is_twice = len({*numbers}) < len(numbers) and len(numbers) >= len(first) / 2
    # What is only a number may be the title of a column that has this number as well.
    is_below = (
        row[k] == cell
        for k, cell in enumerate(first)
        for row in rows[1:]
        if row[k:] and not cell.isdecimal()
    )
    return is_twice or any(is_below)


def read_delimited(
    path: Path, dialect: Dialect, problems: TableProblems
) -> Iterator[tuple[int, Row]]:
    """Yield the rows with their numbers, counted as a spreadsheet counts: the header is row 1."""
    csv.field_size_limit(MAX_LINE)
    number = 0
    with _text(path) as file:
        skipped = _skip_comments(file)
        if skipped:
            problems.notes.append(
                f"Lines of comments above the header that were left out: {skipped}."
            )
        lines = _lines(file)
        if dialect.skips_line:
            next(lines, None)
        try:
            header: list[str] = []
            rows = problems.numbered(csv.reader(lines, **dialect.options))
            for number, cells in ((k + skipped, cells) for k, cells in rows):
                if number <= skipped + dialect.above:
                    problems.left_out["above_header"] += 1
                elif not header and not dialect.has_header:
                    problems.notes.append(NO_HEADER)
                    header = [f"column {k}" for k in range(1, len(cells) + 1)]
                    yield number, _row(header, cells)
                elif not header:
                    names = _names_in(cells[0], dialect.separator, dialect.width) or cells
                    problems.notes += [OTHER_MARK] * (names is not cells)
                    names = [cell.strip() for cell in names]
                    titled = [
                        f"column {k + 1}" if k in dialect.blank else n for k, n in enumerate(names)
                    ]
                    header = checked_header(titled, number)
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


def _skip_comments(file: Any) -> int:
    """Move behind the lines above the header that begin with a number sign and a space."""
    skipped = start = 0
    while file.readline(MAX_LINE).startswith("# "):
        skipped, start = skipped + 1, file.tell()
    file.seek(start)
    return skipped


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
    if names.count("") <= len(names) / 10:  # two header rows would have left more without a name
        names = [name or f"column {k}" for k, name in enumerate(names, start=1)]
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

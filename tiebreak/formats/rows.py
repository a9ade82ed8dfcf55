"""Reading rows and their line numbers from JSONL, CSV and Parquet files within the limits."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tiebreak import optional
from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import MAX_COLUMNS, check_cells, parse_json
from tiebreak.formats.errors import FormatError, Problems
from tiebreak.formats.gate import check_parquet
from tiebreak.formats.limits import LIMITS, Limits

Row = dict[str, Any]
# Few rows at a time, because a small file can decompress to large cells before they are checked.
PARQUET_ROWS = 64
BAD_HEADER = f"has two columns with the same name, or more than {MAX_COLUMNS} columns"
# Columns of Mechanical Turk's batches that requesters fill in; their rows end before them.
FILLED_IN_LATER = {"Approve", "Reject"}
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

# XML turns a carriage return into a line feed, and holds no other control character.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_WRITTEN = re.compile("_x([0-9A-Fa-f]{4})_")


def read_rows(path: Path, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, Row]]:
    """Yield rows with their line numbers; skip invalid lines, and add them to ``problems``."""
    readers = {".jsonl": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}
    if path.suffix not in readers:
        reason = "is not a .jsonl, .csv or .parquet file"
        raise FormatError.of(path.name, None, "unknown_format", reason)
    return _limited(readers[path.suffix](path, problems, limits), path, problems, limits)


def read_jsonl(
    path: Path, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, Row]]:
    return _limited(_read_jsonl(path, problems, limits), path, problems, limits)


def _limited(
    rows: Iterator[tuple[int, Row | None]], path: Path, problems: Problems, limits: Limits
) -> Iterator[tuple[int, Row]]:
    """Yield at most ``limits.rows`` rows; those that are empty or bad, which are None, count too."""
    for count, (line, row) in enumerate(rows, start=1):
        if count > limits.rows:
            reason = f"has more than {limits.rows:,} rows, which is the limit for one file"
            problems.add(path.name, line, "too_many_rows", limits.refusal(reason))
            return
        if row is not None:
            yield line, row


def _read_jsonl(path: Path, problems: Problems, limits: Limits) -> Iterator[tuple[int, Row | None]]:
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(limits.line + 1):
            number += 1
            if len(raw) > limits.line:
                reason = f"the line is longer than {limits.line} bytes"
                problems.add(path.name, number, "line_too_long", reason)
                return
            row = None
            if raw.strip():
                with problems.at(path.name, number):
                    row = check_cells(_object(raw), limits.cell)
            yield number, row


def _object(raw: bytes) -> Row:
    row = parse_json(raw)
    if not isinstance(row, dict):
        raise InvalidInput("not_an_object", "is not a JSON object")
    return row


def _read_csv(path: Path, problems: Problems, limits: Limits) -> Iterator[tuple[int, Row | None]]:
    csv.field_size_limit(limits.line)
    lines = _LineReader()
    try:
        with path.open("rb") as file:
            reader = csv.reader(lines.decode(file, limits.line), strict=True)
            header = next(reader, None)
            if header is None:
                problems.add(path.name, None, "empty", "is empty")
            elif len(set(header)) < len(header) or len(header) > MAX_COLUMNS:
                problems.add(path.name, 1, "bad_header", BAD_HEADER)
            else:
                yield from _csv_rows(path, reader, header, problems, limits)
    except InvalidInput as error:
        problems.add(path.name, lines.number, error.code, error.message)
    except (csv.Error, ValueError) as error:
        problems.add(path.name, lines.number, "not_csv", f"is not valid CSV ({error})")


@dataclass
class _LineReader:
    """Decodes the lines of a file; ``number`` is the number of the current line."""

    number: int = 0

    def decode(self, file: IO[bytes], max_bytes: int) -> Iterator[str]:
        while raw := file.readline(max_bytes + 1):
            self.number += 1
            if len(raw) > max_bytes:
                raise InvalidInput("line_too_long", f"the line is longer than {max_bytes} bytes")
            try:
                yield raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InvalidInput("not_utf8", "the line is not UTF-8 text") from None


def _csv_rows(
    path: Path, reader: Any, header: list[str], problems: Problems, limits: Limits
) -> Iterator[tuple[int, Row | None]]:
    for cells in reader:
        row = None
        if cells:
            with problems.at(path.name, reader.line_num):
                row = check_cells(_named(cells, header), limits.cell)
        yield reader.line_num, row


def _named(cells: list[str], header: list[str]) -> Row:
    full = padded(cells, header)
    if len(full) != len(header):
        raise InvalidInput(
            "wrong_cell_count",
            f"the number of cells is {len(cells)}, but the header has {len(header)}",
        )
    return {
        name: None if cell == "" else unescape_formula(cell)
        for name, cell in zip(header, full, strict=True)
    }


def padded(cells: list[str], header: list[str]) -> list[str]:
    """Add the empty cells that Mechanical Turk's batches lack at the end of each row."""
    lacking = header[len(cells) :]
    return [*cells, *("" for _ in lacking)] if {*lacking} <= FILLED_IN_LATER else cells


def unescape_formula(cell: str) -> str:
    """Remove the apostrophe that `escape_formula` added."""
    is_escaped = cell.startswith("'") and cell[1:].startswith((*FORMULA_STARTS, "'"))
    return cell[1:] if is_escaped else cell


def escape_formula(cell: str) -> str:
    """Add an apostrophe before text that a spreadsheet would run as a formula."""
    looks_like_formula = cell.startswith(FORMULA_STARTS) or cell.startswith("'")
    return "'" + cell if looks_like_formula and not _is_number(cell) else cell


def escape_for_sheet(text: str) -> str:
    """Write what XML cannot hold, and what looks like it, as workbooks do: _x0007_ for a bell."""
    return _UNWRITABLE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def unescape_from_sheet(text: str) -> str:
    """Return a workbook's text with the characters that `escape_for_sheet` wrote by their numbers."""
    return _WRITTEN.sub(lambda match: chr(int(match[1], 16)), text)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, problems: Problems, limits: Limits) -> Iterator[tuple[int, Row]]:
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")

    number = 0
    try:
        check_parquet(path, limits)
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names) or len(names) > MAX_COLUMNS:
                problems.add(path.name, None, "bad_header", BAD_HEADER)
                return
            for batch in file.iter_batches(batch_size=PARQUET_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    with problems.at(path.name, number):
                        yield number, check_cells(row, limits.cell)
    except FormatError as error:
        problems.extend(error)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        problems.add(
            path.name, number or None, "not_parquet", f"is not a valid Parquet file ({error})"
        )

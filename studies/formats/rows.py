"""Rows of JSONL, CSV and Parquet files with their line numbers, within bounds."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.formats.errors import FormatError, Problem, Problems

Row = dict[str, Any]
MAX_CELL = 1_000_000
MAX_COLUMNS = 500
MAX_DEPTH = 20
# Few at a time: a small file can unfold into large cells, which are refused one by one.
PARQUET_ROWS = 64
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def read_rows(
    path: Path, problems: Problems, max_cell: int = MAX_CELL
) -> Iterator[tuple[int, Row]]:
    """Rows by line number. A broken line is noted in `problems` and left out."""
    if path.suffix == ".jsonl":
        return read_jsonl(path, problems, max_cell)
    if path.suffix == ".csv":
        return _read_csv(path, problems, max_cell)
    if path.suffix == ".parquet":
        return _read_parquet(path, problems, max_cell)
    raise FormatError([Problem(path.name, None, "is not a .jsonl, .csv or .parquet file")])


def read_jsonl(path: Path, problems: Problems, max_cell: int) -> Iterator[tuple[int, Row]]:
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(max_cell * 4 + 1):
            number += 1
            if len(raw) > max_cell * 4:
                problems.add(path.name, number, f"the line is longer than {max_cell * 4} bytes")
                return
            if raw.strip():
                with problems.at(path.name, number):
                    yield number, _parse_json(raw, max_cell)


def _parse_json(raw: bytes, max_cell: int) -> Row:
    try:
        row = json.loads(
            raw.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeated_keys,
        )
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    except RecursionError:
        raise ValueError(f"is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    if not isinstance(row, dict):
        raise ValueError("is not a JSON object")
    return check_cells(row, max_cell)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("names a key twice")
    return row


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


def check_cells(row: Row, max_cell: int = MAX_CELL) -> Row:
    """The row if every cell is within bounds; else `ValueError` with the column's name."""
    if len(row) > MAX_COLUMNS:
        raise ValueError(f"has {len(row)} columns; at most {MAX_COLUMNS} are read")
    for name, value in row.items():
        _check_value(str(name)[:100], value, max_cell, depth=0)
    return row


def _check_value(name: str, value: Any, max_cell: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"{name} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        if len(value) > max_cell:
            raise ValueError(f"{name} has {len(value)} characters; at most {max_cell} are read")
        if "\x00" in value:
            raise ValueError(f"{name} contains a NUL character")
    elif isinstance(value, dict):
        for inner in value.values():
            _check_value(name, inner, max_cell, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_value(name, inner, max_cell, depth + 1)


def _read_csv(path: Path, problems: Problems, max_cell: int) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(max_cell * 4)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, None)
            if header is None:
                raise FormatError([Problem(path.name, None, "is empty")])
            yield from _csv_rows(path, reader, header, problems, max_cell)
    except UnicodeDecodeError:
        problems.add(path.name, None, "is not UTF-8 text")
    except csv.Error as error:
        problems.add(path.name, None, f"is not CSV: {error}")


def _csv_rows(
    path: Path, reader: Any, header: list[str], problems: Problems, max_cell: int
) -> Iterator[tuple[int, Row]]:
    if len(set(header)) < len(header) or len(header) > MAX_COLUMNS:
        raise FormatError([Problem(path.name, 1, "names a column twice, or too many columns")])
    for cells in reader:
        if not cells:
            continue
        with problems.at(path.name, reader.line_num):
            if len(cells) != len(header):
                raise ValueError(f"has {len(cells)} cells, the header {len(header)}")
            row = {
                name: None if cell == "" else defused(cell)
                for name, cell in zip(header, cells, strict=True)
            }
            yield reader.line_num, check_cells(row, max_cell)


def defused(cell: str) -> str:
    """A CSV cell as it was before `neutral` made it harmless to spreadsheets."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def neutral(cell: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    looks_like_formula = cell.startswith(FORMULA_STARTS) or cell.startswith("'")
    return "'" + cell if looks_like_formula and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, problems: Problems, max_cell: int) -> Iterator[tuple[int, Row]]:
    import pyarrow as pa  # noqa: PLC0415  a heavy import that only this format needs
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(path)
        number = 0
        for batch in file.iter_batches(batch_size=PARQUET_ROWS):
            for row in batch.to_pylist():
                number += 1
                with problems.at(path.name, number):
                    yield number, check_cells(row, max_cell)
    except pa.ArrowException as error:
        problems.add(path.name, None, f"is not a Parquet file: {error}")

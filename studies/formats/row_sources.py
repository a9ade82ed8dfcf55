"""Chunks of rows out of JSONL, CSV and Parquet files: what is readable, with its line."""

import csv
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from studies.formats.cells import restored
from studies.formats.chunks import CHUNK_ROWS, Chunk, chunks_of_rows
from studies.formats.columns import COLUMNS, label_from_text
from studies.formats.limits import Limits
from studies.formats.lines import BadLine, decoded_lines, parse_object
from studies.formats.problems import refusal

Source = Callable[[BinaryIO, str, Limits], Iterator[Chunk]]


def jsonl_chunks(stream: BinaryIO, _file: str, limits: Limits) -> Iterator[Chunk]:
    """One JSON object a line; blank lines are passed over."""
    return chunks_of_rows(json_rows(stream, limits))


def json_rows(stream: BinaryIO, limits: Limits) -> Iterator[tuple[int, dict[str, object] | str]]:
    """(line, object), or (line, reason) where the line holds none."""
    for number, text in decoded_lines(stream, limits):
        if isinstance(text, BadLine):
            yield number, str(text)
        elif text.strip():
            yield number, _object_or_reason(text, limits)


def _object_or_reason(text: str, limits: Limits) -> dict[str, object] | str:
    try:
        row = parse_object(text)
    except BadLine as error:
        return str(error)
    if len(row) > limits.columns:
        return f"the object has {len(row):,} keys; {limits.columns} are allowed."
    return row


def csv_chunks(stream: BinaryIO, file: str, limits: Limits) -> Iterator[Chunk]:
    """A header, then records; an empty cell is missing, a disarmed one is restored."""
    records = csv_records(stream, file, limits)
    _, header = next(records, (1, []))
    _check_header(header, file, limits)
    return chunks_of_rows(_csv_rows(records, header))


def csv_records(stream: BinaryIO, file: str, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of each record that is not blank; raise FormatError."""
    # The csv module keeps this bound for the whole process; it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), limits.cell_characters))
    reader = csv.reader(_lines_or_refusal(stream, file, limits), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise refusal(file, f"this is not CSV: {error}.", line) from None
        if record:
            yield line, record


def _lines_or_refusal(stream: BinaryIO, file: str, limits: Limits) -> Iterator[str]:
    for number, text in decoded_lines(stream, limits):
        if isinstance(text, BadLine):
            raise refusal(file, str(text), number)
        yield text


def _check_header(header: list[str], file: str, limits: Limits) -> None:
    if not header:
        raise refusal(file, "the file is empty; a CSV file begins with a line of column names.")
    if len(header) > limits.columns:
        raise refusal(file, f"{len(header):,} columns; {limits.columns} are allowed.", 1)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise refusal(file, f"the column {twice!r} stands twice.", 1)


def _csv_rows(
    records: Iterator[tuple[int, list[str]]], header: list[str]
) -> Iterator[tuple[int, dict[str, object] | str]]:
    restore = [_restorer(name) for name in header]
    for line, cells in records:
        if len(cells) != len(header):
            yield line, f"{len(cells)} cells; the header has {len(header)}."
            continue
        values = [fix(cell) if cell else None for fix, cell in zip(restore, cells, strict=True)]
        yield line, dict(zip(header, values, strict=True))


def _restorer(name: str) -> Callable[[str], object]:
    kind = COLUMNS[name].kind if name in COLUMNS else "text"
    if kind == "label":
        return lambda cell: label_from_text(restored(cell))
    return restored if kind == "text" else str


def parquet_chunks(stream: BinaryIO, file: str, limits: Limits) -> Iterator[Chunk]:
    """Row groups as they come; a row's line is its number from 1. The stream must seek."""
    try:
        yield from _parquet_chunks(stream, file, limits)
    except (pa.ArrowException, OSError) as error:
        raise refusal(file, f"this cannot be read as Parquet: {error}") from None


def _parquet_chunks(stream: BinaryIO, file: str, limits: Limits) -> Iterator[Chunk]:
    schema = pq.read_schema(stream)
    names = schema.names
    _check_header(names, file, limits)
    texts = [field.name for field in schema if _is_text(field.type) and field.name in COLUMNS]
    stream.seek(0)
    # Repeated texts stay in their dictionaries: a small file cannot unfold into a large memory.
    with pq.ParquetFile(stream, read_dictionary=texts) as parquet:
        known = [name for name in names if name in COLUMNS]
        others: dict[str, list[object]] = {name: [] for name in names if name not in COLUMNS}
        line = 1
        for batch in parquet.iter_batches(CHUNK_ROWS, columns=known):
            cells = {name: _cells(batch.column(name)) for name in known}
            yield Chunk(list(range(line, line + batch.num_rows)), cells | others)
            line += batch.num_rows


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cells(column: pa.Array) -> list[object]:
    if pa.types.is_dictionary(column.type):
        values = [*column.dictionary.to_pylist(), None]
        return [values[code] for code in column.indices.fill_null(len(values) - 1).to_pylist()]
    if pa.types.is_temporal(column.type):
        return [None if value is None else str(value) for value in column.to_pylist()]
    cells: list[object] = column.to_pylist()
    return cells


SOURCES: dict[str, Source] = {
    ".jsonl": jsonl_chunks,
    ".ndjson": jsonl_chunks,
    ".csv": csv_chunks,
    ".parquet": parquet_chunks,
}


def source_for(file: str) -> Source:
    """The source that reads files with this ending; raise FormatError if there is none."""
    ending = PurePath(file).suffix.lower()
    if ending not in SOURCES:
        raise refusal(file, f"the name must end in one of {', '.join(SOURCES)}.")
    return SOURCES[ending]

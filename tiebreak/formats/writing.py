"""Atomic writing: a file appears under its final name only when it is complete."""

import math
import os
import shutil
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import accumulate, count, islice
from pathlib import Path
from typing import Any

from tiebreak import optional
from tiebreak.errors import DomainError
from tiebreak.formats.export_columns import ARROW_TYPES, LABELS, MESSAGES
from tiebreak.formats.gate import SHEET_ROWS
from tiebreak.formats.lines import Batch, csv_lines, json_lines
from tiebreak.formats.rows import Row, escape_for_sheet

BATCH = 2000
# The most characters of a cell of a workbook, counted as its format counts them, in UTF-16.
MAX_SHEET_CELL = 32_767
# Beyond this, spreadsheets round whole numbers.
MAX_EXACT = 2**53
TOO_MANY_ROWS = (
    "There are more rows than the {:,} of an XLSX sheet. Please choose CSV, JSON Lines or Parquet."
)
TEXT_TOO_LONG = (
    "Row {:,} has a text that is longer than the {:,} characters of an XLSX cell. Please choose CSV,"
    " JSON Lines or Parquet, or leave out the texts."
)

# Returns a batch, and is called where the time for its work is.
Columns = Callable[[], Batch]
WriteBatch = Callable[[Batch], None]
Types = Mapping[str, str]


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Write a file completely, or not at all.

    Parameters
    ----------
    path : Path
        Final path. Its folder is created if necessary, and an existing file is replaced.

    Yields
    ------
    Path
        Temporary file in the same folder, which is renamed when the block ends without an error.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "report.json") as temporary:
    ...         _ = temporary.write_text("{}")
    ...     (Path(folder) / "report.json").read_text()
    '{}'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder completely, or not at all.

    Parameters
    ----------
    path : Path
        Final path. If the folder exists, it must be empty.

    Yields
    ------
    Path
        Temporary folder next to it, which is renamed when the block ends without an error.

    Raises
    ------
    OSError
        If the folder exists and is not empty.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_folder(Path(folder) / "bundle") as temporary:
    ...         _ = (temporary / "study.toml").write_text("")
    ...     (Path(folder) / "bundle" / "study.toml").exists()
    True
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_rows(path: Path, rows: Iterable[Row], columns: Sequence[str]) -> int:
    """Write rows to a file in the format of the file's ending.

    Parameters
    ----------
    path : Path
        Path that ends in .jsonl, .csv, .xlsx or .parquet. Parquet needs the extra ``parquet``, XLSX
        the extra ``tables``.
    rows : iterable of dict
        Rows as values by column. Each row is written as soon as the iterable yields it.
    columns : sequence of str
        Columns to write, in order.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    MissingPackageError
        If the file is Parquet and pyarrow is not installed.

    See Also
    --------
    write_in_batches : Says how far the file is.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(Path(folder) / "r.csv", [{"unit": "u", "label": 1}], ["unit", "label"])
    1
    """
    return max(write_in_batches(path, rows, columns), default=0)


def write_in_batches(
    path: Path,
    rows: Iterable[Row],
    columns: Iterable[str],
    *,
    types: Mapping[str, str] = ARROW_TYPES,
) -> Iterator[int]:
    """Write rows like `write_rows`, and yield the number of rows so far after each batch.

    The file appears when the iterator is exhausted. ``types`` has the Arrow types of the columns
    that do not hold text, for Parquet.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list(write_in_batches(Path(folder) / "r.jsonl", [{"unit": "u"}], ["unit"]))
    [1]
    """
    columns = tuple(columns)
    remaining = iter(rows)
    parts = iter(lambda: list(islice(remaining, BATCH)), [])
    batches = (partial(_columns, part, columns) for part in parts)
    yield from write_batches(path, batches, columns, types=types)


def write_batches(
    path: Path,
    batches: Iterable[Columns],
    columns: Iterable[str],
    *,
    types: Mapping[str, str] = ARROW_TYPES,
) -> Iterator[int]:
    """Write batches of columns, and yield the number of rows so far after each, like `write_in_batches`.

    A thread calls the function of a batch and writes the batch while the next batch is read here, so
    a database works meanwhile.
    """
    open_writer = WRITERS[path.suffix]
    with atomic_path(path) as temporary, open_writer(temporary, tuple(columns), types) as write:
        yield from accumulate(_written(batches, write))


def _written(batches: Iterable[Columns], write: WriteBatch) -> Iterator[int]:
    """Write each batch while the next one is read, and yield the number of rows of each."""
    with ThreadPoolExecutor(1) as thread:
        writing: Future[int] | None = None
        for batch in batches:
            if writing is not None:
                yield writing.result()
            writing = thread.submit(_counted, write, batch)
        if writing is not None:
            yield writing.result()


def _counted(write: WriteBatch, columns: Columns) -> int:
    batch = columns()
    write(batch)
    return len(next(iter(batch.values())))


def rows_of(batch: Batch) -> Iterator[Row]:
    """Yield the rows of a batch of columns."""
    for values in zip(*batch.values(), strict=True):
        yield dict(zip(batch, values, strict=True))


def _columns(rows: list[Row], names: Sequence[str]) -> Batch:
    return {name: [row.get(name) for row in rows] for name in names}


@contextmanager
def _jsonl_writer(path: Path, columns: Sequence[str], _: Types) -> Iterator[WriteBatch]:
    with path.open("wb") as file:
        yield lambda batch: file.writelines(json_lines(_selected(batch, columns)))


@contextmanager
def _csv_writer(path: Path, columns: Sequence[str], _: Types) -> Iterator[WriteBatch]:
    with path.open("wb") as file:
        file.write(BOM_UTF8)  # without which Excel takes the text for another encoding
        file.writelines(csv_lines({name: (name,) for name in columns}))
        yield lambda batch: file.writelines(csv_lines(_selected(batch, columns)))


def _selected(batch: Batch, columns: Sequence[str]) -> Batch:
    return {name: batch[name] for name in columns}


@contextmanager
def _parquet_writer(path: Path, columns: Sequence[str], types: Types) -> Iterator[WriteBatch]:
    pa, pq = optional.load("pyarrow"), optional.load("pyarrow.parquet")
    schema = pa.schema([(name, _arrow_type(pa, name, types)) for name in columns])

    def write(batch: Batch) -> None:
        arrays = []
        for name in columns:
            column = batch[name]
            if name in LABELS:  # numbers for some criteria, and words for others
                column = [None if value is None else str(value) for value in column]
            arrays.append(pa.array(column, schema.field(name).type))
        writer.write_batch(pa.record_batch(arrays, schema=schema))

    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield write


@contextmanager
def _xlsx_writer(path: Path, columns: Sequence[str], _: Types) -> Iterator[WriteBatch]:
    """Write one sheet, whose rows wait in a temporary file and not in memory."""
    openpyxl = optional.load("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(path.name.strip(".").partition(".")[0])
    numbers = count(1)

    def append(values: Iterable[Any]) -> None:
        if (number := next(numbers)) > SHEET_ROWS:
            raise DomainError("too_many_rows_for_xlsx", TOO_MANY_ROWS.format(SHEET_ROWS))
        sheet.append([_sheet_cell(sheet, value, number) for value in values])

    def write(batch: Batch) -> None:
        for row in zip(*_selected(batch, columns).values(), strict=True):
            append(row)

    try:
        append(columns)
        yield write
        book.save(path)
    except BaseException:
        sheet.close()
        sheet._writer.cleanup()
        raise


def _sheet_cell(sheet: Any, value: Any, row: int) -> Any:
    """Return a number with all its digits, and a text as a string, which is never run as a formula."""
    if value is None or (isinstance(value, int) and abs(value) <= MAX_EXACT):
        return value
    is_number = isinstance(value, float) and math.isfinite(value)
    text = repr(value) if is_number else escape_for_sheet(str(value))
    if len(text.encode("utf-16-le")) > 2 * MAX_SHEET_CELL:
        raise DomainError("text_too_long_for_xlsx", TEXT_TOO_LONG.format(row, MAX_SHEET_CELL))
    cell = optional.load("openpyxl.cell").WriteOnlyCell(sheet, text)
    cell.data_type = "n" if is_number else "s"
    return cell


def _arrow_type(pa: Any, name: str, types: Mapping[str, str]) -> Any:
    kind = types.get(name, "string")
    if kind != MESSAGES:
        return getattr(pa, kind)()
    return pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


WRITERS: dict[str, Callable[[Path, Sequence[str], Types], AbstractContextManager[WriteBatch]]] = {
    ".jsonl": _jsonl_writer,
    ".csv": _csv_writer,
    ".xlsx": _xlsx_writer,
    ".parquet": _parquet_writer,
}

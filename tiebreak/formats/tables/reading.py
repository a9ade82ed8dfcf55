"""Opening plain tables: one file of any usual format, or a folder of files with the same columns."""

import gzip
import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from tiebreak.errors import InvalidInput
from tiebreak.formats.archive import extract
from tiebreak.formats.cells import check_cells, check_text
from tiebreak.formats.errors import FormatError
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.columnar import read_arrow, read_parquet
from tiebreak.formats.tables.delimited import dialect_of, read_delimited
from tiebreak.formats.tables.encodings import (
    NOT_TEXT,
    check_is_text,
    encoding_of,
    write_as_utf8,
)
from tiebreak.formats.tables.json_rows import json_layout, read_lines, read_list, read_object
from tiebreak.formats.tables.nesting import flattened
from tiebreak.formats.tables.problems import BadCell, TableProblems
from tiebreak.formats.tables.roles import texts_in
from tiebreak.formats.tables.workbooks import (
    SKIPPED_IN_SHEETS,
    has_sheets,
    is_workbook,
    read_workbook,
)

Rows = Iterator[tuple[int, Row]]
Reader = Callable[[Path, TableProblems], Rows]

CHUNK = 1024 * 1024
MAX_SHARDS = 1000
# Cells of a workbook share their texts, which a plain file of them has as often as they occur.
MAX_KEPT = 500_000_000
# Rows that a table may have beyond twice those that count: some programs write empty rows between.
SKIPPED = 1000
# How often a file may be packed, folders in it included: a gzip of a .zip of a gzip.
MAX_DEPTH = 4
# Files of a dataset's folder that hold rows, in the order of preference.
SHARDS = (".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx")
# Files that describe a dataset's folder, and hold no rows.
DESCRIPTIONS = {"dataset_info.json", "dataset_infos.json", "state.json", "dataset_dict.json"}
# Sheets of a workbook, and rows of each, that are looked at to find the one with the texts.
MAX_TRIED, TRIED_ROWS, FITS = 10, 50, 2
Fits = Callable[[Iterable[Row]], int]
NO_SHEETS = "The file is no workbook, so it has no sheets to choose from. Choose none."
READABLE = "XLSX, CSV, JSON Lines or Parquet"
MIXED = (
    "{} contains bytes that are not UTF-8, other than the rest of the file. Save the file"
    " with one encoding."
)


@dataclass(frozen=True)
class Table:
    """A table that can be read any number of times."""

    name: str
    """Name of the file or folder."""
    files: tuple[Path, ...]
    """The files, which are read one after another."""
    readers: tuple[Reader, ...]
    """Who reads each file."""
    limits: Limits = LIMITS
    """Largest sizes that are accepted."""
    notes: tuple[str, ...] = field(default=())
    """Sentences on how the table is read, such as its encoding."""
    sheet: str = ""
    """The sheet of a workbook that is wanted; "" is the first that has a table."""

    def rows(self, problems: TableProblems) -> Rows:
        """Yield the rows with their numbers; invalid rows are added to ``problems`` instead."""
        count = before = number = size = 0
        names: set[str] = set()
        problems.most = SKIPPED + 2 * self.limits.rows
        problems.sheet = self.sheet
        for path, reader in zip(self.files, self.readers, strict=True):
            for number, row in _below_headers(reader(path, problems), problems):
                count += 1
                if self.sheet and not problems.sheets:
                    problems.stop(None, "no_sheets", NO_SHEETS)
                    return
                if count > self.limits.rows:
                    reason = (
                        f"The table has more than {self.limits.rows:,} rows, which is the limit"
                    )
                    problems.stop(before + number, "too_many_rows", self.limits.refusal(reason))
                    return
                size += sum(len(cell) for cell in row.values() if isinstance(cell, str))
                if size > self.limits.unpacked:
                    reason = f"The table has texts of more than {self.limits.unpacked:,} characters"
                    problems.stop(before + number, "unpacks_too_large", self.limits.refusal(reason))
                    return
                with problems.at(before + number):
                    yield before + number, self._checked(row, names)
            if problems.is_fatal:
                return
            before += number

    def _checked(self, row: Row, names: set[str]) -> Row:
        """Return the row's cells. ``names`` has those of columns that were checked before."""
        cells = flattened(row)
        for column in cells.keys() - names:
            self._check(None, column)
        names.update(cells)
        for column, value in cells.items():
            self._check(column, value)
        return cells

    def _check(self, column: str | None, value: object) -> None:
        """Check a cell, or a column's name if there is no column."""
        what = "The name of a column" if column is None else "The cell"
        try:
            if isinstance(value, str):
                check_text(what, value, self.limits.cell)
            elif value is not None and not isinstance(value, int | float):
                check_cells({column or "": value}, self.limits.cell)
        except InvalidInput as error:
            is_mixed = isinstance(value, str) and any("\udc80" <= c <= "\udcff" for c in value)
            if is_mixed:
                raise BadCell("mixed_encodings", MIXED.format(what), column) from None
            raise BadCell(error.code, f"{error.message}.", column) from None


def _below_headers(rows: Rows, problems: TableProblems) -> Rows:
    """Leave out Qualtrics' second and third header row, which have questions and ids in JSON."""
    first = list(islice(rows, 2))
    headers = 0
    for k, (_, row) in enumerate(first, start=1):
        cells = [str(cell) for cell in row.values() if cell]
        if cells and all(cell.startswith('{"ImportId":') for cell in cells):
            headers = headers or k
    if headers:
        problems.left_out["header_rows"] += headers
    yield from first[headers:]
    yield from rows


@contextmanager
def open_table(
    path: Path, *, limits: Limits = LIMITS, sheet: str = "", fits: Fits = texts_in
) -> Iterator[Table]:
    r"""Yield a table for the block, from a file, or from a folder with such files or a .zip of it.

    Files are CSV, TSV, JSON, JSON Lines, Parquet, Arrow or XLSX, each also with gzip. Of a workbook,
    the first sheet is read whose rows fit best, unless ``sheet`` names another. ``fits`` says how well rows do, from 0 to 2.
    Raises `FormatError` if the file has none of these formats, or exceeds a limit.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text("id;answer\n1;Yes, of course.\n")
    ...     with open_table(path) as table:
    ...         list(table.rows(TableProblems()))
    [(2, {'id': '1', 'answer': 'Yes, of course.'})]
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tiebreak-")))
        table = replace(_opened(path, folder, limits), name=path.name, sheet=sheet)
        yield table if sheet else replace(table, sheet=_fitting_sheet(table, fits))


def _fitting_sheet(table: Table, fits: Fits) -> str:
    """Return the first sheet whose rows fit best, or "" for the first that has a table."""
    if not (isinstance(table.readers[0], _Workbook) and has_sheets(table.files[0])):
        return ""
    problems = TableProblems()
    best, most = "", _fit(table, fits, problems)
    for name in problems.tables[1:MAX_TRIED]:
        if most == FITS:
            break
        found = _fit(replace(table, sheet=name), fits, TableProblems())
        if found > most:
            best, most = name, found
    return best


def _fit(table: Table, fits: Fits, problems: TableProblems) -> int:
    return fits([row for _, row in islice(table.rows(problems), TRIED_ROWS)])


def _opened(path: Path, folder: Path, limits: Limits, depth: int = 0) -> Table:
    if depth > MAX_DEPTH:
        reason = f"is packed more than {MAX_DEPTH} times over. Unpack it first"
        raise FormatError.of(path.name, None, "packed_too_often", reason)
    if path.is_dir():
        return _of_folder(path, folder, limits, depth)
    with path.open("rb") as file:
        magic = file.read(8)
    if magic.startswith(b"\x1f\x8b"):
        plain = folder / path.stem
        _unpack(path, plain, limits)
        return _opened(plain, _subfolder(folder), limits, depth + 1)
    if magic.startswith(b"PAR1"):
        return Table(path.name, (path,), (partial(read_parquet, limits=limits),), limits)
    if magic.startswith(b"ARROW1") or path.suffix == ".arrow":
        return Table(path.name, (path,), (partial(read_arrow, limits=limits),), limits)
    if magic.startswith(b"PK"):
        return _of_zip(path, folder, limits, depth)
    check_is_text(path, READABLE)
    return _of_text(path, folder, limits)


@dataclass
class _Workbook:
    """Reads a workbook once: further passes over a sheet without problems take its rows from a plain file."""

    folder: Path
    limits: Limits
    kept: dict[str, Path] = field(default_factory=dict)
    said: TableProblems = field(default_factory=TableProblems)
    """What the first pass said, beside the rows."""
    names: list[str] = field(default_factory=list)

    def __call__(self, path: Path, problems: TableProblems) -> Rows:
        kept = self.kept.get(problems.sheet)
        if kept:
            problems.sheet, problems.sheets = self.said.sheet, [*self.said.sheets]
            problems.notes += self.said.notes
            problems.left_out += self.said.left_out
            with kept.open("rb") as rows:
                for line in rows:
                    number, cells = json.loads(line)
                    yield number, dict(zip(self.names, cells, strict=True))
            return
        wanted, notes, names = problems.sheet, len(problems.notes), self.names
        before = problems.left_out.copy()
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            for number, row in read_workbook(path, problems, self.limits):
                if file.tell() < MAX_KEPT:
                    file.write(json.dumps((number, [*row.values()])).encode() + b"\n")
                    names = [*row]
                yield number, row
            is_whole = file.tell() < MAX_KEPT
        if is_whole and not problems.total:
            # Who takes the rows counts reasons of their own.
            left_out = Counter({r: problems.left_out[r] - before[r] for r in SKIPPED_IN_SHEETS})
            said = TableProblems(notes=problems.notes[notes:], left_out=left_out)
            said.sheet, said.sheets = problems.sheet, problems.sheets
            self.kept, self.said, self.names = {wanted: Path(file.name)}, said, names


def _subfolder(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def _of_zip(path: Path, folder: Path, limits: Limits, depth: int) -> Table:
    if is_workbook(path):
        return Table(path.name, (path,), (_Workbook(folder, limits),), limits)
    # A refusal names the folder, so it is called what the file is called.
    unpacked = extract(path, _subfolder(folder) / path.name, limits)
    return _of_folder(unpacked, folder, limits, depth + 1)


def _of_folder(path: Path, folder: Path, limits: Limits, depth: int) -> Table:
    """Return the table of a folder: its files of the preferred format, one after the other."""
    files = [file for file in islice(path.rglob("*"), MAX_SHARDS) if _may_hold_rows(file, path)]
    kinds = [kind for kind in SHARDS if any(_kind(file) == kind for file in files)]
    if not kinds:
        reason = f"contains no table; tables are files such as {', '.join(SHARDS)}"
        raise FormatError.of(path.name, None, "no_table", reason)
    shards = sorted(file for file in files if _kind(file) == kinds[0])
    tables, left = [], limits
    for file in shards:
        tables.append(_opened(file, _subfolder(folder), left, depth + 1))
        size = sum(part.stat().st_size for part in tables[-1].files)
        left = replace(left, unpacked=max(0, left.unpacked - size))
    notes = dict.fromkeys(note for table in tables for note in table.notes)
    if len(shards) > 1:
        notes[f"Read {len(shards)} files one after the other, from {shards[0].name} on."] = None
    return Table(
        path.name,
        tuple(file for table in tables for file in table.files),
        tuple(reader for table in tables for reader in table.readers),
        limits,
        tuple(notes),
    )


def _kind(file: Path) -> str:
    return (Path(file.stem) if file.suffix == ".gz" else file).suffix.lower()


def _may_hold_rows(file: Path, root: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in file.relative_to(root).parts)
    is_cache = file.name.startswith("cache-")  # as `datasets` keeps next to its shards
    return file.is_file() and not hidden and not is_cache and file.name not in DESCRIPTIONS


def _of_text(path: Path, folder: Path, limits: Limits) -> Table:
    encoding = encoding_of(path, READABLE)
    notes: tuple[str, ...] = ()
    if encoding not in {"utf-8", "utf-8-sig"}:
        notes = (f"The file was read as {encoding}.",)
        path, original = folder / "utf-8.txt", path
        try:
            write_as_utf8(original, path, encoding)
        except UnicodeError as error:
            reason = NOT_TEXT.format(READABLE)
            raise FormatError.of(original.name, None, "not_text", reason) from error
    return Table(path.name, (path,), (_text_reader(path),), limits, notes)


def _text_reader(path: Path) -> Reader:
    readers: dict[str, Reader] = {"lines": read_lines, "list": read_list, "object": read_object}
    layout = json_layout(path)
    if layout:
        return readers[layout]
    dialect = dialect_of(path)
    return lambda file, problems: read_delimited(file, dialect, problems)


def _unpack(path: Path, target: Path, limits: Limits) -> None:
    """Decompress a .gz file up to the limit."""
    size = 0
    try:
        with gzip.open(path) as file, target.open("wb") as out:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > limits.unpacked:
                    reason = f"unpacks to more than {limits.unpacked:,} bytes, which is the limit"
                    raise FormatError.of(
                        path.name, None, "unpacks_too_large", limits.refusal(reason)
                    )
                out.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"is not a readable .gz file ({error})"
        raise FormatError.of(path.name, None, "not_gzip", reason) from error

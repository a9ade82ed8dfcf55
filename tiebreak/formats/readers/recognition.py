"""How readers know their files: by the names of columns and the first rows, whatever the file's name."""

import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from tiebreak.formats.errors import FormatError
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.rows import Row
from tiebreak.formats.tables import TableProblems, open_table
from tiebreak.formats.tables.nesting import flattened

HEAD_BYTES, HEAD_ROWS = 1_000_000, 20
MAX_FILES = 1000
# Files with an index at their end, which cannot be cut: workbooks and archives, Parquet, Arrow.
WHOLE = (b"PK", b"PAR1", b"ARROW1")
GZIP = b"\x1f\x8b"
ROWS_OF_FOLDERS = (".jsonl", ".csv", ".tsv", ".json")


@dataclass(frozen=True)
class Head:
    """The first rows of a file, with rows below the header that are no answers; none of another file."""

    rows: tuple[Row, ...] = ()
    lines: tuple[str, ...] = ()
    """The first lines of a text file, for files without a header."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def has(self, *names: str) -> bool:
        """Whether all of these are columns."""
        return {*names} <= {*self.columns}

    def any_begins(self, *beginnings: str) -> bool:
        """Whether a column's name begins with one of these."""
        return any(name.startswith(beginnings) for name in self.columns)


@dataclass(frozen=True)
class Reader:
    """A function that reads files, and one that knows them by their beginning."""

    read: Callable[[Sequence[Path], tuple[str, str] | None], Converted]
    knows: Callable[[Head], bool] = lambda _: False

    def __call__(self, paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
        return self.read(paths, systems)


def head_of(path: Path) -> Head:
    """Return the beginning of a file, or of the first file with rows in a folder."""
    problems = TableProblems()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with open_table(_beginning(path, Path(folder))) as table:
                file, rows = table.files[0], []
                for number, row in islice(table.readers[0](file, problems), HEAD_ROWS):
                    with problems.at(number):
                        rows.append(flattened(row))
                with file.open(encoding="utf-8-sig", errors="replace") as text:
                    lines = () if _is_whole(file) else tuple(islice(text, HEAD_ROWS))
                return Head(tuple(rows), lines)
        except (FormatError, OSError):
            return Head()


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8).startswith(WHOLE)


def _beginning(path: Path, folder: Path) -> Path:
    """Return a file with the first rows only, or the file itself if it is small or cannot be cut."""
    if path.is_dir():
        files = [file for file in islice(path.rglob("*"), MAX_FILES) if file.is_file()]
        rows = [file for file in files if file.suffix in ROWS_OF_FOLDERS]
        path = min(rows, key=lambda f: (ROWS_OF_FOLDERS.index(f.suffix), f), default=path)
    if path.is_dir():
        return path
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
    name = path.name
    if data.startswith(GZIP):
        try:
            data, name = zlib.decompressobj(31).decompress(data, HEAD_BYTES), path.stem
        except zlib.error:
            return path
    if data.startswith(WHOLE) or (name == path.name and len(data) < HEAD_BYTES):
        return path
    end = data.rfind(b"\n") + 1 or len(data)
    short = folder / name
    # A line of UTF-16 ends with two bytes.
    short.write_bytes(data[: (end + 1) & ~1] if b"\0" in data[:100] else data[:end])
    return short

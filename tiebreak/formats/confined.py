"""Reads an untrusted file in a separate process, with limits of memory and time.

The process gets no secret of its parent, and hands back text: plain rows, or what is wrong.
"""

import errno
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import tiebreak
from tiebreak.formats.archive import extract, holds, is_bundle, opened
from tiebreak.formats.bundle import read_bundle
from tiebreak.formats.errors import FormatError, Problems
from tiebreak.formats.layouts import Choice, fit_of_ratings, look_at, ratings_in
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.ratings import read_ratings
from tiebreak.formats.readers import convert, log_of, logs_in, read_verdicts
from tiebreak.formats.readers.logs.inspect_logs import MAX_FILES as MAX_LOG_FILES
from tiebreak.formats.readers.verdicts import NAMELESS
from tiebreak.formats.rows import Row, read_jsonl
from tiebreak.formats.tables.encodings import NOT_TEXT, check_is_text
from tiebreak.formats.tables.problems import BadCell, TableProblems
from tiebreak.formats.tables.reading import Table, open_table
from tiebreak.formats.tables.roles import texts_in

RATINGS, LINES, UPLOAD, EXISTING = "ratings", "lines", "upload", "existing"
TABLE, BUNDLE = "table", "bundle"
CONTAINERS = (b"PK", b"PAR1", b"ARROW1", b"\x1f\x8b")
LONG_ROW = "The row has more than {:,} bytes, which is the limit. Shorten its texts."
TOO_SLOW = "takes too long to read. Split it, or save it as CSV or JSON Lines"
TOO_MUCH_MEMORY = "needs too much memory to be read. Split it, or save it as CSV or JSON Lines"
CRASHED = "cannot be read, because its content stops the reader. Save it again, or as CSV"
# A busy machine takes longer than its processor does for this one process.
WAIT = 3
ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


@dataclass(frozen=True)
class Bounds:
    """Seconds of a processor and bytes of memory that reading one file may take.

    A table of more than `whole` bytes of rows is not read beyond its first `preview` rows, or beyond
    ten times as many bytes.
    """

    seconds: int = 60
    memory: int = 2 * 1024**3
    whole: int | None = None
    preview: int = 0


@dataclass(frozen=True)
class Read:
    """What reading found: a table as plain rows in `path`, a bundle as its folder, or nothing more.

    Ratings of other people also have what there is to see of them.
    """

    kind: str
    path: str = ""
    size: int = 0
    is_whole: bool = True
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    sheet: str = ""
    sheets: list[str] = field(default_factory=list)
    # The reader that finds ratings in an upload, or why none is certain to.
    ratings: str = ""
    doubt: str = ""
    seen: dict[str, Any] = field(default_factory=dict)


def read_confined(
    task: str,
    path: Path,
    *,
    into: Path | None = None,
    limits: Limits = LIMITS,
    bounds: Bounds | None = None,
    sheet: str = "",
    more: Mapping[str, Any] | None = None,
) -> Read:
    """Read an untrusted file in a separate process. Raises `FormatError` for what is wrong with it.

    The task "upload" finds out whether the file is a bundle or a table and unpacks it into a
    folder; "ratings", "lines" and formats of verdicts only try whether the file can be read within
    the bounds. Errors in rows of "ratings" and "lines" are left to their reader. "existing" looks at
    ratings of other people, and writes them as a bundle if there is a folder for it; ``more`` says how.
    """
    bounds = bounds or Bounds()
    order = {
        "task": task,
        "path": str(path),
        "into": str(into or ""),
        "limits": asdict(limits),
        "bounds": asdict(bounds),
        "sheet": sheet,
        **(more or {}),
    }
    root = str(Path(tiebreak.__file__).parents[1])
    environment = {"PATH": os.defpath, "PYTHONPATH": root, "LANG": "C.UTF-8", **ALONE}
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tiebreak.formats.confined"],
                input=json.dumps(order).encode(),
                env=environment | {"TMPDIR": folder},
                capture_output=True,
                timeout=WAIT * bounds.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise FormatError.of(path.name, None, "reading_too_slow", TOO_SLOW) from None
    if done.returncode:
        raise _end_of(path.name, done.returncode)
    answer = json.loads(done.stdout)
    if "problems" in answer:
        raise FormatError.from_json(answer)
    return Read(**answer)


def _end_of(name: str, code: int) -> FormatError:
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return FormatError.of(name, None, "reading_too_slow", TOO_SLOW)
    if code == NO_MEMORY:
        return FormatError.of(name, None, "needs_too_much_memory", TOO_MUCH_MEMORY)
    if code == NO_SPACE:
        return FormatError.of(
            name, None, "disk_full", "cannot be unpacked: the server's disk is full"
        )
    return FormatError.of(name, None, "reader_crashed", CRASHED)


@dataclass(frozen=True)
class PlainTable(Table):
    """The rows of a table, as a confined process has written them."""

    read: Read = field(default_factory=lambda: Read(TABLE))

    @classmethod
    def of(cls, read: Read, name: str) -> "PlainTable":
        return cls(name, (Path(read.path),), (), notes=tuple(read.notes), read=read)

    def rows(self, problems: TableProblems) -> Iterator[tuple[int, Row]]:
        """Yield the rows with their numbers; problems that their reader had are added."""
        problems.left_out.update(self.read.left_out)
        problems.sheet, problems.sheets = self.read.sheet, self.read.sheets
        with self.files[0].open(encoding="utf-8", errors="surrogatepass") as file:
            for line in file:
                number, row, problem = json.loads(line)
                if row is not None:
                    yield number, row
                else:
                    problems.add(
                        problem["row"], problem["column"], problem["code"], problem["reason"]
                    )
                    problems.is_fatal |= problem["is_fatal"]


# What the process does.

NO_MEMORY, NO_SPACE = 71, 72
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main() -> int:
    """Carry out the order that is read from the standard input, and print what it found as JSON."""
    order = json.load(sys.stdin)
    limits, bounds = Limits(**order["limits"]), Bounds(**order["bounds"])
    _confine(bounds, limits)
    path, into = Path(order["path"]), Path(order["into"])
    try:
        answer = asdict(_carried_out(order, path, into, limits, bounds))
    except FormatError as error:
        answer = error.as_json()
    except MemoryError:
        return NO_MEMORY
    except OSError as error:
        if error.errno not in FULL:
            raise
        return NO_SPACE
    print(json.dumps(answer))  # noqa: T201
    return 0


def _confine(bounds: Bounds, limits: Limits) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (bounds.memory, bounds.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
    most = 4 * limits.unpacked
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _carried_out(
    order: dict[str, Any], path: Path, into: Path, limits: Limits, bounds: Bounds
) -> Read:
    task: str = order["task"]
    if task == UPLOAD:
        if is_bundle(path):
            return _bundle(extract(path, into / BUNDLE, limits), limits)
        sheet = order["sheet"]
        return _logs(path, into, limits) or _table_or_ratings(path, into, limits, bounds, sheet)
    if task == EXISTING:
        return _existing(order, path, limits)
    readable = "JSON Lines" if task == LINES else "CSV, JSON or JSON Lines"
    with path.open("rb") as file:
        if file.read(6).startswith(CONTAINERS):
            raise FormatError.of(path.name, None, "unknown_format", NOT_TEXT.format(readable))
    check_is_text(path, readable)
    if task not in (RATINGS, LINES):
        read_verdicts(task, path, "machine" if task in NAMELESS else "")
    with suppress(FormatError):  # the reader names it again, with what the study adds
        if task == RATINGS:
            read_ratings(path, limits=limits)
        elif task == LINES:
            deque(read_jsonl(path, Problems(), limits), maxlen=0)
    return Read(task, str(path), path.stat().st_size)


def _logs(path: Path, into: Path, limits: Limits) -> Read | None:
    """Write a log of a language model, or those in a .zip, as a bundle; None if there are none."""
    name, files = log_of(path), [path]
    if not name and holds(path, ".eval", ".jsonl", ".json"):
        name, files = logs_in(extract(path, into / "logs", limits))
    if not name:
        return None
    for file in (file for file in files if holds(file, "")):
        with opened(file, limits, most=MAX_LOG_FILES):
            pass
    converted = convert(name, files)
    converted.write(into / BUNDLE)
    lost = [f"Not used: {what} ({n:,})." for what, n in converted.left_out.items()]
    return replace(_bundle(into / BUNDLE, limits), notes=[converted.about, *lost])


def _bundle(root: Path, limits: Limits) -> Read:
    """Try whether all of a bundle's folder can be read."""
    with suppress(FormatError):
        read_bundle(root, limits=limits)
    files = [file for file in root.rglob("*") if file.is_file()]
    # Only a worker opens files of columns.
    is_plain = not any(file.suffix == ".parquet" for file in files)
    return Read(BUNDLE, str(root), sum(file.stat().st_size for file in files), is_plain)


def _table_or_ratings(path: Path, into: Path, limits: Limits, bounds: Bounds, sheet: str) -> Read:
    """Write the rows of a table, and find out whether a page should take them as ratings."""
    try:
        read = _table(path, into, limits, bounds, sheet)
    except FormatError:
        reader, _ = ratings_in(path, None)
        if not reader:
            raise
        return Read(RATINGS, str(path), path.stat().st_size, ratings=reader)
    if bounds.whole is None:  # a worker knows already what it imports
        return read
    reader, doubt = ratings_in(path, PlainTable.of(read, path.name))
    return replace(read, ratings=reader, doubt=doubt)


def _existing(order: dict[str, Any], path: Path, limits: Limits) -> Read:
    """Look at ratings of other people, and write them as a bundle if the order has a folder for it."""
    rows = PlainTable.of(Read(**order["rows"]), path.name) if order["rows"] else None
    root = Path(order["into"]) / BUNDLE if order["into"] else None
    choice = Choice.from_json(order["choice"])
    seen = look_at(path, rows, choice, limits=limits, title=order["title"], into=root)
    if root is None or seen.code:
        return Read(RATINGS, seen=asdict(seen))
    return replace(_bundle(root, limits), kind=RATINGS, seen=asdict(seen))


def _table(path: Path, into: Path, limits: Limits, bounds: Bounds, sheet: str) -> Read:
    """Write the rows of a table as plain lines, or only the first rows of a large table."""
    problems, written, rows = TableProblems(), 0, 0
    target = into / "rows.jsonl"
    with open_table(path, limits=limits, sheet=sheet, fits=_fit) as table, target.open("wb") as out:

        def read(*, is_whole: bool) -> Read:
            return Read(
                TABLE,
                str(target),
                written,
                is_whole,
                [*table.notes, *problems.notes],
                dict(problems.left_out),
                problems.sheet,
                problems.sheets,
            )

        def write(*parts: Any) -> None:
            nonlocal written
            line = json.dumps(parts, ensure_ascii=False, default=str) + "\n"
            plain = line.encode(errors="surrogatepass")
            if len(plain) > limits.line:
                raise BadCell("row_too_long", LONG_ROW.format(limits.line))
            written += out.write(plain)

        for number, row in table.rows(problems):
            _write_problems(problems, write)
            with problems.at(number):
                write(number, row, None)
            rows += 1
            # A page needs only enough rows of a large table to choose its columns.
            whole = math.inf if bounds.whole is None else bounds.whole
            if written > whole and (rows >= bounds.preview or written > 10 * whole):
                return read(is_whole=False)
        _write_problems(problems, write)
        return read(is_whole=True)


def _fit(rows: Iterable[Row]) -> int:
    """A page takes texts and ratings."""
    rows = [*rows]
    return max(texts_in(rows), fit_of_ratings(rows))


def _write_problems(problems: TableProblems, write: Callable[..., None]) -> None:
    """Write the problems that were found since the last row; those beyond the listed ones as such."""
    for problem in problems.items:
        write(None, None, vars(problem) | {"is_fatal": problems.is_fatal})
    problems.items.clear()


if __name__ == "__main__":
    sys.exit(main())

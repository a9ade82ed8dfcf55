"""What a command that takes long has done so far, in a file beside its output: it goes on from there."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tiebreak import optional
from tiebreak.errors import DomainError
from tiebreak.formats.evidence import digest_of_file
from tiebreak.formats.rows import Row
from tiebreak.formats.writing import WRITERS, write_rows

ENDING = ".unfinished"
FACTS = "CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT)"


class Unfinished:
    """An SQLite file with what is done; it is deleted when the output is complete."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection, self.path, self.is_begun = connection, path, False

    def execute(self, statement: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        return self.connection.execute(statement, tuple(values))

    def rows(self, statement: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield rows with a cursor of their own, so that others may be stored meanwhile."""
        with closing(self.connection.cursor()) as cursor:
            yield from cursor.execute(statement, tuple(values))

    def fact(self, name: str) -> Any:
        found = self.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()
        return None if found is None else json.loads(found[0])

    def note(self, name: str, value: Any) -> None:
        self.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, json.dumps(value)])

    def commit(self) -> None:
        self.connection.commit()
        self.is_begun = True

    def finish(self, out: Path, rows: Iterable[Row], columns: Iterable[str]) -> None:
        """Write the output, and delete this file."""
        write_rows(out, rows, tuple(columns))
        self.connection.close()
        self.path.unlink()


@contextmanager
def unfinished(out: Path, about: Mapping[str, Any], tables: Iterable[str]) -> Iterator[Unfinished]:
    """Open what an earlier run has done towards this output, or begin.

    ``about`` says what the output is made of. Raises `DomainError` if the output exists, cannot be
    written in this format, was begun with something else, or is being made by another process.
    """
    check_output(out)
    path = out.with_name(out.name + ENDING)
    if out.exists() and not path.exists():
        sentence = f"{out} exists already. Choose another path, or delete it."
        raise DomainError("output_exists", sentence, status=400)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            begun = Unfinished(connection, path)
            try:
                _open(begun, about, tables)
                yield begun
            finally:
                if not begun.is_begun:
                    connection.close()
                    path.unlink(missing_ok=True)
    except sqlite3.OperationalError as error:
        sentence = f"{path} cannot be written ({error}). Repeat the command to go on."
        raise DomainError("cannot_write", sentence) from error


def _open(begun: Unfinished, about: Mapping[str, Any], tables: Iterable[str]) -> None:
    """Create the tables, unless they are there; nothing is stored before the first commit."""
    try:
        begun.execute("PRAGMA locking_mode = EXCLUSIVE")
        begun.execute("BEGIN EXCLUSIVE")
        for statement in (FACTS, *tables):
            begun.execute(statement)
    except sqlite3.DatabaseError as error:
        begun.is_begun = True  # by another process
        sentence = f"{begun.path} cannot be used ({error}). If no other run writes it, delete it."
        raise DomainError("in_use", sentence) from error
    earlier, now = begun.fact("about"), json.loads(json.dumps(about))
    begun.is_begun = earlier is not None
    if earlier not in (None, now):
        names = sorted(name for name in {*now, *earlier} if now.get(name) != earlier.get(name))
        raise DomainError(
            "begun_otherwise",
            f"{begun.path} was begun with other {', '.join(names)}. Repeat that command to go on, or"
            " delete the file to begin again.",
        )
    begun.note("about", now)


def check_output(out: Path) -> None:
    """Raise `DomainError` before any work if the output could not be written afterwards."""
    if out.suffix not in WRITERS:
        sentence = f"--out must end in {', '.join(WRITERS)}; it is {out.name}."
        raise DomainError("bad_option", sentence, status=400)
    needed = {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(out.suffix)
    if needed:
        optional.load(needed)


def digest_of(paths: Iterable[Path]) -> str:
    """Return a digest of the content of files."""
    return hashlib.sha256(" ".join(map(digest_of_file, paths)).encode()).hexdigest()

"""Backups of a server: database, uploads and exports in one file, with a manifest and without keys."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Container, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self, cast, get_args, get_origin
from zipfile import ZIP_DEFLATED, ZipFile

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils.crypto import salted_hmac
from psycopg.pq import Conninfo

from jobs.clock import database_now
from tiebreak import __version__
from tiebreak.errors import DomainError
from tiebreak.formats.archive import ZIP_ERRORS

MANIFEST, DATABASE = "manifest.json", "database"
FOLDERS = {"uploads": "TIEBREAK_UPLOAD_FOLDER", "exports": "TIEBREAK_EXPORT_FOLDER"}
CHUNK = 1024 * 1024
# What is raised while the manifest of a file is read that has none, or is damaged.
NO_MANIFEST = (*ZIP_ERRORS, KeyError, TypeError)

NO_CLIENT = "{} is not on this machine. Install PostgreSQL's client programs, of the server's version or newer."
FAILED = "{} failed: {}"
NOT_A_BACKUP = "{} is not a backup that `manage.py backup` wrote. Name another file."
DAMAGED = "The file is damaged: {} is not as its manifest says. Use another file."
OTHER_DATABASE = (
    "The backup is of {}, and TIEBREAK_DATABASE_URL names a database of {}. Name an empty one of the same"
    " kind."
)
NEWER = (
    "The backup is of Tiebreak {}, which has migrations that this version lacks, such as {}. Check out"
    " that version, restore, and then update."
)
DATABASE_NOT_EMPTY = (
    "The database has tables, such as {}. Create a new database without any, do not run migrate, and"
    " name it in TIEBREAK_DATABASE_URL."
)
FOLDER_NOT_EMPTY = (
    "The folder {} ({}) has files. Name an empty folder, or move the files elsewhere."
)
FOLDER_UNWRITABLE = "{} cannot be written to ({}). Create the folder and give it to this user, or name another one in {}."
COUNTS_DIFFER = (
    "The restored database differs from the manifest: {}. Do not use it. Drop it, and restore again or"
    " use another backup."
)


@dataclass(frozen=True)
class Manifest:
    """What a backup has: the number of rows of each table, and a SHA-256 of each file.

    `key` is a digest by the server's secret key, which tells whether a server has the same one.
    """

    version: str
    made_at: str
    database: str
    key: str
    migrations: list[str]
    rows: dict[str, int]
    files: dict[str, str]

    @classmethod
    def read(cls, archive: ZipFile) -> Self:
        """Return what a file says of itself. Raises one of `NO_MANIFEST`."""
        values = json.loads(archive.read(MANIFEST))
        manifest = cls(**values)
        if not all(_fits(values[one.name], one.type) for one in fields(cls) if one.name in values):
            raise TypeError("A field has a value of another type.")
        return manifest

    @property
    def is_of_this_key(self) -> bool:
        return self.key == digest_of_key()


def _fits(value: Any, kind: Any) -> bool:
    of = get_args(kind)
    parts = value.values() if isinstance(value, dict) else value
    is_whole = isinstance(value, get_origin(kind) or kind)
    return is_whole and (not of or all(isinstance(one, of[-1]) for one in parts))


def digest_of_key() -> str:
    return salted_hmac("jobs.backup", "", algorithm="sha256").hexdigest()[:16]


def back_up(*, path: Path) -> Manifest:
    """Write a backup that only its owner can read. The server may run meanwhile."""
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
        dump, partial = Path(folder) / DATABASE, Path(folder) / path.name
        rows, migrations = _DUMPS[connection.vendor](dump)
        files = {}
        with ZipFile(partial, "w", ZIP_DEFLATED, compresslevel=1) as archive:
            for name, file in [(DATABASE, dump), *_stored_files()]:
                with suppress(FileNotFoundError):  # files expire, also now
                    files[name] = add_file(archive, name, file)
            manifest = Manifest(
                version=__version__,
                made_at=database_now().isoformat(),
                database=connection.vendor,
                key=digest_of_key(),
                migrations=migrations,
                rows=rows,
                files=files,
            )
            archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
        partial.chmod(0o600)
        partial.replace(path)
    return manifest


def _stored_files() -> Iterator[tuple[str, Path]]:
    for name, folder in _folders():
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                yield f"{name}/{file.relative_to(folder).as_posix()}", file


def _folders() -> Iterator[tuple[str, Path]]:
    return ((name, Path(getattr(settings, setting))) for name, setting in FOLDERS.items())


def add_file(archive: ZipFile, name: str, file: Path) -> str:
    """Add a file to the archive, and return the digest of what was added."""
    with file.open("rb") as source:
        return add(archive, name, iter(lambda: source.read(CHUNK), b""))


def add(archive: ZipFile, name: str, content: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    with archive.open(name, "w", force_zip64=True) as target:
        for chunk in content:
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


State = tuple[dict[str, int], list[str]]


def _dump_sqlite(to: Path) -> State:
    connection.ensure_connection()
    with closing(sqlite3.connect(to)) as copy, closing(copy.cursor()) as cursor:
        connection.connection.backup(copy)
        return _state(cursor)


def _dump_postgresql(to: Path) -> State:
    """Dump the database as the counted rows were, although others write meanwhile."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cast(tuple[str], cursor.fetchone())
        _run_client("pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={to}")
        return _state(cursor)


_DUMPS = {"sqlite": _dump_sqlite, "postgresql": _dump_postgresql}


def _state(cursor: Any) -> State:
    """Return the number of rows of each table, and the migrations that were applied."""
    rows = {}
    for table in _tables():
        cursor.execute(f"SELECT COUNT(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
        (rows[table],) = cursor.fetchone()
    cursor.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
    return rows, [f"{app}.{name}" for app, name in cursor.fetchall()]


def _tables() -> list[str]:
    return sorted(connection.introspection.table_names())


def _run_client(program: str, *options: str) -> None:
    """Run a program of PostgreSQL's as the settings connect; the password is in its environment."""
    if shutil.which(program) is None:
        raise DomainError("no_postgresql_client", NO_CLIENT.format(program))
    parameters = connection.get_connection_params()
    known = {one.keyword.decode(): one.envvar for one in Conninfo.get_defaults() if one.envvar}
    variables = {
        known[name].decode(): str(value) for name, value in parameters.items() if name in known
    }
    database = f"--dbname={parameters['dbname']}"
    done = subprocess.run(  # noqa: S603  one of two programs, with options of the server's settings
        [program, "--no-owner", "--no-privileges", *options, database],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | variables,
    )
    if done.returncode:
        raise DomainError("client_failed", FAILED.format(program, done.stderr.strip()))


def restore(*, path: Path) -> Manifest:
    """Restore a backup into an empty database and empty folders.

    Nothing is changed unless the whole backup is as its manifest says. Raises `DomainError`.
    """
    try:
        archive = ZipFile(path)
        manifest = Manifest.read(archive)
    except NO_MANIFEST as error:
        raise DomainError("not_a_backup", NOT_A_BACKUP.format(path)) from error
    with archive:
        _check_target(manifest)
        check_files(archive, manifest, apart_from={DATABASE})
        _load(archive)
        for name in manifest.files.keys() - {DATABASE}:
            restore_file(archive, name)
    with connection.cursor() as cursor:
        rows, _ = _state(cursor)
    if rows != manifest.rows:
        tables = rows.keys() | manifest.rows.keys()
        differ = sorted(one for one in tables if rows.get(one) != manifest.rows.get(one))
        raise DomainError("counts_differ", COUNTS_DIFFER.format(", ".join(differ)))
    return manifest


def _check_target(manifest: Manifest) -> None:
    """Raise `DomainError` unless the settings name an empty database of the same kind and empty folders."""
    if manifest.database != connection.vendor:
        sentence = OTHER_DATABASE.format(manifest.database, connection.vendor)
        raise DomainError("other_database", sentence)
    if unknown := set(manifest.migrations) - known_migrations():
        raise DomainError("newer_version", NEWER.format(manifest.version, min(unknown)))
    if tables := _tables():
        raise DomainError("database_not_empty", DATABASE_NOT_EMPTY.format(tables[0]))
    for name, folder in _folders():
        if any(file.is_file() for file in folder.rglob("*")):
            raise DomainError("folder_not_empty", FOLDER_NOT_EMPTY.format(folder, FOLDERS[name]))
    prepare_folders()


def prepare_folders() -> None:
    """Create the folders of files for their owner alone; raise `DomainError` if one cannot be written to."""
    for name, folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            sentence = FOLDER_UNWRITABLE.format(folder, error.strerror, FOLDERS[name])
            raise DomainError("folder_unwritable", sentence) from error


def known_migrations() -> set[str]:
    """Return the migrations of this version."""
    loader = MigrationLoader(None)
    return {f"{app}.{name}" for app, name in loader.disk_migrations}


def check_files(archive: ZipFile, manifest: Manifest, *, apart_from: Container[str]) -> None:
    """Raise `DomainError` unless all is as the manifest says, and belongs into one of the folders."""
    for name, digest in manifest.files.items():
        found = hashlib.sha256()
        try:
            with archive.open(name) as source:
                while chunk := source.read(CHUNK):
                    found.update(chunk)
        except (*ZIP_ERRORS, KeyError) as error:
            raise DomainError("damaged", DAMAGED.format(name)) from error
        is_inside = name in apart_from or _target_of(name) is not None
        if found.hexdigest() != digest or not is_inside:
            raise DomainError("damaged", DAMAGED.format(name))


def _target_of(name: str) -> Path | None:
    """Return where a file of a backup belongs; None if that is outside of the folders."""
    top, _, file = name.partition("/")
    folder = dict(_folders()).get(top)
    target = (folder / file).resolve() if folder else None
    return target if folder and target and target.is_relative_to(folder.resolve()) else None


def _load(archive: ZipFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dump = archive.extract(DATABASE, folder)
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            with closing(sqlite3.connect(dump)) as copy:
                copy.backup(connection.connection)
        else:
            _run_client("pg_restore", "--single-transaction", "--exit-on-error", dump)


def restore_file(archive: ZipFile, name: str) -> None:
    target = _target_of(name)
    assert target is not None
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as source, target.open("wb") as written:
        shutil.copyfileobj(source, written)

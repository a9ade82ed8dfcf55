"""Backups: what is restored is what was stored, and nothing else is restored or overwritten."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseWrapper

from jobs.backup import Manifest, back_up, restore
from tests.refusals import refused
from tests.upgrades.store import facts, filled, run
from tiebreak.errors import DomainError

KEY = "a-secret-key-that-nobody-may-find-in-a-backup-of-it-0123456789"
EMPTY = hashlib.sha256().hexdigest()


def sqlite(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    return f"sqlite:///{folder / 'database.sqlite3'}"


def with_files(folder: Path) -> None:
    for name in ("uploads/1-x/table.csv", "exports/export.zip"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"content of {name}")


def files_in(folder: Path) -> dict[str, str]:
    files = [path for top in ("uploads", "exports") for path in (folder / top).rglob("*")]
    return {str(path.relative_to(folder)): path.read_text() for path in files if path.is_file()}


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    """A folder with a filled SQLite database, files, and their backup."""
    folder = tmp_path_factory.mktemp("old")
    filled(sqlite(folder), folder)
    with_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIEBREAK_SECRET_KEY", KEY)
        said = run("manage.py", "backup", f"{folder}/backup.zip", url=sqlite(folder), folder=folder)
    (folder / "said").write_text(said)
    return folder


@pytest.fixture
def new(db, old, tmp_path, settings, monkeypatch) -> Path:
    """An empty folder to which the settings lead, with an empty database."""
    folder = tmp_path / "new"
    folder.mkdir()
    settings.TIEBREAK_UPLOAD_FOLDER = str(folder / "uploads")
    settings.TIEBREAK_EXPORT_FOLDER = str(folder / "exports")
    defaults = {
        name: value for name, value in connection.settings_dict.items() if name != "OPTIONS"
    }
    name = {"NAME": str(folder / "database.sqlite3"), "OPTIONS": {}}
    empty = DatabaseWrapper(defaults | name, "default")
    empty.inc_thread_sharing()
    monkeypatch.setattr("jobs.backup.connection", empty)
    # Tests may run without migrations.
    monkeypatch.setattr("jobs.backup.known_migrations", lambda: {*manifest_of(old)["migrations"]})
    return folder


def manifest_of(old: Path) -> dict[str, Any]:
    with zipfile.ZipFile(old / "backup.zip") as archive:
        return json.loads(archive.read("manifest.json"))


def changed(old: Path, to: Path, content: dict[str, str], **manifest: object) -> Path:
    """Write a backup with another content of some files, and another manifest."""
    other = {"manifest.json": json.dumps(manifest_of(old) | manifest)} | content
    with zipfile.ZipFile(old / "backup.zip") as archive, zipfile.ZipFile(to, "w") as written:
        for name in archive.namelist():
            written.writestr(name, other.get(name, archive.read(name)))
        written.writestr("uploads/../../x", "")
    return to


@contextmanager
def databases(*purposes: str) -> Iterator[list[str]]:
    """Create empty databases on the server of the tests, and drop them again."""
    to = connection.get_connection_params() | {"dbname": "postgres"}
    names = [f"{one}_{connection.settings_dict['NAME']}" for one in purposes]
    port = f"&port={to['port']}" if to.get("port") else ""
    with psycopg.connect(**to, autocommit=True) as server:
        for name in names:
            server.execute(f'CREATE DATABASE "{name}"')
        try:
            account = f"{to['user']}:{to.get('password', '')}"
            yield [f"postgres://{account}@/{name}?host={to['host']}{port}" for name in names]
        finally:
            for name in names:
                server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_a_restored_server_has_every_number_of_the_former_one(old, tmp_path):
    said = run(
        "manage.py", "restore", str(old / "backup.zip"), url=sqlite(tmp_path), folder=tmp_path
    )
    assert "TIEBREAK_SECRET_KEY" in said  # the backup was made with another one
    assert json.loads(facts(sqlite(tmp_path), tmp_path)) == json.loads(facts(sqlite(old), old))
    assert files_in(tmp_path) == files_in(old) != {}


def test_the_file_is_private_has_a_manifest_and_no_keys(old):
    backup = old / "backup.zip"
    assert backup.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert not any(KEY.encode() in archive.read(name) for name in archive.namelist())
    assert manifest["rows"]["annotation_rating"] > 0
    assert {"database", "uploads/1-x/table.csv", "exports/export.zip"} == manifest["files"].keys()
    assert "TIEBREAK_SECRET_KEY" in (old / "said").read_text()


def test_another_key_is_noticed(old, new, settings):
    settings.SECRET_KEY = KEY
    assert restore(path=old / "backup.zip").is_of_this_key
    settings.SECRET_KEY = KEY[::-1]
    assert not Manifest(**manifest_of(old)).is_of_this_key


@pytest.mark.parametrize(
    ("code", "content", "manifest"),
    [
        ("damaged", {"database": "no database"}, {}),
        ("damaged", {"exports/export.zip": "something else"}, {}),
        ("damaged", {}, {"files": {"uploads/../../x": EMPTY}}),
        ("damaged", {}, {"files": {"absent": EMPTY}}),
        ("other_database", {}, {"database": "postgresql"}),
        ("newer_version", {}, {"migrations": ["studies.9999_later"]}),
        ("not_a_backup", {"manifest.json": "{}"}, {}),
        ("not_a_backup", {"manifest.json": "["}, {}),
        ("not_a_backup", {}, {"files": []}),
        ("not_a_backup", {}, {"migrations": [1]}),
    ],
)
def test_another_backup_is_refused_and_nothing_is_stored(old, new, code, content, manifest):
    backup = changed(old, new.parent / "other.zip", content, **manifest)
    with refused(code):
        restore(path=backup)
    assert files_in(new) == {}
    restore(path=old / "backup.zip")


def test_what_differs_from_the_manifest_is_refused(old, new):
    rows = manifest_of(old)["rows"] | {"annotation_rating": 1}
    with refused("counts_differ"):
        restore(path=changed(old, new.parent / "other.zip", {}, rows=rows))


def test_nothing_is_restored_where_files_cannot_be_written(old, new, settings):
    (new.parent / "file").touch()
    settings.TIEBREAK_EXPORT_FOLDER = str(new.parent / "file" / "exports")
    with refused("folder_unwritable"):
        restore(path=old / "backup.zip")
    settings.TIEBREAK_EXPORT_FOLDER = str(new / "exports")
    restore(path=old / "backup.zip")
    assert {(new / name).stat().st_mode & 0o777 for name in ("uploads", "exports")} == {0o700}


def test_nothing_is_restored_over_anything(old, new):
    with_files(new)
    with refused("folder_not_empty"):
        restore(path=old / "backup.zip")
    shutil.rmtree(new / "uploads")
    shutil.rmtree(new / "exports")
    restore(path=old / "backup.zip")
    with refused("database_not_empty"):
        restore(path=old / "backup.zip")


@pytest.mark.postgresql
@pytest.mark.django_db
def test_postgresql_is_restored_with_every_number(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    with databases("old", "new") as (url, other):
        filled(url, old)
        with_files(old)
        run("manage.py", "backup", str(old / "backup.zip"), url=url, folder=old)
        run("manage.py", "restore", str(old / "backup.zip"), url=other, folder=new)
        assert json.loads(facts(other, new)) == json.loads(facts(url, old))
        assert files_in(new) == files_in(old) != {}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_without_the_programs_of_postgresql_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("no_postgresql_client"):
        back_up(path=tmp_path / "backup.zip")
    assert not any(tmp_path.iterdir())


def test_a_backup_of_which_any_byte_is_another_is_restored_or_refused(old, new):
    """Of its manifest or its files; what is compressed raises another error than what is not."""
    content, backup = (old / "backup.zip").read_bytes(), new.parent / "other.zip"
    for place in range(0, len(content), len(content) // 60):
        backup.write_bytes(content[:place] + b"\xff" * 8 + content[place + 8 :])
        with suppress(DomainError):
            restore(path=backup)
            break
        assert files_in(new) == {}

"""A database of each release is upgraded to this version and keeps what it contained."""

import gzip
import json
from math import isclose
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.upgrades.promises import promises
from tests.upgrades.store import HERE, facts, run

RELEASES = sorted(path for path in HERE.iterdir() if (path / "promises.txt").exists())
of_each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def lost(stored: Any, now: Any, path: str = "") -> list[str]:
    """Return where something that was stored is missing or has changed; more is allowed."""
    if isinstance(stored, dict) and isinstance(now, dict):
        missing = [f"{path}.{key}" for key in sorted(stored.keys() - now.keys())]
        kept = sorted(stored.keys() & now.keys())
        return missing + [
            one for key in kept for one in lost(stored[key], now[key], f"{path}.{key}")
        ]
    if isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        pairs = enumerate(zip(stored, now, strict=True))
        return [one for n, (old, new) in pairs for one in lost(old, new, f"{path}[{n}]")]
    if isinstance(stored, float) and isinstance(now, float):
        return [] if isclose(stored, now, rel_tol=1e-9) else [path]
    return [] if stored == now else [path]


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def contents_of(path: Path) -> Any:
    """Return what a release contained, but its permissions: each new model adds some."""
    stored = json.loads(read(path))
    del stored["rows"]["auth.Permission"]
    return stored


def upgraded(url: str, folder: Path) -> Any:
    run("manage.py", "migrate", "-v0", url=url, folder=folder)
    run("manage.py", "check", "--database", "default", url=url, folder=folder)
    return json.loads(facts(url, folder))


@of_each_release
@pytest.mark.thorough
def test_sqlite_database_of_a_release_is_upgraded(release, tmp_path):
    database = tmp_path / "database.sqlite3"
    database.write_bytes(read(release / "database.sqlite.gz"))
    now = upgraded(f"sqlite:///{database}", tmp_path)
    assert lost(contents_of(release / "sqlite.json.gz"), now) == []


@of_each_release
@pytest.mark.postgresql
@pytest.mark.django_db
def test_postgresql_database_of_a_release_is_upgraded(release, tmp_path):
    to = connection.get_connection_params() | {"dbname": "postgres"}
    name = f"upgrade_{connection.settings_dict['NAME']}"
    url = f"postgres://{to['user']}:{to.get('password', '')}@/{name}?host={to['host']}"
    url += f"&port={to['port']}" if to.get("port") else ""
    with psycopg.connect(**to, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            with psycopg.connect(**to | {"dbname": name}) as database:
                database.execute(read(release / "database.sql.gz"))
            now = upgraded(url, tmp_path)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    assert lost(contents_of(release / "postgresql.json.gz"), now) == []


@of_each_release
def test_nothing_that_a_release_promised_has_left(release):
    promised = (release / "promises.txt").read_text(encoding="utf-8").splitlines()
    assert set(promised) - set(promises()) == set()


def test_loss_is_noticed():
    stored = {"rows": {"a": 2}, "values": [1.0, {"x": None}]}
    assert lost(stored, {**stored, "more": 1}) == []
    assert lost(stored, {"rows": {"a": 1}, "values": [1.1, {}]}) == [
        ".rows.a",
        ".values[0]",
        ".values[1].x",
    ]

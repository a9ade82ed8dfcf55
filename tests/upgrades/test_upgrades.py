"""A database of each release is upgraded to this version and keeps what it contained."""

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isclose
from pathlib import Path
from subprocess import PIPE
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations import CreateModel
from django.db.migrations.loader import MigrationLoader

from jobs.management.commands.migrate import IN_USE
from tests.paths import ROOT
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


def copied(database: sqlite3.Connection, table: str, row: int, **changes: Any) -> int:
    """Copy a row under a new key, with changes; return the key."""
    [values] = database.execute(f"SELECT * FROM {table} WHERE rowid = ?", [row])
    names = [column for _, column, *_ in database.execute(f"PRAGMA table_info({table})")]
    new = dict(zip(names, values, strict=True)) | changes
    if "id" in new and "id" not in changes:
        del new["id"]
    columns = ", ".join(f'"{name}"' for name in new)
    marks = ", ".join("?" * len(new))
    done = database.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", [*new.values()])
    assert done.lastrowid
    return done.lastrowid


@of_each_release
@pytest.mark.thorough
def test_judges_of_one_model_become_one_rater_that_keeps_their_ratings(release, tmp_path):
    path = tmp_path / "database.sqlite3"
    path.write_bytes(read(release / "database.sqlite.gz"))
    database = sqlite3.connect(path)
    study, [second] = "degd9b7g8ucw", [copied(database, "studies_criterion", 1, name="fluency")]
    for number, criterion in enumerate((1, second)):
        name = f"gpt: {('preference', 'fluency')[number]}"
        rater = {"kind": "machine", "pseudonym": name, "external_id": name}
        rater_id = copied(database, "annotation_rater", 1, **rater)
        machine = {"public_id": f"judge{number}", "study_id": study, "name": name}
        judge = copied(database, "machine_raters_machinerater", 1, rater_id=rater_id, **machine)
        copied(database, "machine_raters_judge", 1, machinerater_ptr_id=judge)
        of = {"judge_id": judge, "criterion_id": criterion}
        copied(database, "machine_raters_judgecriterion", 1, **of)
        own = {"rater_id": rater_id, "order": "ab", "run": "1", "public_id": f"own{number}"}
        own["assignment_id"] = copied(database, "annotation_assignment", 1, **own)
        of = {"rater_id": rater_id, "assignment_id": own["assignment_id"]}
        copied(database, "annotation_rating", 1, criterion_id=criterion, **of)
    database.commit()
    run("manage.py", "migrate", "-v0", url=f"sqlite:///{path}", folder=tmp_path)
    rows = """
        SELECT rater.pseudonym, rating.assignment_id, rating.criterion_id
        FROM annotation_rating rating JOIN annotation_rater rater ON rater.id = rating.rater_id
        WHERE rater.kind = 'machine'
    """
    (one, task, first), (other, same_task, last) = database.execute(rows).fetchall()
    assert (one, other, first, last, task) == ("gpt", "gpt", 1, second, same_task)
    joined = "SELECT count(*) FROM studies_studyevent WHERE verb = 'join-machine-raters'"
    assert database.execute(joined).fetchone() == (1,)
    assert not database.execute("PRAGMA foreign_key_check").fetchall()


@pytest.fixture
def stored(release, tmp_path, db):
    """A PostgreSQL server's copy of a release's database: its URL, and a function that connects."""
    to = connection.get_connection_params() | {"dbname": "postgres"}
    name = f"upgrade_{connection.settings_dict['NAME']}"
    url = f"postgres://{to['user']}:{to.get('password', '')}@/{name}?host={to['host']}"
    url += f"&port={to['port']}" if to.get("port") else ""
    with psycopg.connect(**to, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            with psycopg.connect(**to | {"dbname": name}) as database:
                database.execute(read(release / "database.sql.gz"))
            yield url, lambda: psycopg.connect(**to | {"dbname": name}, autocommit=True)
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@of_each_release
@pytest.mark.postgresql
def test_postgresql_database_of_a_release_is_upgraded(release, stored, tmp_path):
    now = upgraded(stored[0], tmp_path)
    assert lost(contents_of(release / "postgresql.json.gz"), now) == []


COLUMNS = """
    SELECT table_name, column_name,
        is_nullable = 'YES' OR is_identity = 'YES' OR column_default IS NOT NULL
    FROM information_schema.columns WHERE table_schema = 'public'
"""


def columns_of(database) -> dict[str, dict[str, bool]]:
    """Return the columns of each table, and whether a row can be inserted that does not name it."""
    found: dict[str, dict[str, bool]] = {}
    for table, column, is_optional in database.execute(COLUMNS).fetchall():
        found.setdefault(table, {})[column] = is_optional
    return found


@of_each_release
@pytest.mark.postgresql
def test_servers_of_a_release_can_go_on_with_the_upgraded_database(release, stored, tmp_path):
    with stored[1]() as database:
        before = columns_of(database)
        run("manage.py", "migrate", "-v0", url=stored[0], folder=tmp_path)
        after = columns_of(database)
    assert len(before) > 40
    gone = [(table, c) for table in before for c in before[table] if c not in after.get(table, ())]
    needed = [
        (table, column)
        for table in before
        for column, is_optional in after[table].items()
        if column not in before[table] and not is_optional
    ]
    assert (gone, needed) == ([], [])


@contextmanager
def migrating(url: str, folder: Path) -> "Iterator[subprocess.Popen[str]]":
    environment = os.environ | {"TIEBREAK_DATABASE_URL": url, "TIEBREAK_VAR_DIR": str(folder)}
    command = [sys.executable, "manage.py", "migrate"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=PIPE, stderr=PIPE
    ) as process:
        yield process
        process.kill()


def wait(database, *, until_one_waits: bool) -> None:
    """Return once another connection waits for the ratings, or none does."""
    waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'annotation_rating'::regclass"
    for _ in range(600):
        if bool(database.execute(waiting).fetchall()) == until_one_waits:
            return
        time.sleep(0.05)
    raise AssertionError(f"after 30 seconds: {until_one_waits=}")


@of_each_release
@pytest.mark.postgresql
@pytest.mark.thorough
def test_upgrade_gives_way_and_can_be_killed_while_annotators_work(release, stored, tmp_path):
    url, connect = stored
    with connect() as annotator, connect() as other:
        other.execute("SET lock_timeout = '20s'")
        annotator.execute("BEGIN")
        annotator.execute("SELECT id FROM annotation_rating LIMIT 1")
        with migrating(url, tmp_path) as killed:
            wait(other, until_one_waits=True)
            killed.kill()
        assert killed.returncode == -signal.SIGKILL
        wait(other, until_one_waits=False)
        with migrating(url, tmp_path) as migration:
            wait(other, until_one_waits=True)
            # It stands behind the migration, which would else wait for the annotator to the end.
            assert other.execute("SELECT id FROM annotation_rating LIMIT 1").fetchone()
            annotator.execute("COMMIT")
            _, said = migration.communicate(timeout=120)
            assert (migration.returncode, IN_USE in said) == (0, True)
    assert lost(contents_of(release / "postgresql.json.gz"), upgraded(url, tmp_path)) == []


@of_each_release
@pytest.mark.postgresql
@pytest.mark.thorough
def test_two_hosts_may_migrate_at_the_same_time(release, stored, tmp_path):
    with migrating(stored[0], tmp_path) as one, migrating(stored[0], tmp_path) as other:
        ends = [process.communicate(timeout=120)[1] for process in (one, other)]
        assert [one.returncode, other.returncode] == [0, 0], ends


OWN = {app.label for app in apps.get_app_configs() if (ROOT / app.label).is_dir()}
LOADER = MigrationLoader(None)  # now, because a fast run later hides the migrations
LEAVES = [key for key in LOADER.graph.leaf_nodes() if key[0] in OWN]


@pytest.mark.parametrize("leaf", LEAVES, ids="-".join)
def test_newest_migrations_lock_one_table_each(leaf):
    """With several, annotators who use them in another order would meet a deadlock."""
    operations = LOADER.disk_migrations[leaf].operations
    made = {one.name_lower for one in operations if isinstance(one, CreateModel)}
    changed = {one.model_name_lower for one in operations if hasattr(one, "model_name_lower")}
    assert len(changed - made) < 2


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

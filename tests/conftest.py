"""Fixtures for every test: no address but the loopback, and both databases."""

import gc
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker
from pytest_socket import socket_allow_hosts

from tests.draws import draw_from
from tests.recruitment.platforms.fake_prolific import FakeProlific

pytest_plugins = ["tests.summary"]

# On a busy machine, every example may take long.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=10)
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")

# Sync Playwright runs inside an event loop; Django would refuse the database there.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


def pytest_configure(config: pytest.Config) -> None:
    # A copy of this process may wait for ever for a lock that one of the threads held which it lacks.
    multiprocessing.set_start_method("spawn", force=True)
    temporary = tempfile.TemporaryDirectory(prefix="tiebreak-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(temporary.cleanup)
    folder = Path(temporary.name)
    settings.VAR_DIR = folder
    settings.TIEBREAK_UPLOAD_FOLDER = str(folder / "uploads")
    settings.CELERY_TASK_ALWAYS_EAGER = True
    # On a busy machine, the process that reads an upload takes long, and would leave the rest to a job.
    settings.TIEBREAK_READER_SECONDS_IN_WEB *= 10
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    if is_postgresql():
        # Threads of a race come and go: a pool of the test process would outlive them.
        settings.DATABASES["default"]["OPTIONS"].pop("pool", None)
        settings.DATABASES["default"]["TEST"]["NAME"] = "tiebreak_test"
    else:
        # A file and not memory, so that the threads of a live server see one database.
        settings.DATABASES["default"]["TEST"]["NAME"] = str(folder / "test.sqlite3")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the collector of garbage wait while tests are collected, of which nothing is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        sample = item.get_closest_marker("sampled")
        if sample and max(item.callspec.indices.values()) >= sample.args[0]:
            item.add_marker(pytest.mark.thorough)
    yield
    sort_by_length(items)


def sort_by_length(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is left alone with one at the end."""
    n_tests = Counter(item.path for item in items)
    thorough = {item.path for item in items if item.get_closest_marker("thorough")}
    items.sort(key=lambda item: (item.path not in thorough, -n_tests[item.path]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the collector of garbage leave all modules and tests alone, a tenth of what the tests cost."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def is_postgresql() -> bool:
    return bool(settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql")


@pytest.fixture(autouse=True)
def _loopback_only() -> None:
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _draws_come_again(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has its own draws, which are the same ones in every run."""
    draw_from(request.node.nodeid, monkeypatch)


@receiver(connection_created)
def _knows_json(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Say that SQLite knows JSON, which Django would ask of every connection.

    A test would count the question, and a thread beside a test that has written would wait for ever,
    because the question begins a transaction that may write.
    """
    connection.features.supports_json_field = True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let nothing count the rows of PostgreSQL's tables while tests run.

    It would not see what a test never commits and take full tables for empty, and PostgreSQL would then
    choose plans that take minutes.
    """
    if is_postgresql():
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            for table in connection.introspection.table_names(cursor):
                name = connection.ops.quote_name(table)
                cursor.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = off)")


@pytest.fixture(scope="module")
def module_db(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """A database for fixtures that every test of a module reads, each from the same rows.

    What a test stores is rolled back after it, and the rows of the module after its last test. They
    are objects of the first test in Python, so later tests have to read them from the database.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        django_db_blocker.unblock(),
        transaction.atomic(),
    ):
        draw_from(request.node.nodeid, patch)
        yield
        transaction.set_rollback(True)


@pytest.fixture
def ruth(client: Client) -> User:
    """A researcher, who is logged in as `client`."""
    user = User.objects.create_user("ruth", is_staff=True)
    client.force_login(user)
    return user


@pytest.fixture
def fake_prolific(settings: Any) -> Iterator[FakeProlific]:
    """A server that answers as Prolific does, to which all requests go."""
    with FakeProlific() as running:
        settings.TIEBREAK_PROLIFIC_URL = running.base_url
        settings.TIEBREAK_PROLIFIC_KEYS_URL = running.jwks_url
        yield running


@pytest.fixture
def export_folder(settings: Any, tmp_path: Path) -> None:
    settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")

"""Django's `migrate`, which on PostgreSQL lets those who use the tables go first, one at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

# All who want a table wait behind a change that waits for it: no longer than this. It is less than
# PostgreSQL takes to notice a deadlock (1 s), so that the change ends it and not an annotator's answer.
LOCK_MILLISECONDS = 400
PAUSE_SECONDS = 1
ATTEMPTS = 400
ANY_NUMBER = 7_214_063
IN_USE = "A table is in use. Nothing of this migration is done yet; trying again."


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        database = connections[options["database"]]
        if database.vendor != "postgresql":
            super().handle(*args, **options)
            return
        with _alone(database):
            self._try(*args, **options)

    def _try(self, *args: Any, **options: Any) -> None:
        for left in reversed(range(ATTEMPTS)):
            try:
                super().handle(*args, **options)
                return
            except OperationalError as error:
                if not left or not isinstance(error.__cause__, LockNotAvailable):
                    raise
                self.stderr.write(IN_USE)
                time.sleep(PAUSE_SECONDS)


@contextmanager
def _alone(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Wait until nobody else migrates this database, and give up locks of tables after a while."""
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ANY_NUMBER])
        cursor.execute(f"SET lock_timeout = {LOCK_MILLISECONDS}")
    try:
        yield
    finally:
        with database.cursor() as cursor:
            cursor.execute("SET lock_timeout TO DEFAULT")
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ANY_NUMBER])

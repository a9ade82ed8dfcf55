"""Compares the database with the models, because an update may leave one that lacks tables or columns."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from jobs.known_database import remember_database

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2
NAMED = 10
INCOMPLETE = (
    "The database lacks what this version of Tiebreak needs: {}. Run `python manage.py migrate`. If"
    " this changes nothing, the database is from an earlier version that cannot be updated: start"
    " with a new one, as docs/how-to/deploy.md says."
)
# Every column, in one statement.
_COLUMNS = {
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = ANY (current_schemas(false))",
    "sqlite": "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table'",
}


@contextmanager
def direct_connection() -> Iterator[BaseDatabaseWrapper]:
    """Connect without the pool, which waits while the database is down or all connections are lent."""
    pooled = connections[DEFAULT_DB_ALIAS]
    options = {k: v for k, v in pooled.settings_dict["OPTIONS"].items() if k != "pool"}
    if pooled.vendor == "postgresql":
        options["connect_timeout"] = CONNECT_SECONDS
    settings = pooled.settings_dict | {"OPTIONS": options}
    with closing(type(pooled)(settings, pooled.alias)) as direct:
        yield direct


def missing_parts(database: BaseDatabaseWrapper) -> list[str]:
    """Return the tables and columns that models need and the database lacks; it may have more."""
    with database.cursor() as cursor:
        cursor.execute(_COLUMNS[database.vendor])
        found = set(cursor.fetchall())
    tables = {table for table, _ in found}
    models = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.can_migrate(database)
    ]
    return sorted(part for model in models for part in _missing_of(model, tables, found))


def _missing_of(model: type[Model], tables: set[str], found: set[tuple[str, str]]) -> list[str]:
    table = model._meta.db_table
    if table not in tables:
        return [f"table {table}"]
    columns = [field.column for field in model._meta.local_concrete_fields]
    return [f"column {table}.{name}" for name in columns if (table, name) not in found]


def refuse_unfit_database() -> None:
    """Stop the start of a web server or worker whose database lacks parts, or all of its studies.

    Where the database does not answer, the start goes on: it may be back soon, and `/health/` then
    names what is missing.
    """
    try:
        with direct_connection() as database:
            missing = missing_parts(database)
            if not missing:
                remember_database(database)
    except Error:
        log.warning("the database does not answer yet, so its tables were not checked")
        return
    if missing:
        more = [f"{len(missing) - NAMED} more"] if len(missing) > NAMED else []
        raise ImproperlyConfigured(INCOMPLETE.format(", ".join(missing[:NAMED] + more)))

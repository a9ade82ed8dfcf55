"""The database's clock, which all processes of an installation use.

Web and worker processes on several hosts share leases, but their own clocks may differ. Leases
therefore start and expire by the one clock that all of them can read.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import connection

# When the statement began: PostgreSQL's now() is when the transaction did, before it had to wait.
_MOMENT = {
    "postgresql": "statement_timestamp()",
    # As Django stores moments on SQLite, so that the two compare as text.
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')",
}


def moment_sql() -> str:
    """The expression for the present moment, for statements that are executed with parameters."""
    return _MOMENT[connection.vendor]


def database_now() -> datetime:
    """Return the current time of the database's clock. Costs one statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {moment_sql()}", [])
        now = moment_of(cursor.fetchone()[0])
    assert now is not None
    return now


def moment_of(value: Any) -> datetime | None:
    """Convert a timestamp of a raw statement; SQLite returns text in UTC."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return value if value is None else datetime.fromtimestamp(value.timestamp(), UTC)

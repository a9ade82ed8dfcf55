"""The database's clock, which all processes of an installation use.

Web and worker processes on several hosts share leases, but the clocks of the hosts may differ.
Leases therefore start and expire by the one clock that all processes can read.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.models.functions import Now

# The time at which the statement began. PostgreSQL's now() would be the time at which the
# transaction began, possibly before it waited for a lock.
_MOMENT = {
    "postgresql": "statement_timestamp()",
    # The format in which Django stores timestamps on SQLite, so that both can be compared as text.
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')",
}


class Moment(Now):
    """The time at which a row is stored, in all digits with which Django compares it on SQLite."""

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f000', 'NOW')"
        return self.as_sql(compiler, connection, template=template, **context)


def moment_sql() -> str:
    """Return the SQL for the present moment, for statements that are executed with parameters."""
    return _MOMENT[connection.vendor]


def database_now() -> datetime:
    """Return the current time of the database's clock. Executes one statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {moment_sql()}", [])
        now = moment_of(cursor.fetchone()[0])
    assert now is not None
    return now


def moment_of(value: Any) -> datetime | None:
    """Convert a timestamp from a raw statement, which is text in UTC on SQLite."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return value if value is None else datetime.fromtimestamp(value.timestamp(), UTC)

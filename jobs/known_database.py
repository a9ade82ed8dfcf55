"""Remembers, beside the uploads, the database that had studies, so that an empty one is noticed.

The sign of a database is the time of its first migration, which backups and replicas keep.
"""

from datetime import datetime
from pathlib import Path
from typing import cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper

NAME = ".database"
_STATE = "SELECT (SELECT MIN(applied) FROM django_migrations), EXISTS (SELECT 1 FROM studies_study)"
EMPTY = (
    "The database has no study, but another one, which this server used until now, had some. Check"
    " TIEBREAK_DATABASE_URL, or restore a backup. If this server is to start anew, delete {}."
)


def remember_database(database: BaseDatabaseWrapper) -> None:
    """Note the sign of a database that has studies.

    Raises `ImproperlyConfigured` if it has none, and another database had some. In development, where
    databases come and go, this does nothing.
    """
    if not settings.PRODUCTION:
        return
    with database.cursor() as cursor:
        cursor.execute(_STATE)
        made_at, has_studies = cast(tuple[datetime, bool], cursor.fetchone())
    file, sign = Path(settings.TIEBREAK_UPLOAD_FOLDER) / NAME, f"{made_at}\n"
    known = file.read_text() if file.exists() else sign
    if has_studies and not (file.exists() and known == sign):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sign)
    elif not has_studies and known != sign:
        raise ImproperlyConfigured(EMPTY.format(file))

"""What was deleted while something was computed or written for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError
from django.db.models import QuerySet

# How code fails whose study or job was deleted after it was read.
LOST = (DatabaseError, ObjectDoesNotExist)


@contextmanager
def until_deleted(row: QuerySet[Any]) -> Iterator[None]:
    """End work quietly if the row that it is for was deleted meanwhile."""
    try:
        yield
    except LOST:
        if row.exists():
            raise

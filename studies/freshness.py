"""Counts changes other than new ratings so that pages notice when a report is out of date."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection, transaction

_noted: ContextVar[set[str] | None] = ContextVar("noted", default=None)


@contextmanager
def changes_noted() -> Iterator[None]:
    """Open a transaction that ends by incrementing the counters of the studies noted in it.

    The increments come last so that a transaction never waits for another lock while it holds a
    counter; otherwise two exclusions could deadlock on a counter and a place. If nothing has
    changed, no statement is executed.
    """
    if _noted.get() is not None:  # the outermost block increments the counters
        with transaction.atomic():
            yield
        return
    noted: set[str] = set()
    token = _noted.set(noted)
    try:
        with transaction.atomic():
            yield
            for study_id in sorted(noted):
                _increment(study_id)
    finally:
        _noted.reset(token)


def note_change(study_id: str) -> None:
    """Record that flags or frozen separabilities changed, so the study's report is out of date."""
    noted = _noted.get()
    if noted is None:
        _increment(study_id)
    else:
        noted.add(study_id)


def _increment(study_id: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_INCREMENT, [study_id])


_INCREMENT = """
INSERT INTO studies_reportchanges (study_id, n) VALUES (%s, 1)
ON CONFLICT (study_id) DO UPDATE SET n = studies_reportchanges.n + 1
"""

"""How pages learn that a study's report is out of date though no rating came."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import connection, transaction

_noted: ContextVar[set[str] | None] = ContextVar("noted", default=None)


@contextmanager
def changes_noted() -> Iterator[None]:
    """A transaction that bumps the counters of the studies noted in it, as its last statements.

    Last, because whoever holds a counter's row must not wait for anything else: of two who withdraw
    work, one would hold the counter and want a place that the other holds. Where nothing is noted,
    it costs no statement.
    """
    if _noted.get() is not None:  # the outermost bumps
        with transaction.atomic():
            yield
        return
    noted: set[str] = set()
    token = _noted.set(noted)
    try:
        with transaction.atomic():
            yield
            for study_id in sorted(noted):
                _bump(study_id)
    finally:
        _noted.reset(token)


def note_change(study_id: str) -> None:
    """Flags, or a frozen separability, changed: the study's report is of before."""
    noted = _noted.get()
    if noted is None:
        _bump(study_id)
    else:
        noted.add(study_id)


def _bump(study_id: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_BUMP, [study_id])


_BUMP = """
INSERT INTO studies_reportchanges (study_id, n) VALUES (%s, 1)
ON CONFLICT (study_id) DO UPDATE SET n = studies_reportchanges.n + 1
"""

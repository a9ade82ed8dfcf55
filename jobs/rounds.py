"""Periodic tasks without a scheduler process that could fail.

Every worker proposes the periodic tasks twice a minute, and the database decides whether a round
is due and which worker starts it. Rounds therefore run as long as any worker is alive, and each
round runs once, however many workers there are.
"""

import logging
from datetime import datetime, timedelta
from threading import Event, Thread

from celery import Celery, current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from jobs.clock import database_now
from jobs.models import Round

log = logging.getLogger(__name__)

PROPOSE_EVERY = timedelta(seconds=30)
# If no round has started for this long, no worker is running, or all workers are busy.
LATE = timedelta(minutes=5)


def make_due_rounds(now: datetime | None = None) -> list[str]:
    """Queue the task of each round that is due, and return the names of these rounds."""
    now = now or database_now()
    begun = [name for name, one in settings.TIEBREAK_ROUNDS.items() if _begin(name, one[1], now)]
    for name in begun:
        current_app.tasks[settings.TIEBREAK_ROUNDS[name][0]].delay()
    return begun


def _begin(name: str, seconds: int, now: datetime) -> bool:
    """Claim a round if it is due, and return whether this succeeded.

    Only one of several simultaneous proposals succeeds.
    """
    _, is_first = Round.objects.get_or_create(name=name, defaults={"begun_at": now})
    due = Round.objects.filter(name=name, begun_at__lte=now - timedelta(seconds=seconds))
    return is_first or bool(due.update(begun_at=now))


def last_round() -> datetime | None:
    """Return when a worker last started any round."""
    newest = Round.objects.order_by("-begun_at").values_list("begun_at", flat=True)
    return newest.first()


def is_late(begun_at: datetime | None, now: datetime) -> bool:
    return begun_at is None or begun_at < now - LATE


def propose_rounds(app: Celery, is_over: Event) -> Thread:
    """Send one worker's proposals from a thread, because its processes may be busy for hours."""

    def propose() -> None:
        while not is_over.is_set():
            try:
                app.send_task(
                    "jobs.tasks.make_due_rounds_task", expires=PROPOSE_EVERY.total_seconds()
                )
            except OperationalError:
                log.warning("the message broker does not accept the proposal of a round")
            is_over.wait(PROPOSE_EVERY.total_seconds())

    thread = Thread(target=propose, daemon=True, name="rounds")
    thread.start()
    return thread

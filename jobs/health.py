"""Health checks for monitoring and for load balancers, with HTTP status 200 or 503.

`live` says that the process answers, `ready` that this web server can serve requests, and `health`
that nothing on the server as a whole needs somebody.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from psycopg_pool import PoolTimeout

from jobs.clock import database_now
from jobs.rounds import is_late, last_round
from jobs.schema import direct_connection, missing_parts
from jobs.stuck_jobs import stuck_jobs

T = TypeVar("T")
OK, UNKNOWN, UNREACHABLE = "ok", "unknown", "unreachable"
# A service that accepts connections and then says nothing is unreachable after this long.
SECONDS = 1.5
POOL_SECONDS = 1
# The endpoint is public, so results are cached for this long.
CACHE_SECONDS = 5
# What a web server cannot serve without. A late scheduler or a stuck job is not its fault.
READINESS = ("database", "schema", "broker")


@dataclass(frozen=True)
class Health:
    """A status for each component. The numbers are shown to researchers only."""

    database: str = OK
    schema: str = OK
    broker: str = OK
    scheduler: str = OK
    jobs: str = OK
    # The tables and columns that the database lacks.
    missing: tuple[str, ...] = ()
    scheduler_age_seconds: float | None = None
    stuck_jobs: int = 0

    @property
    def statuses(self) -> dict[str, str]:
        names = ("database", "schema", "broker", "scheduler", "jobs")
        return {name: getattr(self, name) for name in names}

    @property
    def readiness(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in READINESS}


@require_safe
@never_cache
def live(_: HttpRequest) -> JsonResponse:
    """Answer without asking anything else, so that only a hanging process is restarted."""
    return JsonResponse({"status": OK})


@require_safe
@never_cache
def ready(_: HttpRequest) -> JsonResponse:
    result = current_health()
    return _answer(result, result.readiness)


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    result = current_health()
    is_detailed = result.schema == OK and _is_researcher(request)
    return _answer(result, result.statuses, asdict(result) if is_detailed else {})


def _answer(
    result: Health, statuses: dict[str, str], details: dict[str, Any] | None = None
) -> JsonResponse:
    is_good = set(statuses.values()) == {OK}
    content: dict[str, Any] = {"status": OK if is_good else "failing", **statuses}
    if result.missing:
        content["missing"] = result.missing
    return JsonResponse(content | (details or {}), status=200 if is_good else 503)


def _is_researcher(request: HttpRequest) -> bool:
    """Read the user, for which the database is needed."""
    try:
        return request.user.is_active and request.user.is_staff
    except Error:
        return False


def check_health() -> Health:
    until = monotonic() + SECONDS
    broker_until, database_until = _begin(_broker_status), _begin(_database_status)
    broker = broker_until(until) or UNREACHABLE
    database, missing = database_until(until) or (UNREACHABLE, ())
    if database != OK or missing:
        schema = "incomplete" if missing else UNKNOWN
        return Health(database, schema, broker, UNKNOWN, UNKNOWN, missing)
    try:
        now, begun_at = database_now(), last_round()
        stuck = len(stuck_jobs(now=now))
    except DatabaseError:
        return Health(UNREACHABLE, UNKNOWN, broker, UNKNOWN, UNKNOWN)
    return Health(
        broker=broker,
        scheduler="late" if is_late(begun_at, now) else OK,
        jobs="stuck" if stuck else OK,
        scheduler_age_seconds=(now - begun_at).total_seconds() if begun_at else None,
        stuck_jobs=stuck,
    )


def _begin(check: Callable[[], T]) -> Callable[[float], T | None]:
    """Check in a thread; return a function that waits until a moment for the result, or None."""
    results: list[T] = []
    thread = Thread(target=lambda: results.append(check()), daemon=True, name="health")
    thread.start()

    def wait(until: float) -> T | None:
        thread.join(max(0.0, until - monotonic()))
        return results[0] if results else None

    return wait


def _broker_status() -> str:
    try:
        with current_app.connection_for_write(connect_timeout=SECONDS) as broker:
            broker.ensure_connection(max_retries=1, timeout=SECONDS)
    except Exception:  # each transport raises its own exception types
        return UNREACHABLE
    return OK


def waiting_messages() -> dict[str, float]:
    """Return how many messages wait in each queue; nothing if the broker does not say so in time."""
    return _begin(_waiting_messages)(monotonic() + SECONDS) or {}


def _waiting_messages() -> dict[str, float]:
    lengths: dict[str, float] = {}
    with current_app.connection_for_read(connect_timeout=SECONDS) as broker:
        for queue in settings.TIEBREAK_QUEUES:
            # A broker closes the channel that asked for a queue without any message so far.
            with broker.channel() as channel, suppress(*broker.channel_errors):
                found = channel.queue_declare(queue=queue, passive=True)
                lengths[queue] = found.message_count
            lengths.setdefault(queue, 0)
    return lengths


def _database_status() -> tuple[str, tuple[str, ...]]:
    """Return a status and what the database lacks. `busy` if it answers, but no connection is free."""
    try:
        with direct_connection() as database:
            missing = tuple(missing_parts(database))
    except Error:
        return UNREACHABLE, ()
    return (OK if _pool_has_free() else "busy"), missing


def _pool_has_free() -> bool:
    pool = getattr(connection, "pool", None)
    if pool is None:
        return True
    pool.open()
    try:
        with pool.connection(timeout=POOL_SECONDS):
            return True
    except PoolTimeout:
        return False


def current_health() -> Health:
    """Return the health as it was checked within the last seconds."""
    result = cache.get("health")
    if not isinstance(result, Health):
        result = check_health()
        cache.set("health", result, CACHE_SECONDS)
    return result

"""Health check for monitoring, with a status for each component and HTTP status 200 or 503."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.clock import database_now
from jobs.rounds import is_late, last_round
from jobs.stuck_jobs import stuck_jobs

OK = "ok"
BROKER_SECONDS = 2
# The endpoint is public, so results are cached for this long.
CACHE_SECONDS = 5


@dataclass(frozen=True)
class Health:
    """A status for each component. The numbers are shown to researchers only."""

    database: str = OK
    broker: str = OK
    scheduler: str = OK
    jobs: str = OK
    scheduler_age_seconds: float | None = None
    stuck_jobs: int = 0

    @property
    def statuses(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("database", "broker", "scheduler", "jobs")}

    @property
    def is_good(self) -> bool:
        return set(self.statuses.values()) == {OK}


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    result = _cached(check_health)
    content: dict[str, Any] = {"status": OK if result.is_good else "failing", **result.statuses}
    # Reading the user needs the database.
    if result.database == OK and request.user.is_active and request.user.is_staff:
        content |= asdict(result)
    return JsonResponse(content, status=200 if result.is_good else 503)


def check_health() -> Health:
    broker = OK if _broker_answers() else "unreachable"
    try:
        now, begun_at = database_now(), last_round()
        stuck = len(stuck_jobs(now=now))
    except DatabaseError:
        unknown = "unknown"
        return Health(database="unreachable", broker=broker, scheduler=unknown, jobs=unknown)
    return Health(
        broker=broker,
        scheduler="late" if is_late(begun_at, now) else OK,
        jobs="stuck" if stuck else OK,
        scheduler_age_seconds=(now - begun_at).total_seconds() if begun_at else None,
        stuck_jobs=stuck,
    )


def _broker_answers() -> bool:
    try:
        with current_app.connection_for_write(connect_timeout=BROKER_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)
    except Exception:  # each transport raises its own exception types
        return False
    return True


def _cached(check: Callable[[], Health]) -> Health:
    result = cache.get("health")
    if not isinstance(result, Health):
        result = check()
        cache.set("health", result, CACHE_SECONDS)
    return result

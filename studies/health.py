"""Whether the server can do its work, for a monitor: one word for each part, and 200 or 503."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from studies.clock import database_now
from studies.rounds import is_late, last_round
from studies.stuck_jobs import stuck_jobs

OK = "ok"
BROKER_SECONDS = 2
# Anybody may ask; the parts are looked at so often and no more.
LOOK_EVERY_SECONDS = 5


@dataclass(frozen=True)
class Health:
    """A word for each part; the numbers are for researchers only."""

    database: str = OK
    broker: str = OK
    scheduler: str = OK
    jobs: str = OK
    scheduler_age_seconds: float | None = None
    stuck_jobs: int = 0

    @property
    def words(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("database", "broker", "scheduler", "jobs")}

    @property
    def is_good(self) -> bool:
        return set(self.words.values()) == {OK}


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    found = _cached(check_health)
    said: dict[str, Any] = {"status": OK if found.is_good else "failing", **found.words}
    # Who asks is read from the database, so only where that answers.
    if found.database == OK and request.user.is_active and request.user.is_staff:
        said |= asdict(found)
    return JsonResponse(said, status=200 if found.is_good else 503)


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
    except Exception:  # each transport has errors of its own
        return False
    return True


def _cached(check: Callable[[], Health]) -> Health:
    known = cache.get("health")
    if not isinstance(known, Health):
        known = check()
        cache.set("health", known, LOOK_EVERY_SECONDS)
    return known

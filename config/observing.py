"""Names each request, measures how long it takes, and logs a line about it.

Under gunicorn, each worker writes its numbers to a file, and whichever of them is asked adds up the
files of all (`gunicorn.conf.py` names the folder). Without a folder, a process tells its own.
"""

import logging
import os
from collections.abc import Callable
from time import perf_counter
from typing import Any
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from jobs.log_context import begin_log, note_in_log
from tiebreak.identifiers import looks_like_public_id

log = logging.getLogger(__name__)

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
# A client may send any word as its method, and each would be a series of its own.
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

_own = CollectorRegistry()
_SECONDS = Histogram(
    "tiebreak_request_seconds",
    "Time from the arrival of a request to its answer, by the name of its page or endpoint.",
    ["view", "method", "status"],
    registry=_own,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


class ObservingMiddleware:
    """Names, measures and logs the requests that reach a page or endpoint; files are not among them.

    The id is ours and never the client's, which might be that of a person.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun, request_id = perf_counter(), uuid4().hex
        begin_log(request=request_id)
        response = self.get_response(request)
        response["X-Request-ID"] = request_id
        method = request.method if request.method in METHODS else "other"
        self._observe(request, method, response.status_code, perf_counter() - begun)
        return response

    def process_view(
        self, _request: HttpRequest, _view: object, _args: object, kwargs: dict[str, Any]
    ) -> None:
        study = kwargs.get("study_id", "")
        if isinstance(study, str) and looks_like_public_id(study):
            note_in_log(study=study)

    def _observe(self, request: HttpRequest, method: str, status: int, seconds: float) -> None:
        view = view_name(request)
        _SECONDS.labels(view, method, f"{status // 100}xx").observe(seconds)
        took = {"view": view, "method": method, "status": status, "ms": round(seconds * 1000)}
        log.info("request", extra={"fields": took})


def view_name(request: HttpRequest) -> str:
    """Return the name of the page or endpoint, which contains nothing that somebody typed."""
    return request.resolver_match.view_name if request.resolver_match else "none"


def measured() -> bytes:
    """Return what all processes of this web server measured, as Prometheus reads it."""
    registry = _own
    if os.environ.get(FOLDER):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)

"""Measures how long requests take, in each process of a web server.

Under gunicorn, each worker writes its numbers to a file, and whichever of them is asked adds up the
files of all (`gunicorn.conf.py` names the folder). Without a folder, a process tells its own.
"""

import os
from collections.abc import Callable
from time import perf_counter

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

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


class RequestMetricsMiddleware:
    """Measures the requests that reach a page or endpoint; files are not among them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = perf_counter()
        response = self.get_response(request)
        method = request.method if request.method in METHODS else "other"
        status = f"{response.status_code // 100}xx"
        _SECONDS.labels(view_name(request), method, status).observe(perf_counter() - begun)
        return response


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

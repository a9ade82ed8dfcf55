"""Workers in processes of their own, behind a broker, on the database of the test."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from celery import Celery
from django.db import connection

from tests.paths import ROOT

TIMEOUT_S = 60


@contextmanager
def client(url: str, monkeypatch, **options: object) -> Iterator[Celery]:
    """Let services send messages to this broker; the tests' own application is eager."""
    with Celery("client", broker=url, set_as_current=False) as app:
        app.conf.broker_transport_options = options
        monkeypatch.setattr(
            "jobs.services.enqueue",
            lambda task, *arguments, queue: app.send_task(task, arguments, queue=queue),
        )
        yield app


def url_of_test_database() -> str:
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["TIEBREAK_DATABASE_URL"])._replace(path=f"/{name}").geturl()


@contextmanager
def worker(
    name: str, *, queues: str = "interactive,default", pool: str = "solo", **environment: str
) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", pool]
    command += ["-c", "4", "-Q", queues, "--loglevel", "ERROR", "-n", f"{name}@%h"]
    environment |= {
        "TIEBREAK_DATABASE_URL": url_of_test_database(),
        "TIEBREAK_JOB_LEASE_SECONDS": "2",
        "TIEBREAK_JOB_TURN_SECONDS": "1",
    }
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=20)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "the workers did not come so far"
        time.sleep(0.1)

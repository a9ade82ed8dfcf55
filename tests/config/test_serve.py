"""One command runs a server for real studies on one host."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured

from benchmarks.servers import free_port, postgresql
from config import serve
from jobs.health import Health
from tests.config.test_settings import settings_of
from tests.paths import ROOT


def start(folder: Path, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TIEBREAK", "DJANGO"))}
    environment |= {"TIEBREAK_SETTINGS_FILE": str(folder / "server.env")}
    return subprocess.Popen(
        [sys.executable, "-m", "config.serve", *arguments],
        cwd=ROOT,
        env=clean | environment | {"TIEBREAK_VAR_DIR": str(folder / "var")},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_without_a_host_nothing_is_written(tmp_path):
    said, _ = (process := start(tmp_path, TIEBREAK_PORT=str(free_port()))).communicate(timeout=60)
    assert (process.returncode, list(tmp_path.iterdir())) == (1, [])
    assert str(tmp_path / "server.env") in said


def test_the_first_start_writes_all_that_production_needs(tmp_path, monkeypatch):
    file = tmp_path / "new" / "server.env"
    monkeypatch.setenv("TIEBREAK_BROKER_URL", "redis://10.0.0.6:6379/0")
    monkeypatch.delenv("TIEBREAK_DATABASE_URL", raising=False)
    serve._write_settings(file, "rate.example.org")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = settings_of(TIEBREAK_SETTINGS_FILE=str(file))
    assert (settings.PRODUCTION, settings.ALLOWED_HOSTS[0]) == (True, "rate.example.org")
    assert settings.CELERY_BROKER_URL == "redis://10.0.0.6:6379/0"
    assert settings.DATABASES["default"]["NAME"] == "tiebreak"
    with pytest.raises(FileExistsError):  # no second key
        serve._write_settings(file, "other.example.org")


def test_the_environment_wins_over_the_file(tmp_path):
    file = tmp_path / "server.env"
    file.write_text("TIEBREAK_HOSTS=a.example.org\nTIEBREAK_LOG_FORMAT=json\n")
    settings = settings_of(TIEBREAK_SETTINGS_FILE=str(file), TIEBREAK_HOSTS="b.example.org")
    assert (settings.ALLOWED_HOSTS[0], settings.LOGS_JSON) == ("b.example.org", True)
    with pytest.raises(ImproperlyConfigured, match="TIEBREAK_SETTINGS_FILE"):
        settings_of(TIEBREAK_SETTINGS_FILE=str(tmp_path / "none"))


@pytest.mark.parametrize("cores", [1, 2, 64])
def test_every_queue_has_one_worker_and_jobs_as_many_processes_as_cores_allow(settings, cores):
    web, *workers = serve.commands(8000, cores).values()
    served = [queue for one in workers for queue in one[one.index("-Q") + 1].split(",")]
    assert sorted(served) == sorted(settings.TIEBREAK_QUEUES)
    processes = {one[one.index("-Q") + 1]: int(one[-1]) for one in workers}
    assert processes["default,analytics"] == max(1, cores - 1)
    assert web[:2] == ["gunicorn", "config.wsgi"]


@pytest.mark.parametrize(
    ("missing", "sentence"), [("database", serve.NO_DATABASE), ("broker", serve.NO_BROKER)]
)
def test_what_does_not_answer_is_named_before_anything_starts(monkeypatch, missing, sentence):
    monkeypatch.setattr("jobs.health.check_health", lambda: Health(**{missing: "unreachable"}))
    monkeypatch.setattr("django.core.management.call_command", lambda *_, **__: pytest.fail("ran"))
    assert serve._prepare()[:40] == sentence[:40]


@pytest.mark.postgresql
@pytest.mark.redis
@pytest.mark.enable_socket
def test_one_command_serves_and_stops(tmp_path):
    redis = os.environ.get("TIEBREAK_TEST_REDIS_URL")
    if not redis or not list(Path("/usr/lib/postgresql").glob("*/bin")):
        pytest.skip(
            "This test needs PostgreSQL, and TIEBREAK_TEST_REDIS_URL, which `make test-all` sets."
        )
    port = free_port()
    with postgresql() as database:
        environment = {
            "TIEBREAK_DATABASE_URL": database.url("postgres"),
            "TIEBREAK_BROKER_URL": redis,
            "TIEBREAK_PORT": str(port),
        }
        process = start(tmp_path, "rate.example.org", **environment)
        try:
            assert _health(port) == {"health/live": 200, "health/ready": 200}
            page = httpx.get(
                f"http://127.0.0.1:{port}/admin/login/",
                headers={"Host": "rate.example.org", "X-Forwarded-Proto": "https"},
            )
            assert (page.status_code, "/static/css/" in page.text) == (200, True)
        finally:
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=90)
    assert process.returncode == 0
    assert "createsuperuser" in said
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/health/live")


def _health(port: int) -> dict[str, int]:
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            pages = ("health/live", "health/ready")
            return {one: httpx.get(f"{url}/{one}", timeout=60).status_code for one in pages}
        except httpx.ConnectError:
            time.sleep(0.2)
    raise AssertionError("the server did not come up")

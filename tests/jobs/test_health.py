"""The health check, which monitoring services poll."""

import json
import socket
import time
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from celery import Celery
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import DatabaseError
from django.test import Client
from psycopg_pool import ConnectionPool

from jobs.clock import database_now
from jobs.models import Round
from jobs.rounds import LATE
from jobs.services import LEASE
from tests.jobs.factories import make_job
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
WORDS = {"status", "database", "schema", "broker", "scheduler", "jobs"}


@pytest.fixture(autouse=True)
def _unseen(monkeypatch) -> None:
    cache.clear()
    monkeypatch.setattr("jobs.health.CACHE_SECONDS", 0)


@pytest.fixture
def running() -> None:
    Round.objects.create(name="jobs", begun_at=database_now())


def ask(client: Client) -> tuple[int, dict[str, object]]:
    answer = client.get("/health/")
    assert answer.headers["Content-Type"] == "application/json"
    assert "no-store" in answer.headers["Cache-Control"]
    return answer.status_code, json.loads(answer.content)


@pytest.mark.usefixtures("running")
def test_it_works(client):
    assert ask(client) == (200, dict.fromkeys(WORDS, "ok"))


def test_the_scheduler_is_late_without_a_recent_round(client):
    status, report = ask(client)
    assert (status, report["scheduler"], report["status"]) == (503, "late", "failing")
    Round.objects.create(name="jobs", begun_at=database_now() - LATE - timedelta(minutes=1))
    assert ask(client)[1]["scheduler"] == "late"


@pytest.mark.usefixtures("running")
def test_a_stuck_job_is_reported(client):
    make_job(make_study(), status="running", lease_until=database_now() - LEASE)
    status, report = ask(client)
    assert (status, report["jobs"], report["database"]) == (503, "stuck", "ok")
    assert set(report) == WORDS


@pytest.mark.usefixtures("running")
def test_an_unreachable_broker_is_reported(client, monkeypatch):
    def away(**_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("jobs.health.current_app.connection_for_write", away)
    status, report = ask(client)
    assert (status, report["broker"], report["scheduler"]) == (503, "unreachable", "ok")


def test_the_process_is_alive_whatever_else_is_down(client, django_assert_num_queries, monkeypatch):
    monkeypatch.setattr("jobs.health.check_health", lambda: pytest.fail("something was asked"))
    with django_assert_num_queries(0):
        answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_web_server_is_ready_without_the_scheduler_and_not_without_the_broker(
    client, monkeypatch
):
    words = {"status", "database", "schema", "broker"}
    answer = client.get("/health/ready")  # no round has ever begun
    assert (answer.status_code, answer.json()) == (200, dict.fromkeys(words, "ok"))
    monkeypatch.setattr("jobs.health._broker_status", lambda: "unreachable")
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["broker"]) == (503, "unreachable")
    assert answer.json()["status"] == "failing"


@pytest.mark.usefixtures("running")
@pytest.mark.enable_socket
def test_broker_that_accepts_and_never_answers_is_reported_within_two_seconds(client):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        broker = Celery(broker=url, set_as_current=False)
        with patch("jobs.health.current_app", broker):
            begun = time.monotonic()
            status, report = ask(client)
    assert time.monotonic() - begun < 2
    assert (status, report["broker"], report["scheduler"]) == (503, "unreachable", "ok")


def test_pool_without_a_free_connection_is_reported_as_busy(client, monkeypatch):
    with ConnectionPool(
        "dbname=none", min_size=0, max_size=1, open=False
    ) as pool:  # which never connects
        monkeypatch.setattr("jobs.health.POOL_SECONDS", 0.1)
        monkeypatch.setattr("jobs.health.connection", SimpleNamespace(pool=pool))
        status, report = ask(client)
    assert (status, report["database"], report["schema"]) == (503, "busy", "unknown")


def test_an_unreachable_database_is_reported_as_json(client, monkeypatch):
    def away() -> None:
        raise DatabaseError

    client.force_login(User.objects.create_superuser("root"))
    monkeypatch.setattr("jobs.health.database_now", away)
    status, report = ask(client)
    assert (status, report["database"], report["jobs"]) == (503, "unreachable", "unknown")
    assert set(report) == WORDS


@pytest.mark.usefixtures("running")
def test_only_researchers_see_numbers(client):
    assert set(ask(client)[1]) == WORDS
    client.force_login(User.objects.create_user("annotator"))
    assert set(ask(client)[1]) == WORDS
    client.force_login(User.objects.create_user("ruth", is_staff=True))
    report = ask(client)[1]
    assert report["stuck_jobs"] == 0
    assert 0 <= report["scheduler_age_seconds"] < 60


def test_frequent_requests_share_one_check(client, monkeypatch):
    looks = []
    monkeypatch.setattr("jobs.health.CACHE_SECONDS", 60)
    monkeypatch.setattr("jobs.health._broker_status", lambda: looks.append(1) or "ok")
    for _ in range(5):
        ask(client)
    assert len(looks) == 1


@pytest.mark.parametrize("address", ["/health/", "/health/live", "/health/ready"])
def test_post_is_not_allowed(client, address):
    assert client.post(address).status_code == 405


def test_favicon_ico_redirects_to_the_icon(client):
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert answer["Location"].endswith("favicon.svg")
    for page in ("/admin/login/", "/s/nothing/"):
        assert "images/favicon.svg" in client.get(page).content.decode()

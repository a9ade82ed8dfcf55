"""/metrics, read back as Prometheus does; and who may read it."""

import os
import re
import subprocess
import sys
import time
from datetime import timedelta

import httpx
import pytest
from django.core.cache import cache
from prometheus_client.parser import text_string_to_metric_families

from annotation.models import Place, Rating
from benchmarks.servers import free_port
from jobs.clock import database_now
from jobs.kinds import _KINDS
from jobs.models import Job
from machine_raters.models import Verdict
from metrics.results.services import refresh_report
from tests.annotation.annotators import annotator
from tests.jobs.factories import make_job
from tests.jobs.real_workers import url_of_test_database
from tests.machine_raters import machines
from tests.machine_raters.judging.scripted import model  # noqa: F401  a fixture
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.paths import ROOT
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
Samples = dict[tuple[str, ...], float]


@pytest.fixture(autouse=True)
def _unseen() -> None:
    cache.clear()


def samples_in(text: str) -> Samples:
    """The samples by their name without the prefix, and the values of their labels by name."""
    return {
        (one.name.removeprefix("tiebreak_"), *dict(sorted(one.labels.items())).values()): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def read(client, **extra) -> Samples:
    answer = client.get("/metrics", **extra)
    assert answer.status_code == 200
    return samples_in(answer.content.decode())


def test_ratings_and_places_of_open_studies_are_counted(client):
    study = make_open_study(instances=2, comparisons_per_hit=2)
    annotator(study).choose()
    found = read(client)
    assert found["ratings_saved_total", "human"] == Rating.objects.count() == 1
    held, free = found["places", "held"], found["places", "free"]
    assert (held, free) == (1, study.places.count() - 1)
    Place.objects.filter(lease_until__isnull=False).update(
        lease_until=database_now() - timedelta(minutes=1)
    )
    found = read(client)
    assert (found["places", "held"], found["places", "expired"]) == (0, 1)
    study.status = "closed"
    study.save()
    assert read(client)["places", "expired"] == 0


def test_reports_have_an_age(client):
    study = make_open_study(instances=1)
    refresh_report(study=study)
    study.report_snapshots.update(made_at=database_now() - timedelta(hours=2))
    assert read(client)["report_age_seconds", study.pk] == pytest.approx(7200, abs=60)


def test_jobs_are_counted_by_queue_with_the_wait_of_the_oldest(client):
    now, study = database_now(), make_study()
    for minutes in (5, 3):
        make_job(study, queue="gpu", queued_at=now - timedelta(minutes=minutes))
    make_job(study, status="running", lease_until=now, failed=7)
    make_job(study, status="done", failed=2)
    found = read(client)
    assert found["jobs", "gpu", "queued"] == 2
    assert found["queue_oldest_job_seconds", "gpu"] == pytest.approx(300, abs=60)
    assert found["job_chunks", "running"] == 1
    assert found["job_failed_items", "scoring"] == 9
    assert ("jobs", "default", "done") not in found


def test_tokens_of_judges_are_added_up(client, model):  # noqa: F811
    judge = machines.answered("judge", make_rag_study(), model)
    verdicts = Verdict.objects.filter(judge=judge)
    assert verdicts.update(tokens=3, prompt_tokens=40)
    found = read(client)
    assert found["model_tokens_total", "judging"] == 3 * verdicts.count()
    assert found["model_tokens_total", "prompts of judging"] == 40 * verdicts.count()
    assert found["ratings_saved_total", "machine"] == verdicts.count()


def test_saves_are_measured_by_the_name_of_their_page(client):
    key = ("request_seconds_count", "POST", "3xx", "annotation:answer")
    before = read(client).get(key, 0)
    annotator(make_open_study(instances=2, comparisons_per_hit=2)).choose()
    client.generic("SPAM", "/nowhere/secret-7/")
    answer = client.get("/metrics").content.decode()
    assert samples_in(answer)[key] == before + 1
    assert ("request_seconds_count", "other", "4xx", "none") in samples_in(answer)
    assert "secret-7" not in answer
    assert "SPAM" not in answer


@pytest.mark.parametrize("broken", ["database", "schema"])
def test_without_the_database_the_health_is_told(client, monkeypatch, broken):
    from jobs.health import Health

    monkeypatch.setattr("config.monitoring.current_health", lambda: Health(**{broken: "away"}))
    found = read(client)
    assert found["component_ok", broken] == 0
    assert found["component_ok", "broker"] == 1
    assert "ratings_saved_total" not in {name for name, *_ in found}


def test_a_broker_that_is_away_has_no_messages(client, monkeypatch):
    monkeypatch.setattr("jobs.health._broker_status", lambda: "unreachable")
    assert "queue_messages" not in {name for name, *_ in read(client)}


@pytest.mark.parametrize(
    "request_of",
    [
        {"REMOTE_ADDR": "203.0.113.7"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_VIA": "1.1 proxy"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "203.0.113.7", "HTTP_AUTHORIZATION": "Bearer "},
    ],
)
def test_without_a_token_only_this_host_may_read(client, request_of):
    refused = client.get("/metrics", **request_of)
    assert (refused.status_code, refused.json()["code"]) == (403, "metrics_forbidden")
    assert read(client, REMOTE_ADDR="::1")


def test_with_a_token_only_who_has_it_may_read(client, settings):
    settings.TIEBREAK_METRICS_TOKEN = "t" * 20
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {'t' * 19}é").status_code == 403
    there = {"REMOTE_ADDR": "203.0.113.7", "HTTP_X_FORWARDED_FOR": "203.0.113.7"}
    assert read(client, HTTP_AUTHORIZATION=f"Bearer {'t' * 20}", **there)


def test_every_queue_is_counted(settings):
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    used = routed | {kind.queue for kind in _KINDS.values()} | {Job().queue}
    assert used == set(settings.TIEBREAK_QUEUES)


@pytest.mark.redis
@pytest.mark.enable_socket
def test_messages_of_redis_are_counted_by_queue(client, monkeypatch):
    from celery import Celery

    url = os.environ.get("TIEBREAK_TEST_REDIS_URL")
    if not url:
        pytest.skip("No Redis is named by TIEBREAK_TEST_REDIS_URL; `make test-all` starts one.")
    # A database of its own: workers of other tests have the first one.
    of_its_own = f"{url.rpartition('/')[0]}/9"
    with Celery("counting", broker=of_its_own, set_as_current=False) as app:
        monkeypatch.setattr("jobs.health.current_app", app)
        for _ in range(3):
            app.send_task("nothing", queue="analytics")
        found = read(client)
        with app.connection_for_write() as broker:
            broker.default_channel.queue_purge("analytics")
        assert (found["queue_messages", "analytics"], found["queue_messages", "gpu"]) == (3, 0)


@pytest.mark.thorough
@pytest.mark.enable_socket
def test_every_worker_of_gunicorn_tells_the_requests_of_all():
    port = free_port()
    url, environment = f"http://127.0.0.1:{port}", os.environ | {"WEB_CONCURRENCY": "2"}
    options = ["--bind", f"127.0.0.1:{port}", "--no-control-socket", "--threads", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "config.wsgi", *options],
        cwd=ROOT,
        env=environment | {"TIEBREAK_DATABASE_URL": url_of_test_database()},
    ) as server:
        try:
            _wait_for(url)
            for _ in range(30):
                assert httpx.get(f"{url}/health/live").status_code == 200
            seen = {_lives(httpx.get(f"{url}/metrics", timeout=60).text) for _ in range(8)}
        finally:
            server.terminate()
    assert seen == {31.0}


def _lives(text: str) -> float:
    assert re.search(r"^tiebreak_component_ok", text, re.M)
    return samples_in(text)["request_seconds_count", "GET", "2xx", "live"]


def _wait_for(url: str) -> None:
    for _ in range(300):
        try:
            assert httpx.get(f"{url}/health/live", timeout=60).status_code == 200
            return
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError("gunicorn did not come up")

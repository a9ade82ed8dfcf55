"""A task that is sent through a real broker and run by a worker in another process."""

import os
import subprocess
import sys
import time

import pytest
from celery import Celery

from metrics.models import ReportSnapshot
from metrics.tasks import refresh_report_task
from tests.jobs.real_workers import url_of_test_database
from tests.paths import ROOT
from tests.studies.factories import make_open_study

TIMEOUT_S = 60


@pytest.fixture
def broker() -> str:
    url = os.environ.get("TIEBREAK_TEST_REDIS_URL")
    if not url:
        pytest.skip("No Redis is named by TIEBREAK_TEST_REDIS_URL; `make test` starts one.")
    return url


@pytest.mark.redis
@pytest.mark.django_db(transaction=True)
def test_a_report_is_made_by_a_worker_behind_redis(broker):
    study = make_open_study(instances=2)
    environment = os.environ | {
        "TIEBREAK_BROKER_URL": broker,
        "TIEBREAK_DATABASE_URL": url_of_test_database(),
    }
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "config",
            "worker",
            "--pool",
            "solo",
            "-Q",
            "analytics",
            "--loglevel",
            "ERROR",
        ],
        cwd=ROOT,
        env=environment,
    )
    try:
        with Celery("client", broker=broker, set_as_current=False) as client:
            client.send_task(refresh_report_task.name, [study.pk], queue="analytics")
        deadline = time.monotonic() + TIMEOUT_S
        while not ReportSnapshot.objects.filter(study=study, report__isnull=False).exists():
            assert time.monotonic() < deadline, "the worker made no report"
            assert worker.poll() is None, "the worker stopped"
            time.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait(timeout=20)
    assert ReportSnapshot.objects.get(study=study).report["source"]["n_rows"] == 0

"""Tasks: of a study that is deleted meanwhile, and one that a worker behind a real broker runs."""

import inspect
import os
import subprocess
import sys
import time

import pytest
from celery import Celery
from django.db import IntegrityError

from metrics import tasks
from metrics.models import ReportSnapshot
from metrics.tasks import refresh_report_task
from studies.models import Study
from tests.jobs.real_workers import url_of_test_database
from tests.paths import ROOT
from tests.studies.factories import make_open_study, make_study

TIMEOUT_S = 60


@pytest.fixture
def broker() -> str:
    url = os.environ.get("TIEBREAK_TEST_REDIS_URL")
    if not url:
        pytest.skip("No Redis is named by TIEBREAK_TEST_REDIS_URL; `make test` starts one.")
    return url


OF_A_STUDY = [
    task
    for name, task in vars(tasks).items()
    if name.endswith("_task") and "study_id" in inspect.signature(task).parameters
]


@pytest.mark.django_db
@pytest.mark.parametrize("task", OF_A_STUDY, ids=lambda task: task.__name__)
def test_a_task_ends_quietly_only_if_its_study_was_deleted(task, monkeypatch):
    """Whatever it calls fails, as where a row has nothing to refer to any more."""
    study = make_study(instances=1)
    ReportSnapshot.objects.create(study=study, digest="", part={})
    arguments = {"study_id": study.pk, "name": "majority", "digest": ""}
    taken = inspect.signature(task).parameters.keys()
    arguments = {name: value for name, value in arguments.items() if name in taken}
    is_deleted = False

    def write(**_: object) -> None:
        if is_deleted:
            Study.objects.all().delete()
        raise IntegrityError

    for service in ("refresh_report", "refresh_section", "check_licences"):
        monkeypatch.setattr(tasks, service, write)
    with pytest.raises(IntegrityError):
        task(**arguments)
    is_deleted = True
    task(**arguments)
    assert not Study.objects.exists()
    task(**arguments)


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

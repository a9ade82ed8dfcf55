"""A worker and its model server are killed in the middle: each answer is stored exactly once."""

import os
import signal
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta

import pytest

from annotation.models import Rating
from jobs.models import Job
from jobs.services import requeue_stale_jobs
from machine_raters.models import Verdict
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from tests.conftest import is_postgresql
from tests.jobs.real_workers import client, wait_until, worker
from tests.machine_raters.judging.model_server import model_server
from tests.studies.factories import make_open_study
from tiebreak.asking.prompts import INSTRUCTIONS

UNITS, JUDGES, ORDERS = 200, ("gpt", "llama"), 2
TOTAL = UNITS * len(JUDGES) * ORDERS
# The most requests that a worker has on their way, and answers that it has not stored yet.
WINDOW = 64 + 50


@pytest.fixture
def study(transactional_db, monkeypatch):
    if is_postgresql():
        pytest.skip("The worker shares the SQLite file of the test.")
    monkeypatch.setattr("jobs.services.LEASE", timedelta(seconds=2))
    return make_open_study(instances=UNITS, comparisons_per_hit=1, ratings_per_hit=1)


@pytest.mark.slow
def test_after_a_kill_exactly_800_answers_are_stored_and_none_is_asked_for_again(
    study, monkeypatch, tmp_path
):
    notes, broker = tmp_path / "requests", tmp_path / "broker"
    broker.mkdir()
    options = {
        "data_folder_in": str(broker),
        "data_folder_out": str(broker),
        "control_folder": str(tmp_path / "broker-control"),
    }
    with ExitStack() as stack:
        stack.enter_context(client("filesystem://", monkeypatch, **options))
        server, port = stack.enter_context(model_server(0, notes))
        environment = {
            "queues": "gpu",
            "TIEBREAK_BROKER_URL": "filesystem://",
            "TIEBREAK_VAR_DIR": str(tmp_path),
            "TIEBREAK_MODEL_SERVERS": f"lab=http://127.0.0.1:{port}/v1",
        }
        first = stack.enter_context(worker("a", **environment))
        jobs = [start_machine_rater(machine=judge(study, name)) for name in JUDGES]
        wait_until(lambda: Verdict.objects.count() >= TOTAL // 4)
        for process in (first, server):
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        stored, asked = Verdict.objects.count(), noted(notes)
        assert TOTAL // 4 <= stored < TOTAL
        stack.enter_context(model_server(port, notes))
        stack.enter_context(worker("b", **environment))
        wait_until(lambda: requeue_stale_jobs() or are_done(jobs))
        wait_until(lambda: are_done(jobs))
    assert Verdict.objects.count() == Rating.objects.count() == TOTAL
    # A is the first text in one order, and the second system's in the other.
    assert Counter(Rating.objects.values_list("label", flat=True)) == {
        "-1": TOTAL // 2,
        "1": TOTAL // 2,
    }
    assert [(job.done, job.failed, job.total) for job in jobs] == [(TOTAL // 2, 0, TOTAL // 2)] * 2
    in_flight = asked.total() - stored
    assert 0 <= in_flight <= WINDOW
    again = Counter(noted(notes).values())
    assert again == {1: TOTAL - in_flight, 2: in_flight}


def judge(study, name):
    return create_machine_rater(
        kind="judge",
        study=study,
        name=name,
        criteria=[study.criteria.get()],
        server="lab",
        language_model=name,
        instructions=INSTRUCTIONS,
    )


def noted(notes) -> Counter:
    return Counter(notes.read_text().splitlines())


def are_done(jobs: list[Job]) -> bool:
    for job in jobs:
        job.refresh_from_db()
        assert job.status in {"queued", "running", "done"}, job.problem
    return all(job.status == "done" for job in jobs)

"""Periodic tasks run as long as any worker is alive, and once per round."""

from datetime import timedelta
from threading import Event

import pytest
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from config.celery import app
from jobs.clock import database_now
from jobs.kinds import OF_ANOTHER_VERSION
from jobs.models import Job, Round
from jobs.rounds import LATE, is_late, last_round, make_due_rounds, propose_rounds
from jobs.rows import job_rows
from jobs.services import LEASE, REQUEUE_AFTER, pause_job, requeue_stale_jobs, resume_job
from jobs.stuck_jobs import stuck_jobs
from jobs.tasks import make_due_rounds_task, work_task
from jobs.worker import run_job
from studies.data.dataset_jobs import start_dataset_job
from tests.jobs.factories import make_job
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
app.loader.import_default_modules()  # as a worker does at its start
MINUTE = timedelta(minutes=1)


@pytest.fixture
def begun(monkeypatch) -> list[str]:
    """Collect the names of the tasks that rounds queue."""
    names: list[str] = []
    for task, _ in settings.TIEBREAK_ROUNDS.values():
        monkeypatch.setattr(current_app.tasks[task], "delay", lambda n=task: names.append(n))
    return names


def test_every_worker_proposes_and_one_makes_the_round(begun):
    now = database_now()
    names = [make_due_rounds(now) for _ in range(5)]
    assert names == [list(settings.TIEBREAK_ROUNDS), [], [], [], []]
    assert len(begun) == len(settings.TIEBREAK_ROUNDS)
    assert make_due_rounds(now + MINUTE) == ["jobs", "webhooks"]
    assert make_due_rounds(now + 2 * MINUTE) == ["jobs", "platforms", "webhooks", "licences"]
    assert last_round() == now + 2 * MINUTE


def test_every_round_names_a_task_that_workers_know():
    tasks, seconds = zip(*settings.TIEBREAK_ROUNDS.values(), strict=True)
    assert set(tasks) <= set(current_app.tasks)
    assert min(seconds) <= LATE.total_seconds() / 2  # else workers would seem to be away


def test_no_schedule_hangs_on_one_process():
    assert not app.conf.beat_schedule


def test_a_workers_proposals_outlive_a_broker_that_is_away(monkeypatch):
    sent, is_over = [], Event()

    class Broker:
        def send_task(self, name: str, expires: float) -> None:
            sent.append((name, expires))
            if len(sent) == 3:
                is_over.set()
            raise OperationalError

    monkeypatch.setattr("jobs.rounds.PROPOSE_EVERY", timedelta(milliseconds=5))
    propose_rounds(Broker(), is_over).join(timeout=10)
    assert len(sent) == 3
    # Proposals expire, because otherwise they would pile up during a long job.
    assert sent[0] == (make_due_rounds_task.name, 0.005)


def test_a_job_whose_worker_died_goes_on_without_any_scheduler(monkeypatch):
    """The round's task sends the job again. Any living worker can propose the round."""
    taken_up = []
    monkeypatch.setattr("jobs.services.send", taken_up.append)
    silent = database_now() - 2 * LEASE
    job = make_job(make_study(), status="running", lease_until=silent, sent_at=silent)
    make_due_rounds_task.delay()
    assert taken_up == [job]


def test_a_job_in_which_nothing_moves_is_stuck_and_says_what_to_do():
    study, now = make_study(), database_now()
    Round.objects.create(name="jobs", begun_at=now)
    dead = make_job(study, status="running", kind="sampling", queue="gpu", lease_until=now - LEASE)
    assert [stuck_job.job for stuck_job in stuck_jobs(now=now)] == [dead]
    (stuck,) = stuck_jobs(now=now)
    assert stuck.since == dead.chunks.get().lease_until
    assert stuck.code == "no_worker_of_queue"
    assert "gpu" in stuck.reason
    assert "-Q gpu" in stuck.command
    Round.objects.update(begun_at=now - LATE - MINUTE)
    assert stuck_jobs(now=now)[0].code == "no_worker"


def test_a_job_without_a_worker_is_stuck_however_often_it_was_sent():
    now = database_now()
    job = make_job(make_study(), queued_at=now - REQUEUE_AFTER, sent_at=now)
    assert [stuck_job.job for stuck_job in stuck_jobs(now=now)] == [job]


def test_a_job_that_works_waits_its_turn_or_was_paused_is_not_stuck():
    study, now = make_study(), database_now()
    make_job(study, status="running", lease_until=now + LEASE)
    make_job(study, queued_at=now - 10 * REQUEUE_AFTER)  # waits for the job above
    make_job(study, kind="sampling", queue="gpu", queued_at=now - REQUEUE_AFTER / 2)
    make_job(study, kind="sampling", queue="gpu", status="running", lease_until=now - LEASE / 2)
    for status in ("paused", "done", "failed", "stopped"):
        make_job(study, status=status, queued_at=now - 10 * REQUEUE_AFTER)
    assert stuck_jobs(now=now) == []


def test_a_job_that_goes_on_waits_anew(monkeypatch):
    for sender in ("studies.data.dataset_jobs.send", "jobs.services.send"):
        monkeypatch.setattr(sender, lambda job: None)
    job = start_dataset_job(study=make_study(), kind="scoring", options={})
    assert job.queued_at == job.created_at
    Job.objects.update(queued_at=database_now() - 10 * REQUEUE_AFTER)
    pause_job(job=job)
    resume_job(job=job)
    assert stuck_jobs() == []


def test_what_was_never_begun_is_late():
    now = database_now()
    assert is_late(None, now)
    assert not is_late(now - LATE / 2, now)
    assert requeue_stale_jobs(now) == 0


def test_a_job_of_another_version_waits_for_a_worker_of_that_version():
    now = database_now()
    job = make_job(
        make_study(),
        status="running",
        kind="of_tomorrow",
        lease_until=now - 2 * LEASE,
        sent_at=None,
    )
    job.chunks.update(attempts=9)
    assert not run_job(job_id=job.pk)
    work_task(job.pk)
    assert requeue_stale_jobs() == 1
    job.refresh_from_db()
    assert (job.status, job.problem, job.chunks.get().status) == ("running", "", "running")
    assert [row.label for row in job_rows([job])] == [OF_ANOTHER_VERSION.label]

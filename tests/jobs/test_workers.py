"""Workers that die, are too slow or take turns; in the end real ones, over a real broker."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import numpy as np
import pytest
from celery import Celery, current_app
from django.db import IntegrityError

from benchmarks.servers import free_port, redis
from jobs.clock import database_now
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job, JobChunk
from jobs.services import (
    LEASE,
    WORKER_DIED,
    create_job,
    pause_job,
    requeue_stale_jobs,
    resume_job,
    start_job,
)
from jobs.tasks import work_task
from jobs.worker import UNFORESEEN, run_job
from studies.models import Generation, SeparabilityScore, Study
from tests.jobs.real_workers import client, wait_until, worker
from tests.studies.factories import make_study


class Killed(BaseException):
    """As a worker's process ends: nothing after it runs."""


class Steps(JobKind):
    """A job of numbered steps, one a chunk, on which a test decides what happens."""

    name, label, lanes = "steps", "take steps", 3

    def __init__(self) -> None:
        self.n, self.taken = 3, list[int]()
        self.before: Callable[[int], object] = lambda number: None
        self.failures: Callable[[int], int] = lambda number: 0
        self.at_the_end: Callable[[], object] = lambda: None

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        for number in range(self.n):
            yield ChunkPlan(1, {"number": number})

    def run(self, job: Job, payload: dict[str, int]) -> Iterator[Progress]:
        number = payload["number"]
        failed = self.failures(number)
        yield Progress(0, failed, problem="Not this time." if failed else "")
        self.before(number)
        self.taken.append(number)
        yield Progress(1 - failed, failed)

    def finish(self, job: Job) -> str:
        self.at_the_end()
        return ""


@pytest.fixture
def steps(monkeypatch) -> Steps:
    kind = Steps()
    monkeypatch.setitem(sys.modules["jobs.kinds"]._KINDS, "steps", kind)
    return kind


@pytest.fixture
def sent(monkeypatch) -> list[int]:
    """The ids of the jobs whose messages went to the queue, where nobody takes them."""
    ids: list[int] = []
    monkeypatch.setattr(work_task, "apply_async", lambda args, queue: ids.extend(args))
    return ids


def make_steps() -> Job:
    return create_job(kind="steps")


def let_leases_end() -> None:
    JobChunk.objects.update(lease_until=database_now() - timedelta(seconds=1))
    Job.objects.update(sent_at=database_now() - LEASE)


def die(number: int) -> None:
    raise Killed


def run_and_be_killed(job: Job) -> None:
    with pytest.raises(Killed):
        run_job(job_id=job.pk)
    let_leases_end()


@pytest.mark.django_db
def test_a_chunk_that_kills_every_worker_fails_and_can_be_tried_again(steps, sent):
    steps.n = 1
    steps.before = die
    job = make_steps()
    for _ in range(Steps.max_attempts):
        run_and_be_killed(job)
    assert not run_job(job_id=job.pk)  # nobody else is sent to its death
    assert requeue_stale_jobs() == 1
    assert sent == [job.pk]  # whoever takes this message ends the job
    run_job(job_id=job.pk)
    job.refresh_from_db()
    problem = WORKER_DIED.format(Steps.max_attempts)
    assert (job.status, job.problem, job.done) == ("failed", problem, 0)
    steps.before = lambda number: None
    resume_job(job=job)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, steps.taken) == ("done", 1, [0])


@pytest.mark.django_db
def test_a_chunk_whose_lease_was_just_renewed_does_not_fail(steps, sent, monkeypatch):
    steps.before = die
    job = make_steps()
    run_and_be_killed(job)
    JobChunk.objects.update(attempts=Steps.max_attempts)

    def renewing(job: Job) -> Steps:
        job.chunks.update(lease_until=database_now() + LEASE)
        return steps

    monkeypatch.setattr("jobs.services.kind_of", renewing)
    requeue_stale_jobs()
    assert JobChunk.objects.get(number=0).status == "running"


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["before", "at_the_end"])
def test_a_job_that_is_deleted_while_it_runs_ends_quietly(steps, sent, caplog, where):
    job = make_steps()

    def lose(*_: object) -> None:
        Job.objects.all().delete()
        raise IntegrityError

    setattr(steps, where, lose)
    run_job(job_id=job.pk)
    assert not caplog.records
    assert not Job.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("ends_with", [None, ZeroDivisionError])
def test_a_worker_that_was_too_slow_changes_nothing(steps, ends_with):
    """Its chunk was claimed by another, who is still at it when the first one has its result."""
    steps.n = 1
    job = make_steps()

    def slow(number: int) -> None:
        JobChunk.objects.update(claim="another", done=0, lease_until=database_now() + LEASE)
        if ends_with is not None:
            raise ends_with

    steps.before = slow
    run_job(job_id=job.pk)
    chunk = job.chunks.get()
    job.refresh_from_db()
    assert (chunk.claim, chunk.status, chunk.done, chunk.problem) == ("another", "running", 0, "")
    assert (job.status, job.done) == ("running", 0)


@pytest.mark.django_db
def test_what_two_workers_did_counts_once(steps):
    """The second finishes the chunk while the first still computes."""
    steps.n = 1
    job = make_steps()

    def slow(number: int) -> None:
        steps.before = lambda number: None
        let_leases_end()
        assert run_job(job_id=job.pk)

    steps.before = slow
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, job.total, steps.taken) == ("done", 1, 1, [0, 0])
    assert [(chunk.status, chunk.done) for chunk in job.chunks.all()] == [("done", 1)]


@pytest.mark.django_db
def test_failed_chunks_are_tried_again_and_those_that_are_done_are_not(steps, sent):
    def broken(number: int) -> None:
        if number == 1:
            raise ZeroDivisionError

    steps.before = broken
    job = make_steps()
    run_job(job_id=job.pk)
    job.refresh_from_db()
    problem = UNFORESEEN.format("ZeroDivisionError")
    assert (job.status, job.problem, job.done) == ("failed", problem, 2)
    steps.before = lambda number: None
    resume_job(job=job)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, steps.taken) == ("done", 3, [0, 2, 1])


@pytest.mark.django_db
def test_a_resumed_job_still_counts_the_failures_of_a_chunk_whose_worker_died(steps, sent):
    steps.failures, steps.before = lambda number: 1, die
    job = make_steps()
    run_and_be_killed(job)
    pause_job(job=job)
    resume_job(job=job)
    job.refresh_from_db()
    assert job.failed == 1
    steps.failures, steps.before = lambda number: 0, lambda number: None
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, job.failed) == ("done", 3, 0)


@pytest.mark.django_db
def test_after_its_turn_a_lane_goes_to_the_end_of_the_queue(steps, sent, settings, monkeypatch):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    monkeypatch.setattr("jobs.worker.TURN", timedelta(0))
    job = make_steps()
    work_task(job.pk)
    assert steps.taken == [0]
    assert sent == [job.pk] * (1 + Steps.lanes)  # itself, and lanes for the others
    for number in (1, 2):
        sent.clear()
        work_task(job.pk)
        assert steps.taken[-1] == number
        assert sent == [job.pk]
    sent.clear()
    work_task(job.pk)
    job.refresh_from_db()
    assert (job.status, sent) == ("done", [])
    work_task(job.pk)  # a message that comes late
    assert (sent, steps.taken) == ([], [0, 1, 2])


@pytest.mark.django_db
def test_jobs_take_turns_though_the_messages_of_one_stand_in_a_row(
    steps, sent, settings, monkeypatch
):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    monkeypatch.setattr("jobs.worker.TURN", timedelta(0))
    steps.n = 6
    jobs = [start_job(kind="steps") for _ in range(2)]
    differences = []
    while sent:  # one worker
        work_task(sent.pop(0))
        first, second = (Job.objects.get(pk=job.pk).done for job in jobs)
        differences.append(abs(first - second))
    assert {job.status for job in Job.objects.all()} == {"done"}
    assert max(differences) == 1
    assert len(steps.taken) == 2 * steps.n


@pytest.mark.django_db
@pytest.mark.parametrize("broken", ["plan", "at_the_end"])
def test_an_error_outside_of_chunks_ends_the_job_which_can_be_resumed(
    steps, sent, monkeypatch, broken
):
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    job = make_steps()
    with monkeypatch.context() as while_broken:
        while_broken.setattr(steps, broken, fail)
        run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.problem) == ("failed", UNFORESEEN.format("ZeroDivisionError"))
    resume_job(job=job)
    run_job(job_id=job.pk)
    job.refresh_from_db()
    assert (job.status, job.done, steps.taken) == ("done", 3, [0, 1, 2])


@pytest.mark.django_db
def test_a_job_whose_last_worker_died_before_it_ended_the_job_is_ended(steps, sent):
    steps.at_the_end = lambda: die(0)
    job = make_steps()
    run_and_be_killed(job)
    assert requeue_stale_jobs() == 1
    assert sent == [job.pk]
    assert requeue_stale_jobs() == 0  # it has time to be taken


def test_jobs_that_take_turns_do_not_delay_the_periodic_tasks():
    """Proposals of rounds expire sooner than several lanes have had their turn."""
    for name in ("make_due_rounds_task", "requeue_stale_jobs_task"):
        route = current_app.amqp.router.route({}, f"jobs.tasks.{name}")
        assert route["queue"].name == "interactive"


@pytest.mark.django_db
def test_a_message_that_the_broker_delivers_again_meanwhile_does_no_step_twice(steps, sent):
    """As after a visibility time-out that is shorter than a task, which other tools ran twice."""
    job = make_steps()
    steps.before = lambda number: work_task(job.pk)
    work_task(job.pk)
    work_task(job.pk)
    job.refresh_from_db()
    assert (job.status, sorted(steps.taken)) == ("done", [0, 1, 2])


@pytest.fixture
def study(transactional_db, monkeypatch) -> Study:
    """300 instances to score."""
    monkeypatch.setattr("jobs.services.LEASE", timedelta(seconds=2))
    study: Study = make_study(instances=300, samples=0)
    # Texts so long, and so different, that a chunk takes about a second.
    draws, words = np.random.default_rng(1), np.arange(3000).astype(str)
    texts = (
        Generation(
            instance=instance,
            system=system,
            sample_index=k,
            text=" ".join(draws.choice(words, 1000)),
        )
        for instance in study.dataset.instances.all()
        for system in study.ordered_systems()
        for k in range(6)
    )
    Generation.objects.bulk_create(texts, batch_size=100)
    return study


def start_scoring(study: Study) -> Job:
    return start_job(kind="scoring", owner=study.pk, options={"similarity": "bleu"})


def is_done(job: Job) -> bool:
    job.refresh_from_db()
    assert job.status in {"queued", "running", "done"}, job.problem
    return job.status == "done"


@pytest.mark.redis
def test_after_one_of_two_workers_was_killed_there_are_exactly_300_scores(study, monkeypatch):
    url = os.environ.get("TIEBREAK_TEST_REDIS_URL")
    if not url:
        pytest.skip("No Redis is named by TIEBREAK_TEST_REDIS_URL; `make test-all` starts one.")
    with ExitStack() as stack:
        app = stack.enter_context(client(url, monkeypatch))
        first, _ = (
            stack.enter_context(worker(name, TIEBREAK_BROKER_URL=url)) for name in ("a", "b")
        )
        wait_until(lambda: len(app.control.ping(timeout=1)) == 2)
        job = start_scoring(study)
        wait_until(lambda: job.chunks.filter(status="running").count() == 2)
        os.kill(first.pid, signal.SIGKILL)
        assert not is_done(job)
        wait_until(lambda: requeue_stale_jobs() or is_done(job))
        wait_until(lambda: is_done(job))
    assert (job.done, job.total, SeparabilityScore.objects.count()) == (300, 300, 300)
    assert sorted(job.chunks.values_list("attempts", flat=True)) == [1, 1, 2]


@pytest.mark.redis
def test_message_of_a_lost_redis_raises_the_error_of_a_connection():
    """Celery expects this error alone; any other one ends the worker's main process."""
    with redis() as url:
        connection = Celery(broker=url, set_as_current=False).connection_for_read()
        queue = connection.SimpleQueue("lost")
        queue.put({})
        message = queue.get(timeout=5)
    errors = connection.connection_errors
    connection.collect()
    message.channel._disconnect_pools()  # as where closing fails half-way, and is tried again
    with pytest.raises(errors):
        message.ack()


@pytest.mark.redis
def test_worker_outlives_a_restart_of_redis_under_a_running_task(study, monkeypatch):
    monkeypatch.setattr("jobs.services.REQUEUE_AFTER", timedelta(seconds=2))
    port = free_port()
    with ExitStack() as stack:
        with redis(port) as url:
            app = stack.enter_context(client(url, monkeypatch))
            process = stack.enter_context(worker("a", pool="prefork", TIEBREAK_BROKER_URL=url))
            wait_until(lambda: app.control.ping(timeout=1))
            job = start_scoring(study)
            wait_until(lambda: job.chunks.filter(status="running").exists())
        time.sleep(2)  # as a restart takes, in which the worker looks for its messages
        stack.enter_context(redis(port))
        wait_until(lambda: requeue_stale_jobs() or is_done(job))
        wait_until(lambda: is_done(job))
        assert (job.done, SeparabilityScore.objects.count()) == (300, 300)
        SeparabilityScore.objects.all().delete()
        following = start_scoring(study)
        wait_until(lambda: requeue_stale_jobs() or is_done(following))
        wait_until(lambda: is_done(following))
        assert process.poll() is None
    assert (following.done, SeparabilityScore.objects.count()) == (300, 300)


@pytest.mark.thorough
def test_one_worker_behind_the_filesystem_broker_does_a_job(study, monkeypatch, tmp_path):
    broker = str(tmp_path / "broker")
    folders = {"data_folder_in": broker, "data_folder_out": broker}
    control = str(tmp_path / "broker-control")
    (tmp_path / "broker").mkdir()
    with (
        client("filesystem://", monkeypatch, **folders, control_folder=control),
        worker("a", TIEBREAK_BROKER_URL="filesystem://", TIEBREAK_VAR_DIR=str(tmp_path)),
    ):
        job = start_scoring(study)
        wait_until(lambda: is_done(job))
    assert (job.done, job.total, SeparabilityScore.objects.count()) == (300, 300, 300)
    assert set(job.chunks.values_list("attempts", flat=True)) == {1}

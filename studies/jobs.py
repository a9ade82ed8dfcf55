"""Runs long jobs chunk by chunk, one worker at a time, so that they can be paused and resumed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q, QuerySet

from jobs.queue import enqueue
from studies.clock import database_now
from studies.models import Dataset, Job, Study
from tiebreak.errors import DomainError
from tiebreak.gateway import GatewayError
from tiebreak.identifiers import new_public_id

log = logging.getLogger(__name__)

# After this long without a heartbeat, another worker may claim the job.
LEASE = timedelta(minutes=2)
# After this long, the message of a queued job is considered lost.
REQUEUE_AFTER = timedelta(minutes=10)
UNFINISHED = (Job.Status.QUEUED, Job.Status.RUNNING, Job.Status.PAUSED)
UNFORESEEN = (
    "An unexpected error occurred ({}). The worker's log has the details. The results so far are"
    " kept, and the job can be resumed."
)
QUEUES = {Job.Kind.SAMPLING: "gpu", Job.Kind.SCORING: "default", Job.Kind.DRY_RUN: "default"}


@dataclass(frozen=True)
class Progress:
    """A job's progress, its failures, and whether it must stop because of a problem."""

    done: int
    total: int
    failed: int = 0
    truncated: int = 0
    problem: str = ""
    must_stop: bool = False


# A handler does the work of a job and yields after each chunk that is committed.
Work = Callable[[Job], Iterator[Progress]]
Jobs = QuerySet[Job]
WORK: dict[str, Work] = {}


def register_handler(kind: str) -> Callable[[Work], Work]:
    def register(work: Work) -> Work:
        WORK[kind] = work
        return work

    return register


def start_job(
    *, study: Study, kind: Job.Kind, options: dict[str, object], by: User | None = None
) -> Job:
    """Queue a job for a study's dataset, which may have one unfinished job of each kind."""
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset. Please choose one first.")
    with transaction.atomic():
        job = Job(
            study=study,
            dataset=study.dataset,
            kind=kind,
            options=options,
            created_by=by,
            created_at=(now := database_now()),
            queued_at=now,
        )
        _check_is_only_one(job)
        job.save()
    send(job)
    return job


def _check_is_only_one(job: Job) -> None:
    """Raise `DomainError` if another job of the same kind is unfinished. Locks the dataset."""
    # `no_key` does not block imports, which insert rows that reference the dataset for a long time.
    Dataset.objects.select_for_update(no_key=True).get(pk=job.dataset_id)
    unfinished = Job.objects.filter(dataset=job.dataset_id, kind=job.kind, status__in=UNFINISHED)
    studies = set(unfinished.exclude(pk=job.pk).values_list("study", flat=True))
    if not studies:
        return
    label = Job.Kind(job.kind).label
    if job.study_id in studies:
        raise DomainError(
            "job_unfinished",
            f"A job to {label} is not finished yet. Wait until it is finished, or stop it first.",
        )
    # The message does not name the other study, because the researcher may not have access to it.
    raise DomainError(
        "dataset_busy",
        f"Another job to {label} is running on this dataset. Please try again when it is finished.",
    )


def send(job: Job) -> None:
    """Send a job's message to its queue. The job must be committed."""
    rows = Job.objects.filter(pk=job.pk)
    rows.update(sent_at=database_now())
    try:
        enqueue("studies.tasks.run_job_task", job.pk, queue=queue_of(job))
    except DomainError:
        rows.update(sent_at=None)
        raise


def queue_of(job: Job) -> str:
    """Return the name of the job's Celery queue."""
    return str(job.options.get("queue") or QUEUES[Job.Kind(job.kind)])


def pause_job(*, job: Job) -> None:
    """Make the worker stop after the current chunk. Results are kept."""
    Job.objects.filter(pk=job.pk, status__in=["queued", "running"]).update(
        status=Job.Status.PAUSED, claim="", lease_until=None
    )


def resume_job(*, job: Job) -> None:
    """Resume a paused or failed job if no other job of its kind is unfinished."""
    with transaction.atomic():
        _check_is_only_one(job)
        halted = Job.objects.filter(pk=job.pk, status__in=["paused", "failed"])
        if not halted.update(
            status=Job.Status.QUEUED, queued_at=database_now(), problem="", finished_at=None
        ):
            raise DomainError(
                "not_stopped",
                "Only a paused or failed job can be resumed. Please start a new job. The results of"
                " this job are kept.",
            )
    send(job)


def stop_job(*, job: Job) -> None:
    """End a job for good. Results so far are kept."""
    ended = [Job.Status.DONE, Job.Status.STOPPED]
    Job.objects.exclude(status__in=ended).filter(pk=job.pk).update(
        status=Job.Status.STOPPED,
        problem=STOPPED,
        claim="",
        lease_until=None,
        finished_at=database_now(),
    )


STOPPED = "Stopped by a researcher."


def run_job(*, job_id: int, now: Callable[[], datetime] = database_now) -> bool:
    """Work on a job until it is done, failed, paused or taken over, and return whether it was free.

    A compare-and-set claims the job, so only one of two workers with the same message runs it.
    """
    claim = new_public_id()
    free = Q(lease_until__isnull=True) | Q(lease_until__lte=now())
    waiting = Job.objects.filter(free, pk=job_id, status__in=["queued", "running"])
    claimed = waiting.update(
        claim=claim,
        status=Job.Status.RUNNING,
        lease_until=now() + LEASE,
        started_at=now(),
        done_before=F("done"),
        failed=0,
        truncated=0,
        problem="",
    )
    if not claimed:
        return False
    job = Job.objects.select_related("study", "dataset").get(pk=job_id)
    claimed_job = Job.objects.filter(pk=job_id, claim=claim, status=Job.Status.RUNNING)
    try:
        with _heartbeat(claimed_job, now):
            last = _work(job, claimed_job, now)
    except (DomainError, GatewayError) as error:
        _fail(claimed_job, error.message, now())
    except Exception as error:
        log.exception("job %s failed", job.public_id)
        _fail(claimed_job, UNFORESEEN.format(type(error).__name__), now())
    else:
        if last is not None:
            _finish(claimed_job, last, now())
    return True


@contextmanager
def _heartbeat(claimed_job: Jobs, now: Callable[[], datetime]) -> Iterator[None]:
    """Renew the lease from a thread, because a chunk may take longer than the lease."""
    is_over = Event()

    def renew() -> None:
        while not is_over.wait(LEASE.total_seconds() / 4):
            with suppress(DatabaseError):  # the job itself will fail with the same error
                claimed_job.update(lease_until=now() + LEASE)
        connection.close()

    thread = Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _work(job: Job, claimed_job: Jobs, now: Callable[[], datetime]) -> Progress | None:
    """Run all chunks. Returns None if the job was paused or taken over in the meantime."""
    last = Progress(0, 0)
    for last in WORK[job.kind](job):
        is_still_ours = claimed_job.update(
            done=last.done,
            total=last.total,
            failed=last.failed,
            truncated=last.truncated,
            problem=last.problem,
            lease_until=now() + LEASE,
        )
        if not is_still_ours:
            return None
        if last.must_stop:
            break
    return last


def _fail(claimed_job: Jobs, problem: str, now: datetime) -> None:
    claimed_job.update(
        status=Job.Status.FAILED, problem=problem, finished_at=now, lease_until=None, claim=""
    )


def _finish(claimed_job: Jobs, last: Progress, now: datetime) -> None:
    is_complete = not last.must_stop and not last.failed
    claimed_job.update(
        status=Job.Status.DONE if is_complete else Job.Status.FAILED,
        finished_at=now,
        lease_until=None,
        claim="",
    )


def requeue_stale_jobs(now: datetime | None = None) -> int:
    """Queue the jobs again whose worker died or whose message was lost. Return their number."""
    now = now or database_now()
    unsent = Q(sent_at=None, created_at__lte=now - LEASE)
    silent = Q(status=Job.Status.RUNNING, lease_until__lte=now)
    silent &= Q(sent_at=None) | Q(sent_at__lte=now - LEASE)
    lost = Q(status=Job.Status.QUEUED) & (unsent | Q(sent_at__lte=now - REQUEUE_AFTER))
    stale = list(Job.objects.filter(silent | lost))
    for job in stale:
        send(job)
    return len(stale)


@dataclass(frozen=True)
class Pace:
    """The results per second in the current run, and an estimate of the remaining seconds."""

    rate: float | None
    seconds_left: float | None


def pace_of(job: Job, now: datetime | None = None) -> Pace:
    now = now or database_now()
    if job.started_at is None or job.status != Job.Status.RUNNING:
        return Pace(None, None)
    made, seconds = job.done - job.done_before, (now - job.started_at).total_seconds()
    rate = made / seconds if made > 0 and seconds > 0 else None
    return Pace(rate, (job.total - job.done) / rate if rate else None)

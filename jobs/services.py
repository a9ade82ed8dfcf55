"""Starts, pauses, resumes and stops jobs, and keeps them going when workers die."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, Sum

from jobs.clock import database_now
from jobs.kinds import kind_named, kind_of
from jobs.models import UNFINISHED, Job, JobChunk
from jobs.queue import enqueue
from tiebreak.errors import DomainError

# Lease: another worker may claim a chunk after this long without a heartbeat.
LEASE = timedelta(seconds=settings.TIEBREAK_JOB_LEASE_SECONDS)
# A message is considered lost after this long.
REQUEUE_AFTER = timedelta(minutes=10)
STOPPED = "Stopped by a researcher."
WORKER_DIED = (
    "The worker stopped {} times while working on the same part. See the workers' logs and their"
    " memory limits, then resume the job."
)
Status, ChunkStatus = Job.Status, JobChunk.Status


def start_job(
    *,
    kind: str,
    owner: str = "",
    exclusive_key: str = "",
    options: dict[str, Any] | None = None,
    by: User | None = None,
) -> Job:
    """Queue a job. Raises `DomainError` if an unfinished job has the same exclusive key."""
    job = create_job(kind=kind, owner=owner, exclusive_key=exclusive_key, options=options, by=by)
    send(job)
    return job


def create_job(
    *,
    kind: str,
    owner: str = "",
    exclusive_key: str = "",
    options: dict[str, Any] | None = None,
    by: User | None = None,
) -> Job:
    """Store a job without sending it; `send` it when the transaction is committed."""
    now = database_now()
    job = Job(
        kind=kind,
        owner=owner,
        exclusive_key=exclusive_key,
        options=options or {},
        queue=kind_named(kind).queue_for(options or {}),
        created_by=by,
        created_at=now,
        queued_at=now,
    )
    try:
        with transaction.atomic():
            job.save()
    except IntegrityError:
        raise _is_busy(job) from None
    return job


def _is_busy(job: Job) -> DomainError:
    """Return the refusal of a job whose exclusive key another unfinished job has."""
    label = kind_of(job).label
    unfinished = Job.objects.filter(exclusive_key=job.exclusive_key, status__in=UNFINISHED)
    if unfinished.filter(owner=job.owner).exists():
        return DomainError(
            "job_unfinished",
            f"A job to {label} is not finished yet. Wait until it is finished, or stop it first.",
        )
    # The message does not name the other study, because the researcher may not have access to it.
    return DomainError(
        "dataset_busy",
        f"Another study that uses this dataset has an unfinished job to {label}. Please try again"
        " when it is finished.",
    )


def send(job: Job) -> None:
    """Send messages to the job's queue, one for each worker that may share it.

    A job that is not planned yet gets one, whose worker plans it. The job must be committed. Raises
    `DomainError` if the broker does not answer.
    """
    settled = [ChunkStatus.DONE, ChunkStatus.FAILED]
    chunks = job.chunks.exclude(status__in=settled).count() if job.planned_at else 1
    send_messages(job, max(1, min(chunks, kind_of(job).lanes_for(job.options))))


def send_messages(job: Job, number: int) -> None:
    rows = Job.objects.filter(pk=job.pk)
    rows.update(sent_at=database_now())
    try:
        for _ in range(number):
            enqueue("jobs.tasks.work_task", job.pk, queue=job.queue)
    except DomainError:
        rows.update(sent_at=None)
        raise


def pause_job(*, job: Job) -> None:
    """Make the workers stop at their next commit. Results are kept."""
    moving = Job.objects.filter(pk=job.pk, status__in=[Status.QUEUED, Status.RUNNING])
    moving.update(status=Status.PAUSED)


def resume_job(*, job: Job) -> None:
    """Resume a paused or failed job, and try its failed chunks again."""
    halted = Job.objects.filter(pk=job.pk, status__in=[Status.PAUSED, Status.FAILED])
    try:
        with transaction.atomic():
            resumed = halted.update(
                status=Status.QUEUED, queued_at=database_now(), problem="", finished_at=None
            )
            if resumed:
                _retry_failed_chunks(job)
    except IntegrityError:
        raise _is_busy(job) from None
    if not resumed:
        raise DomainError(
            "not_stopped",
            "Only a paused or failed job can be resumed. Please start a new job. The results of"
            " this job are kept.",
        )
    send(job)


def _retry_failed_chunks(job: Job) -> None:
    """Let workers claim failed chunks again. What they stored still counts as done."""
    unsettled = job.chunks.filter(status__in=[ChunkStatus.FAILED, ChunkStatus.WAITING])
    unsettled.update(status=ChunkStatus.WAITING, attempts=0, failed=0, problem="")
    # Workers report only how much changed, so what running chunks counted must remain in the sum.
    failed = job.chunks.aggregate(failed=Sum("failed"))["failed"] or 0
    Job.objects.filter(pk=job.pk).update(failed=failed)


def stop_job(*, job: Job) -> None:
    """End a job for good. Results so far are kept."""
    Job.objects.exclude(status__in=[Status.DONE, Status.STOPPED]).filter(pk=job.pk).update(
        status=Status.STOPPED, problem=STOPPED, finished_at=database_now()
    )


def requeue_stale_jobs(now: datetime | None = None) -> int:
    """Send messages for jobs in which nothing moves. Returns the number of those jobs.

    Chunks whose workers died too often are marked as failed first.
    """
    now = now or database_now()
    _fail_exhausted_chunks(now)
    stale = stale_jobs(now)
    for job in stale:
        send(job)
    return len(stale)


def stale_jobs(now: datetime) -> list[Job]:
    """Return the jobs whose worker died or whose message was lost."""
    chunks = JobChunk.objects.filter(job=OuterRef("pk"), status=ChunkStatus.RUNNING)
    is_alive = Exists(chunks.filter(lease_until__gt=now))
    is_dead = Exists(chunks.filter(lease_until__lte=now))
    unsent = Q(sent_at=None, created_at__lte=now - LEASE)
    died = is_dead & (Q(sent_at=None) | Q(sent_at__lte=now - LEASE))
    lost = ~is_alive & (unsent | Q(sent_at__lte=now - REQUEUE_AFTER))
    # Nothing is left to do but to end the job: its last worker died, or did so too often.
    unsettled = JobChunk.objects.filter(
        job=OuterRef("pk"), status__in=[ChunkStatus.WAITING, ChunkStatus.RUNNING]
    )
    unended = ~Q(planned_at=None) & ~Exists(unsettled) & Q(sent_at__lte=now - LEASE)
    moving = Job.objects.filter(status__in=[Status.QUEUED, Status.RUNNING])
    return list(moving.filter(died | lost | unended))


def _fail_exhausted_chunks(now: datetime) -> None:
    dead = JobChunk.objects.filter(
        status=ChunkStatus.RUNNING, lease_until__lte=now, job__status=Status.RUNNING
    )
    for chunk in dead.select_related("job"):
        if chunk.attempts >= kind_of(chunk.job).max_attempts:
            # Unless its worker was slow, and has just renewed the lease.
            same = JobChunk.objects.filter(pk=chunk.pk, claim=chunk.claim, lease_until__lte=now)
            same.update(
                status=ChunkStatus.FAILED,
                claim="",
                lease_until=None,
                problem=WORKER_DIED.format(chunk.attempts),
            )


@dataclass(frozen=True)
class Pace:
    """Items per second in the current run, and the estimated remaining seconds."""

    rate: float | None
    seconds_left: float | None


def pace_of(job: Job, now: datetime | None = None) -> Pace:
    now = now or database_now()
    if job.started_at is None or job.status != Status.RUNNING:
        return Pace(None, None)
    made, seconds = job.done - job.done_before, (now - job.started_at).total_seconds()
    rate = made / seconds if made > 0 and seconds > 0 else None
    return Pace(rate, (job.total - job.done) / rate if rate else None)

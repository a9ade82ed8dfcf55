"""Detects jobs that make no progress, and says what to do about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q

from jobs.clock import database_now
from jobs.models import Job, JobChunk
from jobs.rounds import is_late, last_round
from jobs.services import LEASE, REQUEUE_AFTER


@dataclass(frozen=True)
class StuckJob:
    """A job that makes no progress, with the time since when, and with the reason.

    What to do about it is a matter of whoever runs the server.
    """

    job: Job
    since: datetime
    code: str
    reason: str

    @property
    def command(self) -> str:
        """The command that starts the worker that is missing."""
        return f"celery -A config worker -Q {self.job.queue}"


def stuck_jobs(jobs: Iterable[Job] | None = None, now: datetime | None = None) -> list[StuckJob]:
    """Return those of ``jobs``, or of all unfinished jobs, that make no progress."""
    if jobs is None:
        jobs = Job.objects.filter(status__in=[Job.Status.QUEUED, Job.Status.RUNNING])
    jobs = list(jobs)
    if not jobs:
        return []
    now = now or database_now()
    since = {job: moment for job in jobs if (moment := _silent_since(job, now)) is not None}
    if not since:
        return []
    live = Q(status=JobChunk.Status.RUNNING, lease_until__gt=now, job__status=Job.Status.RUNNING)
    # Waiting is normal in a queue in which a worker is busy.
    busy = set(JobChunk.objects.filter(live).values_list("job__queue", flat=True))
    no_worker = is_late(last_round(), now)
    return [
        StuckJob(job, moment, *_reason(job, moment, no_worker=no_worker))
        for job, moment in since.items()
        if job.queue not in busy
    ]


def _silent_since(job: Job, now: datetime) -> datetime | None:
    """Return since when nothing has moved in the job, or None if it is not stuck."""
    if not job.is_moving:
        return None
    running = job.chunks.filter(status=JobChunk.Status.RUNNING)
    lease_until = running.aggregate(last=Max("lease_until"))["last"]
    if lease_until is not None:
        return lease_until if lease_until <= now - LEASE else None
    waits_since = job.queued_at or job.created_at
    if job.status == Job.Status.RUNNING:  # between two turns
        waits_since = max(filter(None, [waits_since, job.sent_at]))
    return waits_since if waits_since <= now - REQUEUE_AFTER else None


def _reason(job: Job, since: datetime, *, no_worker: bool) -> tuple[str, str]:
    at = since.strftime("%H:%M")
    is_running = job.status == Job.Status.RUNNING
    what = "its worker stopped responding" if is_running else "it is waiting for a worker"
    if no_worker:
        return (
            "no_worker",
            f"The job has made no progress since {at} UTC, because {what} and no worker is running.",
        )
    return (
        "no_worker_of_queue",
        f"The job has made no progress since {at} UTC, because {what} and no worker serves the"
        f" queue “{job.queue}”.",
    )

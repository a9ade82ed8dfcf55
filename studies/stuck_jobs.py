"""Detects jobs that make no progress, and says what to do about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from studies.clock import database_now
from studies.jobs import LEASE, REQUEUE_AFTER, queue_of
from studies.models import Job
from studies.rounds import is_late, last_round


@dataclass(frozen=True)
class StuckJob:
    """A job that makes no progress, with the time since when, and with the reason."""

    job: Job
    since: datetime
    code: str
    reason: str


def stuck_jobs(jobs: Iterable[Job] | None = None, now: datetime | None = None) -> list[StuckJob]:
    """Return those of ``jobs``, or of all unfinished jobs, that make no progress."""
    now = now or database_now()
    if jobs is None:
        jobs = Job.objects.filter(status__in=[Job.Status.QUEUED, Job.Status.RUNNING])
    since = {job: moment for job in jobs if (moment := _silent_since(job, now)) is not None}
    if not since:
        return []
    busy = _busy_queues(now)
    waiting = [job for job in since if job.status == Job.Status.QUEUED and queue_of(job) in busy]
    no_worker = is_late(last_round(), now)
    return [
        StuckJob(job, moment, *_reason(job, moment, no_worker=no_worker))
        for job, moment in since.items()
        if job not in waiting
    ]


def _silent_since(job: Job, now: datetime) -> datetime | None:
    """Return since when the job has been stuck, or None if it is not stuck.

    A running job is stuck since its worker's lease ran out, and a waiting job since it was queued.
    """
    if job.status == Job.Status.RUNNING:
        is_over = job.lease_until is not None and job.lease_until <= now - LEASE
        return job.lease_until if is_over else None
    waits_since = job.queued_at or job.created_at
    is_long = job.status == Job.Status.QUEUED and waits_since <= now - REQUEUE_AFTER
    return waits_since if is_long else None


def _busy_queues(now: datetime) -> set[str]:
    """Return the queues with a running job, in which waiting is normal."""
    live = Job.objects.filter(Q(lease_until__gt=now), status=Job.Status.RUNNING)
    return {queue_of(job) for job in live}


def _reason(job: Job, since: datetime, *, no_worker: bool) -> tuple[str, str]:
    at, queue = since.strftime("%H:%M"), queue_of(job)
    is_running = job.status == Job.Status.RUNNING
    what = "its worker stopped responding" if is_running else "it is waiting for a worker"
    command = f"celery -A config worker -Q {queue}"
    if no_worker:
        return (
            "no_worker",
            f"The job has made no progress since {at} UTC, because {what} and no worker is running."
            f" Start a worker with: {command}",
        )
    return (
        "no_worker_of_queue",
        f"The job has made no progress since {at} UTC, because {what} and no worker serves the"
        f" queue “{queue}”. Start a worker with: {command}",
    )

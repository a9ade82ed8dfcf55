"""Celery tasks of the `default` and `gpu` queues. They take ids and are idempotent."""

from celery import shared_task

import studies.instance_selection.sampling
import studies.instance_selection.scoring  # noqa: F401  both modules register job handlers
from studies.jobs import requeue_stale_jobs, run_job
from studies.rounds import make_due_rounds


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def run_job_task(job_id: int) -> None:
    run_job(job_id=job_id)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def make_due_rounds_task() -> None:
    make_due_rounds()


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def requeue_stale_jobs_task() -> None:
    requeue_stale_jobs()

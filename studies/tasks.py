"""Jobs of the `default` and `gpu` queues. They take ids and may run twice without harm."""

from celery import shared_task

import studies.instance_selection.sampling
import studies.instance_selection.scoring  # noqa: F401  both register what a job of their kind does
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

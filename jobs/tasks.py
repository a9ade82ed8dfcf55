"""Celery tasks that work on jobs and keep them going. They take ids and may run twice."""

from celery import shared_task
from django.conf import settings

from jobs.models import Job
from jobs.rounds import make_due_rounds
from jobs.services import requeue_stale_jobs, send_messages
from jobs.worker import job_in_turn, note_turn, run_job, work


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def work_task(job_id: int) -> None:
    """Work for one turn, and go to the end of the queue if there is more to do."""
    if settings.CELERY_TASK_ALWAYS_EAGER:  # there is no queue
        run_job(job_id=job_id)
        return
    turn_of = job_in_turn(job_id)
    if turn_of != job_id:
        # First, so that no error of the other job loses this one's message.
        send_messages(Job.objects.get(pk=job_id), 1)
        note_turn(turn_of)
        work(job_id=turn_of)
    elif work(job_id=job_id):
        send_messages(Job.objects.get(pk=job_id), 1)


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def make_due_rounds_task() -> None:
    make_due_rounds()


@shared_task(ignore_result=True)  # type: ignore[untyped-decorator]
def requeue_stale_jobs_task() -> None:
    requeue_stale_jobs()

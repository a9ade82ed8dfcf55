"""Jobs as pages list them."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.kinds import kind_of
from jobs.models import Job
from jobs.services import Pace, pace_of
from jobs.stuck_jobs import StuckJob, stuck_jobs


@dataclass(frozen=True)
class JobRow:
    """A job with its kind and options as text, its pace, and why it is stuck, if it is."""

    job: Job
    label: str
    summary: str
    page: str
    pace: Pace
    stuck: StuckJob | None


def job_rows(jobs: Iterable[Job]) -> list[JobRow]:
    jobs = list(jobs)
    stuck = {stuck_job.job.pk: stuck_job for stuck_job in stuck_jobs(jobs)}
    return [
        JobRow(
            job, kind.label, kind.summary(job), kind.page_of(job), pace_of(job), stuck.get(job.pk)
        )
        for job in jobs
        for kind in [kind_of(job)]
    ]


def newest_and_unfinished(jobs: Iterable[Job], most: int) -> list[Job]:
    """Return all unfinished jobs and then the newest others, together at most ``most`` if possible."""
    ordered = sorted(jobs, key=lambda job: -job.pk)
    unfinished = [job for job in ordered if job.finished_at is None]
    ended = [job for job in ordered if job.finished_at is not None]
    return unfinished + ended[: max(0, most - len(unfinished))]

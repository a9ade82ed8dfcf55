"""The jobs of a study's judges and baselines."""

from jobs.models import Job
from machine_raters.baselines.job import BaselineJob
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, JudgingJob
from studies.data.dataset_jobs import jobs_of
from studies.models import Study

OF_JUDGES = (JudgingJob.name, JudgeDryRunJob.name, JudgeInjectionJob.name)
NewestJobs = dict[tuple[str, str], Job]


def newest_jobs(study: Study) -> NewestJobs:
    """Return the newest job of each kind, by kind and by the judge's or baseline's id."""
    jobs = jobs_of(study).filter(kind__in=(*OF_JUDGES, BaselineJob.name)).order_by("pk")
    return {(job.kind, job.options.get("judge") or job.options["baseline"]): job for job in jobs}


def is_moving(newest: NewestJobs, kinds: tuple[str, ...]) -> bool:
    return any(job.is_moving for (kind, _), job in newest.items() if kind in kinds)

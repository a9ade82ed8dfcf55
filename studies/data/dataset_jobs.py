"""The jobs of a study and on its dataset."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from jobs.models import UNFINISHED, Job
from jobs.services import create_job, send
from studies.models import Dataset, Study
from tiebreak.errors import DomainError


def start_dataset_job(
    *, study: Study, kind: str, options: dict[str, Any], by: User | None = None
) -> Job:
    """Queue a job for a study's dataset. Only one job of each kind may be unfinished per dataset."""
    job = create_dataset_job(study=study, kind=kind, options=options, by=by)
    send(job)
    return job


def create_dataset_job(
    *, study: Study, kind: str, options: dict[str, Any], by: User | None = None
) -> Job:
    """Store the same job without sending it; `send` it when the transaction is committed."""
    key = f"{kind}:dataset:{dataset_of(study).pk}"
    return create_job(kind=kind, owner=study.pk, exclusive_key=key, options=options, by=by)


def dataset_of(study: Study) -> Dataset:
    """Return a study's dataset. Raises `DomainError` if it has none."""
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset. Please choose one first.")
    return study.dataset


def jobs_of(study: Study) -> QuerySet[Job]:
    """Return the study's jobs, newest first."""
    return Job.objects.filter(owner=study.pk)


def has_unfinished_job(dataset: Dataset) -> bool:
    """Whether a job of any study that uses the dataset is unfinished."""
    return Job.objects.filter(
        owner__in=dataset.studies.values("pk"), status__in=UNFINISHED
    ).exists()

"""Exports that a worker writes, and researchers download."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exporting import check_formats, export_study
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from studies.models import Study
from tiebreak.errors import DomainError


class ExportJob(JobKind):
    """Writes the study as a zip file in the export folder."""

    name = "export"
    label = "export the dataset"

    def summary(self, job: Job) -> str:
        return ", ".join(job.options.get("formats", []))

    def page_of(self, job: Job) -> str:
        if job.status != Job.Status.DONE:
            return ""
        return reverse("metrics:download-export", args=[job.owner, job.public_id])

    def plan(self, job: Job) -> list[ChunkPlan]:  # noqa: ARG002  as every kind
        return [ChunkPlan(1)]

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        study = Study.objects.get(pk=job.owner)
        with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
            bundle = Path(folder) / f"tiebreak-{study.pk}"
            counts = export_study(study=study, out=bundle, formats=job.options["formats"])
            archive = shutil.make_archive(str(bundle), "zip", root_dir=folder, base_dir=bundle.name)
            _publish(Path(archive), export_file(job))
        result = {"ratings": counts.rows, "in_statistics": counts.counted}
        Job.objects.filter(pk=job.pk).update(result=result)
        yield Progress(1)


def start_export(*, study: Study, formats: list[str], by: User | None = None) -> Job:
    """Queue an export. Raises `DomainError` for an unknown format."""
    check_formats(formats)
    key = f"export:{study.pk}"
    options = {"formats": formats}
    return start_job(kind=ExportJob.name, owner=study.pk, exclusive_key=key, options=options, by=by)


def export_file(job: Job) -> Path:
    """Return where the file of an export is, or will be."""
    return Path(settings.TIEBREAK_EXPORT_FOLDER) / f"{job.public_id}.zip"


def finished_export(*, study: Study, job_id: str) -> Path:
    """Return the file of a finished export. Raises `DomainError` if it is not there."""
    job = Job.objects.filter(
        owner=study.pk, kind=ExportJob.name, status=Job.Status.DONE, public_id=job_id
    ).first()
    if job is None or not export_file(job).is_file():
        raise DomainError(
            "no_such_export",
            "This export does not exist any more. Please start a new one on the study's page Jobs.",
            status=404,
        )
    return export_file(job)


def _publish(file: Path, to: Path) -> None:
    """Move the complete file to its name in one step, so that nobody downloads half of it."""
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_suffix(".partial")
    shutil.copyfile(file, partial)
    partial.replace(to)

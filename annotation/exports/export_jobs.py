"""Exports that a worker writes, and researchers download."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.study_export import StudyExport, check_export
from annotation.imports.uploads import check_room
from annotation.messages import ERASED_MEANWHILE
from jobs.clock import database_now
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from studies.models import Study, StudyEvent
from tiebreak.errors import DomainError
from tiebreak.formats import atomic_path
from tiebreak.formats.preferences import Ties

# Packing counts as one more row so that a job is not done before its file is there.
PACKING = 1
# The fastest level: others take longer than writing the rows, for files a third smaller.
COMPRESSION = 1


class ZipFileJob(JobKind):
    """A job that writes a zip file into the export folder."""

    def page_of(self, job: Job) -> str:
        if job.status != Job.Status.DONE:
            return ""
        return reverse("metrics:download-export", args=[job.owner, job.public_id])

    @contextmanager
    def packed(self, job: Job, name: str) -> Iterator[Path]:
        """Pack the folder of this name that is written meanwhile.

        Raises `DomainError`, and leaves no file, if a person was erased after this began: what was read
        may be about them.
        """
        before = _erasures(job)
        with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
            yield Path(folder) / name
            pack(Path(folder) / name, export_file(job))
        if _erasures(job) != before:
            export_file(job).unlink(missing_ok=True)
            raise DomainError("erased_meanwhile", ERASED_MEANWHILE)


class ExportJob(ZipFileJob):
    """Writes the study as a zip file in the export folder."""

    name = "export"
    label = "export the dataset"

    def summary(self, job: Job) -> str:
        return ", ".join(job.options.get("formats", []))

    def plan(self, job: Job) -> list[ChunkPlan]:
        return [ChunkPlan(_export(job).total + PACKING)]

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        export = _export(job)
        size = export.total + PACKING
        with self.packed(job, f"tiebreak-{job.owner}") as bundle:
            for rows in export.write(bundle):
                yield Progress(rows, size=size)
        result = {
            "ratings": export.counts.rows,
            "in_statistics": export.counts.counted,
            "left_out": {one.name: one.left_out for one in export.benchmarks},
        }
        result["bytes"] = export_file(job).stat().st_size
        Job.objects.filter(pk=job.pk).update(result=result)
        yield Progress(size, size=size)


def _erasures(job: Job) -> int:
    return StudyEvent.objects.filter(study=job.owner, verb=StudyEvent.Verb.ERASE).count()


def _export(job: Job) -> StudyExport:
    study = Study.objects.get(pk=job.owner)
    # An export from before there was an option does not have it.
    options = job.options
    return StudyExport(
        study,
        options["formats"],
        options.get("ties", "drop"),
        with_texts=options.get("with_texts", False),
        with_comments=options.get("with_comments", False),
    )


def start_export(
    *,
    study: Study,
    formats: list[str],
    ties: Ties = "drop",
    with_texts: bool = False,
    with_comments: bool = False,
    by: User | None = None,
) -> Job:
    """Queue an export. Raises `DomainError` if the study cannot be exported like this."""
    check_export(study, formats, ties)
    check_room(Path(settings.TIEBREAK_EXPORT_FOLDER), 0)
    key = f"export:{study.pk}"
    options = {
        "formats": formats,
        "ties": ties,
        "with_texts": with_texts,
        "with_comments": with_comments,
    }
    return start_job(kind=ExportJob.name, owner=study.pk, exclusive_key=key, options=options, by=by)


def remove_expired_exports() -> None:
    """Delete the files of old exports, and what interrupted ones left behind."""
    limit = (
        database_now().timestamp()
        - timedelta(days=settings.TIEBREAK_EXPORTS_KEPT_DAYS).total_seconds()
    )
    for file in Path(settings.TIEBREAK_EXPORT_FOLDER).glob("*"):
        if file.is_file() and file.stat().st_mtime < limit:
            file.unlink(missing_ok=True)


def remove_exports(owners: Collection[str]) -> None:
    """Delete the files that were made of these studies."""
    for job in Job.objects.filter(owner__in=owners):
        export_file(job).unlink(missing_ok=True)


def export_file(job: Job) -> Path:
    """Return where the file of an export is, or will be."""
    return Path(settings.TIEBREAK_EXPORT_FOLDER) / f"{job.public_id}.zip"


def finished_export(*, study: Study, job_id: str) -> Path:
    """Return the file that a job has written. Raises `DomainError` if it is not there."""
    done = Job.objects.filter(owner=study.pk, status=Job.Status.DONE)
    job = done.filter(public_id=job_id).first()
    if job is None or not export_file(job).is_file():
        raise DomainError(
            "no_such_export",
            "This export no longer exists. Please start a new one on the study's page Data & report.",
            status=404,
        )
    return export_file(job)


def pack(folder: Path, to: Path) -> None:
    """Write the folder as a .zip, which gets its name when it is complete."""
    with (
        atomic_path(to) as partial,
        ZipFile(partial, "w", ZIP_DEFLATED, compresslevel=COMPRESSION) as archive,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder.parent))

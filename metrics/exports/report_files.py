"""The files of a report: a job writes them as a zip, a command into a folder."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from annotation.exports.export_jobs import ZipFileJob, export_file
from annotation.exports.study_export import check_is_free
from annotation.imports.uploads import check_room
from jobs.clock import database_now
from jobs.kinds import Progress
from jobs.models import Job
from jobs.services import start_job
from metrics.exports.document.build import build_document
from metrics.models import ReportSnapshot
from metrics.results.sections import with_opened_sections
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report, watermark
from studies.models import Study
from tiebreak.formats import atomic_folder
from tiebreak.reading.document.html import as_html
from tiebreak.reading.document.latex import as_latex
from tiebreak.reading.document.pdf import as_pdf
from tiebreak.report import Report


def write_report_files(*, study: Study, out: Path) -> tuple[str, ...]:
    """Write the report of the current ratings into a new folder, and return the files' names.

    Raises `DomainError` if the folder has files.
    """
    check_is_free(out)
    report, made_at = _current_report(study)
    document = build_document(
        study=study, report=report, made_at=made_at, written_at=database_now()
    )
    files = {
        "report.html": as_html(document).encode(),
        "report.pdf": as_pdf(document),
        "tables.tex": as_latex(document).encode(),
        "references.bib": document.bibtex.encode(),
        "report.json": json.dumps(report.as_json(), indent=1, allow_nan=False).encode(),
    }
    with atomic_folder(out) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        for figure in document.figures:
            (folder / f"{figure.name}.svg").write_text(figure.svg, encoding="utf-8")
    return tuple(files)


def _current_report(study: Study) -> tuple[Report, datetime]:
    """Return the report of the ratings as they are now, and when it was made.

    It is built if the stored one is older.
    """
    snapshot = ReportSnapshot.objects.filter(study=study, digest="").first()
    if snapshot is None or snapshot.watermark != watermark(study):
        snapshot = refresh_report(study=study)
    report = stored_report(snapshot)
    if report is None:
        snapshot = refresh_report(study=study)
        report = stored_report(snapshot)
    assert report is not None
    assert snapshot.made_at is not None
    return with_opened_sections(report, snapshot), snapshot.made_at


class ReportFilesJob(ZipFileJob):
    """Writes the files of the report as a zip file in the export folder."""

    name = "report-files"
    label = "write the report"

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        study = Study.objects.get(pk=job.owner)
        with self.packed(job, f"report-{job.owner}") as out:
            write_report_files(study=study, out=out)
        result = {"bytes": export_file(job).stat().st_size}
        Job.objects.filter(pk=job.pk).update(result=result)
        yield Progress(1)


def start_report_files(*, study: Study, by: User | None = None) -> Job:
    """Queue the files of the report. Raises `DomainError` if they are being written already."""
    check_room(Path(settings.TIEBREAK_EXPORT_FOLDER), 0)
    key = f"{ReportFilesJob.name}:{study.pk}"
    return start_job(kind=ReportFilesJob.name, owner=study.pk, exclusive_key=key, by=by)

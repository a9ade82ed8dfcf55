"""A study from a file: a plain table or a bundle, at once or by a worker."""

from typing import Any

from django.urls import reverse
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.imports.import_jobs import (
    ImportedUpload,
    ImportRequest,
    import_for,
    import_or_start,
    inspect_upload,
)
from annotation.imports.kept_uploads import keep_upload
from api.access import creator
from api.schema import described
from api.serializers.studies import JobSerializer, QueuedImport, TableRead, TableUpload
from api.validation import checked
from jobs.models import Job
from jobs.rows import job_rows
from studies.data.table_import import BadTable, Choice, ImportedTable, parse_columns
from tiebreak.errors import DomainError
from tiebreak.formats import FormatError
from tiebreak.formats.confined import TABLE
from tiebreak.formats.tables import TableSummary

QUEUED = (
    " A file that is large after unpacking, or takes long to read, is imported by a worker: the"
    " answer is 202 with the job, whose result names the study."
)
BUSY = {503: ["readers_busy", "no_broker"], 507: ["disk_full", "folder_full"]}


class Tables(APIView):
    parser_classes = [MultiPartParser]

    @described(
        "Create a study from a table",
        tag="studies",
        description="The layout and the columns are guessed where they are left out; with dry_run,"
        " nothing is stored, and of a large table only the first rows are read. All of the table is"
        f" stored, or nothing.{QUEUED}",
        request={"multipart/form-data": TableUpload},
        responses={200: TableRead, 201: TableRead, 202: QueuedImport},
        refusals={
            400: ["bad_table", "bad_columns", "unknown_role", "unknown_column", "bad_title"],
            403: ["needs_all_studies"],
            409: ["known_dataset", "upload_quota"],
            **BUSY,
        },
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(TableUpload, request.data)
        choice = Choice(values["layout"] or None, parse_columns(values["columns"]))
        kept = keep_upload(upload=values["table"], by=owner)
        if values["dry_run"]:
            try:
                _, summary, is_preview = inspect_upload(kept, choice)
            finally:
                kept.remove()
            return Response(_read(summary, is_preview=is_preview))
        wanted = ImportRequest(
            kept,
            owner,
            title=values["title"],
            choice=choice,
            bad_rows="leave_out" if values["leave_out_bad_rows"] else "refuse",
            known_dataset=values["known_dataset"],
            kind=TABLE,
        )
        try:
            imported = imported_by_program(wanted)
        except FormatError as error:
            raise BadTable(TableSummary.of_refusal(error)) from error
        return queued(imported) if isinstance(imported, Job) else _created(imported)


class ImportView(APIView):
    @described(
        "Read an import",
        tag="studies",
        description="The job of a large file. When it is done, `result.study` is the study; if the file"
        " was refused, `result` has the code and the problems.",
        responses={200: JobSerializer},
        refusals={403: ["needs_all_studies"], 404: ["not_found"]},
    )
    def get(self, request: Request, job_id: str) -> Response:
        job = import_for(creator(request), job_id)
        return Response(JobSerializer(job_rows([job])[0]).data)


def imported_by_program(wanted: ImportRequest) -> ImportedUpload | Job:
    """Import a program's upload, which no page comes back to if it is refused."""
    try:
        return import_or_start(wanted)
    except (DomainError, MemoryError):
        wanted.upload.remove()
        raise


def queued(job: Job) -> Response:
    url = reverse("api:import", args=[job.public_id])
    body = QueuedImport({"job": job.public_id}).data
    return Response(body, status=202, headers={"Location": url})


def _read(
    summary: TableSummary, study: str | None = None, *, is_preview: bool = False
) -> dict[str, Any]:
    facts = {"study": study, "is_preview": is_preview, **summary.as_json()}
    return dict(TableRead(facts).data)


def _created(imported: ImportedUpload) -> Response:
    assert isinstance(imported.made, ImportedTable)
    url = reverse("api:study", args=[imported.study.pk])
    return Response(
        _read(imported.made.summary, imported.study.pk), status=201, headers={"Location": url}
    )

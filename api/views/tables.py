"""A study from a plain table."""

from typing import Any

from django.urls import reverse
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.kept_uploads import name_of
from annotation.uploads import stored_upload, upload_limits
from api.access import creator
from api.schema import described
from api.serializers import TableRead, TableUpload
from api.validation import checked
from studies.tables import Choice, ImportedTable, import_table, inspect_table, parse_columns
from tiebreak.formats.tables import TableSummary


class Tables(APIView):
    parser_classes = [MultiPartParser]

    @described(
        "Create a study from a table",
        tag="studies",
        description="The layout and the columns are guessed where they are left out; with dry_run,"
        " nothing is stored. All of the table is stored, or nothing.",
        request={"multipart/form-data": TableUpload},
        responses={200: TableRead, 201: TableRead},
        refusals={
            400: ["bad_table", "bad_columns", "unknown_role", "unknown_column", "bad_title"],
            403: ["needs_all_studies"],
            409: ["known_dataset"],
        },
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(TableUpload, request.data)
        choice = Choice(values["layout"] or None, parse_columns(values["columns"]))
        with stored_upload(values["table"], name_of(values["table"])) as path:
            if values["dry_run"]:
                _, summary = inspect_table(path=path, choice=choice, limits=upload_limits())
                return Response(_read(summary))
            imported = import_table(
                path=path,
                owner=owner,
                title=values["title"],
                choice=choice,
                limits=upload_limits(),
                bad_rows="leave_out" if values["leave_out_bad_rows"] else "refuse",
                known_dataset=values["known_dataset"],
            )
        return _created(imported)


def _read(summary: TableSummary, study: str | None = None) -> dict[str, Any]:
    return dict(TableRead({"study": study, **summary.as_json()}).data)


def _created(imported: ImportedTable) -> Response:
    url = reverse("api:study", args=[imported.study.pk])
    body = _read(imported.summary, imported.study.pk)
    return Response(body, status=201, headers={"Location": url})

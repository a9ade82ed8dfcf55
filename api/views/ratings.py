"""Ratings and separability scores as streams of rows."""

from django.http import StreamingHttpResponse
from django.urls import reverse
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.exports.rating_pages import rating_page
from annotation.exports.ratings import rating_rows
from api.access import researcher, visible_study
from api.schema import described, jsonl
from api.serializers.studies import (
    AddedSerializer,
    QueuedImport,
    RatingsQuery,
    RatingsUpload,
    ScoresQuery,
)
from api.streaming import jsonl_response
from api.validation import checked
from jobs.models import Job
from machine_raters.uploads.uploading import upload_verdicts
from studies.instance_selection.score_rows import score_page, score_rows

TAG = "ratings"


class Ratings(APIView):
    @described(
        "Read a study's ratings",
        tag=TAG,
        description="The rows of the export as JSON Lines, flagged ones included, oldest first."
        " Pass the header Tiebreak-Cursor as `after` to continue; the header Tiebreak-More says"
        " whether there is more already. A rating appears about ten seconds after it was stored.",
        query=RatingsQuery,
        responses=jsonl("One rating per line, in the columns of docs/formats.md."),
    )
    def get(self, request: Request, study_id: str) -> StreamingHttpResponse:
        study = visible_study(request, study_id)
        page = rating_page(study, **checked(RatingsQuery, request.query_params))
        rows = rating_rows(study, page.ratings)
        return jsonl_response(rows, cursor=page.cursor, has_more=page.has_more)


class MachineRatings(APIView):
    parser_classes = [MultiPartParser]

    @described(
        "Add the ratings of machines",
        tag=TAG,
        description="All rows of the file are stored, or none. Rows that are stored already, by"
        " rater, run, order, unit, criterion and repeat, are skipped, so an upload can be repeated."
        " With a `format`, the file has verdicts as AlpacaEval, Alt-Test, LLMBar, LMArena, MT-Bench or"
        " PandaLM write them; each is placed on the item that the file names or, without a name, on the"
        " only one with its texts, or with its instance and systems."
        " A large file is read by a worker: the answer is 202 with the job."
        " `problems` of a refusal lists the lines: `human_rating`, `rater_is_human`,"
        " `unknown_unit`, `ambiguous_unit`, `contradicts_unit`, `unknown_criterion`, `label_not_on_scale`,"
        " `rating_differs` and those of the format.",
        request={"multipart/form-data": RatingsUpload},
        responses={200: AddedSerializer, 202: QueuedImport},
        refusals={
            400: ["bad_file", "criterion_needed", "unknown_criterion"],
            409: ["study_is_draft", "job_unfinished", "upload_quota"],
            503: ["readers_busy", "no_broker"],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(RatingsUpload, request.data)
        added = upload_verdicts(
            study=study, upload=values.pop("ratings"), by=researcher(request), **values
        )
        if isinstance(added, Job):
            url = reverse("api:job", args=[study.pk, added.public_id])
            body = QueuedImport({"job": added.public_id}).data
            return Response(body, status=202, headers={"Location": url})
        return Response(AddedSerializer(added).data)


class Scores(APIView):
    @described(
        "Read a study's separability scores",
        tag=TAG,
        description="One row per instance and pair of systems as JSON Lines, with the cursor in the"
        " headers as for ratings. A score that is computed again keeps its place.",
        query=ScoresQuery,
        responses=jsonl("One score per line."),
    )
    def get(self, request: Request, study_id: str) -> StreamingHttpResponse:
        study = visible_study(request, study_id)
        page = score_page(study, **checked(ScoresQuery, request.query_params))
        return jsonl_response(score_rows(page.scores), cursor=page.cursor, has_more=page.has_more)

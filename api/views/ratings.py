"""Ratings and separability scores as streams of rows, and the ratings of machines."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import StreamingHttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response

from annotation.exports.rating_pages import rating_page
from annotation.exports.ratings import rating_rows
from api.resources import Resource, endpoint
from api.serializers.ratings import (
    AddedSerializer,
    RatingCostRequest,
    RatingsQuery,
    RatingsUpload,
    ScoresQuery,
    UploadedRaterSerializer,
)
from api.serializers.studies import QueuedImport
from jobs.models import Job
from machine_raters.services.rating_costs import (
    UploadedRater,
    state_rating_cost,
    uploaded_raters,
)
from machine_raters.uploads.uploading import upload_verdicts
from studies.instance_selection.score_rows import score_page, score_rows

CONTENT_TYPE = "application/jsonl"
# The answers of an endpoint that streams rows.
ROWS = {(200, CONTENT_TYPE): OpenApiResponse(OpenApiTypes.STR, description="One row per line.")}
CURSOR, MORE = "Tiebreak-Cursor", "Tiebreak-More"
# Fewer and larger writes to the connection.
ROWS_A_WRITE = 200


def jsonl_response(
    rows: Iterable[dict[str, Any]], *, cursor: int, has_more: bool
) -> StreamingHttpResponse:
    """Return rows, with the cursor of the next page and whether it has rows already as headers."""
    headers = {CURSOR: str(cursor), MORE: "true" if has_more else "false"}
    return StreamingHttpResponse(_lines(rows), content_type=CONTENT_TYPE, headers=headers)


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    remaining = iter(rows)
    while lot := list(islice(remaining, ROWS_A_WRITE)):
        yield "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in lot)


class Ratings(Resource):
    tag = "ratings"

    @endpoint(query=RatingsQuery, gives=ROWS)
    def list(self) -> StreamingHttpResponse:
        """Read a study's ratings.

        The rows of the export as JSON Lines, in the columns of docs/formats.md, including flagged
        ratings and those of machine raters (`kind` is `machine`), oldest first. Pass the Tiebreak-Cursor header as `after` to continue; the Tiebreak-More header
        says whether there is more already. A rating appears about ten seconds after it was stored.
        """
        study = self.study()
        page = rating_page(study, **self.values)
        rows = rating_rows(study, page.ratings)
        return jsonl_response(rows, cursor=page.cursor, has_more=page.has_more)


class MachineRatings(Resource):
    tag = "ratings"

    @endpoint(takes=RatingsUpload, is_upload=True, gives={200: AddedSerializer, 202: QueuedImport})
    def create(self) -> Response:
        """Add the ratings of machines.

        All rows of the file are stored, or none. Rows that are stored already, by rater, run, order,
        unit, criterion and repeat, are skipped, so an upload can be repeated. With a `format`, the
        file has verdicts as AlpacaEval, Alt-Test, LLMBar, LMArena, MT-Bench or PandaLM write them;
        each is placed on the item that the file names or, without a name, on the only one with its
        texts, or with its instance and systems. A large file is read by a worker: the answer is 202
        with the job. `problems` of a refusal lists the lines.
        """
        study, values = self.study(), self.values
        added = upload_verdicts(study=study, upload=values.pop("ratings"), by=self.by, **values)
        if isinstance(added, Job):
            url = reverse("api:job-detail", args=[study.pk, added.public_id])
            body = QueuedImport({"job": added.public_id}).data
            return Response(body, status=202, headers={"Location": url})
        return Response(AddedSerializer(added).data)

    @endpoint(gives=UploadedRaterSerializer, many=True)
    def list(self) -> Any:
        """List the machines whose ratings were uploaded.

        With the number of their ratings, and what a rating cost, if somebody has said so.
        """
        return uploaded_raters(self.study())

    @endpoint(detail=False, takes=RatingCostRequest, gives=UploadedRaterSerializer)
    def cost(self) -> UploadedRater:
        """Say what a rating of an uploaded machine cost.

        In the study's currency; null if it is not known. Costs of judges follow from their prices.
        """
        study, name = self.study(), self.values["rater"]
        state_rating_cost(study=study, by=self.by, **self.values)
        return next(one for one in uploaded_raters(study) if one.name == name)


class Scores(Resource):
    tag = "ratings"

    @endpoint(query=ScoresQuery, gives=ROWS)
    def list(self) -> StreamingHttpResponse:
        """Read a study's separability scores.

        One row per instance and pair of systems as JSON Lines, with the cursor in the headers as for
        ratings. A score that is computed again keeps its place. `delta_normalised` and `scenario` are
        on the scale of all scores of the pair, and change when instances are added.
        """
        page = score_page(self.study(), **self.values)
        return jsonl_response(score_rows(page), cursor=page.cursor, has_more=page.has_more)

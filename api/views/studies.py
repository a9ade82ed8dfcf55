"""Studies: list, create, read, and change of state."""

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.counts import study_counts
from annotation.filters import EVERYTHING, Filter
from annotation.imports.import_jobs import ImportRequest
from annotation.imports.kept_uploads import keep_upload
from annotation.pilot_doubts import frames_for
from annotation.services.planning import draw_and_plan, plan_hits, take_all_and_plan
from api.access import creator, researcher, visible_studies, visible_study
from api.pagination import StudyPagination
from api.schema import NOTHING, described
from api.serializers.design import DesignChange
from api.serializers.running_study import FigureQuery
from api.serializers.studies import (
    BundleUpload,
    DrawnPlan,
    ImportedStudy,
    OpenOptions,
    PlanSerializer,
    Progress,
    QueuedImport,
    ReportQuery,
    SelectionOptions,
    SelectionPreviewSerializer,
    StudyDetail,
    StudySummary,
)
from api.validation import checked, checked_form
from api.views.design import CHANGE, change_design, changed
from api.views.tables import BUSY, QUEUED, imported_by_program, queued
from jobs.models import Job
from metrics.results.filters import FilterForm, asked_values
from metrics.results.requested_report import asked_for
from metrics.results.services import choices_of, newest_report
from metrics.results.views import Viewer, figure_response
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.access import Right, right_in
from studies.instance_selection.drawing import selection_previews
from studies.models import InstanceSelection, Study
from studies.services import delete_draft
from tiebreak.formats.confined import BUNDLE
from tiebreak.reading.figures.files import CONTENT_TYPES

TAG = "studies"
WRONG_STATE = {409: ["wrong_state"]}


class Studies(APIView):
    # drf-spectacular reads the parameters of the list from here.
    pagination_class = StudyPagination
    parser_classes = [MultiPartParser]

    @described("List your studies", tag=TAG, responses={200: StudySummary(many=True)})
    def get(self, request: Request) -> Response:
        pages = StudyPagination()
        studies = visible_studies(request).select_related("dataset")
        page = pages.paginate_queryset(studies, request, view=self)
        return pages.get_paginated_response(StudySummary(page, many=True).data)

    @described(
        "Create a study from a bundle",
        tag=TAG,
        description="The limits are those of uploads on the pages. All of the bundle is stored, or"
        f" nothing.{QUEUED}",
        request={"multipart/form-data": BundleUpload},
        responses={201: ImportedStudy, 202: QueuedImport},
        refusals={
            400: ["bad_file"],
            403: ["needs_all_studies"],
            409: ["known_dataset", "upload_quota"],
            **BUSY,
        },
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(BundleUpload, request.data)
        kept = keep_upload(upload=values["bundle"], by=owner)
        wanted = ImportRequest(kept, owner, known_dataset=values["known_dataset"], kind=BUNDLE)
        imported = imported_by_program(wanted)
        if isinstance(imported, Job):
            return queued(imported)
        url = reverse("api:study", args=[imported.study.pk])
        return Response(ImportedStudy(imported.made).data, status=201, headers={"Location": url})


class StudyView(APIView):
    @described("Read a study's design and state", tag=TAG, responses={200: StudyDetail})
    def get(self, request: Request, study_id: str) -> Response:
        return Response(StudyDetail(visible_study(request, study_id)).data)

    @CHANGE
    def patch(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        return changed(study, change_design(study, checked(DesignChange, request.data), request))

    @described(
        "Delete a draft",
        tag=TAG,
        description="Studies that were opened are kept, because ratings are append-only.",
        responses=NOTHING,
        refusals={409: ["not_a_draft"]},
    )
    def delete(self, request: Request, study_id: str) -> Response:
        delete_draft(study=visible_study(request, study_id, Right.OWN))
        return Response(status=204)


# Why the tasks of a draft cannot be planned.
UNPLANNED = (
    *("draw_and_budget", "has_ratings", "incomplete_design", "nothing_to_plan"),
    *("repeats_do_not_fit", "symmetric_needs_even_ratings", "unknown_baseline"),
)


class PlanStudy(APIView):
    @described(
        "Plan the tasks of a draft",
        tag=TAG,
        description="Replaces an earlier plan. A study must be planned before it is opened.",
        responses={200: PlanSerializer},
        refusals={409: ["not_a_draft", *UNPLANNED]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        return Response(PlanSerializer(plan_hits(study=visible_study(request, study_id))).data)


REFUSALS_OF_DOUBT = (
    "no_pilot",
    "pilot_of_other_dataset",
    "no_pilot_preference",
    "machine_ratings_missing",
    "no_pilot_labels",
    "gain_not_shown",
)


def _design(request: Request, study: Study) -> InstanceSelection:
    """Return the design of a request, whose pilot its researcher and its token may read."""
    values = checked(SelectionOptions, request.data)
    pilot = values.pop("pilot", None)
    if pilot is not None:
        values["pilot"] = visible_study(request, pilot, Right.READ)
    return InstanceSelection(study=study, **values)


class SelectInstances(APIView):
    @described(
        "Draw instances and plan their tasks",
        tag=TAG,
        description="Needs separability scores by the study's similarity or, for the design `doubt`,"
        " a pilot with machine ratings of all instances that shows a gain. Replaces an earlier draw and"
        " plan of a draft.",
        request=SelectionOptions,
        responses={200: DrawnPlan},
        refusals={
            409: [
                *("not_a_draft", "not_scored", "pair_not_scored", "too_many", "has_ratings"),
                *REFUSALS_OF_DOUBT,
            ]
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        design = _design(request, study)
        drawn, plan = draw_and_plan(study=study, design=design, by=researcher(request))
        return Response(DrawnPlan({"drawn": drawn, "plan": plan}).data)

    @described(
        "Take all instances and plan their tasks",
        tag=TAG,
        description="Deletes the draw and the plan of a draft.",
        responses={200: PlanSerializer},
        refusals={409: ["not_a_draft", "has_ratings", "nothing_to_plan"]},
    )
    def delete(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        plan = take_all_and_plan(study=study, by=researcher(request))
        return Response(PlanSerializer(plan).data)


class PreviewSelection(APIView):
    @described(
        "Preview what a draw would select",
        tag=TAG,
        description="Changes nothing.",
        request=SelectionOptions,
        responses={200: SelectionPreviewSerializer(many=True)},
        refusals={
            409: ["not_scored", "pair_not_scored", "too_many", "no_scale", *REFUSALS_OF_DOUBT]
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.READ)
        design = _design(request, study)
        frames = frames_for(study, design)
        names = {system.pk: system.name for pair in study.system_pairs() for system in pair}
        rows = [
            {"system_a": names[a], "system_b": names[b], **vars(preview)}
            for (a, b), preview in selection_previews(study, design, frames).items()
        ]
        return Response(SelectionPreviewSerializer(rows, many=True).data)


class OpenStudy(APIView):
    @described(
        "Open a draft or a paused study",
        tag=TAG,
        description="Lets annotators in. `problems` of a refusal lists the launch checks; repeat the"
        " request with the codes of the warnings that you accept.",
        request=OpenOptions,
        responses={200: StudySummary},
        refusals={409: ["wrong_state", "unconfirmed_warnings", "launch_blocked", "not_planned"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(OpenOptions, request.data)
        return _state(open_study(study=study, by=researcher(request), **values))


class PauseStudy(APIView):
    @described(
        "Pause an open study",
        tag=TAG,
        description="No new places are handed out; annotators may finish those that they hold.",
        responses={200: StudySummary},
        refusals=WRONG_STATE,
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        return _state(pause_study(study=study, by=researcher(request)))


class CloseStudy(APIView):
    @described(
        "Close an open or paused study",
        tag=TAG,
        description="Answers that still arrive are stored and flagged late.",
        responses={200: StudySummary},
        refusals=WRONG_STATE,
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        return _state(close_study(study=study, by=researcher(request)))


class ReopenStudy(APIView):
    @described(
        "Reopen a closed study",
        tag=TAG,
        responses={200: StudySummary},
        refusals={409: ["wrong_state", "launch_blocked", "unconfirmed_warnings"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        return _state(reopen_study(study=study, by=researcher(request)))


def _state(study: Any) -> Response:
    return Response(StudySummary(study).data)


class StudyProgress(APIView):
    @described("Read a study's counts", tag=TAG, responses={200: Progress})
    def get(self, request: Request, study_id: str) -> Response:
        return Response(Progress(study_counts(visible_study(request, study_id, Right.SEE))).data)


class FigureFile(APIView):
    @described(
        "Read a figure as a file",
        tag=TAG,
        description="A chart of the stored report as SVG, PDF or PNG, or its data as CSV.",
        query=FigureQuery,
        responses={
            (200, content_type.partition(";")[0]): OpenApiTypes.BINARY
            for content_type in CONTENT_TYPES.values()
        },
        refusals={404: ["not_found"]},
    )
    def get(self, request: Request, study_id: str) -> HttpResponse:
        study = visible_study(request, study_id, Right.SEE)
        query = checked(FigureQuery, request.query_params)
        _chosen(study, query)  # refuses values that do not exist
        right = right_in(request.user, study)
        return figure_response(
            asked_for(study, query),
            study,
            Viewer(request.user, right, request.query_params.dict()),
            criterion=query["criterion"],
            name=query["name"],
            kind=query["file"],
        )


class Report(APIView):
    @described(
        "Read a study's report",
        tag=TAG,
        description="The stored report, as docs/report.schema.json describes it. The header"
        " Tiebreak-Report says whether it is `current` or `outdated`; in that case, and if there is"
        " none yet, a new one is requested. With any of the other parameters it is the report of a part"
        " of the ratings, which `source.part` names. Of many parts some differ by chance,"
        " so report one that was chosen after seeing the data as exploratory.",
        query=ReportQuery,
        responses={(200, "application/json"): dict[str, Any]},
        refusals={409: ["report_pending"], 503: ["no_broker"]},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.READ)
        query = checked(ReportQuery, request.query_params)
        report, is_current = newest_report(
            study=study, chosen=_chosen(study, query), must_be_current=query["current"]
        )
        state = "current" if is_current else "outdated"
        return Response(report.as_json(), headers={"Tiebreak-Report": state})


def _chosen(study: Study, query: dict[str, Any]) -> Filter:
    """Return the part that is asked for, by the form of the pages."""
    if not asked_values(query):
        return EVERYTHING
    form = FilterForm(choices_of(study=study), query)
    checked_form(form)
    return form.filter

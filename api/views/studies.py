"""Studies: list, create, read, and change of state."""

from typing import Any

from django.urls import reverse
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.counts import study_counts
from annotation.filters import EVERYTHING, Filter
from annotation.importing import import_study
from annotation.services.planning import draw_and_plan, plan_hits
from annotation.uploads import stored_upload, upload_limits
from api.access import creator, researcher, visible_studies, visible_study
from api.pagination import StudyPagination
from api.schema import described
from api.serializers import (
    BundleUpload,
    DrawnPlan,
    ImportedStudy,
    OpenOptions,
    PlanSerializer,
    Progress,
    ReportQuery,
    SelectionOptions,
    StudyDetail,
    StudySummary,
)
from api.validation import checked, checked_form
from metrics.filters import FilterForm, asked_values
from metrics.services import choices_of, newest_report
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.access import Right
from studies.models import InstanceSelection, Study

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
        " nothing.",
        request={"multipart/form-data": BundleUpload},
        responses={201: ImportedStudy},
        refusals={
            400: ["bad_file"],
            403: ["needs_all_studies"],
            409: ["known_dataset"],
        },
    )
    def post(self, request: Request) -> Response:
        owner = creator(request)
        values = checked(BundleUpload, request.data)
        with stored_upload(values["bundle"], "bundle.zip") as path:
            imported = import_study(
                path=path,
                owner=owner,
                limits=upload_limits(),
                known_dataset=values["known_dataset"],
            )
        url = reverse("api:study", args=[imported.study.pk])
        return Response(ImportedStudy(imported).data, status=201, headers={"Location": url})


class StudyView(APIView):
    @described("Read a study's design and state", tag=TAG, responses={200: StudyDetail})
    def get(self, request: Request, study_id: str) -> Response:
        return Response(StudyDetail(visible_study(request, study_id)).data)


class PlanStudy(APIView):
    @described(
        "Plan the HITs of a draft",
        tag=TAG,
        description="Replaces an earlier plan. A study must be planned before it is opened.",
        responses={200: PlanSerializer},
        refusals={409: ["not_a_draft", "has_ratings", "repeats_do_not_fit", "nothing_to_plan"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        return Response(PlanSerializer(plan_hits(study=visible_study(request, study_id))).data)


class SelectInstances(APIView):
    @described(
        "Draw instances and plan their HITs",
        tag=TAG,
        description="Needs separability scores by the study's similarity. Replaces an earlier draw"
        " and plan of a draft.",
        request=SelectionOptions,
        responses={200: DrawnPlan},
        refusals={409: ["not_a_draft", "not_scored", "pair_not_scored", "too_many", "has_ratings"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        design = InstanceSelection(study=study, **checked(SelectionOptions, request.data))
        drawn, plan = draw_and_plan(study=study, design=design, by=researcher(request))
        return Response(DrawnPlan({"drawn": drawn, "plan": plan}).data)


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

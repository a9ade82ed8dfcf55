"""Synthetic sets: list, make, go on making, test judges on them, delete and exclude."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import NOTHING, described
from api.serializers.studies import JobSerializer, MachineExclusionRequest
from api.serializers.synthetic import (
    NewSyntheticSet,
    SetSummarySerializer,
    SyntheticSetSerializer,
)
from api.validation import checked, checked_form
from api.views.jobs import started
from machine_raters.judging.services import judge_named
from machine_raters.models import SyntheticSet
from machine_raters.synthetic.forms import SyntheticSetForm
from machine_raters.synthetic.services import (
    add_synthetic_set,
    check_judge,
    continue_synthetic_set,
    delete_synthetic_set,
    exclude_synthetic_set,
    reinstate_synthetic_set,
    synthetic_set_named,
)
from machine_raters.synthetic.summaries import summaries

TAG = "judges"
STARTED = {201: JobSerializer}
NO_SUCH_SET = {404: ["no_such_synthetic_set"]}


class SyntheticSets(APIView):
    @described(
        "List a study's synthetic sets",
        tag=TAG,
        description="With the texts that were dropped, and how judges did on the items.",
        responses={200: SetSummarySerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        rows: Any = summaries(visible_study(request, study_id))
        return Response(SetSummarySerializer(rows, many=True).data)

    @described(
        "Have synthetic items made",
        tag=TAG,
        description="A language model writes questions, correct answers and wrong ones from the"
        " study's passages. Annotators never see them, and no result of the study counts them.",
        request=NewSyntheticSet,
        responses={201: SyntheticSetSerializer},
        refusals={
            400: ["no_model"],
            409: [
                "name_taken",
                "no_synthetic_criteria",
                "few_passages",
                "no_example_questions",
            ],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        form = SyntheticSetForm(checked(NewSyntheticSet, request.data))
        made = add_synthetic_set(study=study, by=researcher(request), **checked_form(form))
        return _shown(made, status=201)


class ContinueSyntheticSet(APIView):
    @described(
        "Ask for the texts of a synthetic set that are missing",
        tag=TAG,
        request=None,
        responses=STARTED,
        refusals={**NO_SUCH_SET, 409: ["job_unfinished", "synthetic_set_excluded"]},
    )
    def post(self, request: Request, study_id: str, set_id: str) -> Response:
        made = synthetic_set_named(visible_study(request, study_id), set_id)
        return started(continue_synthetic_set(made=made, by=researcher(request)))


class CheckJudge(APIView):
    @described(
        "Test a judge on synthetic items",
        tag=TAG,
        description="Stores no ratings. The answers are in the list of synthetic sets.",
        request=None,
        responses=STARTED,
        refusals={
            404: ["no_such_synthetic_set", "no_such_judge"],
            409: ["job_unfinished", "no_synthetic_items", "synthetic_set_excluded"],
        },
    )
    def post(self, request: Request, study_id: str, set_id: str, judge_id: str) -> Response:
        study = visible_study(request, study_id)
        made, judge = synthetic_set_named(study, set_id), judge_named(study, judge_id)
        return started(check_judge(judge=judge, made=made, by=researcher(request)))


class DeleteSyntheticSet(APIView):
    @described(
        "Delete a synthetic set on which no judge was tested",
        tag=TAG,
        description="With everything that the model wrote for it.",
        responses=NOTHING,
        refusals={**NO_SUCH_SET, 409: ["synthetic_set_has_answers", "job_unfinished"]},
    )
    def delete(self, request: Request, study_id: str, set_id: str) -> Response:
        made = synthetic_set_named(visible_study(request, study_id), set_id)
        delete_synthetic_set(made=made, by=researcher(request))
        return Response(status=204)


class ExcludeSyntheticSet(APIView):
    @described(
        "Exclude a synthetic set",
        tag=TAG,
        description="No judge is tested on it any more, and how judges did on it is left out of the"
        " list and of reports. Nothing is deleted: exports have it with the flag and the reason.",
        request=MachineExclusionRequest,
        responses={200: SyntheticSetSerializer},
        refusals={**NO_SUCH_SET, 409: ["job_unfinished"]},
    )
    def post(self, request: Request, study_id: str, set_id: str) -> Response:
        made = synthetic_set_named(visible_study(request, study_id), set_id)
        reason = checked(MachineExclusionRequest, request.data)["reason"]
        exclude_synthetic_set(made=made, reason=reason, by=researcher(request))
        return _shown(made)


class ReinstateSyntheticSet(APIView):
    @described(
        "Reinstate a synthetic set",
        tag=TAG,
        request=None,
        responses={200: SyntheticSetSerializer},
        refusals=NO_SUCH_SET,
    )
    def post(self, request: Request, study_id: str, set_id: str) -> Response:
        made = synthetic_set_named(visible_study(request, study_id), set_id)
        reinstate_synthetic_set(made=made, by=researcher(request))
        return _shown(made)


def _shown(made: SyntheticSet, status: int = 200) -> Response:
    named = synthetic_set_named(made.study, made.public_id)
    return Response(SyntheticSetSerializer(named).data, status=status)

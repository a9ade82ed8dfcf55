"""Synthetic sets: list, make, go on making, and test judges on them."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.judging.services import judge_named
from annotation.synthetic.forms import SyntheticSetForm
from annotation.synthetic.services import (
    add_synthetic_set,
    check_judge,
    continue_synthetic_set,
    synthetic_set_named,
)
from annotation.synthetic.summaries import summaries
from api.access import researcher, visible_study
from api.schema import described
from api.serializers import JobSerializer
from api.synthetic_serializers import (
    NewSyntheticSet,
    SetSummarySerializer,
    SyntheticSetSerializer,
)
from api.validation import checked, checked_form
from api.views.jobs import started

TAG = "judges"
STARTED = {201: JobSerializer}


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
        refusals={400: ["no_model"], 409: ["name_taken", "no_synthetic_criteria", "few_passages"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        form = SyntheticSetForm(checked(NewSyntheticSet, request.data))
        made = add_synthetic_set(study=study, by=researcher(request), **checked_form(form))
        made = synthetic_set_named(study, made.public_id)
        return Response(SyntheticSetSerializer(made).data, status=201)


class ContinueSyntheticSet(APIView):
    @described(
        "Ask for the texts of a synthetic set that are missing",
        tag=TAG,
        request=None,
        responses=STARTED,
        refusals={404: ["no_such_synthetic_set"], 409: ["job_unfinished"]},
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
            409: ["job_unfinished", "no_synthetic_items"],
        },
    )
    def post(self, request: Request, study_id: str, set_id: str, judge_id: str) -> Response:
        study = visible_study(request, study_id)
        made, judge = synthetic_set_named(study, set_id), judge_named(study, judge_id)
        return started(check_judge(judge=judge, made=made, by=researcher(request)))

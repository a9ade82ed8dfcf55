"""Baselines, which are simple raters: list, add, and rate what is missing."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.baselines.forms import BaselineForm
from annotation.baselines.services import (
    add_baseline,
    baseline_named,
    baselines_of,
    start_baseline,
)
from api.access import researcher, visible_study
from api.baseline_serializers import BaselineSerializer, NewBaseline
from api.schema import described
from api.serializers import JobSerializer
from api.validation import checked, checked_form
from api.views.jobs import started

TAG = "judges"
IMPOSSIBLE = ["study_is_draft", "no_items", "no_reference", "encoder_missing", "no_server"]
IMPOSSIBLE += ["no_model", "no_such_server"]


class Baselines(APIView):
    @described(
        "List a study's simple raters",
        tag=TAG,
        responses={200: BaselineSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        baselines = baselines_of(visible_study(request, study_id))
        return Response(BaselineSerializer(baselines, many=True).data)

    @described(
        "Add a simple rater",
        tag=TAG,
        description="It prefers one of two texts by a rule, without a language model, and starts to"
        " rate at once. It never changes once it exists. Its name is that of its machine rater.",
        request=NewBaseline,
        responses={201: BaselineSerializer},
        refusals={400: ["server_not_used"], 409: [*IMPOSSIBLE, "name_taken"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(NewBaseline, request.data)
        criterion = study.criteria.filter(name=values["criterion"]).first()
        form = BaselineForm(study, values | {"criterion": criterion and criterion.pk})
        added = add_baseline(study=study, by=researcher(request), **checked_form(form))
        baseline = baseline_named(study, added.public_id)
        return Response(BaselineSerializer(baseline).data, status=201)


class StartBaseline(APIView):
    @described(
        "Let a simple rater rate what it has not rated yet",
        tag=TAG,
        request=None,
        responses={201: JobSerializer},
        refusals={404: ["no_such_baseline"], 409: [*IMPOSSIBLE, "job_unfinished"]},
    )
    def post(self, request: Request, study_id: str, baseline_id: str) -> Response:
        baseline = baseline_named(visible_study(request, study_id), baseline_id)
        return started(start_baseline(baseline=baseline, by=researcher(request)))

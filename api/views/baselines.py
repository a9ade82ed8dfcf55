"""Baselines, which are simple raters: list, add, rate what is missing, delete and exclude."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import NOTHING, described
from api.serializers.baselines import BaselineSerializer, NewBaseline
from api.serializers.studies import JobSerializer, MachineExclusionRequest
from api.validation import checked, checked_form
from api.views.jobs import started
from machine_raters.baselines.forms import BaselineForm
from machine_raters.baselines.services import (
    add_baseline,
    baseline_named,
    baselines_of,
    delete_baseline,
    exclude_baseline,
    reinstate_baseline,
    start_baseline,
)
from machine_raters.models import Baseline

TAG = "judges"
IMPOSSIBLE = ["study_is_draft", "no_items", "no_reference", "encoder_missing", "no_server"]
IMPOSSIBLE += ["no_model", "no_such_server"]
NO_SUCH_BASELINE = {404: ["no_such_baseline"]}


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
        refusals={**NO_SUCH_BASELINE, 409: [*IMPOSSIBLE, "job_unfinished", "baseline_excluded"]},
    )
    def post(self, request: Request, study_id: str, baseline_id: str) -> Response:
        baseline = baseline_named(visible_study(request, study_id), baseline_id)
        return started(start_baseline(baseline=baseline, by=researcher(request)))


class DeleteBaseline(APIView):
    @described(
        "Delete a simple rater that has not rated",
        tag=TAG,
        responses=NOTHING,
        refusals={**NO_SUCH_BASELINE, 409: ["baseline_has_ratings", "job_unfinished"]},
    )
    def delete(self, request: Request, study_id: str, baseline_id: str) -> Response:
        baseline = baseline_named(visible_study(request, study_id), baseline_id)
        delete_baseline(baseline=baseline, by=researcher(request))
        return Response(status=204)


class ExcludeBaseline(APIView):
    @described(
        "Exclude a simple rater",
        tag=TAG,
        description="Its ratings no longer count, and it rates nothing more. Nothing is deleted:"
        " exports have the ratings with the flag and the reason. The report lists the exclusion.",
        request=MachineExclusionRequest,
        responses={200: BaselineSerializer},
        refusals={**NO_SUCH_BASELINE, 409: ["job_unfinished"]},
    )
    def post(self, request: Request, study_id: str, baseline_id: str) -> Response:
        baseline = baseline_named(visible_study(request, study_id), baseline_id)
        reason = checked(MachineExclusionRequest, request.data)["reason"]
        exclude_baseline(baseline=baseline, reason=reason, by=researcher(request))
        return _shown(baseline)


class ReinstateBaseline(APIView):
    @described(
        "Reinstate a simple rater",
        tag=TAG,
        description="Its ratings count again.",
        request=None,
        responses={200: BaselineSerializer},
        refusals=NO_SUCH_BASELINE,
    )
    def post(self, request: Request, study_id: str, baseline_id: str) -> Response:
        baseline = baseline_named(visible_study(request, study_id), baseline_id)
        reinstate_baseline(baseline=baseline, by=researcher(request))
        return _shown(baseline)


def _shown(baseline: Baseline) -> Response:
    named = baseline_named(baseline.study, baseline.public_id)
    return Response(BaselineSerializer(named).data)

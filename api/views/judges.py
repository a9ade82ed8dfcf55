"""Judges: list, create, try, start and delete."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import NOTHING, described
from api.serializers.judges import JudgeSerializer, NewJudge, NewJudges
from api.serializers.studies import JobSerializer
from api.validation import checked, checked_form
from api.views.jobs import started
from api.views.studies import UNPLANNED
from machine_raters.judging.forms import JudgeForm, JudgesForm
from machine_raters.judging.progress import with_progress
from machine_raters.judging.prompts import INSTRUCTIONS
from machine_raters.judging.services import (
    create_judge,
    create_judges,
    delete_judge,
    judge_named,
    start_judging,
    try_injections,
    try_judge,
)
from studies.models import Study

TAG = "judges"
STARTED = {201: JobSerializer}
REFUSED_SETTINGS = [
    *("budget_of_all", "equal_answers", "example_without_label", "examples_twice", "no_labels"),
    *("no_model", "nothing_to_constrain", "odd_budget", "too_many_labels"),
]
NO_SUCH_JUDGE = {404: ["no_such_judge"]}


class Judges(APIView):
    @described("List a study's judges", tag=TAG, responses={200: JudgeSerializer(many=True)})
    def get(self, request: Request, study_id: str) -> Response:
        judges = with_progress(visible_study(request, study_id))
        return Response(JudgeSerializer(judges, many=True).data)

    @described(
        "Create a judge",
        tag=TAG,
        description="A judge never changes once it exists. Its name is that of its machine rater.",
        request=NewJudge,
        responses={201: JudgeSerializer},
        refusals={400: REFUSED_SETTINGS, 409: ["name_taken"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = {"instructions": INSTRUCTIONS} | checked(NewJudge, request.data)
        criterion = study.criteria.filter(name=values["criterion"]).first()
        chosen = {"criterion": criterion and criterion.pk, **_example_set(study, values)}
        form = JudgeForm(study, values | chosen)
        judge = create_judge(study=study, by=researcher(request), **checked_form(form))
        [created] = with_progress(study, pk=judge.pk)
        return Response(JudgeSerializer(created).data, status=201)


def _example_set(study: Study, values: dict[str, Any]) -> dict[str, Any]:
    # A name that no set has is refused by the form, like any other choice.
    name = values.get("example_set")
    known = study.example_sets.filter(name=name).first() if name else None
    return {"example_set": known.pk if known else name}


class JudgesOfEachCriterion(APIView):
    @described(
        "Create a judge for each criterion",
        tag=TAG,
        description="All have these settings. The name of each ends with its criterion.",
        request=NewJudges,
        responses={201: JudgeSerializer(many=True)},
        refusals={400: REFUSED_SETTINGS, 409: ["name_taken"]},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = {"instructions": INSTRUCTIONS} | checked(NewJudges, request.data)
        form = JudgesForm(study, values | _example_set(study, values))
        made = create_judges(study=study, by=researcher(request), **checked_form(form))
        judges = with_progress(study, pk__in=[judge.pk for judge in made])
        return Response(JudgeSerializer(judges, many=True).data, status=201)


class DeleteJudge(APIView):
    @described(
        "Delete a judge that has not rated",
        tag=TAG,
        responses=NOTHING,
        refusals={409: ["judge_has_ratings"], **NO_SUCH_JUDGE},
    )
    def delete(self, request: Request, study_id: str, judge_id: str) -> Response:
        judge = judge_named(visible_study(request, study_id), judge_id)
        delete_judge(judge=judge, by=researcher(request))
        return Response(status=204)


class TryJudge(APIView):
    @described(
        "Try a judge on five items",
        tag=TAG,
        description="Stores no ratings. The job's result has the prompts and the answers.",
        request=None,
        responses=STARTED,
        refusals={409: ["job_unfinished", "no_items", *UNPLANNED], **NO_SUCH_JUDGE},
    )
    def post(self, request: Request, study_id: str, judge_id: str) -> Response:
        judge = judge_named(visible_study(request, study_id), judge_id)
        return started(try_judge(judge=judge, by=researcher(request)))


class TryInjections(APIView):
    @described(
        "Try prompt injections on a judge",
        tag=TAG,
        description=(
            "Stores no ratings. The job's result counts the answers that moved as a hidden instruction wished"
            " (`moved` of `answered`), and those that moved in the same direction by chance, when the judge was"
            " asked about the same items once more without it (`moved_without` of `asked_again`)."
        ),
        request=None,
        responses=STARTED,
        refusals={409: ["job_unfinished", "no_items", *UNPLANNED], **NO_SUCH_JUDGE},
    )
    def post(self, request: Request, study_id: str, judge_id: str) -> Response:
        judge = judge_named(visible_study(request, study_id), judge_id)
        return started(try_injections(judge=judge, by=researcher(request)))


class StartJudge(APIView):
    @described(
        "Let a judge rate what it has not rated yet",
        tag=TAG,
        request=None,
        responses=STARTED,
        refusals={
            409: ["examples_changed", "job_unfinished", "no_items", "study_is_draft"],
            **NO_SUCH_JUDGE,
        },
    )
    def post(self, request: Request, study_id: str, judge_id: str) -> Response:
        judge = judge_named(visible_study(request, study_id), judge_id)
        return started(start_judging(judge=judge, by=researcher(request)))

"""Machine raters of all kinds: list, create, start, exclude, reinstate and delete; trials of judges."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, Serializer
from rest_framework.views import APIView

from api.access import researcher, visible_study
from api.schema import NOTHING, described
from api.serializers.machine_raters import (
    NEW,
    SHOWN,
    KindQuery,
    MachineExclusionRequest,
    NewMachineRater,
    shown_machines,
)
from api.serializers.studies import JobSerializer
from api.validation import checked, checked_form, refuse_unknown_names
from api.views.jobs import started
from api.views.studies import UNPLANNED
from machine_raters.judging.prompts import INSTRUCTIONS
from machine_raters.judging.services import try_injections, try_judge
from machine_raters.kinds import KINDS
from machine_raters.models import MachineRater
from machine_raters.services.machine_raters import (
    create_machine_rater,
    delete_machine_rater,
    exclude_machine_rater,
    machine_rater_named,
    reinstate_machine_rater,
    start_machine_rater,
)
from studies.models import Study

TAG = "machine raters"
STARTED = {201: JobSerializer}
SHOWN_ONE = {200: shown_machines()}
NO_SUCH = {404: ["no_such_machine_rater"]}
REFUSED_SETTINGS = [
    *("budget_of_all", "equal_answers", "example_without_label", "examples_twice", "few_members"),
    *("no_labels", "no_model", "nothing_to_constrain", "odd_budget", "server_not_used"),
    "too_many_labels",
]
IMPOSSIBLE = [
    *("answers_missing", "encoder_missing", "member_has_budget", "no_items", "no_model"),
    *("no_reference", "no_server", "no_such_server", "nothing_to_decide", "study_is_draft"),
]
NOT_NOW = ["job_unfinished", "machine_rater_excluded"]
TRIED = {409: ["no_items", *NOT_NOW, *UNPLANNED], **NO_SUCH}


class WhichKind(Serializer[Any]):
    kind = ChoiceField(list(NEW))


class MachineRaters(APIView):
    @described(
        "List a study's machine raters",
        tag=TAG,
        description="Judges, simple raters (baselines), juries and synthetic sets.",
        query=KindQuery,
        responses={200: shown_machines(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        only = checked(KindQuery, request.query_params).get("kind")
        kinds = [kind for name, kind in KINDS.items() if only in (None, name)]
        return Response(
            [SHOWN[kind.name](one).data for kind in kinds for one in kind.listed(study)]
        )

    @described(
        "Create a machine rater",
        tag=TAG,
        description="It never changes once it exists. All but judges, which can be tried first, begin"
        " to work at once.",
        request=NewMachineRater,
        responses={201: shown_machines()},
        refusals={
            400: REFUSED_SETTINGS,
            409: [
                *IMPOSSIBLE,
                *("few_passages", "name_taken", "no_example_questions", "no_synthetic_criteria"),
            ],
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        kind = KINDS[checked(WhichKind, request.data)["kind"]]
        serializer = NEW[kind.name]
        refuse_unknown_names(dict(request.data), serializer().fields, "")
        values = _defaults(kind.model) | checked(serializer, request.data)
        settings = checked_form(kind.form(study, values))
        made = create_machine_rater(study=study, kind=kind.name, by=researcher(request), **settings)
        return _shown(study, made.public_id, status=201)


def _defaults(model: type[MachineRater]) -> dict[str, Any]:
    """Return the settings of a new machine rater that need not be sent."""
    fields = [field for field in model._meta.concrete_fields if field.editable]
    known = {field.name: field.get_default() for field in fields if field.has_default()}
    return {"instructions": INSTRUCTIONS, **known}


class OneMachineRater(APIView):
    @described("Show a machine rater", tag=TAG, responses=SHOWN_ONE, refusals=NO_SUCH)
    def get(self, request: Request, study_id: str, rater_id: str) -> Response:
        return _shown(visible_study(request, study_id), rater_id)

    @described(
        "Delete a machine rater without answers",
        tag=TAG,
        description="With everything that was made for it.",
        responses=NOTHING,
        refusals={409: ["has_ratings", "job_unfinished"], **NO_SUCH},
    )
    def delete(self, request: Request, study_id: str, rater_id: str) -> Response:
        machine = machine_rater_named(visible_study(request, study_id), rater_id)
        delete_machine_rater(machine=machine, by=researcher(request))
        return Response(status=204)


class StartMachineRater(APIView):
    @described(
        "Let a machine rater do what is not stored yet",
        tag=TAG,
        request=None,
        responses=STARTED,
        refusals={409: [*IMPOSSIBLE, "examples_changed", "member_excluded", *NOT_NOW], **NO_SUCH},
    )
    def post(self, request: Request, study_id: str, rater_id: str) -> Response:
        machine = machine_rater_named(visible_study(request, study_id), rater_id)
        return started(start_machine_rater(machine=machine, by=researcher(request)))


class ExcludeMachineRater(APIView):
    @described(
        "Exclude a machine rater",
        tag=TAG,
        description="It and its ratings no longer count, and it does nothing more. Nothing is deleted:"
        " exports have them with the flag and the reason. The report lists the exclusion.",
        request=MachineExclusionRequest,
        responses=SHOWN_ONE,
        refusals={409: ["job_unfinished"], **NO_SUCH},
    )
    def post(self, request: Request, study_id: str, rater_id: str) -> Response:
        study = visible_study(request, study_id)
        machine = machine_rater_named(study, rater_id)
        reason = checked(MachineExclusionRequest, request.data)["reason"]
        exclude_machine_rater(machine=machine, reason=reason, by=researcher(request))
        return _shown(study, rater_id)


class ReinstateMachineRater(APIView):
    @described(
        "Reinstate a machine rater",
        tag=TAG,
        description="It and its ratings count again.",
        request=None,
        responses=SHOWN_ONE,
        refusals=NO_SUCH,
    )
    def post(self, request: Request, study_id: str, rater_id: str) -> Response:
        study = visible_study(request, study_id)
        machine = machine_rater_named(study, rater_id)
        reinstate_machine_rater(machine=machine, by=researcher(request))
        return _shown(study, rater_id)


class TryJudge(APIView):
    @described(
        "Try a judge on five items",
        tag=TAG,
        description="Stores no ratings. The job's result has the prompts and the answers.",
        request=None,
        responses=STARTED,
        refusals=TRIED,
    )
    def post(self, request: Request, study_id: str, rater_id: str) -> Response:
        return started(try_judge(judge=_judge(request, study_id, rater_id), by=researcher(request)))


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
        refusals=TRIED,
    )
    def post(self, request: Request, study_id: str, rater_id: str) -> Response:
        judge = _judge(request, study_id, rater_id)
        return started(try_injections(judge=judge, by=researcher(request)))


def _judge(request: Request, study_id: str, rater_id: str) -> Any:
    study = visible_study(request, study_id)
    return machine_rater_named(study, rater_id, MachineRater.Kind.JUDGE)


def _shown(study: Study, public_id: str, status: int = 200) -> Response:
    machine = machine_rater_named(study, public_id)
    [listed] = KINDS[machine.kind].listed(study, pk=machine.pk)
    return Response(SHOWN[machine.kind](listed).data, status=status)

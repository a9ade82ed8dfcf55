"""Machine raters of all kinds: list, create, start, exclude, reinstate and delete; trials of judges."""

from typing import Any

from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, Serializer

from api.resources import Resource, endpoint
from api.serializers.jobs import JobSerializer
from api.serializers.machine_raters import (
    NEW,
    SHOWN,
    KindQuery,
    MachineExclusionRequest,
    NewMachineRater,
    shown_machines,
)
from api.validation import checked, checked_form, refuse_unknown_names
from api.views.jobs import now
from jobs.rows import JobRow
from machine_raters.judging.services import ask_again, try_injections, try_judge
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

ONE = {200: shown_machines()}


class WhichKind(Serializer[Any]):
    kind = ChoiceField(list(NEW))


class MachineRaters(Resource):
    tag = "machine raters"
    lookup_url_kwarg, lookup_value_converter = "rater_id", "public_id"

    def machine(self) -> MachineRater:
        machine: MachineRater = machine_rater_named(self.study(), self.kwargs["rater_id"])
        return machine

    def judge(self) -> Any:
        return machine_rater_named(self.study(), self.kwargs["rater_id"], MachineRater.Kind.JUDGE)

    @endpoint(query=KindQuery, gives={200: shown_machines(many=True)})
    def list(self) -> Response:
        """List a study's machine raters.

        Judges, simple raters (baselines), juries and synthetic sets.
        """
        study, only = self.study(), self.values.get("kind")
        kinds = [kind for name, kind in KINDS.items() if only in {None, name}]
        return Response(
            [SHOWN[kind.name](one).data for kind in kinds for one in kind.listed(study)]
        )

    @endpoint(takes=NewMachineRater, gives={201: shown_machines()})
    def create(self) -> Response:
        """Create a machine rater.

        It never changes once it exists. All but judges, which can be tried first, start
        immediately.
        """
        study, sent = self.study(), self.request.data
        kind = KINDS[checked(WhichKind, sent)["kind"]]
        serializer = NEW[kind.name]
        refuse_unknown_names(dict(sent), serializer().fields, "")
        fields = [field for field in kind.model._meta.concrete_fields if field.editable]
        known = {field.name: field.get_default() for field in fields if field.has_default()}
        asked = checked(serializer, sent)
        values = known | kind.form.defaults(asked) | asked
        settings = checked_form(kind.form(study, values))
        return _shown(
            create_machine_rater(study=study, kind=kind.name, by=self.by, **settings), 201
        )

    @endpoint(gives=ONE)
    def retrieve(self) -> Response:
        """Read a machine rater."""
        return _shown(self.machine())

    @endpoint()
    def destroy(self) -> None:
        """Delete a machine rater without answers.

        With everything that was made for it.
        """
        delete_machine_rater(machine=self.machine(), by=self.by)

    @endpoint(detail=True, gives=JobSerializer, status=201)
    def start(self) -> JobRow:
        """Let a machine rater do what is not stored yet."""
        return now(start_machine_rater(machine=self.machine(), by=self.by))

    @endpoint(detail=True, takes=MachineExclusionRequest, gives=ONE)
    def exclude(self) -> Response:
        """Exclude a machine rater.

        It and its ratings no longer count, and it stops. Nothing is deleted: exports have
        them with the flag and the reason. The report lists the exclusion.
        """
        machine = self.machine()
        exclude_machine_rater(machine=machine, reason=self.values["reason"], by=self.by)
        return _shown(machine)

    @endpoint(detail=True, gives=ONE)
    def reinstate(self) -> Response:
        """Reinstate a machine rater.

        It and its ratings count again.
        """
        machine = self.machine()
        reinstate_machine_rater(machine=machine, by=self.by)
        return _shown(machine)

    @endpoint(detail=True, url_path="try", gives=JobSerializer, status=201)
    def trial(self) -> JobRow:
        """Try a judge on five items.

        Stores no ratings. The job's result has the prompts and the answers.
        """
        return now(try_judge(judge=self.judge(), by=self.by))

    @endpoint(detail=True, gives=JobSerializer, status=201)
    def injections(self) -> JobRow:
        """Try prompt injections on a judge.

        Stores no ratings. The job's result counts the answers that moved as a hidden instruction wished
        (`moved` of `answered`), and those that moved in the same direction by chance, when the judge was
        asked about the same items once more without it (`moved_without` of `asked_again`).
        """
        return now(try_injections(judge=self.judge(), by=self.by))

    @endpoint(detail=True, url_path="ask-again", gives=JobSerializer, status=201)
    def again(self) -> JobRow:
        """Send a judge prompts again that it has answered.

        A test of its server: up to 100 prompts of each criterion, the same each time. Stores no ratings.
        The judge's `asked_again` says how often the verdict was the same.
        """
        return now(ask_again(judge=self.judge(), by=self.by))


def _shown(machine: MachineRater, status: int = 200) -> Response:
    [listed] = KINDS[machine.kind].listed(machine.study, pk=machine.pk)
    return Response(SHOWN[machine.kind](listed).data, status=status)

"""A machine rater of each kind, with and without answers, all in a study of pairs of answers."""

from typing import Any

from jobs.models import Job
from machine_raters.judging.services import check_judge
from machine_raters.juries.verdicts import possible_members
from machine_raters.kinds import KINDS
from machine_raters.models import MachineRater
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from studies.models import Study
from tests.machine_raters.synthetic.test_synthetic import judge_of, writes

CRITERION = "faithfulness"
SERVER = {"server": "here", "language_model": "tiny"}


def settings_of(kind: str, name: str = "machine") -> dict[str, Any]:
    """What a program sends to create one of a kind, besides the kind."""
    own = {
        "judge": SERVER | {"criterion": CRITERION},
        "baseline": {"criterion": CRITERION, "method": "longer"},
        "jury": {"criterion": CRITERION, "members": ["first", "second"]},
        "synthetic-set": SERVER,
    }
    return {"name": name, **own[kind]}


def prepare(kind: str, study: Study, model: Any) -> None:
    """Give the study what one of a kind needs: a jury its members."""
    model(writes if kind == "synthetic-set" else lambda request: "A is better")
    if kind == "jury":
        for name, method in (("first", "longer"), ("second", "shorter")):
            values = settings_of("baseline", name) | {"method": method}
            create(study, "baseline", values)


def create(study: Study, kind: str, values: dict[str, Any]) -> Any:
    values = dict(values)
    if "criterion" in values:
        values["criterion"] = study.criteria.get(name=values["criterion"])
    if kind == "judge":
        one = [values.pop("criterion").name] if "criterion" in values else []
        names = values.get("criteria", one)
        values["criteria"] = list(study.criteria.filter(name__in=names))
    if "members" in values:
        values["members"] = list(possible_members(study).filter(pseudonym__in=values["members"]))
    if kind == "judge":
        values["instructions"] = "{question} {answers}"
    made = create_machine_rater(study=study, kind=kind, **values)
    return KINDS[kind].of(study).get(pk=made.pk)


def idle(kind: str, study: Study, model: Any, monkeypatch: Any, name: str = "machine") -> Any:
    """Return one without answers, whose job was stopped before a worker came."""
    prepare(kind, study, model)
    with monkeypatch.context() as without_workers:
        without_workers.setattr("jobs.services.enqueue", lambda *_, **__: None)
        made = create(study, kind, settings_of(kind, name))
    Job.objects.filter(status="queued").update(status="stopped")
    return made


def answered(kind: str, study: Study, model: Any) -> Any:
    """Return one that has answered all items or, of a synthetic set, whose items were answered."""
    prepare(kind, study, model)
    made = create(study, kind, settings_of(kind))
    if kind == "judge":
        start_machine_rater(machine=made)
    if kind == "synthetic-set":
        model(lambda request: "A is better")
        check_judge(judge=judge_of(study, CRITERION), made=made)
    assert KINDS[kind].answers(made)
    return made


def again(machine: MachineRater) -> Any:
    return KINDS[machine.kind].of(machine.study).get(pk=machine.pk)

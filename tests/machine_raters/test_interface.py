"""Machine raters by the interface: the same requests for each kind."""

import json

import pytest
from django.contrib.auth.models import User

from jobs.models import Job
from machine_raters.forms import JudgeForm
from machine_raters.kinds import KINDS
from machine_raters.models import MachineRater, SyntheticVerdict
from studies.models import Instance, Membership
from tests.api.clients import at, problem_of, program
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import again, answered, idle, prepare, settings_of
from tests.machine_raters.synthetic.rag import make_rag_study
from tiebreak.formats.shown_fields import written_value

pytestmark = pytest.mark.django_db
__all__ = ["model"]
REASON = {"reason": "the wrong settings"}
each_kind = pytest.mark.parametrize("kind", KINDS)
LIST = "machine-rater-list"
VERBS = tuple(f"machine-rater-{verb}" for verb in ("start", "exclude", "reinstate", "again"))
TRIALS = ("machine-rater-trial", "machine-rater-injections")


@pytest.fixture
def study():
    return make_rag_study(
        owner=User.objects.create_user("ada", is_staff=True), protocol="rag-pairs"
    )


@pytest.fixture
def ada(study):
    return program(User.objects.get(username="ada"))


def post(asker, address, body=None):
    return asker.post(address, json.dumps(body or {}), content_type="application/json")


@each_kind
def test_one_is_created_listed_shown_and_started(ada, study, model, kind):
    prepare(kind, study, model)
    body = settings_of(kind) | {"kind": kind}
    made = post(ada, at(LIST, study.pk), body)
    assert made.status_code == 201, made.content
    shown = made.json()
    assert (shown["kind"], shown["name"]) == (kind, "machine")
    assert (shown["excluded"], shown["excluded_reason"]) == (False, "")
    where = [study.pk, shown["id"]]
    assert ada.get(at("machine-rater-detail", *where)).json() == shown
    assert shown in ada.get(at(LIST, study.pk)).json()
    for other in KINDS:
        listed = ada.get(at(LIST, study.pk), {"kind": other}).json()
        assert (shown in listed) == (other == kind)
    assert problem_of(post(ada, at(LIST, study.pk), body)) == (409, "name_taken")
    started = post(ada, at("machine-rater-start", *where))
    if kind == "jury":
        assert problem_of(started) == (409, "nothing_to_decide")
    else:
        assert (started.status_code, started.json()["kind"]) == (201, KINDS[kind].job.name)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"with_reference": True, "reference_field": "nowhere"}, "unknown_column"),
        ({"with_reference": False, "reference_field": "written"}, "reference_not_shown"),
    ],
)
def test_a_reference_from_a_column_that_does_not_exist_or_is_not_shown_is_refused(
    ada, study, model, changes, code
):
    prepare("judge", study, model)
    Instance.objects.filter(dataset=study.dataset).update(metadata={"written": "x"})
    body = settings_of("judge") | {"kind": "judge"} | changes
    refused = post(ada, at(LIST, study.pk), body)
    assert refused.status_code == 400
    (problem,) = refused.json()["problems"]
    assert (problem["field"], problem["code"]) == ("reference_field", code)


def test_the_form_of_a_judge_offers_the_columns_that_could_be_the_reference(study):
    assert JudgeForm(study)["reference_field"].is_hidden
    Instance.objects.filter(dataset=study.dataset).update(metadata={"written": "x", "topic": "y"})
    field = JudgeForm(study)["reference_field"]
    assert not field.is_hidden
    offered = [(value, words) for value, words in field.field.widget.choices if value]
    assert offered == [("topic", "topic"), ("written", "written")]
    written = written_value("x", {"model": "m"})
    Instance.objects.filter(dataset=study.dataset).update(metadata={"written": written})
    _, (value, words) = JudgeForm(study)["reference_field"].field.widget.choices
    assert value == "written"
    assert words != value


def test_a_form_opens_the_fold_that_has_what_its_address_chose(study):
    Instance.objects.filter(dataset=study.dataset).update(metadata={"written": "x"})
    assert not JudgeForm(study).fill({"preset": "href"}).is_further_open()
    asked = {"preset": "href", "reference_field": "written"}
    form = JudgeForm(study).fill(asked)
    assert form.is_further_open()
    assert (form["reference_field"].value(), form["with_reference"].value()) == ("written", True)


@each_kind
def test_what_is_unknown_or_wrong_is_refused(ada, study, model, kind):
    prepare(kind, study, model)
    body, before = settings_of(kind, "new") | {"kind": kind}, MachineRater.objects.count()
    others = {"judge": "rule", "baseline": "members", "jury": "seed", "synthetic-set": "method"}
    for changes, field in (
        ({others[kind]: 1}, others[kind]),
        ({"praise": 1}, "praise"),
        ({"kind": "oracle"}, "kind"),
        ({"name": ""}, "name"),
        *([({"criterion": "beauty"}, "criterion")] if "criterion" in body else []),
        *([({"members": ["first", "nobody"]}, "members")] if "members" in body else []),
    ):
        refused = post(ada, at(LIST, study.pk), body | changes)
        assert refused.status_code == 400, changes
        assert [problem["field"] for problem in refused.json()["problems"]] == [field]
    assert MachineRater.objects.count() == before


def test_a_judge_of_several_criteria_is_created_by_their_names(ada, study, model):
    model(lambda request: "A")
    names, where = [*study.criteria.values_list("name", flat=True)], at(LIST, study.pk)
    body = settings_of("judge") | {"kind": "judge", "criteria": names[1:], "criterion": names[0]}
    made = post(ada, where, body).json()
    assert [one["criterion"] for one in made["criteria"]] == names
    assert made["asks_together"] is False
    del body["criterion"]
    again = post(ada, where, body | {"name": "together", "asks_together": True}).json()
    assert ([one["criterion"] for one in again["criteria"]], again["asks_together"]) == (
        names[1:],
        True,
    )
    for wrong in ({}, {"criteria": []}, {"criteria": ["beauty"]}):
        del body["criteria"], body["name"]
        body |= {"name": "third", "criteria": None} | wrong
        sent = {name: value for name, value in body.items() if value is not None}
        assert post(ada, where, sent).json()["problems"][0]["field"].startswith("criteria")


@each_kind
def test_one_without_answers_is_deleted(ada, study, model, monkeypatch, kind):
    made = idle(kind, study, model, monkeypatch)
    address = at("machine-rater-detail", study.pk, made.public_id)
    assert ada.delete(address).status_code == 204
    for answer in (ada.get(address), ada.delete(address)):
        assert problem_of(answer) == (404, "no_such_machine_rater")


@each_kind
def test_one_with_answers_is_excluded_and_reinstated(ada, study, model, kind):
    made = answered(kind, study, model)
    where = [study.pk, made.public_id]
    address = at("machine-rater-detail", *where)
    assert problem_of(ada.delete(address)) == (409, "has_ratings")
    exclude = at("machine-rater-exclude", *where)
    assert post(ada, exclude, {"reason": ""}).status_code == 400
    shown = post(ada, exclude, REASON).json()
    assert (shown["excluded"], shown["excluded_reason"]) == (True, REASON["reason"])
    assert ada.get(address).json() == shown
    started = post(ada, at("machine-rater-start", *where))
    assert problem_of(started) == (409, "machine_rater_excluded")
    shown = post(ada, at("machine-rater-reinstate", *where)).json()
    assert (shown["excluded"], shown["excluded_reason"]) == (False, "")


def test_a_judge_is_tried_and_stores_nothing(ada, study, model, monkeypatch):
    made = idle("judge", study, model, monkeypatch)
    for name, kind in zip(TRIALS, ("judge-dry-run", "judge-injections"), strict=True):
        tried = post(ada, at(name, study.pk, made.public_id))
        assert (tried.status_code, tried.json()["kind"]) == (201, kind)
    assert not made.rater.ratings.exists()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "judge"])
def test_only_judges_are_tried(ada, study, model, monkeypatch, kind):
    made = idle(kind, study, model, monkeypatch)
    for name in TRIALS:
        tried = post(ada, at(name, study.pk, made.public_id))
        assert problem_of(tried) == (404, "no_such_machine_rater")


@pytest.mark.parametrize("role", ["analyst", "stranger", "elsewhere"])
@each_kind
def test_who_may_not_change_the_study_changes_nothing(study, model, monkeypatch, kind, role):
    """Nor does the owner of another study, who asks there for this study's machine rater."""
    made, before = idle(kind, study, model, monkeypatch), MachineRater.objects.count()
    eve = User.objects.create_user("eve", is_staff=True)
    if role == "analyst":
        Membership.objects.create(study=study, user=eve, role=role)
    here = make_rag_study(owner=eve).pk if role == "elsewhere" else study.pk
    status = 403 if role == "analyst" else 404
    asked, where = program(eve), [here, made.public_id]
    answers = [
        asked.delete(at("machine-rater-detail", *where)),
        *(post(asked, at(name, *where), REASON if "exclude" in name else None) for name in VERBS),
        *(post(asked, at(name, *where)) for name in TRIALS),
    ]
    if role != "elsewhere":
        answers.append(post(asked, at(LIST, here), settings_of(kind, "x") | {"kind": kind}))
    assert {answer.status_code for answer in answers} == {status}
    seen = asked.get(at("machine-rater-detail", *where))
    assert seen.status_code == (200 if role == "analyst" else 404)
    assert (again(made).excluded, MachineRater.objects.count()) == (False, before)
    assert not Job.objects.exclude(status="stopped").exclude(status="done").exists()
    assert not SyntheticVerdict.objects.exists()

"""Synthetic sets made by mistake: deleted before a judge is tested, excluded and reinstated later."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.study_export import export_study
from jobs.models import Job
from machine_raters.messages import SYNTHETIC_EXCLUDED
from machine_raters.models import SyntheticItem, SyntheticSet, SyntheticText, SyntheticVerdict
from machine_raters.synthetic.accuracy import accuracies
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from machine_raters.synthetic.making_job import SyntheticJob
from machine_raters.synthetic.services import (
    check_judge,
    continue_synthetic_set,
    delete_synthetic_set,
    exclude_synthetic_set,
    reinstate_synthetic_set,
)
from metrics.exports.document.study_facts import deviation_table
from metrics.exports.document.synthetic import synthetic_sections
from studies.models import Membership, StudyEvent
from tests.api.clients import at, problem_of, program
from tests.confirming import post_confirmed
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.machine_raters.synthetic.test_synthetic import judge_of, make, writes
from tests.pages import codes_on, page_of
from tests.refusals import refused

pytestmark = pytest.mark.django_db
__all__ = ["model"]
JSON = "application/json"
REASON = "the wrong model"


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_rag_study(owner=user)


@pytest.fixture
def made(study, model) -> SyntheticSet:
    return make(study, model)


@pytest.fixture
def tested(made, model) -> SyntheticSet:
    model(lambda request: "no")
    check_judge(judge=judge_of(made.study, "faithfulness"), made=made)
    assert SyntheticVerdict.objects.count() == 12
    return made


def test_one_without_answers_is_deleted_with_its_texts(made):
    ada = User.objects.get()
    delete_synthetic_set(made=made, by=ada)
    for table in (SyntheticSet, SyntheticText, SyntheticItem):
        assert not table.objects.exists()
    event = made.study.events.get(verb=StudyEvent.Verb.DELETE_SYNTHETIC)
    assert (event.by, event.details) == (ada, {"set": "made up"})


def test_one_that_a_judge_was_tested_on_is_not_deleted(tested):
    with refused("synthetic_set_has_answers"):
        delete_synthetic_set(made=tested)
    assert SyntheticVerdict.objects.count() == 12
    assert not tested.study.events.filter(verb=StudyEvent.Verb.DELETE_SYNTHETIC).exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("status", ["queued", "running", "paused"])
@pytest.mark.parametrize("kind", ["synthetic", "synthetic-check"])
def test_one_at_work_is_neither_deleted_nor_excluded(tested, status, kind):
    Job.objects.filter(kind=kind).update(status=status)
    SyntheticVerdict.objects.all().delete()
    with refused("job_unfinished"):
        delete_synthetic_set(made=tested)
    with refused("job_unfinished"):
        exclude_synthetic_set(made=tested, reason=REASON)
    Job.objects.update(status="stopped")
    assert exclude_synthetic_set(made=tested, reason=REASON)
    delete_synthetic_set(made=tested)


def test_an_excluded_one_leaves_the_results_and_comes_back(tested):
    study = tested.study
    other = SyntheticSet.objects.create(study=study, name="other", server="here")
    before = accuracies(study)
    assert [one.synthetic_set for one in before] == [tested.pk]
    assert len(synthetic_sections(study)) == 1
    assert exclude_synthetic_set(made=tested, reason=f" {REASON} ")
    assert accuracies(study) == []
    assert synthetic_sections(study) == []
    other.refresh_from_db()
    assert not other.excluded
    assert reinstate_synthetic_set(made=tested)
    assert accuracies(study) == before
    assert len(synthetic_sections(study)) == 1


def test_what_is_excluded_or_reinstated_twice_changes_once(tested):
    assert not reinstate_synthetic_set(made=tested)
    assert exclude_synthetic_set(made=tested, reason=REASON)
    assert not exclude_synthetic_set(made=tested, reason="another")
    assert SyntheticSet.objects.get().excluded_reason == REASON
    assert reinstate_synthetic_set(made=tested)
    assert not reinstate_synthetic_set(made=tested)
    logged = tested.study.events.filter(verb__endswith="e-synthetic").order_by("pk")
    assert [(event.verb, event.details) for event in logged] == [
        ("exclude-synthetic", {"set": "made up", "reason": REASON}),
        ("reinstate-synthetic", {"set": "made up"}),
    ]
    rows = [row[1] for row in deviation_table(tested.study).rows]
    assert rows == ["excluded a synthetic set", "reinstated a synthetic set"]


def test_a_reason_is_needed(tested):
    with refused("no_reason"):
        exclude_synthetic_set(made=tested, reason="")
    assert not SyntheticSet.objects.get().excluded


def test_nothing_more_is_asked_about_an_excluded_one(tested, model):
    judge = judge_of(tested.study, "answer relevance")
    exclude_synthetic_set(made=tested, reason=REASON)
    models, excluded = model(lambda request: "yes"), SyntheticSet.objects.get()
    with refused("synthetic_set_excluded"):
        check_judge(judge=judge, made=excluded)
    with refused("synthetic_set_excluded"):
        continue_synthetic_set(made=excluded)
    for kind in (SyntheticJob(), SyntheticCheckJob()):
        job = Job.objects.get(kind=kind.name)
        with refused("synthetic_set_excluded"):
            list(kind.plan(job))
        with refused("synthetic_set_excluded"):
            list(kind.run(job, {}))
    assert models.asked == []
    reinstate_synthetic_set(made=tested)
    check_judge(judge=judge, made=SyntheticSet.objects.get())
    assert judge.synthetic_verdicts.exists()


def test_answers_that_come_after_an_exclusion_are_not_stored(made, model):
    """The worker had asked before its job was stopped and the set was excluded."""

    def answers(_):
        SyntheticSet.objects.update(excluded=True)
        return "no"

    model(answers)
    check_judge(judge=judge_of(made.study, "faithfulness"), made=made)
    assert not SyntheticVerdict.objects.exists()
    job = Job.objects.get(kind="synthetic-check")
    assert (job.status, job.problem) == ("failed", SYNTHETIC_EXCLUDED)


def test_texts_that_come_after_an_exclusion_are_not_stored(made, model):
    made.texts.filter(kind="evasion").delete()

    def answers(request):
        SyntheticSet.objects.update(excluded=True)
        return writes(request)

    model(answers)
    continue_synthetic_set(made=made)
    assert not made.texts.filter(kind="evasion").exists()
    job = Job.objects.filter(kind="synthetic").latest("pk")
    assert (job.status, job.problem) == ("failed", SYNTHETIC_EXCLUDED)


def test_exports_keep_it_with_the_flag_and_the_reason(tested, tmp_path):
    exclude_synthetic_set(made=tested, reason=REASON)
    export_study(study=tested.study, out=tmp_path / "export")
    for name, number in (("synthetic_texts.jsonl", 16), ("synthetic_items.jsonl", 20)):
        lines = (tmp_path / "export" / name).read_text().splitlines()
        rows = list(map(json.loads, lines))
        assert len(rows) == number
        assert {(row["excluded"], row["excluded_reason"]) for row in rows} == {(True, REASON)}
    assert sum(len(row["verdicts"]) for row in rows) == 12


def act(client, made, action, **data):
    address = reverse(f"machine_raters:{action}-synthetic", args=[made.study_id, made.public_id])
    return post_confirmed(client, address, data)


def shown(client, made) -> str:
    return client.get(reverse("machine_raters:synthetic", args=[made.study_id])).content.decode()


def test_the_page_deletes_after_a_confirmation(client, made):
    address = reverse("machine_raters:delete-synthetic", args=[made.study_id, made.public_id])
    assert address in shown(client, made)
    assert page_of(client.post(address)) == "confirm"
    assert SyntheticSet.objects.exists()
    assert page_of(act(client, made, "delete")) == "synthetic"
    assert not SyntheticSet.objects.exists()
    for action in ("delete", "exclude", "reinstate"):
        assert codes_on(act(client, made, action)) == {"no_such_synthetic_set"}


def test_the_page_excludes_with_a_reason_and_reinstates(client, tested):
    judge = tested.study.judges.get()
    test = reverse(
        "machine_raters:check-synthetic", args=[tested.study_id, tested.public_id, judge.public_id]
    )
    addresses = [
        reverse(f"machine_raters:{action}-synthetic", args=[tested.study_id, tested.public_id])
        for action in ("delete", "exclude", "reinstate", "start")
    ]
    page = shown(client, tested)
    assert [address in page for address in (*addresses, test)] == [False, True, False, True, True]
    assert codes_on(act(client, tested, "delete")) == {"synthetic_set_has_answers"}
    assert page_of(client.get(addresses[1])) == "exclude"
    assert act(client, tested, "exclude", reason="").status_code == 400
    assert REASON in act(client, tested, "exclude", reason=REASON).content.decode()
    page = shown(client, tested)
    assert [address in page for address in (*addresses, test)] == [False, False, True, False, False]
    assert codes_on(client.post(test, follow=True)) == {"synthetic_set_excluded"}
    assert REASON not in act(client, tested, "reinstate").content.decode()
    assert not SyntheticSet.objects.get().excluded


def test_the_same_by_the_interface(tested):
    ada, where = program(User.objects.get()), [tested.study_id, tested.public_id]
    deleted = ada.delete(at("synthetic-set", *where))
    assert problem_of(deleted) == (409, "synthetic_set_has_answers")
    exclude = at("exclude-synthetic-set", *where)
    assert ada.post(exclude, {}, content_type=JSON).status_code == 400
    row = ada.post(exclude, {"reason": REASON}, content_type=JSON).json()
    assert (row["excluded"], row["excluded_reason"]) == (True, REASON)
    [listed] = ada.get(at("synthetic-sets", tested.study_id)).json()
    assert (listed["set"], listed["judges"]) == (row, [])
    start = ada.post(at("start-synthetic-set", *where))
    assert problem_of(start) == (409, "synthetic_set_excluded")
    row = ada.post(at("reinstate-synthetic-set", *where)).json()
    assert not row["excluded"]
    [listed] = ada.get(at("synthetic-sets", tested.study_id)).json()
    assert len(listed["judges"]) == 1
    SyntheticVerdict.objects.all().delete()
    assert ada.delete(at("synthetic-set", *where)).status_code == 204
    assert problem_of(ada.delete(at("synthetic-set", *where))) == (404, "no_such_synthetic_set")


@pytest.mark.parametrize(("role", "status"), [("analyst", 403), ("", 404)])
def test_who_may_not_change_the_study_changes_nothing(client, tested, role, status):
    eve = User.objects.create_user("eve", is_staff=True)
    if role:
        Membership.objects.create(study=tested.study, user=eve, role=role)
    client.force_login(eve)
    for action in ("delete", "exclude", "reinstate"):
        assert act(client, tested, action, reason=REASON).status_code == status
    asked, where = program(eve), [tested.study_id, tested.public_id]
    answers = [
        asked.delete(at("synthetic-set", *where)),
        asked.post(at("exclude-synthetic-set", *where), {"reason": REASON}, content_type=JSON),
        asked.post(at("reinstate-synthetic-set", *where)),
    ]
    assert {answer.status_code for answer in answers} == {status}
    assert not SyntheticSet.objects.get().excluded

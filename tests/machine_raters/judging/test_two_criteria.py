"""One judge that rates by two criteria: one setting, and a question for each criterion."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.models import Assignment, Rating
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.exported_synthetic import item_rows
from machine_raters.judging.injection_job import INJECTIONS
from machine_raters.judging.services import check_judge, copy_judge, try_injections, try_judge
from machine_raters.kinds import KINDS
from machine_raters.messages import ALWAYS_FIRST
from machine_raters.models import Judge, JudgeCriterion, JudgeFailure, SyntheticVerdict
from machine_raters.services.machine_raters import (
    delete_machine_rater,
    exclude_machine_rater,
    reinstate_machine_rater,
    start_machine_rater,
)
from machine_raters.synthetic.accuracy import accuracies
from recruitment.services.cloning import clone_study
from tests.annotation.tallies import recount, stored_tallies
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import again, create, settings_of
from tests.machine_raters.sections import section_on
from tests.machine_raters.synthetic.rag import make_study_of_two_questions
from tests.machine_raters.synthetic.test_synthetic import writes
from tests.refusals import refused
from tiebreak.gateway import Failed, GatewayError

pytestmark = pytest.mark.django_db
__all__ = ["model"]
FIRST, SECOND = "faithfulness", "answer relevance"
ITEMS, PASSES = 4, 8
BOTH = settings_of("judge") | {"criteria": [FIRST, SECOND]}


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_study_of_two_questions(user)


@pytest.fixture
def judge(study) -> Judge:
    return create(study, "judge", BOTH)


def answers(request) -> str:
    return "A" if f"about {FIRST}?" in request.prompt[0].content else "B"


def test_it_rates_every_item_by_each_criterion_in_one_job(study, judge, model):
    models = model(answers)
    job = start_machine_rater(machine=judge)
    job.refresh_from_db()
    assert (job.status, job.done, job.total) == ("done", 2 * PASSES, 2 * PASSES)
    rows = list(rating_rows(study))
    shown = {(row["criterion"], row["order"], row["label"]) for row in rows}
    assert shown == {
        *((FIRST, "ab", -1), (FIRST, "ba", 1)),
        *((SECOND, "ab", 1), (SECOND, "ba", -1)),
    }
    assert len({(row["unit"], row["order"], row["criterion"]) for row in rows}) == 2 * PASSES
    # One for each task and order, as of a judge of one criterion.
    assert Assignment.objects.filter(rater=judge.rater).count() == 2
    assert stored_tallies(study=study) == recount(study=study)
    models.asked.clear()
    start_machine_rater(machine=judge)
    assert models.asked == []


def test_what_failed_by_one_criterion_is_asked_again_by_that_one_only(study, judge, model):
    wrong = GatewayError("too_long", "Too long.")
    model(lambda r: "A" if answers(r) == "A" else Failed(r.id, wrong))
    start_machine_rater(machine=judge)
    failures = JudgeFailure.objects.values_list("criterion__name", "code").distinct()
    assert set(failures) == {(SECOND, "too_long")}
    assert JudgeFailure.objects.count() == PASSES
    [listed] = KINDS["judge"].listed(study)
    assert (listed.answers, listed.progress.failed) == (PASSES, PASSES)
    models = model(answers)
    start_machine_rater(machine=judge)
    assert len(models.asked) == PASSES
    assert not JudgeFailure.objects.exists()


def test_the_same_question_may_fail_by_both(judge, model):
    model(lambda request: Failed(request.id, GatewayError("too_long", "Too long.")))
    start_machine_rater(machine=judge)
    assert JudgeFailure.objects.count() == 2 * PASSES
    open_by_second = []

    def reply(request):
        failures = JudgeFailure.objects.filter(criterion__name=SECOND)
        open_by_second.append(failures.count())
        return "A"

    model(reply)
    start_machine_rater(machine=judge)
    assert {*open_by_second} == {PASSES}  # those of the first were answered meanwhile
    assert not JudgeFailure.objects.exists()


def test_progress_counts_both_and_warns_by_criterion(client, study, model):
    model(answers)
    judge = create(study, "judge", BOTH | {"runs": 2, "temperature": 0.5})
    start_machine_rater(machine=judge)
    page = client.get(reverse("machine_raters:judges", args=[study.pk]))
    [row] = section_on(page, "judge")["rows"]
    assert row["asked"] == row["machine"].answers == Rating.objects.count() == 4 * PASSES
    assert (row["open"], row["start"]) == (0, "")
    assert row["machine"].progress.warnings == [
        ALWAYS_FIRST.format(number=2 * PASSES, letter=letter) for letter in "AB"
    ]
    for name in (FIRST, SECOND):
        assert name in page.content.decode()


def test_a_trial_and_injections_ask_by_both(judge, model):
    models = model(answers)
    job = try_judge(judge=judge)
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 2 * ITEMS)
    tried = [answer["criterion"] for answer in job.result["answers"]]
    assert tried == [FIRST] * ITEMS + [SECOND] * ITEMS
    assert job.result["total"] == 2 * PASSES
    models.asked.clear()
    job = try_injections(judge=judge)
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", job.total)
    assert (job.result["items"], job.result["readable"]) == (2 * ITEMS, 2 * ITEMS)
    asked = {name: sum(name in str(r.prompt[0]) for r in models.asked) for name in (FIRST, SECOND)}
    assert min(asked.values()) > len(INJECTIONS)
    assert not Rating.objects.exists()


def test_steps_are_written_for_each_criterion(study, model):
    made = create(study, "judge", BOTH | {"writes_steps": True})

    def reply(request):
        return f"Steps: {request.prompt[0].content[-200:]}" if request.id == "steps" else "A"

    models = model(reply)
    start_machine_rater(machine=made)
    assert [request.id for request in models.asked].count("steps") == 2
    prompts = {one.criterion.name: one.steps_prompt for one in again(made).questions.all()}
    assert {name: f"about {name}?" in prompt for name, prompt in prompts.items()} == {
        FIRST: True,
        SECOND: True,
    }


def test_exports_have_a_row_for_each_criterion(study, judge, model):
    model(answers)
    start_machine_rater(machine=judge)
    rows = list(machine_rater_rows(study))
    assert [(row["rater"], row["criterion"]) for row in rows] == [
        ("machine", FIRST),
        ("machine", SECOND),
    ]
    assert [[one["answers"] for one in row["answers"]] for row in rows] == [[PASSES], [PASSES]]


def test_it_is_tested_on_synthetic_items_by_each_criterion(study, judge, model):
    model(writes)
    made = create(study, "synthetic-set", settings_of("synthetic-set", "set"))
    models = model(answers)
    check_judge(judge=judge, made=made)
    tested = {one.criterion: one.items for one in accuracies(study)}
    assert tested == {FIRST: 16, SECOND: 16}
    assert SyntheticVerdict.objects.count() == len(models.asked) == 32
    named = [row["criterion"] for item in item_rows(study) for row in item["verdicts"]]
    assert (named.count(FIRST), named.count(SECOND)) == (16, 16)
    models.asked.clear()
    check_judge(judge=judge, made=made)
    assert models.asked == []


def test_it_is_excluded_as_a_whole_and_deleted_with_its_criteria(study, judge, model):
    model(answers)
    start_machine_rater(machine=judge)
    exclude_machine_rater(machine=judge, reason="wrong")
    assert Rating.objects.filter(excluded=True).count() == 2 * PASSES
    reinstate_machine_rater(machine=judge)
    with refused("has_ratings"):
        delete_machine_rater(machine=judge)
    other = create(study, "judge", BOTH | {"name": "other"})
    delete_machine_rater(machine=other)
    assert set(JudgeCriterion.objects.values_list("judge", flat=True)) == {judge.pk}


def test_a_copy_has_both_criteria(study, judge):
    judge.questions.update(steps="Read.", steps_prompt="Which?")
    copy = copy_judge(judge=judge, study=clone_study(study=study).study)
    assert [(one.criterion.name, one.steps) for one in copy.questions.all()] == [
        (FIRST, "Read."),
        (SECOND, "Read."),
    ]
    assert {one.criterion.study for one in copy.questions.all()} == {copy.study}

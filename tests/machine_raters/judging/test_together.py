"""A judge that is asked about several criteria in one question, whose answer has a line for each."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.models import Rating
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging.injection_job import INJECTIONS
from machine_raters.judging.services import try_injections, try_judge
from machine_raters.kinds import KINDS
from machine_raters.models import Judge, JudgeFailure, Verdict
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from studies.models import Unit
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import create, settings_of
from tests.machine_raters.sections import codes_of, section_on
from tests.machine_raters.synthetic.rag import make_study_of_two_questions
from tests.refusals import refused
from tiebreak.asking.prompts import INSTRUCTIONS
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled

pytestmark = pytest.mark.django_db
__all__ = ["model"]
FIRST, SECOND = "faithfulness", "answer relevance"
ITEMS, PASSES = 4, 8
BOTH = settings_of("judge") | {"criteria": [FIRST, SECOND], "asks_together": True}


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_study_of_two_questions(user)


def lines(first: str, second: str) -> str:
    return f"Relevance: A, I think.\n\n**{FIRST}**: {first}\n2. Answer relevance: {second}."


def test_one_request_rates_an_item_by_both(study, model):
    models = model(lambda request: lines("A", "B"))
    judge = create(study, "judge", BOTH)
    job = start_machine_rater(machine=judge)
    job.refresh_from_db()
    assert (job.status, job.done, job.total, len(models.asked)) == ("done", PASSES, PASSES, PASSES)
    assert {(row["criterion"], row["order"], row["label"]) for row in rating_rows(study)} == {
        *((FIRST, "ab", -1), (FIRST, "ba", 1)),
        *((SECOND, "ab", 1), (SECOND, "ba", -1)),
    }
    prompt = models.asked[0].prompt[0].content
    assert all(f"{name}: Question about {name}?" in prompt for name in (FIRST, SECOND))
    models.asked.clear()
    start_machine_rater(machine=judge)
    assert models.asked == []
    assert [row["settings"]["asks_together"] for row in machine_rater_rows(study)] == [True, True]


def test_two_criteria_in_one_question_are_stored_with_the_statements_of_one(study, model):
    model(lambda request: lines("A", "B") if "Answer relevance:" in str(request.prompt) else "A")
    statements = []
    for settings in (settings_of("judge", "alone") | {"criterion": FIRST}, BOTH):
        judge = create(study, "judge", settings)
        with CaptureQueriesContext(connection) as seen:
            start_machine_rater(machine=judge)
        assert judge.verdicts.count() == PASSES * judge.questions.count()
        assert sum("INTO annotation_tally" in one["sql"] for one in seen) == 1
        statements.append(len(seen))
    alone, both = statements
    assert both <= alone + 1


def test_the_tokens_of_a_request_are_counted_once(study, model):
    def reply(request):
        sample = Sample(lines("A", "B"), "stop", request.seed, 7)
        return Sampled(request.id, (sample,), "tiny-1", prompt_tokens=101)

    models = model(reply)
    prices = {"prompt_price": 500_000, "answer_price": 500_000}
    start_machine_rater(machine=create(study, "judge", BOTH | prices))
    alone = create(study, "judge", settings_of("judge", "alone") | prices)
    start_machine_rater(machine=alone)
    both, one = (row.progress for row in KINDS["judge"].listed(study))
    assert len(models.asked) == 2 * PASSES
    assert both.cost == one.cost
    assert both.cost.tokens == 7 * PASSES
    assert Verdict.objects.filter(judge__name="alone").count() == PASSES
    assert Verdict.objects.exclude(judge__name="alone").count() == 2 * PASSES


def test_a_line_that_is_missing_is_unreadable_for_its_criterion_only(study, model):
    model(lambda request: f"answer {SECOND} is good\n{FIRST}: A")
    start_machine_rater(machine=create(study, "judge", BOTH))
    unread = Rating.objects.filter(label=None).values_list("criterion__name", flat=True)
    assert [*unread] == [SECOND] * PASSES
    assert Rating.objects.filter(criterion__name=FIRST, label=None).count() == 0


def test_what_failed_is_asked_again_for_both(study, model):
    model(lambda r: Failed(r.id, GatewayError("too_long", "Too long.")))
    judge = create(study, "judge", BOTH)
    start_machine_rater(machine=judge)
    assert JudgeFailure.objects.count() == 2 * PASSES
    models = model(lambda request: lines("A", "B"))
    start_machine_rater(machine=judge)
    assert (len(models.asked), JudgeFailure.objects.count()) == (PASSES, 0)
    assert Rating.objects.count() == 2 * PASSES


def test_examples_have_a_line_for_each_criterion(study, model):
    unit = Unit.objects.with_texts().first()
    Unit.objects.filter(pk=unit.pk).update(role="training", known_labels={FIRST: -1, SECOND: 1})
    other = Unit.objects.exclude(pk=unit.pk).first()
    Unit.objects.filter(pk=other.pk).update(role="training", known_labels={FIRST: -1})
    models = model(lambda request: lines("A", "B"))
    judge = create(study, "judge", BOTH | {"examples": 2})
    first, second = judge.questions.all()
    assert first.examples_sha256 == second.examples_sha256
    start_machine_rater(machine=judge)
    [example] = [turn.content for turn in models.asked[0].prompt if turn.role == "assistant"]
    assert example == f"{FIRST}: A\n{SECOND}: B"


def test_a_trial_and_injections_ask_as_it_rates(study, model):
    models = model(lambda request: lines("A", "B"))
    judge = create(study, "judge", BOTH)
    job = try_judge(judge=judge)
    job.refresh_from_db()
    assert (job.status, job.done, job.total, len(models.asked)) == ("done", ITEMS, ITEMS, ITEMS)
    tried = [(one["criterion"], one["label"]) for one in job.result["answers"]]
    assert [name for name, _ in tried] == [FIRST, SECOND] * ITEMS
    assert all(label for _, label in tried)
    assert job.result["total"] == 2 * PASSES
    job = try_injections(judge=judge)
    job.refresh_from_db()
    assert (job.status, job.result["readable"]) == ("done", 2 * ITEMS)
    assert job.result["tried"] > len(INJECTIONS)
    assert not Rating.objects.exists()


@pytest.mark.parametrize("how", [{"answered_by": "probability"}, {"constraint": "always"}])
def test_one_short_answer_is_to_one_question(study, model, how):
    model(lambda request: "A")
    with refused("one_answer_each"):
        create(study, "judge", BOTH | how)
    assert not Judge.objects.exists()


def test_the_page_offers_all_criteria_and_refuses_none(client, study, model):
    model(lambda request: "A")
    address = reverse("machine_raters:judges", args=[study.pk])
    form = section_on(client.get(address), "judge")["form"]
    assert form["criteria"].value() == [*study.criteria.values_list("name", flat=True)]
    shown = {field.name: field.initial for field in form if field.initial is not None}
    values = shown | settings_of("judge") | {"criterion": ""}
    without = client.post(address, values | {"criteria": []})
    errors = section_on(without, "judge")["form"].errors.as_data()
    assert (without.status_code, [one.code for one in errors["criteria"]]) == (400, ["required"])
    assert client.post(address, values | {"criteria": [SECOND, FIRST]}).status_code == 302
    judge = Judge.objects.get()
    assert [one.criterion.name for one in judge.questions.all()] == [FIRST, SECOND]
    taken = client.post(address, values)
    assert codes_of(taken, "judge") == ["name_taken"]


def test_the_name_of_a_criterion_may_be_within_anothers(study, model):
    """A line belongs to the criterion whose whole name it begins with."""
    study.criteria.filter(name=FIRST).update(name="relevance")
    models = model(lambda request: "relevance: A\nIts relevance: C\nanswer relevance: B")
    judge = create_machine_rater(
        study=study,
        kind="judge",
        name="gpt",
        criteria=list(study.criteria.filter(name__in=("relevance", SECOND))),
        instructions=INSTRUCTIONS,
        server="here",
        language_model="tiny",
        asks_together=True,
    )
    start_machine_rater(machine=judge)
    assert len(models.asked) == PASSES
    labels = {
        (row["criterion"], row["label"]) for row in rating_rows(study) if row["order"] == "ab"
    }
    assert labels == {("relevance", -1), (SECOND, 1)}

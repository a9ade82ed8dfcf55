"""A judge whose model writes evaluation steps first: once, kept, and in every prompt."""

import pytest
from django.urls import reverse

from annotation.models import Rating
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging.job import ensure_steps
from machine_raters.judging.services import try_judge
from machine_raters.messages import JUDGE_WITHOUT_STEPS
from machine_raters.services.machine_raters import start_machine_rater
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.refusals import refused
from tiebreak.gateway import Failed, GatewayError

pytestmark = pytest.mark.django_db
__all__ = ["model"]
STEPS = "1. Read both {question} texts.\n2. Choose."


def writes(request) -> str:
    return f"  {STEPS}\n" if request.id == "steps" else "A"


def test_the_model_writes_steps_once_and_reads_them_in_every_prompt(study, model):
    judge = judge_for(study, writes_steps=True, name="{guidelines}")
    models = model(writes)
    try_judge(judge=judge)
    start_machine_rater(machine=judge)
    first, *others = models.asked
    assert first.id == "steps"
    assert study.guidelines in first.prompt[0].content
    assert study.criteria.get().question in first.prompt[0].content
    assert [request.id for request in others].count("steps") == 0
    assert all(request.prompt[0].content.endswith(STEPS) for request in others)
    question = judge.questions.get()
    assert (question.steps, question.steps_prompt) == (STEPS, first.prompt[0].content)
    assert Rating.objects.count() == 8
    (row,) = machine_rater_rows(study)
    assert row["settings"]["steps"] == STEPS


def test_a_judge_without_steps_is_asked_as_before(study, model):
    models = model(writes)
    start_machine_rater(machine=judge_for(study))
    assert "steps" not in {request.id for request in models.asked}
    assert not any("steps" in request.prompt[0].content for request in models.asked)
    (row,) = machine_rater_rows(study)
    assert "steps" not in row["settings"]


def test_steps_that_another_worker_stored_first_are_used(study, model):
    judge = judge_for(study, writes_steps=True)
    models = model(writes)
    question = judge.questions.get()
    judge.questions.update(steps="1. Be first.", steps_prompt="p")
    ensure_steps(question, models)
    assert len(models.asked) == 1
    assert question.steps == judge.questions.get().steps == "1. Be first."


@pytest.mark.parametrize("reply", [" \n", Failed("steps", GatewayError("too_slow", "Too slow."))])
def test_without_steps_nothing_is_asked(study, model, reply):
    judge = judge_for(study, writes_steps=True)
    models = model(lambda request: reply)
    job = start_machine_rater(machine=judge)
    job.refresh_from_db()
    assert job.status == "failed"
    assert job.problem.startswith(JUDGE_WITHOUT_STEPS.split("{}")[0])
    assert {request.id for request in models.asked} == {"steps"}
    assert Rating.objects.count() == 0
    with refused("no_steps"):
        ensure_steps(judge.questions.get(), models)


def test_the_page_shows_the_steps(study, model, admin_client):
    judge = judge_for(study, writes_steps=True)
    address = reverse("machine_raters:judges", args=[study.pk])
    assert "will write its evaluation steps" in admin_client.get(address).content.decode()
    model(writes)
    start_machine_rater(machine=judge)
    assert "1. Read both {question} texts." in admin_client.get(address).content.decode()

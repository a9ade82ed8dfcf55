"""Whatever a judge's server does, its page shows it with counts and examples, and no item is lost."""

import re

import pytest
from django.urls import reverse

from annotation.models import Rating
from machine_raters.judging.job import request_of
from machine_raters.judging.progress import CUT_OFF, EMPTY, FAILURE_NAMES, MIN_EQUAL, OTHER
from machine_raters.kinds import KINDS
from machine_raters.messages import ALWAYS_FIRST
from machine_raters.models import JudgeFailure, Verdict
from machine_raters.services.machine_raters import start_machine_rater
from tests.machine_raters.judging.scripted import material, model
from tests.machine_raters.judging.test_constrained import serve
from tests.machine_raters.judging.test_judging import judge_for, likes_system_1
from tests.studies.factories import make_open_study
from tests.tiebreak.gateway.stub_server import Fault
from tiebreak.asking.replies import MAX_CHARACTERS
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled

pytestmark = pytest.mark.django_db
__all__ = ["model", "serve"]

ESSAY = "Beide Texte haben Stärken. " * 2000
FRENCH = "Réponse : le premier texte"


@pytest.fixture
def study():
    return make_open_study(instances=5, comparisons_per_hit=1, ratings_per_hit=1)


def judged(study, asked=10, **options):
    """Let a judge rate all questions, and return it with what came of it."""
    job = start_machine_rater(machine=judge_for(study, **options))
    job.refresh_from_db()
    [judge] = KINDS["judge"].listed(study)
    # Each question has an answer or a named failure, or was not asked because the job stopped.
    assert judge.answers == job.done
    assert judge.answers + judge.progress.failed <= asked
    assert job.status == "failed" or judge.answers + judge.progress.failed == asked
    return judge


def page(client, admin_user, study) -> str:
    client.force_login(admin_user)
    return client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()


def test_a_judge_that_always_says_a_is_warned_of(study, model, client, admin_user):
    model(lambda request: "A")
    judge = judged(study)
    assert judge.progress.warnings == [ALWAYS_FIRST.format(number=10, letter="A")]
    assert "says nothing about the texts" in page(client, admin_user, study)


def test_a_judge_that_prefers_a_system_is_told_apart_from_one_that_prefers_a_place(study, model):
    model(likes_system_1)
    [warning] = judged(study).progress.warnings
    assert warning != ALWAYS_FIRST.format(number=10, letter="A")
    assert "All 10 readable answers are the same" in warning


@pytest.mark.parametrize("number", [MIN_EQUAL - 2, MIN_EQUAL])
def test_few_equal_answers_are_no_reason_to_warn(model, number):
    study = make_open_study(instances=number // 2, comparisons_per_hit=1, ratings_per_hit=1)
    model(lambda request: "A")
    start_machine_rater(machine=judge_for(study))
    [judge] = KINDS["judge"].listed(study)
    assert len(judge.progress.warnings) == (number >= MIN_EQUAL)


def test_answers_that_differ_are_no_reason_to_warn(study, model):
    model(lambda request: "B" if "Text 0" in material(request) else "A")
    assert judged(study).progress.warnings == []


def test_a_judge_that_never_answers_is_counted(study, model, client, admin_user):
    model(lambda request: "")
    judge = judged(study)
    [problem] = judge.progress.unreadable
    assert (problem.kind, problem.number, judge.unparsed) == (EMPTY, 10, 10)
    assert len(problem.examples) == 3


def test_another_language_an_essay_and_an_answer_cut_off_are_kept_and_shown(
    study, model, client, admin_user
):
    texts = iter([FRENCH, ESSAY, *["A"] * 8])

    def reply(request):
        text = next(texts)
        reason = "length" if text == ESSAY else "stop"
        return Sampled(request.id, (Sample(text, reason, 1, 9),), "tiny-1")

    model(reply)
    judge = judged(study)
    kinds = {problem.kind: problem.number for problem in judge.progress.unreadable}
    assert kinds == {OTHER: 1, CUT_OFF: 1}
    shown = page(client, admin_user, study)
    assert FRENCH in shown
    assert ESSAY[:100] in shown
    assert ESSAY[:1000] not in shown


def test_ten_megabytes_are_an_unreadable_answer_whose_beginning_is_kept(study, model):
    model(lambda request: "x" * 10_000_000)
    judge = judged(study, asked=5, comparisons="no-repeat")
    [problem] = judge.progress.unreadable
    assert (problem.kind, problem.number) == (OTHER, 5)
    assert {len(raw) for raw in Rating.objects.values_list("raw", flat=True)} == {MAX_CHARACTERS}
    assert set(Verdict.objects.values_list("characters", flat=True)) == {10_000_000}


def test_a_model_that_is_gone_stops_the_job_and_its_questions_can_be_asked_again(
    study, serve, client, admin_user
):
    stub = serve(owner="other")
    stub.always = Fault("unknown")
    judge = judged(study)
    [problem] = judge.progress.failures
    assert problem.kind == "unknown_model"
    shown = page(client, admin_user, study)
    assert "has no such model" in shown
    assert "unknown_model" not in shown
    stub.always = None
    start_machine_rater(machine=judge)
    [judge] = KINDS["judge"].listed(study)
    assert (judge.answers, judge.progress.failed, JudgeFailure.objects.count()) == (10, 0, 0)


def test_a_model_that_changes_its_name_in_the_middle_is_refused(study, serve):
    stub = serve(owner="other")
    stub.by_prompt = lambda text: Fault("other_model") if "Text 4" in text else None
    judge = judged(study)
    assert {row.model for row in judge.progress.models} <= {"tiny"}
    assert "other_model" in {problem.kind for problem in judge.progress.failures}


def test_a_model_that_changes_its_revision_in_the_middle_is_shown_with_counts(
    study, model, client, admin_user
):
    revisions = iter(["fp_1"] * 4 + ["fp_2"] * 6)
    model(
        lambda request: Sampled(
            request.id, (Sample("A", "stop", 1, 1),), "tiny-1", revision=next(revisions)
        )
    )
    judge = judged(study)
    rows = [(row.model, row.revision, row.answers) for row in judge.progress.models]
    assert rows == [("tiny-1", "fp_1", 4), ("tiny-1", "fp_2", 6)]
    assert any("2 models or revisions" in warning for warning in judge.progress.warnings)
    assert "<td>fp_2</td><td>6</td>" in page(client, admin_user, study)


def test_a_context_too_long_fails_for_its_own_items_only(study, serve, client, admin_user):
    stub = serve(owner="other")
    message = "This model's maximum context length is 8192 tokens."
    stub.by_prompt = lambda text: Fault("400", message=message) if "Text 0" in text else None
    judge = judged(study)
    [problem] = judge.progress.failures
    assert (problem.kind, problem.number, judge.answers) == ("too_long", 2, 8)
    assert "fewer examples" in page(client, admin_user, study)


def test_missing_log_probabilities_are_a_named_failure(study, serve):
    stub = serve(owner="other")
    stub.always = Fault("no_logprobs")
    judge = judged(study, answered_by="probability")
    assert {problem.kind for problem in judge.progress.failures} == {"unsupported"}
    assert judge.answers == 0


def test_a_text_that_cannot_be_sent_is_a_named_failure(study, model, monkeypatch):
    models = model(lambda request: "A")
    first = study.units.order_by("pk").first()

    def broken(question, name, prompt, unit, *asked):
        if unit == first.key:
            raise GatewayError("bad_request", "A text contains a lone surrogate.")
        return request_of(question, name, prompt, unit, *asked)

    monkeypatch.setattr("machine_raters.judging.job.request_of", broken)
    judge = judged(study)
    [problem] = judge.progress.failures
    assert (problem.kind, problem.number, len(models.asked)) == ("bad_request", 2, 8)
    assert problem.examples[0]["unit"] == first.key


def test_of_a_question_that_fails_again_the_last_reason_is_kept(study, model):
    codes = iter(["refused"] * 10 + ["too_long"] * 10)
    model(lambda request: Failed(request.id, GatewayError(next(codes), "No.")))
    judge = judged(study)
    start_machine_rater(machine=judge)
    [judge] = KINDS["judge"].listed(study)
    [problem] = judge.progress.failures
    assert (problem.kind, problem.number) == ("too_long", 10)


@pytest.mark.parametrize("answers", [0, 1])
def test_the_page_names_the_button_that_it_has(study, model, client, admin_user, answers):
    wrong = GatewayError("too_slow", "The server was too slow.")
    first = iter(range(100))
    model(lambda request: "A" if next(first) < answers else Failed(request.id, wrong))
    judge = judged(study)
    assert judge.verdicts.count() == answers
    shown = page(client, admin_user, study)
    (named,) = re.findall(r"<em>(Rate [^<]+)</em>", shown)
    assert re.search(rf"<button>{named}<", shown)


def test_every_code_of_a_failure_has_words():
    codes = set(re.findall(r"``(\w+)``", GatewayError.__doc__.split("message : str")[0]))
    assert len(codes) > 15
    assert codes == set(FAILURE_NAMES)

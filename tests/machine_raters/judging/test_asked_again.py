"""A judge is sent prompts again that it has answered: a test of its server, which adds no rating."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.models import Rating
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging import again_job
from machine_raters.judging.services import ask_again
from machine_raters.kinds import KINDS
from machine_raters.models import SecondAnswer, Verdict
from machine_raters.services.machine_raters import start_machine_rater
from metrics.exports.document.machine_raters import machine_sections
from metrics.results.services import watermark
from tests.api.clients import at, program
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for, likes_system_1
from tests.machine_raters.synthetic.rag import make_study_of_two_questions
from tests.refusals import refused
from tests.studies.factories import make_open_study
from tiebreak.gateway import ServedBy

pytestmark = pytest.mark.django_db
__all__ = ["model"]
SERVER = ServedBy("vLLM 0.32.0", "GPU 0: NVIDIA H100", is_batch_invariant=True)


def rated(study, model, reply=likes_system_1, **settings):
    models = model(reply)
    models.server = SERVER
    judge = judge_for(study, **settings)
    start_machine_rater(machine=judge)
    return judge, models


def asked(judge):
    job = ask_again(judge=judge)
    job.refresh_from_db()
    assert job.status == "done", job.problem
    [listed] = KINDS["judge"].listed(judge.study)
    return job, listed.asked_again


def turned(request) -> str:
    return "B" if likes_system_1(request).endswith("A") else "A"


def test_each_verdict_keeps_the_server_its_device_and_whether_it_is_batch_invariant(study, model):
    rated(study, model)
    fields = ("server_version", "device", "is_batch_invariant")
    assert {*Verdict.objects.values_list(*fields)} == {("vLLM 0.32.0", "GPU 0: NVIDIA H100", True)}
    [row] = machine_rater_rows(study)
    assert [{name: one[name] for name in fields} for one in row["answers"]] == [
        dict(zip(fields, ("vLLM 0.32.0", "GPU 0: NVIDIA H100", True), strict=True))
    ]
    [listed] = KINDS["judge"].listed(study)
    assert [one.device for one in listed.progress.models] == ["GPU 0: NVIDIA H100"]


def test_answers_of_one_model_on_two_servers_are_no_warning(study, model):
    rated(study, model, budget=2, comparisons="symmetric")
    Verdict.objects.filter(pk=Verdict.objects.first().pk).update(device="CPU")
    [listed] = KINDS["judge"].listed(study)
    assert len(listed.progress.models) == 2
    assert listed.progress.warnings == []


def test_second_answers_are_stored_beside_the_first_and_change_no_rating(study, model):
    judge, models = rated(study, model)
    first = [(r.prompt, r.seed) for r in models.asked]
    before, rows = watermark(study), list(rating_rows(study))
    job, [test] = asked(judge)
    assert (job.done, job.total) == (8, 8)
    assert sorted(map(str, first)) == sorted(str((r.prompt, r.seed)) for r in models.asked[8:])
    assert SecondAnswer.objects.count() == 8
    assert (watermark(study), list(rating_rows(study))) == (before, rows)
    assert (test.prompts, test.word_for_word, test.same.value) == (8, 8, 1)
    # Wilson's interval of 8 of 8: 1 / (1 + z² / 8).
    assert test.same.low == pytest.approx(1 / (1 + 1.959964**2 / 8), abs=1e-6)
    assert "batch-invariant" in test.servers[0]


def test_flips_are_counted_by_criterion_and_each_test_sends_the_same_prompts(
    study, model, monkeypatch
):
    monkeypatch.setattr(again_job, "SENT_AGAIN", 4)
    judge, models = rated(study, model)
    asked(judge)
    number = iter(range(100))
    models.reply = lambda request: (
        turned(request) if next(number) % 4 == 0 else likes_system_1(request)
    )
    models.server = ServedBy()
    _, [second, first] = asked(judge)
    assert (first.test, first.same.value, second.test, second.same.value) == (1, 1, 2, 0.75)
    assert [(one.criterion, one.answers, one.flips) for one in second.criteria] == [
        ("preference", 4, 1)
    ]
    assert second.servers == ("tiny-1, unknown batch invariance",)
    verdicts = SecondAnswer.objects.filter(test=1).values("verdict")
    assert {*verdicts.values_list("verdict")} == {
        *SecondAnswer.objects.filter(test=2).values_list("verdict")
    }


def test_the_same_words_and_the_same_verdict_are_counted_apart(study, model):
    judge, models = rated(study, model)
    models.reply = lambda request: f"Once more.\n{likes_system_1(request)}"
    _, [test] = asked(judge)
    assert (test.same.value, test.word_for_word) == (1, 0)


def test_no_label_twice_is_the_same_verdict_and_a_label_instead_is_a_flip(study, model):
    judge, models = rated(study, model, reply=lambda _: "I like both.")
    _, [test] = asked(judge)
    assert test.same.value == 1
    models.reply = likes_system_1
    _, [newest, _] = asked(judge)
    assert (newest.same.value, newest.criteria[0].flips) == (0, 8)


def test_of_criteria_in_one_prompt_the_prompt_counts_once(model):
    study = make_study_of_two_questions(User.objects.create_user("ada", is_staff=True))
    names = ["faithfulness", "answer relevance"]
    both = list(study.criteria.filter(name__in=names))

    def answer(request, style="A"):
        return f"{names[0]}: A\n{names[1]}: {style}"

    judge, models = rated(study, model, reply=answer, asks_together=True, criteria=both)
    before = len(models.asked)
    models.reply = lambda request: answer(request, "B")
    _, [test] = asked(judge)
    assert len(models.asked) - before == test.prompts == before
    assert (test.same.value, [one.flips for one in test.criteria]) == (
        0,
        [before, 0] if test.criteria[0].criterion == names[1] else [0, before],
    )


def test_a_prompt_that_would_be_another_is_not_sent(study, model):
    judge, models = rated(study, model)
    study.guidelines = "Something else."
    study.save()
    before = len(models.asked)
    job = ask_again(judge=judge)
    job.refresh_from_db()
    assert (len(models.asked), job.failed, SecondAnswer.objects.count()) == (before, 8, 0)
    assert "guidelines" in job.problem


def test_a_judge_without_answers_is_not_asked_again(study, model):
    model(likes_system_1)
    with refused("nothing_to_ask_again"):
        ask_again(judge=judge_for(study))


def test_page_interface_export_and_report_say_how_many_were_the_same(model, client):
    user = User.objects.create_user("ada", is_staff=True)
    study = make_open_study(member=user, instances=2, comparisons_per_hit=2, ratings_per_hit=1)
    judge, models = rated(study, model)
    models.reply = turned
    client.force_login(user)
    url = reverse("machine_raters:act", args=[study.pk, judge.public_id, "ask-again"])
    assert client.post(url).status_code == 302
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "8 of 8 verdicts flipped" in page
    assert Rating.objects.count() == 8
    [machine] = program(user).get(at("machine-rater-list", study.pk)).json()
    [test] = machine["asked_again"]
    assert (test["same"]["value"], test["prompts"], test["criteria"][0]["flips"]) == (0, 8, 8)
    [row] = machine_rater_rows(study)
    assert [(one["answers"], one["flips"], one["value"]) for one in row["asked_again"]] == [
        (8, 8, 0)
    ]
    json.dumps(row)
    assert "0% of 8 second answers had the same verdict" in re.sub(
        r"\s+", " ", str(machine_sections(study))
    )

"""Perturbed copies that a language model writes: its answers, those that are no copies, and the page."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.services.planning import plan_hits
from studies.data.model_copies import FROZEN, last_job_of, refusals_of, start_model_copies
from studies.data.perturbed_copies import add_perturbed_copies
from studies.models import Generation, RefusedCopy, StudyEvent, System
from tests.api.clients import at, problem_of, program
from tests.machine_raters.judging.scripted import model
from tests.pages import page_of
from tests.refusals import refused
from tests.studies.data.test_perturbed_copies import TYPOS, scoring_study
from tests.studies.factories import make_study, open_knowingly
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled
from tiebreak.perturbations import MODEL_PERTURBATIONS, Edit, edited, instruction_of

pytestmark = pytest.mark.django_db
__all__ = ["model"]
GRAMMAR, OPPOSITE = "words/model-grammar/minor", "sentences/model-contradiction/minor"
OPTIONS = {
    **{"server": "here", "language_model": "writer", "temperature": 0.5},
    **{"max_tokens": 100, "seed": 0},
}


def text_in(request) -> str:
    """Return the text that the model is shown, without the marks around it."""
    return request.prompt[-1].content.split("\n", 1)[1].rsplit("\n", 1)[0]


def errs(request) -> str:
    return text_in(request).replace("is kept", "are kept")


def start(study, names=(GRAMMAR,), **more):
    return start_model_copies(study=study, **OPTIONS | {"names": list(names)} | more)


def copies() -> list[Generation]:
    with_system = Generation.objects.select_related("system__perturbed_from")
    return list(with_system.exclude(system__perturbed_from=None).order_by("pk"))


def test_each_copy_says_of_what_by_whom_and_what_was_changed(model):
    study = scoring_study()
    models = model(errs)
    start(study)
    assert len(models.asked) == len(copies()) == 6
    system = System.objects.get(perturbation=GRAMMAR)
    assert system.name == f"system-0 [perturbed by writer: {GRAMMAR}]"
    assert (system.language_model, system in study.systems.all()) == ("writer", True)
    for copy in copies():
        about = copy.params["perturbation"]
        original = Generation.objects.get(
            instance=copy.instance_id, system__name="system-0", sample_index=copy.sample_index
        )
        assert edited(original.text, [Edit(*edit) for edit in about["edits"]]) == copy.text
        assert (about["name"], about["language_model"]) == (GRAMMAR, "tiny-1")
        assert (len(about["prompt_sha256"]), about["tokens"]) == (64, 3)
    assert {request.seed for request in models.asked} == {
        copy.params["perturbation"]["seed"] for copy in copies()
    }
    event = StudyEvent.objects.get(verb="perturb-by-model")
    assert event.details == {"perturbations": [GRAMMAR], "model": "writer"}


def test_the_model_is_told_what_to_change_and_that_the_text_is_material(model):
    models = model(errs)
    start(scoring_study(), [OPPOSITE])
    system, shown = models.asked[0].prompt
    assert "states the opposite" in system.content
    assert "do not follow it" in system.content
    assert shown.content.startswith("[text ")


BAD = {
    "empty_answer": lambda text: " ",
    "unchanged": lambda text: text.replace(" ", "  "),
    "remark": lambda text: f"Here is the text:\n{text}",
    "too_long": lambda text: f"{text} {text}",
    "another_text": lambda text: "I cannot help with that, because it is not right.",
}


@pytest.mark.parametrize(("code", "answer"), BAD.items())
def test_an_answer_that_is_no_copy_is_kept_apart_with_its_reason(code, answer, model):
    study = scoring_study(samples=1)
    model(lambda request: answer(text_in(request)))
    job = start(study)
    job.refresh_from_db()
    assert copies() == []
    assert {(row.code, row.language_model) for row in RefusedCopy.objects.all()} == {
        (code, "tiny-1")
    }
    (row,) = refusals_of(study)
    assert (row["perturbation"], row["code"], row["number"]) == (GRAMMAR, code, 3)
    assert (job.status, job.done, job.failed) == ("done", 3, 0)
    # A system without copies is not compared.
    assert [system.name for system in study.ordered_systems()] == ["system-0"]


def test_the_page_says_in_words_what_was_refused(admin_client, model):
    study = scoring_study(samples=1)
    model(lambda request: " ")
    start(study)
    page = admin_client.get(reverse("studies:perturbed-copies", args=[study.pk]))
    assert [row["number"] for row in page.context["refusals"]] == [3]
    shown = re.search(r"<details><summary>.*?</details>", page.content.decode(), re.S)[0]
    assert GRAMMAR not in shown
    assert "empty_answer" not in shown


def test_a_text_that_was_cut_off_is_no_copy(model):
    study = scoring_study(samples=1)
    model(lambda r: Sampled(r.id, (Sample(errs(r), "length", r.seed, 1),), "tiny-1"))
    start(study)
    assert [row["code"] for row in refusals_of(study)] == ["cut_off"]


def test_marks_that_the_model_repeats_are_no_part_of_the_copy(model):
    model(lambda r: r.prompt[-1].content.replace("is kept", "are kept"))
    start(scoring_study())
    assert len(copies()) == 6
    assert not any("[" in copy.text for copy in copies())


def test_texts_that_are_too_short_are_never_sent(model):
    study = scoring_study(samples=1)
    Generation.objects.filter(instance=study.dataset.instances.first()).update(text="Too short.")
    models = model(errs)
    job = start(study)
    job.refresh_from_db()
    assert (len(models.asked), len(copies()), job.done) == (2, 2, 3)
    assert [row["code"] for row in refusals_of(study)] == ["text_too_short"]


def test_what_is_stored_or_refused_is_not_asked_again_and_what_failed_is(model):
    study = scoring_study()
    error = GatewayError("too_slow", "The server was too slow.")
    fails = iter(range(6))

    def some(request):
        number = next(fails)
        if number == 0:
            return Failed(request.id, error)
        return " " if number == 1 else errs(request)

    model(some)
    job = start(study)
    job.refresh_from_db()
    assert (len(copies()), RefusedCopy.objects.count(), job.failed) == (4, 1, 1)
    models = model(errs)
    start(study)
    assert (len(models.asked), len(copies())) == (1, 5)
    models.asked.clear()
    start(study)
    assert models.asked == []
    start(study, seed=1)
    assert (len(models.asked), len(copies())) == (1, 6)


def test_copies_of_rules_and_of_models_stand_side_by_side(model):
    study = scoring_study()
    model(lambda request: " ")
    start(study)
    add_perturbed_copies(study=study, names=[TYPOS])
    assert RefusedCopy.objects.count() == 6
    model(errs)
    start(study, seed=1)
    assert {system.perturbation for system in study.ordered_systems()} == {"", TYPOS, GRAMMAR}


def test_refusals(model):
    model(errs)
    study = scoring_study()
    for names, code in (([], "no_perturbation"), ([TYPOS], "unknown_perturbation")):
        with refused(code):
            start(study, names)
    with refused("not_a_scoring_study"):
        start(make_study())
    with refused("no_such_server"):
        start(study, server="there")
    with refused("no_model"):
        start(study, language_model="")
    start(study)
    with refused("other_model"):
        start(study, language_model="another")
    plan_hits(study=study)
    open_knowingly(study)
    with refused("not_a_draft"):
        start(study)


def test_copies_that_come_after_the_opening_are_not_added(model):
    study = scoring_study()

    def opens(request):
        type(study).objects.filter(pk=study.pk).update(status="open")
        return errs(request)

    model(opens)
    job = start(study)
    job.refresh_from_db()
    assert (job.status, copies()) == ("failed", [])
    assert job.problem == FROZEN


@pytest.fixture
def draft(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    study = scoring_study()
    study.members.add(user)
    return study


def test_the_page_asks_and_shows_copies_and_refusals(
    client, draft, model, django_assert_max_num_queries
):
    model(lambda r: " " if r.id == str(Generation.objects.order_by("pk")[0].pk) else errs(r))
    address = reverse("studies:model-copies", args=[draft.pk])
    entered = OPTIONS | {"names": [GRAMMAR]}
    page = client.post(address, entered, follow=True)
    assert page_of(page) == "perturbed_copies"
    with django_assert_max_num_queries(16):
        page = client.get(reverse("studies:perturbed-copies", args=[draft.pk]))
    (row,) = page.context["copies"]
    assert (row.texts, "by a language model" in row.change) == (5, True)
    assert [one["code"] for one in page.context["refusals"]] == ["empty_answer"]
    assert page.context["job"] == last_job_of(draft)
    assert {copy.params["perturbation"]["prompt"] for copy in copies()} == {instruction_of(GRAMMAR)}
    page = client.post(address, entered | {"language_model": "another"})
    (problem,) = page.context["by_model"].errors.as_data()["__all__"]
    assert (page.status_code, problem.code) == (400, "other_model")


OWN = "Make a mistake in this text.\nAnswer with the text alone."


def test_an_edited_prompt_is_used_kept_with_each_copy_and_exported(client, draft, model, tmp_path):
    models = model(errs)
    entered = OPTIONS | {"names": [GRAMMAR], f"prompt {GRAMMAR}": OWN.replace("\n", "\r\n")}
    entered |= {f"prompt {OPPOSITE}": "Not among the chosen changes."}
    address = reverse("studies:model-copies", args=[draft.pk])
    client.post(address, entered)
    assert {request.prompt[0].content for request in models.asked} == {OWN}
    assert {copy.params["perturbation"]["prompt"] for copy in copies()} == {OWN}
    assert StudyEvent.objects.get(verb="perturb-by-model").details["edited prompts"] == [GRAMMAR]
    page = client.get(reverse("studies:perturbed-copies", args=[draft.pk]))
    fields = {field.name: field.value() for field in page.context["by_model"].prompt_fields()}
    assert fields[f"prompt {GRAMMAR}"] == OWN
    assert fields[f"prompt {OPPOSITE}"] == instruction_of(OPPOSITE)
    export_study(study=draft, out=tmp_path / "export", formats=["jsonl"])
    exported = "".join(path.read_text() for path in (tmp_path / "export").rglob("*.jsonl"))
    assert exported.count(json.dumps(OWN)) == len(copies()) == 6


def test_copies_of_two_prompts_never_share_a_kind(model):
    model(errs)
    study = scoring_study()
    start(study)
    for copy in copies():  # as an earlier release stored it
        del copy.params["perturbation"]["prompt"]
        copy.save()
    start(study)
    with refused("other_prompt"):
        start(study, prompts={GRAMMAR: OWN})
    start(study, [OPPOSITE], prompts={OPPOSITE: OWN})
    with refused("other_prompt"):
        start(study, [OPPOSITE])
    with refused("prompt_of_nothing"):
        start(study, prompts={OPPOSITE: OWN})


def test_a_program_has_copies_made_by_rules_and_by_a_model(draft, model):
    models = model(errs)
    ada = program(User.objects.get(username="ada"))

    def post(name, **body):
        address = at(name, draft.pk)
        return ada.post(address, json.dumps(body), content_type="application/json")

    made = post("study-perturbed-copies", names=[TYPOS], seed=1)
    assert (made.status_code, made.json()["copies"], made.json()["refused"]) == (201, 6, {})
    refusal = post("study-perturbed-copies", names=[GRAMMAR])
    assert problem_of(refusal) == (400, "unknown_perturbation")
    asked = {"names": [GRAMMAR], "server": "here", "language_model": "writer"}
    job = post("job-perturbed-copies", **asked, prompts={GRAMMAR: OWN})
    assert (job.status_code, job.json()["done"]) == (201, 6), job.content
    assert {request.prompt[0].content for request in models.asked} == {OWN}
    assert problem_of(post("job-perturbed-copies", **asked)) == (409, "other_prompt")


@pytest.mark.parametrize("name", MODEL_PERTURBATIONS)
def test_each_kind_tells_the_model_what_to_do(name, model):
    models = model(lambda request: " ")
    start(scoring_study(samples=1), [name])
    assert {request.prompt[0].content for request in models.asked} == {instruction_of(name)}
    assert len({instruction_of(other) for other in MODEL_PERTURBATIONS}) == len(MODEL_PERTURBATIONS)


ENDED = "sentences/model-ending/minor"


def test_a_short_text_may_get_another_ending_and_not_another_beginning(model):
    study = scoring_study(samples=1)

    def ends_wrongly(request) -> str:
        sentences = text_in(request).split(". ")
        return ". ".join([*sentences[:2], "Nobody had ever asked whether ships can be painted"])

    model(ends_wrongly)
    start(study, [ENDED])
    assert (len(copies()), refusals_of(study)) == (3, [])
    model(lambda request: "One. Two. Nobody had ever asked whether ships can be painted.")
    start(study, ["sentences/model-ending/major"])
    assert [row["code"] for row in refusals_of(study)] == ["another_text"]
    model(ends_wrongly)
    start(study, ["sentences/model-contradiction/minor"])
    assert {row["code"] for row in refusals_of(study)} == {"another_text"}
    assert len(copies()) == 3

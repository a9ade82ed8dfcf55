"""Published prompts: the form that they fill in, what is recorded, and what a judge then asks."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.services.planning import plan_hits
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging.presets import PAIRS, PRESETS, presets_for
from machine_raters.models import Judge
from machine_raters.services.machine_raters import start_machine_rater
from metrics.results.machine_notes import prompts_of
from tests.api.clients import at, program
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.sections import section_on
from tests.studies.data.test_perturbed_copies import scoring_study
from tests.studies.factories import make_open_study, open_knowingly
from tiebreak.asking.prompts import INSTRUCTIONS

pytestmark = pytest.mark.django_db
__all__ = ["model"]


def study_for(preset: str):
    """Return an open study of what a preset's judge rates, whose member logs in."""
    user = User.objects.create_user("ada", is_staff=True)
    if PRESETS[preset].unit_kind == PAIRS:
        return make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=1, member=user)
    study = scoring_study(instances=2, samples=1)
    study.members.add(user)
    plan_hits(study=study)
    return open_knowingly(study)


def filled_form(client, study, preset: str) -> dict:
    """Return what a browser sends of the form that the page shows after a prompt was chosen."""
    asked = {"add": "judge", "preset": preset, "name": "mine", "server": "here"}
    page = client.get(reverse("machine_raters:judges", args=[study.pk]), asked)
    form = section_on(page, "judge")["form"]
    sent = {field.name: field.value() for field in form if field.name != "criterion"}
    return {name: value for name, value in sent.items() if value is not None and value is not False}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_published_prompt_fills_the_form_and_is_recorded(client, model, preset):
    models = model(
        lambda request: "3" if not hasattr(request, "labels") else {"A": -0.1, "B": -2.0}
    )
    study = study_for(preset)
    client.force_login(User.objects.get(username="ada"))
    sent = filled_form(client, study, preset)
    assert sent.items() >= PRESETS[preset].filled.items()
    assert (sent["name"], sent["server"]) == ("mine", "here")
    page = client.post(
        reverse("machine_raters:judges", args=[study.pk]), sent | {"language_model": "tiny"}
    )
    assert page.status_code == 302, section_on(page, "judge")["form"].errors
    judge = Judge.objects.get()
    assert judge.preset == preset
    for name, value in PRESETS[preset].filled.items():
        assert getattr(judge, name) == value
    assert prompts_of(study) == {"mine": PRESETS[preset].named}
    (row,) = machine_rater_rows(study)
    assert (row["settings"]["preset"], row["settings"]["instructions"]) == (
        preset,
        judge.instructions,
    )
    start_machine_rater(machine=judge)
    question = judge.questions.get().criterion.question
    first = models.asked[-1].prompt[0].content
    assert question in first
    assert not {"{question}", "{answers}", "{guidelines}"} & set(first.split())
    assert (
        PRESETS[preset].named
        in client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    )


def test_a_program_gets_the_settings_that_it_leaves_out(model):
    model(lambda request: "A")
    study = study_for("mt-bench")
    ada = program(User.objects.get(username="ada"))

    def created(**sent):
        body = {"kind": "judge", "server": "here", "language_model": "tiny"} | sent
        body |= {"criteria": [study.criteria.get().name]}
        address = at("machine-rater-list", study.pk)
        return ada.post(address, json.dumps(body), content_type="application/json")

    made = created(name="as published", preset="mt-bench").json()
    assert (made["preset"], made["max_tokens"]) == ("mt-bench", 1024)
    assert made["instructions"] == PRESETS["mt-bench"].filled["instructions"]
    mine = created(name="edited", preset="mt-bench", max_tokens=7, instructions="{question}").json()
    assert (mine["preset"], mine["max_tokens"], mine["instructions"]) == (
        *("mt-bench", 7),
        "{question}",
    )
    plain = created(name="plain").json()
    assert (plain["preset"], plain["instructions"]) == ("", INSTRUCTIONS)
    for preset in ("g-eval", "praise"):  # of single texts, and of nobody
        refusal = created(name=preset, preset=preset)
        assert refusal.status_code == 400
        assert [problem["field"] for problem in refusal.json()["problems"]] == ["preset"]


def test_each_study_is_offered_the_prompts_for_what_it_rates():
    kinds = {preset.unit_kind for preset in PRESETS.values()}
    offered = [set(presets_for(study)) for study in (scoring_study(), make_open_study())]
    assert len(kinds) == 2
    assert offered[0] | offered[1] == {*PRESETS}
    assert not offered[0] & offered[1]

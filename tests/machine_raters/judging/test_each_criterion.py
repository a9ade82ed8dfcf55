"""One judge for each criterion at once: by the page, and all or none."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Rating
from machine_raters.judging.prompts import INSTRUCTIONS
from machine_raters.judging.services import create_judges
from machine_raters.models import Judge
from machine_raters.services.machine_raters import start_machine_rater
from machine_raters.services.raters import create_rater
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judges_page import entered
from tests.machine_raters.sections import section_on
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.refusals import refused
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
__all__ = ["model"]
NAMES = ["gpt: context relevance", "gpt: faithfulness", "gpt: answer relevance"]
SETTINGS = {"name": "gpt", "server": "here", "language_model": "tiny"}


@pytest.fixture
def study(client, model):
    model(lambda request: "yes")
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_rag_study(owner=user)


def test_each_judge_is_asked_its_own_question_from_the_guidelines(study, model):
    models = model(lambda request: "yes")
    judges = create_judges(study=study, instructions=INSTRUCTIONS, **SETTINGS)
    assert [judge.name for judge in judges] == NAMES
    assert [judge.questions.get().criterion for judge in judges] == list(study.criteria.all())
    for judge in judges:
        models.asked.clear()
        start_machine_rater(machine=judge)
        prompts = [request.prompt for request in models.asked]
        assert len(prompts) == 8
        for rules, material in prompts:
            assert study.guidelines in rules.content
            assert judge.questions.get().criterion.question in rules.content
            assert "Passage: " in material.content
    assert Rating.objects.filter(label="yes").count() == 24


def test_the_page_creates_them_by_one_click(client, study):
    address = reverse("machine_raters:judges", args=[study.pk])
    field = str(section_on(client.get(address), "judge")["form"]["criterion"])
    assert re.findall('value="([^"]*)"( selected)?', field) == [
        *zip(study.criteria.values_list("name", flat=True), (" selected", "", ""), strict=True),
        ("", ""),
    ]
    values = entered(make_open_study(instances=1), criterion="")
    assert client.post(address, values).status_code == 302
    assert list(study.machine_raters.values_list("name", flat=True)) == NAMES


def test_if_one_name_is_taken_none_is_created(study):
    create_rater(study, NAMES[2])
    create_judges(study=study, criterion=study.criteria.first(), instructions="x", **SETTINGS)
    judge = Judge.objects.get()
    assert judge.name == "gpt"
    create_judges(
        study=study,
        criterion=study.criteria.last(),
        instructions="x",
        **SETTINGS | {"name": NAMES[2]},
    )
    with refused("name_taken"):
        create_judges(study=study, instructions=INSTRUCTIONS, **SETTINGS)
    assert Judge.objects.count() == 2

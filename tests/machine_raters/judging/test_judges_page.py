"""The page of judges and its endpoints: create, try, start, delete, and see what came of it."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Rating
from machine_raters.messages import JUDGE_IN_DRAFT, NO_ITEMS
from machine_raters.models import Judge
from studies.models import Study
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.sections import codes_of, section_on
from tests.pages import codes_on, page_of
from tests.studies.factories import make_open_study
from tests.tiebreak.gateway.stub_server import MODEL, StubServer
from tiebreak.asking.prompts import INSTRUCTIONS

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=1, member=user)


@pytest.fixture
def address(study):
    return reverse("machine_raters:judges", args=[study.pk])


def entered(study, **changes) -> dict:
    return {
        "name": "gpt",
        "criterion": study.criteria.get().name,
        "server": "here",
        "language_model": "tiny",
        "instructions": INSTRUCTIONS,
        "answered_by": "text",
        "constraint": "none",
        "examples": 0,
        "example_set": "",
        "comparisons": "all",
        "budget": "",
        "runs": 1,
        "temperature": 0,
        "max_tokens": 64,
        "seed": 0,
    } | changes


def act(client, judge, action):
    return client.post(
        reverse("machine_raters:act", args=[judge.study_id, judge.public_id, action]), follow=True
    )


def test_a_judge_is_created_tried_and_started_by_clicks(client, study, address, model):
    models = model(lambda request: "<script>alert(1)</script>\n\nA")
    response = client.post(address, entered(study), follow=True)
    judge = Judge.objects.get()
    assert page_of(response) == "machine_raters"
    page = act(client, judge, "try").content.decode()
    assert "&lt;script&gt;" in page
    assert "<script>alert" not in page
    assert (len(models.asked), Rating.objects.count()) == (2, 0)
    act(client, judge, "start")
    assert Rating.objects.count() == 4
    page = section_on(client.get(address), "judge")["rows"][0]
    assert (page["machine"].answers, page["asked"], page["machine"].unparsed) == (4, 4, 0)
    assert codes_on(act(client, judge, "delete")) == {"has_ratings"}


def test_the_fold_of_further_settings_opens_for_what_it_refuses(client, study, address, model):
    model(lambda request: "A")
    fold = "<details open><summary>More settings"
    form = client.get(f"{address}?add=judge").content.decode()
    assert "<summary>More settings" in form
    assert fold not in form
    refused = client.post(address, entered(study, temperature=9))
    assert refused.status_code == 400
    assert fold in refused.content.decode()
    refused = client.post(address, entered(study, name=""))
    assert fold not in refused.content.decode()


def test_a_server_that_runs_elsewhere_needs_the_models_name(client, study, address, settings):
    settings.TIEBREAK_MODEL_SERVERS = {
        "far": {"provider": "http", "url": "http://127.0.0.1:9/v1"},
        "here": {"provider": "vllm", "model": "/weights/tiny"},
    }
    response = client.post(address, entered(study, server="far", language_model=""))
    assert response.status_code == 400
    assert codes_of(response, "judge") == ["no_model"]
    client.post(address, entered(study, server="here", language_model=""))
    assert Judge.objects.get().server == "here"


def test_without_a_model_server_the_page_says_who_can_add_one(client, address, settings):
    settings.TIEBREAK_MODEL_SERVERS = {}
    assert "TIEBREAK_MODEL_SERVERS" in client.get(f"{address}?add=judge").content.decode()


def test_the_page_has_one_form_at_a_time(client, study, address, model):
    model(lambda request: "A")
    asked = {"": 0, "judge": 1, "baseline": 1, "verdicts": 1, "nothing": 0}
    for add, number in asked.items():
        page = client.get(address, {"add": add}).content.decode()
        assert page.count('class="settings"') == number, add
    refused = client.post(reverse("machine_raters:baselines", args=[study.pk]), {"name": ""})
    page = refused.content.decode()
    assert page.count('class="settings"') == page.count('id="add"') == 1


def test_the_form_offers_the_models_that_the_server_lists(client, study, settings):
    address = reverse("studies:model-names", args=[study.pk])
    with StubServer() as stub:
        here = {"provider": "http", "base_url": stub.base_url, "allowed_hosts": [stub.host]}
        own = {"provider": "vllm", "model": "/weights/tiny"}
        settings.TIEBREAK_MODEL_SERVERS = {"here": here, "worker": own}
        page = client.get(address, {"server": "here"})
        assert page.context["names"] == [MODEL]
        assert f'<option value="{MODEL}">' in page.content.decode()
        assert client.get(address, {"server": "worker"}).context["names"] == []
    assert client.get(address, {"server": "here"}).context["refusal"].code == "model_server"
    assert client.get(address, {"server": "gone"}).context["refusal"].code == "no_such_server"


def test_answers_by_probability_are_asked_for_on_the_page(client, study, address, model):
    models = model(lambda request: {"A": -0.1, "B": -3.0, "C": -4.0})
    client.post(address, entered(study, answered_by="probability"))
    act(client, Judge.objects.get(), "start")
    assert (len(models.asked), Rating.objects.exclude(probabilities=None).count()) == (4, 4)
    repeated = client.post(address, entered(study, answered_by="probability", name="x", runs=2))
    assert codes_of(repeated, "judge") == ["equal_answers"]


def test_the_page_says_why_a_judge_cannot_rate_yet(client, study, address, model):
    model(lambda request: "A")
    client.post(address, entered(study))
    assert not section_on(client.get(address), "judge")["not_yet"]
    Study.objects.filter(pk=study.pk).update(status="draft", opened_at=None)
    page = client.get(address)
    assert section_on(page, "judge")["not_yet"] == JUDGE_IN_DRAFT
    assert JUDGE_IN_DRAFT in page.content.decode()
    assert "Rate all items" not in page.content.decode()
    study.hits.all().delete()
    Study.objects.filter(pk=study.pk).update(status="open")
    assert section_on(client.get(address), "judge")["not_yet"] == NO_ITEMS

"""The researcher's preview: the annotators' pages, without storing anything, for members only."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from recruitment.models import Channel
from recruitment.platforms import get_platform
from studies.models import Study
from tests.annotation.annotators import annotator, form_of, task_of, texts_of, unit_of
from tests.pages import page_of, prose_of
from tests.recruitment.views.test_entry import rows_of_collecting
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

PAGES = ("welcome", "guidelines", "unit")


@pytest.fixture
def researcher() -> User:
    return User.objects.create_user("ada", password="x", is_staff=True)


@pytest.fixture
def researcher_client(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


def at(study: Study, page: str = "") -> str:
    return f"/studies/{study.pk}/preview/" + (f"?page={page}" if page else "")


def test_it_works(researcher_client: Client, researcher: User):
    study = make_open_study(instances=2, member=researcher, guidelines="Be *fair*.")
    assert b'value="agree"' in researcher_client.get(at(study)).content
    assert b"Be <em>fair</em>." in researcher_client.get(at(study, "guidelines")).content
    page = researcher_client.get(at(study, "unit"))
    assert (unit_of(page), task_of(page)) == ((1, "5"), (1, 2))
    assert len(texts_of(page)) == 2


@pytest.mark.parametrize("make", [make_study, make_open_study])
def test_it_writes_nothing_and_sends_nothing(researcher_client: Client, researcher: User, make):
    study = make(instances=2, member=researcher)
    before = rows_of_collecting()
    for name in PAGES:
        page = researcher_client.get(at(study, name))
        assert page.status_code == 200
        assert b'<nav class="preview"' in page.content
        assert b"hx-post" not in page.content
        assert b"csrfmiddlewaretoken" not in page.content
        buttons = page.content.count(b"<button") - page.content.count(b'<button type="button"')
        assert page.content.count(b" disabled>") == buttons > 0
        assert researcher_client.post(at(study, name)).status_code == 405
    assert rows_of_collecting() == before
    assert study.units.count() == (10 if study.status == "open" else 0)


def test_it_says_what_is_stored_for_each_channel(researcher_client: Client, researcher: User):
    study = make_open_study(instances=1, member=researcher)
    assert _told("open-link") in prose_of(researcher_client.get(at(study)))
    study.channels.create(provider="prolific", external_id="S1")
    assert _told("prolific") in prose_of(
        researcher_client.get(at(study, "welcome") + "&via=prolific")
    )
    assert researcher_client.get(at(study, "welcome") + "&via=mturk").status_code == 404


def _told(provider: str) -> str:
    return (
        get_platform(provider).privacy_notice(Channel(provider=provider, external_id="S1")).identity
    )


def test_before_there_is_a_plan_a_unit_is_made_up(researcher_client: Client, researcher: User):
    study = make_study(instances=2, member=researcher)
    page = researcher_client.get(at(study, "unit"))
    assert texts_of(page) == ["Text 0 0 0.", "Text 0 1 0."]
    assert b"Source text 0." in page.content


def test_single_generations_can_be_previewed_too(researcher_client: Client, researcher: User):
    study = make_study(instances=1, member=researcher, unit_kind="generation", scale="ordinal:1..5")
    page = researcher_client.get(at(study, "unit"))
    assert unit_of(page) == (1, "5")
    assert form_of(page).choices == {"criterion-preference": ["1", "2", "3", "4", "5"]}


def test_a_study_without_generations_says_what_is_missing(
    researcher_client: Client, researcher: User
):
    for study in (make_study(instances=0, member=researcher), _without_dataset(researcher)):
        page = researcher_client.get(at(study, "unit"))
        assert page.status_code == 200
        assert (page_of(page), page.context["page"]) == ("unit", None)


def _without_dataset(researcher: User) -> Study:
    study = Study.objects.create(title="Bare")
    study.memberships.create(user=researcher)
    return study


def test_strangers_annotators_and_other_researchers_find_nothing(client: Client):
    study = make_open_study(instances=1)
    ann = annotator(study)
    other = User.objects.create_user("eve", password="x", is_staff=True)
    outsider = Client()
    outsider.force_login(other)
    for visitor in (client, ann.client, outsider):
        for name in PAGES:
            assert visitor.get(at(study, name)).status_code == 404


def test_a_page_that_does_not_exist_is_not_found(researcher_client: Client, researcher: User):
    study = make_open_study(instances=1, member=researcher)
    for name in ("end", "../admin", "unit.html", "%00"):
        assert researcher_client.get(at(study, name)).status_code == 404

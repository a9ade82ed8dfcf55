"""The researcher's preview: the annotators' pages, without storing anything, for members only."""

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from lxml import html as lxml_html

from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from metrics.licensing.follow_ups import select_instances
from recruitment.models import Channel
from recruitment.platforms import get_platform, platforms
from recruitment.views import preview
from studies.models import ComprehensionQuestion, Generation, Instance, Screening, Study, Unit
from tests.annotation.annotators import annotator, form_of, task_of, texts_of, unit_of
from tests.pages import page_of, prose_of
from tests.recruitment.test_money import enter, opened
from tests.recruitment.views.test_entry import rows_of_collecting
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

PAGES = tuple(preview.PAGES)


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
        assert page.content.count(b" disabled>") == buttons
        assert (buttons > 0) == (name in {"welcome", "guidelines", "unit", "finish"})
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


def screened(researcher: User) -> Study:
    study = make_study(instances=8, comparisons_per_hit=1, member=researcher)
    words = "The committee met on Tuesday to discuss the budget and the roads."
    Generation.objects.update(text=words)
    plan_hits(study=study)
    for role in (Unit.Role.TRAINING, Unit.Role.QUALIFICATION):
        degrade_copies(study=study, role=role, n=2)
    Screening.objects.create(study=study, training_units=2, qualification_units=1, pass_mark=1)
    ComprehensionQuestion.objects.create(study=study, text="What counts?", choices="a\nb", answer=1)
    return study


def test_every_stage_is_shown_as_annotators_meet_it(researcher_client, researcher):
    study = screened(researcher)
    before = rows_of_collecting()
    shown = {name: researcher_client.get(at(study, name)) for name in PAGES}
    assert {name: page_of(page) for name, page in shown.items()} == {
        "welcome": "welcome",
        "guidelines": "guidelines",
        "quick-check": "comprehension",
        "practice": "unit",
        "test": "unit",
        "unit": "unit",
        "finish": "end",
    }
    assert b"What counts?" in shown["quick-check"].content
    assert b'data-stage="training"' in shown["practice"].content
    assert b'data-stage="qualification"' in shown["test"].content
    assert unit_of(shown["practice"]) == (1, "2")
    for page in shown.values():
        assert b"csrfmiddlewaretoken" not in page.content
        assert b"hx-post" not in page.content
    assert rows_of_collecting() == before


def controls_of(page) -> set[str]:
    """The words of all that an annotator may press on a page."""
    root = lxml_html.document_fromstring(page.content.decode())
    found = root.xpath("//*[self::a or self::button or self::summary][not(ancestor::nav)]")
    return {" ".join(one.text_content().split()) for one in found}


@pytest.mark.parametrize("comments", [True, False])
def test_it_has_all_controls_of_the_real_pages(researcher_client, researcher, comments):
    study = make_open_study(instances=2, member=researcher, comments=comments)
    entered = annotator(study).enter()
    real = {"guidelines": entered.client.get(entered.at("guidelines")), "unit": entered.here()}
    assert ("Leave a comment" in controls_of(real["unit"])) == comments
    for name, page in real.items():
        on_end = {"Start"} ^ {"Back to rating"} if name == "guidelines" else set()
        assert controls_of(page) ^ controls_of(researcher_client.get(at(study, name))) == on_end


def test_the_task_counts_what_one_annotator_may_do(researcher_client, researcher):
    study = screened(researcher)
    Study.objects.update(hits_per_annotator=2)
    assert researcher_client.get(at(study, "unit")).context["hits"] == 2
    study.hits.all().delete()  # as before it is planned
    assert researcher_client.get(at(study, "unit")).context["hits"] == 2
    Screening.objects.update(check_rate=0.5)  # items, of which the third is a gold check
    assert researcher_client.get(at(study, "unit")).context["hits"] == 3


def test_a_stage_that_the_study_lacks_is_said_to_be_absent(researcher_client, researcher):
    study = make_study(instances=1, member=researcher)
    for name in ("quick-check", "practice", "test"):
        assert b"data-absent" in researcher_client.get(at(study, name)).content
    Screening.objects.create(study=study, training_units=2)
    assert b"data-absent" in researcher_client.get(at(study, "practice")).content


@pytest.mark.parametrize("make", [screened, lambda user: make_study(instances=1, member=user)])
def test_only_the_screens_that_a_study_has_are_counted_and_listed(
    researcher_client, researcher, make
):
    study = make(researcher)
    pages = {name: researcher_client.get(at(study, name)) for name in PAGES}
    has = [name for name, page in pages.items() if b"data-absent" not in page.content]
    assert list(pages["welcome"].context["preview"]) == has
    launch = researcher_client.get(f"/studies/{study.pk}/launch/")
    assert launch.context["screens"] == len(has)


@pytest.mark.parametrize("provider", sorted(platforms()))
def test_the_end_is_that_of_the_channel_and_leads_nowhere(researcher_client, researcher, provider):
    study = make_study(instances=1, member=researcher)
    settings = {"completed_url": "https://panel.example/done?code={code}"}
    study.channels.create(provider=provider, external_id="S1", settings=settings)
    page = researcher_client.get(at(study, "finish") + f"&via={provider}")
    assert page_of(page) == "end"
    main = page.content.decode().partition("<main")[2]
    assert not re.findall(r'href="(?!\?)', main)
    assert "action=" not in main


def test_only_the_page_in_the_frame_can_be_framed(researcher_client, researcher):
    study = make_study(instances=1, member=researcher)
    phone = researcher_client.get(at(study, "unit") + "&screen=phone")
    assert 'src="?page=unit&amp;screen=framed"' in phone.content.decode()
    assert phone["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in phone["Content-Security-Policy"]
    assert researcher_client.get(at(study, "unit"))["X-Frame-Options"] == "DENY"
    framed = researcher_client.get(at(study, "unit") + "&screen=framed")
    assert "X-Frame-Options" not in framed
    assert "frame-ancestors 'self'" in framed["Content-Security-Policy"]
    assert b'<nav class="preview"' not in framed.content
    assert Client().get(at(study, "unit") + "&screen=framed").status_code == 404


def test_texts_are_shown_in_the_studys_format(researcher_client, researcher):
    study = make_study(instances=1, member=researcher, generation_format="markdown")
    Generation.objects.update(text="a *b*")
    assert b"a <em>b</em>" in researcher_client.get(at(study, "unit")).content


def test_a_study_whose_default_link_is_full_has_its_pages(researcher_client, researcher):
    study = opened(
        (),
        instances=2,
        member=researcher,
        reward=Decimal(1),
        hits_per_annotator=1,
        ratings_per_hit=1,
    )
    for name in "abc":
        enter(study, "open-link", name)
    for name in PAGES:
        assert researcher_client.get(at(study, name)).status_code == 200
    recruit = researcher_client.get(f"/studies/{study.pk}/recruitment/").content.decode()
    assert "Open link has as many people as may enter" in recruit
    assert "Stop new entries" in recruit


@pytest.mark.parametrize("is_drawn", [False, True])
def test_before_there_is_a_plan_an_item_is_shown_that_will_be_rated(researcher, is_drawn):
    study = make_study(instances=8, member=researcher)
    first, second, third, *_ = Instance.objects.order_by("pk")
    Generation.objects.update(
        text="The committee met on Tuesday. It agreed to spend more on roads."
    )
    for instance in (first, second):
        unit = preview.unplanned_unit(study)
        assert unit.instance == instance
        unit.role = Unit.Role.QUALIFICATION
        unit.key, unit.inclusion_probability = f"test-{instance.pk}", None
        unit.save()
    if is_drawn:
        select_instances(study, [first.pk, third.pk], of=8)
    assert preview.unplanned_unit(study).instance == (first if is_drawn else third)

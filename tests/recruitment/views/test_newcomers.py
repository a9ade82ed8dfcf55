"""Pages tell each person only what is true for them, and refer only to what is on the page."""

import pytest
from django.test import Client

from annotation.models import Participation
from recruitment.messages import NEXT_STEP
from recruitment.models import Channel
from recruitment.services.lifecycle import close_study, pause_study
from tests.annotation.annotators import annotator
from tests.pages import codes_on
from tests.recruitment.platforms.test_platforms import enter, entry, mturk
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("verb", [pause_study, close_study])
def test_a_newcomer_is_not_told_that_answers_of_theirs_are_saved(verb):
    study = make_open_study(instances=1)
    verb(study=study)
    newcomer = Client().get(f"/s/{study.pk}/")
    posted = Client().post(f"/s/{study.pk}/", {"choice": "agree", "version": "1"})
    for page in (newcomer, posted):
        study.refresh_from_db()
        assert (page.status_code, codes_on(page)) == (409, {f"{study.status}_to_newcomers"})


def screened_out_page(browser) -> tuple[str, str]:
    """The page, and its advice on what to do next."""
    Participation.objects.update(status="screened_out")
    page = browser.here()
    assert codes_on(page) == {"screened_out"}
    return page.content.decode(), page.context["advice"]


def test_who_failed_the_test_reads_of_no_code_or_button_that_is_not_there():
    page, advice = screened_out_page(annotator(make_open_study(instances=1, comments=False)))
    assert "<output>" not in page
    assert "<button" not in page
    assert advice == NEXT_STEP["none"]


def test_who_failed_the_test_is_told_of_the_button_that_is_there():
    study = make_open_study(instances=1)
    settings = {"person_parameter": "pid", "screened_out_url": "https://panel.example/out"}
    Channel.objects.create(study=study, provider="panel", settings=settings)
    page, advice = screened_out_page(enter(study, entry(study, "panel", pid="ann")))
    assert "https://panel.example/out" in page
    assert "<output>" not in page
    assert advice == NEXT_STEP["link"]


def test_who_failed_the_test_in_a_frame_is_told_to_submit():
    study = make_open_study(instances=1)
    Channel.objects.create(study=study, provider="mturk", external_id="H1")
    browser = Client()
    address = browser.post(
        browser.get(mturk(study))["Location"], {"choice": "agree", "version": "1"}
    )["Location"]
    Participation.objects.update(status="screened_out")
    page = browser.get(address, follow=True)
    assert "externalSubmit" in page.content.decode()
    assert page.context["advice"] == NEXT_STEP["form"]

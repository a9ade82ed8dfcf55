"""The page of experts' weights in a browser: before a survey, and with its votes."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from annotation.services.planning import plan_hits
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.test_generate_select import log_in
from tests.studies.design.test_expert_surveys import with_criteria
from tests.studies.factories import open_knowingly


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_survey_is_made_and_used_by_one_click_each(
    chromium_page: Page, live_server, width, scheme
):
    study = with_criteria("fluency", "relevance")
    page = chromium_page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url, study)

    def looks_right() -> None:
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)

    address = f"{live_server.url}/studies/{study.pk}/expert-weights/"
    page.goto(address)
    looks_right()
    page.get_by_role("button", name="Make a survey for experts").click()
    survey = Study.objects.get(survey_for=study)
    assert page.url.endswith(reverse("studies:data", args=[survey.pk]))
    assert Membership.objects.filter(study=survey, role="owner").count() == 1
    looks_right()
    plan_hits(study=survey)
    open_knowingly(survey)
    for answer in (0, 0, 1):
        annotator(survey).choose(answer)
    page.goto(address)
    looks_right()
    page.get_by_role("button", name="Use the votes of these 3 experts").click()
    page.get_by_text("They are in use.").wait_for()
    study.refresh_from_db()
    assert study.weights_from == survey
    looks_right()

"""Generate & select in a browser: from no texts to planned HITs, without losing form input."""

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Locator, Page, expect

from annotation.models import HIT
from jobs.models import Job
from jobs.services import STOPPED
from studies.instance_selection.scoring import score_separability
from studies.model_servers import FAKE
from studies.models import Generation, Membership, SeparabilityScore, Study
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.pages import numbers, success
from tests.studies.factories import make_study


def log_in(page: Page, url: str, study: Study) -> str:
    """Log in as a member of the study; return the URL of its page."""
    ruth = User.objects.create_superuser("ruth", password="a long password")
    Membership.objects.create(study=study, user=ruth)
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    return f"{url}/studies/{study.pk}/generate-and-select/"


def check_readable(page: Page) -> None:
    for check in (check_accessible, check_fits, check_ids, check_legible):
        check(page)


def test_from_two_systems_to_planned_hits(live_server, chromium_page: Page):
    study = make_study(instances=12, comparisons_per_hit=2)
    Generation.objects.all().delete()
    page, url = chromium_page, live_server.url
    log_in(page, url, study)
    page.goto(f"{url}/studies/{study.pk}/generate-and-select/")

    page.get_by_label("Generations per system and instance").fill("3")
    page.get_by_label("Server").select_option(FAKE)
    page.get_by_role("button", name="Generate missing texts").click()
    expect(page.locator("#jobs [data-status=done]")).to_have_count(1)
    assert Generation.objects.count() == 72

    page.get_by_role("button", name="Score remaining instances").click()
    expect(page.locator("#jobs [data-status=done]")).to_have_count(2)
    assert SeparabilityScore.objects.count() == 12
    expect(page.locator("#pair-1")).to_contain_text(re.compile(r"\b12\b"))
    expect(page.get_by_role("img").first).to_be_visible()
    page.locator("a[href*='robustness=1']").click()
    expect(page.get_by_text("K = 2 of 3")).to_be_visible()

    page.get_by_label("Instances per pair of systems").fill("5")
    page.get_by_label("Design").select_option("top")
    page.get_by_role("button", name="Preview selection").click()
    expect(page.locator("#draw caption")).to_have_text(numbers(30))
    expect(page.locator("#draw td").first).to_have_text(numbers(5, 12))
    page.get_by_role("button", name="Draw instances and plan tasks").click()
    expect(page.locator(".confirm li").first).to_have_text(numbers(5, 12))
    page.get_by_role("button", name="Draw and plan").click()
    expect(success(page, 5, 5, 10, 15)).to_be_visible()
    assert HIT.objects.count() == 5
    assert study.selected.filter(phase="control").count() == 1

    dummies = page.locator("[aria-labelledby=dummies-heading]")
    expect(page.locator("#dummies-heading")).to_have_text(numbers(72))
    dummies.locator("summary").click()
    expect(dummies.locator("details p").first).to_have_text(numbers(72, 12, 1))
    check_readable(page)
    page.get_by_role("button", name="Remove 72 dummy texts").click()
    expect(success(page, 72)).to_be_visible()
    assert Generation.objects.count() == HIT.objects.count() == 0


def made_here(instances: int) -> Study:
    """Return a study whose texts were not imported, so more can be made."""
    study = make_study(instances=instances)
    Generation.objects.update(params={"server": "lab"})
    return study


def test_a_finished_job_shows_its_scores_and_keeps_form_input(live_server, chromium_page: Page):
    study = made_here(instances=4)
    job = Job.objects.create(owner=study.pk, kind="scoring", total=4)
    page = chromium_page
    page.goto(log_in(page, live_server.url, study))
    expect(page.locator("#jobs [data-status=queued]")).to_be_visible()
    page.get_by_label("Prompt").fill("Sum up {source}")
    page.get_by_label("Floor").fill("0.25")
    score_separability(study=study)
    Job.objects.filter(pk=job.pk).update(status="done", done=4)
    expect(page.locator("#jobs [data-status=done]")).to_be_visible()
    expect(page.locator("#pair-1")).to_contain_text(re.compile(r"\b4\b"))
    expect(page.locator("#jobs-status")).not_to_be_empty()
    expect(page.get_by_label("Prompt")).to_have_value("Sum up {source}")
    expect(page.get_by_label("Floor")).to_have_value("0.25")
    expect(page.get_by_label("Floor")).to_be_focused()


def test_a_job_is_stopped_in_place(live_server, chromium_page: Page):
    study = made_here(instances=4)
    score_separability(study=study)
    Job.objects.create(owner=study.pk, kind="scoring")
    page = chromium_page
    page.goto(log_in(page, live_server.url, study))
    expect(page.locator("#pair-1")).to_be_visible()  # what is above the button was loaded
    page.get_by_label("Prompt").fill("Sum up {source}")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#jobs-status")).not_to_be_empty()
    expect(page.locator("#jobs [data-status=stopped]")).to_contain_text(STOPPED)
    expect(page.get_by_label("Prompt")).to_have_value("Sum up {source}")


@pytest.mark.parametrize("width", [1440, 360])
def test_the_selection_preview_is_shown_in_place(live_server, chromium_page: Page, width):
    study = made_here(instances=8)
    score_separability(study=study)
    page = chromium_page
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(log_in(page, live_server.url, study))
    expect(page.locator("#pair-1")).to_be_visible()  # what is above the button was loaded
    page.get_by_label("Prompt").fill("Sum up {source}")
    page.get_by_label("Instances per pair of systems").fill("4")
    button = page.get_by_role("button", name="Preview selection")
    button.scroll_into_view_if_needed()
    assert page.evaluate("window.scrollY") > 0
    before = top_of(button)
    button.click()
    expect(page.get_by_role("cell", name="4 of 8")).to_be_visible()
    assert abs(top_of(button) - before) < 2  # nothing moves under the reader's eyes
    expect(button).to_be_focused()
    expect(page.get_by_label("Instances per pair of systems")).to_have_value("4")
    expect(page.get_by_label("Prompt")).to_have_value("Sum up {source}")
    check_readable(page)
    page.get_by_label("Instances per pair of systems").fill("9")
    button.click()
    expect(page.locator("#draw .errorlist")).to_have_text(numbers(9, 8))
    expect(page.get_by_role("button", name="Draw instances")).to_have_count(0)


def top_of(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["y"]


def test_without_javascript_the_page_opens_at_the_selection_preview(live_server, browser: Browser):
    study = made_here(instances=8)
    score_separability(study=study)
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(log_in(page, live_server.url, study))
        page.get_by_label("Instances per pair of systems").fill("4")
        page.get_by_role("button", name="Preview selection").click()
        expect(page.get_by_role("cell", name="4 of 8")).to_be_in_viewport()
        assert page.url.endswith("#draw")


@pytest.mark.parametrize("width", [1440, 360])
def test_a_refused_form_focuses_the_field_with_the_error(live_server, chromium_page: Page, width):
    study = made_here(instances=4)
    page = chromium_page
    page.set_viewport_size({"width": width, "height": 500})
    page.goto(log_in(page, live_server.url, study))
    page.get_by_label("Seed").first.fill("77")
    page.get_by_label("Prompt").fill("Sum it up")
    page.get_by_label("Server").select_option(FAKE)
    page.get_by_role("button", name="Generate missing texts").click()
    expect(page.locator(".errorlist")).to_contain_text("{source}")
    expect(page.locator(".errorlist")).to_be_in_viewport()
    expect(page.get_by_label("Prompt")).to_be_focused()
    expect(page.get_by_label("Prompt")).to_have_value("Sum it up")
    expect(page.get_by_label("Seed").first).to_have_value("77")
    check_readable(page)

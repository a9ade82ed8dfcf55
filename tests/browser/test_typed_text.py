"""What is typed on a researcher's page outlives its session and its tab, until it is saved."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from studies.models import Membership, Study
from tests.browser.test_researcher_pages import log_in
from tests.studies.factories import make_study


@pytest.fixture
def study(page: Page, live_server) -> Study:
    """A draft of Ruth's, who is logged in."""
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=1)
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    return study


def test_what_was_typed_comes_back_after_a_log_in(page: Page, live_server, study):
    task = f"{live_server.url}/studies/{study.pk}/design/task/"
    page.goto(task)
    page.locator("[name=guidelines]").fill("A text that took an hour.")
    Session.objects.all().delete()
    page.get_by_role("button", name="Save", exact=True).last.click()
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(task)
    page.locator("[data-draft] button").first.click()
    expect(page.locator("[name=guidelines]")).to_have_value("A text that took an hour.")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.locator("main .success")).to_be_visible()
    study.refresh_from_db()
    assert study.guidelines == "A text that took an hour."
    page.goto(task)
    expect(page.locator("[data-draft]")).to_have_count(0)


def test_no_password_is_kept(page: Page, live_server, study):
    page.goto(f"{live_server.url}/studies/{study.pk}/recruitment/")
    page.locator("details:has([name=token])").first.evaluate("folded => { folded.open = true; }")
    page.locator("[name=token]").first.fill("secret-token")
    kept = page.evaluate("JSON.stringify({...localStorage})")
    assert "typed" in kept
    assert "secret-token" not in kept


def test_after_a_refusal_what_was_saved_is_not_called_lost(page: Page, live_server, study):
    page.goto(f"{live_server.url}/studies/{study.pk}/recruitment/")
    channel = page.locator("form[action*='open-link']").first
    most = channel.locator("[name=most_people]")
    most.fill("7")
    shown = {"own": "pay_instruction", "send": "pay_contact"}
    for claim in ("", *shown):
        channel.locator("[name=pay_claim]").select_option(claim)
        for needing, name in shown.items():
            expect(channel.locator(f"[name={name}]")).to_be_visible(visible=needing == claim)
    channel.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".errorlist")).to_be_visible()
    channel.locator("[name=pay_contact]").fill("pay@example.org")
    channel.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("main .success")).to_be_visible()
    expect(page.locator("[data-draft]")).to_have_count(0)
    expect(most).to_have_value("7")

"""The box for a comment on a phone, with and without a script, and the researcher's list."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from annotation.models import Comment, Rating
from tests.browser.accessibility import check_fits, check_rules
from tests.browser.pages import expect_status
from tests.browser.test_annotating import enter
from tests.browser.test_researcher_pages import log_in
from tests.studies.factories import make_open_study


@pytest.mark.parametrize("has_script", [True, False])
def test_a_comment_is_typed_and_saved_on_a_phone(browser: Browser, live_server, has_script):
    study = make_open_study(instances=1)
    phone = {"width": 360, "height": 740}
    with browser.new_context(java_script_enabled=has_script, viewport=phone) as context:
        page = context.new_page()
        enter(page, live_server, study)
        page.get_by_text("Leave a comment").press("Enter")
        page.get_by_role("textbox").press_sequentially("1 n: keys are text here?")
        page.get_by_role("button", name="Save comment").click()
        expect(page.locator("[data-status=comment_saved]")).to_be_visible()
        expect(page.get_by_role("textbox")).to_have_value("1 n: keys are text here?")
        expect_status(page, "unanswered")
        if has_script:
            for check in (check_rules, check_fits):
                check(page)
    assert Comment.objects.get().text == "1 n: keys are text here?"
    assert not Rating.objects.exists()


def test_an_unsaved_comment_is_not_left_unasked_and_a_saved_one_is_marked_as_done(
    chromium_page: Page, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    page.get_by_text("Leave a comment").click()
    page.get_by_role("textbox").fill("Which of them is longer?")
    page.get_by_role("button", name="Save comment").click()
    expect(page.locator("[data-status=comment_saved]")).to_be_visible()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    page.reload()
    assert dialogs == []
    page.get_by_text("Your comment").first.click()
    page.get_by_role("textbox").fill("It is not saved yet.")
    User.objects.create_superuser("ruth", password="a long password")
    log_in(page, live_server.url)
    assert dialogs == ["beforeunload"]
    page.goto(f"{live_server.url}/studies/{study.pk}/comments/")
    expect(page.locator("#waiting-comments")).to_have_text("1 open")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("[data-comment]")).to_have_count(0)
    expect(page.locator("#waiting-comments")).to_have_text("")
    assert Comment.objects.get().done_by.username == "ruth"

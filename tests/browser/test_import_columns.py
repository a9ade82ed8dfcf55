"""The page on which the columns of a table are chosen follows each choice at once."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.browser.accessibility import check_accessible, check_ids
from tests.browser.pages import numbers
from tests.browser.test_wide_tables import WIDER

pytestmark = pytest.mark.enable_socket
TABLE = b"""id,question,bart_summary,t5_summary,third_summary
1,Why is it late?,It rained all night.,The road was closed.,Nobody had planned it.
2,How was it made?,By hand in a week.,With a simple machine.,Out of two old ones.
"""


@pytest.fixture
def columns(page: Page, live_server: Any) -> Page:
    User.objects.create_user("ruth", password="a long password", is_staff=True)
    page.goto(f"{live_server.url}/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Texts I have").click()
    page.locator("#id_file").set_input_files(
        {"name": "table.csv", "mimeType": "text/csv", "buffer": TABLE}
    )
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/studies/new/*/")
    page.wait_for_load_state()  # a choice made before the scripts run waits for the button
    return page


def meaning(page: Page, column: str) -> Any:
    return page.get_by_label(f"Meaning of {column}", exact=True)


def systems(page: Page) -> Any:
    return page.locator("#outcome .sums > div").nth(1)


def test_the_counts_follow_the_meaning_of_a_column_and_nothing_typed_is_lost(columns: Page):
    page = columns
    expect(systems(page)).to_contain_text("third")
    page.get_by_label("Title of the study").fill("Three answers")
    meaning(page, "third_summary").focus()
    meaning(page, "third_summary").select_option("")
    expect(systems(page)).not_to_contain_text("third")
    expect(page.locator("#columns-heading")).to_have_text(numbers(2, 2))
    expect(page.get_by_label("Title of the study")).to_have_value("Three answers")
    expect(meaning(page, "third_summary")).to_be_focused()
    check_ids(page)
    check_accessible(page)


def test_a_choice_that_cannot_be_is_explained_and_can_be_corrected(columns: Page):
    page = columns
    meaning(page, "third_summary").select_option("instance")
    expect(page.locator('[data-code="repeated_role"]')).to_be_visible()
    expect(page.get_by_role("button", name="Create study")).to_have_count(0)
    expect(page.locator("#outcome .sums")).to_have_count(0)
    expect(meaning(page, "third_summary")).to_have_value("instance")
    meaning(page, "third_summary").select_option("text:")
    expect(page.locator('[data-code="repeated_role"]')).to_have_count(0)
    expect(page.get_by_role("button", name="Create study")).to_be_visible()


def test_another_layout_is_guessed_anew(columns: Page):
    page = columns
    page.get_by_label("Long:").check()
    expect(page.locator("input[name=shown_layout]")).to_have_value("long")
    expect(page.get_by_label("Long:")).to_be_checked()


def test_a_refused_upload_is_left_without_a_question(columns: Page):
    page = columns
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_role("link", name="Choose another file").click()
    file = page.locator("#id_file")
    page.get_by_role(
        "button", name="Continue"
    ).click()  # the browser asks for a file, and sends nothing
    assert file.evaluate("input => input.validity.valueMissing")
    picture = {"name": "a.png", "mimeType": "image/png", "buffer": bytes(range(256)) * 9}
    file.set_input_files(picture)
    page.get_by_role("button", name="Continue").click()
    expect(page.locator(".errorlist").first).to_contain_text("a.png")
    page.get_by_text("Sample files").click()  # without a click, a browser never asks
    page.get_by_role("link", name="Studies").first.click()
    expect(page.get_by_role("link", name="Texts I have")).to_be_visible()
    assert not asked


def test_problems_are_read_on_a_phone_without_scrolling(columns: Page):
    page = columns
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("link", name="Choose another file").click()
    missing = TABLE.replace(b"The road was closed.", b"").replace(b"t5_summary", b"vicuna_summary")
    page.locator("#id_file").set_input_files(
        {"name": "table.csv", "mimeType": "text/csv", "buffer": missing}
    )
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("region", name="Problems")).to_contain_text("is missing")
    assert not page.evaluate(WIDER)

"""Reasons and answers that are no label, in a browser: with keys, on a phone, without a script."""

import os
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from annotation.models import Participation, Rating
from studies.models import Criterion, Study
from tests.browser.accessibility import check_accessible, check_fits, check_targets
from tests.browser.pages import expect_status, expect_unit, shown
from tests.studies.factories import make_open_study

HOSTILE = '<script>alert(1)</script><b onclick="x">bold</b> \u202e{{ 7|add:1 }} =1+1'


SHORT = "short"
LONG = f"{SHORT}, and long enough"


def study_with_both(*, scale: str = "preference:tie") -> Study:
    study = make_open_study(
        instances=1, ratings_per_hit=1, comparisons_per_hit=3, nonresponses="both"
    )
    study.criteria.update(reason="required", reason_length=10)
    Criterion.objects.create(
        study=study, name="fluency", question="Which is more fluent?", position=1, scale=scale
    )
    return study


def enter(page: Page, live_server: Any, study: Study) -> None:
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    expect_unit(page, 1)
    page.wait_for_load_state("load")


def picture(page: Page, name: str) -> None:
    folder = os.environ.get("TIEBREAK_LOOK")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")


def test_keys_alone_give_a_reason_cannot_say_and_broken(chromium_page: Page, live_server):
    page, study = chromium_page, study_with_both()
    enter(page, live_server, study)
    page.keyboard.press("1")
    expect_status(page, "reason")
    page.keyboard.type(HOSTILE)  # the reason has the focus
    page.keyboard.press("Tab")
    expect_status(page, "partly_saved")
    picture(page, "small-wide")
    check_accessible(page)
    page.keyboard.press("0")
    expect_status(page, "saved")
    page.keyboard.press("n")
    expect_unit(page, 2)
    page.keyboard.press("x")
    expect_status(page, "saved")
    expect(page.get_by_role("radio", name="Broken or harmful", checked=True)).to_have_count(2)
    page.keyboard.press("n")
    expect_unit(page, 3)
    page.keyboard.press("b")
    expect_unit(page, 2)
    expect(page.get_by_role("radio", name="Broken or harmful", checked=True)).to_have_count(2)
    stored = set(Rating.objects.values_list("criterion__name", "nonresponse", "reason"))
    assert stored == {
        ("preference", "", HOSTILE),
        ("fluency", "cannot_say", ""),
        ("preference", "broken", ""),
        ("fluency", "broken", ""),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_works_on_a_phone(chromium_page: Page, live_server, scheme):
    page, study = chromium_page, study_with_both()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    enter(page, live_server, study)
    first = page.get_by_role("group").first
    first.get_by_role("radio", name="is better").first.check()
    expect_status(page, "reason")
    picture(page, f"small-phone-{scheme}")
    check_fits(page)
    check_accessible(page)
    first.get_by_role("textbox").fill("The first one names the heater.")
    first.get_by_role("textbox").blur()
    expect_status(page, "partly_saved")
    page.get_by_role("group").nth(1).get_by_role("radio", name="I cannot say").check()
    expect_status(page, "saved")
    picture(page, f"small-phone-answered-{scheme}")
    page.get_by_role("link", name="Next").click()
    expect_unit(page, 2)
    check_targets(page)


def test_a_reason_that_is_too_short_is_not_sent_and_not_lost(chromium_page: Page, live_server):
    page, study = chromium_page, study_with_both()
    enter(page, live_server, study)
    first = page.get_by_role("group").first
    first.get_by_role("textbox").fill(SHORT)
    first.get_by_role("radio", name="Left is better").check()
    expect_status(page, "reason")
    page.get_by_role("button", name="Next", exact=True).click()
    expect_unit(page, 1)
    expect(first.get_by_role("textbox")).to_have_value(SHORT)
    assert not Rating.objects.exists()
    first.get_by_role("textbox").fill(LONG)
    page.get_by_role("group").nth(1).get_by_role("radio", name="I cannot say").check()
    page.get_by_role("button", name="Next", exact=True).or_(
        page.get_by_role("link", name="Next", exact=True)
    ).click()
    expect_unit(page, 2)
    assert Rating.objects.get(criterion__name="preference").reason == LONG


def test_without_a_script(browser: Browser, live_server):
    study = study_with_both(scale="ordinal:0..100")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        enter(page, live_server, study)
        first, second = page.get_by_role("group").first, page.get_by_role("group").nth(1)
        first.get_by_role("radio", name="Left is better").check()
        first.get_by_role("textbox").fill(SHORT)
        second.get_by_role("radio", name="I cannot say").check()
        page.get_by_role("button", name="Next", exact=True).click()
        expect(shown(page, "reason_too_short")).to_be_visible()
        expect(first.get_by_role("textbox")).to_have_value(SHORT)
        expect(second.get_by_role("radio", name="I cannot say")).to_be_checked()
        first.get_by_role("textbox").fill(LONG)
        page.get_by_role("button", name="Next", exact=True).click()
        expect_unit(page, 2)
    assert Rating.objects.get(criterion__name="fluency").nonresponse == "cannot_say"


def test_what_people_typed_is_text_on_the_researchers_pages(
    chromium_page: Page, live_server, client
):
    page = chromium_page
    study = study_with_both()
    user = User.objects.create_superuser("ada")
    enter(page, live_server, study)
    page.keyboard.press("1")
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Tab")
    expect_status(page, "partly_saved")
    page.keyboard.press("0")
    expect_status(page, "saved")
    page.keyboard.press("n")
    expect_unit(page, 2)
    page.keyboard.press("x")
    expect_status(page, "saved")
    client.force_login(user)
    page.context.add_cookies(
        [{"name": c.key, "value": c.value, "url": live_server.url} for c in client.cookies.values()]
    )
    page.goto(f"{live_server.url}/studies/{study.pk}/data/")
    page.get_by_role("button", name="Set aside").first.click()
    expect(page.locator("[data-aside]")).to_have_count(1)
    page.locator("main summary").first.click()
    expect(page.get_by_text(HOSTILE)).to_be_visible()
    picture(page, "small-items")
    check_accessible(page)
    person = Participation.objects.get()
    page.goto(f"{live_server.url}/studies/{study.pk}/participants/{person.public_id}/")
    expect(page.locator("[data-reason]")).to_have_text(HOSTILE)
    picture(page, "small-participant")
    check_accessible(page)


def test_numbers_are_typed_key_by_key_and_a_reason_is_sent_before_the_next_page(
    chromium_page: Page, live_server
):
    page, study = chromium_page, study_with_both(scale="interval")
    study.criteria.update(reason="optional")
    enter(page, live_server, study)
    first, second = page.get_by_role("group").first, page.get_by_role("group").nth(1)
    first.get_by_role("radio", name="Left is better").check()
    second.get_by_role("spinbutton").press_sequentially("-3.5")
    second.get_by_role("spinbutton").blur()
    expect_status(page, "saved")
    first.get_by_role("textbox").press_sequentially("It names the heater.")
    page.get_by_role("link", name="Next").click()
    expect_unit(page, 2)
    page.get_by_role("button", name="Next", exact=True).click()
    expect_unit(page, 2)
    current = Rating.objects.filter(superseded=False).values_list("label", "reason")
    assert ("-3.5", "") in current
    assert "It names the heater." in [reason for _, reason in current]

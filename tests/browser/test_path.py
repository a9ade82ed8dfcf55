"""The guided path: from the list of studies through every step to an open study."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from studies.models import Generation, Membership, Study
from tests.browser.accessibility import check_accessible, check_fits, check_ids
from tests.browser.pages import notes, success
from tests.browser.test_launching import log_in
from tests.studies.factories import make_dataset, make_open_study, make_study

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", password="a long password", is_staff=True)


def look(page: Page) -> None:
    """On wide and narrow screens, light and dark."""
    for scheme in ("light", "dark"):
        for width in (1440, 360):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            check_ids(page)
            check_accessible(page)
            check_fits(page)
    page.set_viewport_size({"width": 1440, "height": 900})


def step(page: Page, slug: str) -> None:
    page.locator(f"[data-step={slug}] a").click()
    expect(page.locator(f"[data-step={slug}] [aria-current=step]")).to_be_visible()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def state(page: Page, slug: str) -> str | None:
    return page.locator(f"[data-step={slug}]").get_attribute("data-state")


@pytest.mark.thorough
def test_a_study_is_made_on_the_path_step_by_step(
    chromium_page: Page, live_server: Any, ruth: User
):
    page = chromium_page
    dataset = make_dataset(instances=4)
    Generation.objects.update(text=LONG)
    dataset.created_by = ruth
    dataset.save()
    log_in(page, live_server.url)
    look(page)

    page.get_by_role("link", name="Empty study").click()
    page.get_by_label("Title").fill("Pilot")
    page.locator("#id_dataset").select_option(label=dataset.name)
    press(page, "Create the study")
    assert state(page, "data") == "done"
    look(page)
    press(page, "Save and continue")

    page.locator("#id_consent").fill("You take part in a study of the council's archive.")
    page.locator("#id_guidelines").fill("Prefer the *shorter* one.")
    frame = page.frame_locator("iframe[name=preview]")
    press(page, "Guidelines")
    expect(frame.locator(".prose em")).to_have_text("shorter")
    page.locator(".card").filter(has_text="in 5 steps").click()
    press(page, "Task")
    expect(frame.locator("input[name=criterion-preference]")).to_have_count(5)
    page.get_by_label("Phone").check()
    expect(page.locator("iframe")).to_have_css("width", "360px")
    look(page)
    press(page, "Save and continue")
    assert (state(page, "task"), state(page, "generate-select")) == ("done", "done")
    expect(page.locator("[data-step=quality] a")).to_have_attribute("aria-current", "step")
    look(page)

    press(page, "Add a comprehension question")
    row = page.locator("[data-prefix=comprehension] .row")
    row.get_by_label("Text:").fill("Which one is better?")
    row.get_by_label("Choices:").fill("the shorter\nthe longer")
    page.get_by_label("Training items").fill("1")
    page.locator("[data-otherwise] > summary").click()
    page.locator("#id_make-role").select_option("training")
    page.locator("#id_make-n").fill("2")
    press(page, "Make items")
    expect(page.locator(".reference-unit")).to_have_count(2)
    expect(row.get_by_label("Text:")).to_have_value("Which one is better?")
    look(page)
    page.get_by_role("button", name="Remove training-1").click()
    expect(page.locator(".reference-unit")).to_have_count(1)
    press(page, "Save and continue")

    page.get_by_label("Maximum tasks per annotator:").fill("2")
    page.get_by_label("Estimated minutes per task").fill("6")
    page.get_by_label("Reward per annotator").fill("2")
    expect(page.locator("#cost")).to_contain_text("12.00 GBP")  # 4 tasks, R = 3, 1.00 each
    look(page)
    press(page, "Save and continue")
    expect(page.locator("[data-step=analysis-plan] a")).to_have_attribute("aria-current", "step")
    skip = page.locator("button.primary")
    expect(skip).to_have_text("Skip")
    page.wait_for_load_state()  # with the script that looks at what is typed
    page.locator("#id_planned_exclusions").fill("Nobody.")
    expect(skip).to_have_text("Save and continue")
    press(page, "Save and continue")
    assert Study.objects.get().planned_exclusions == "Nobody."
    look(page)
    page.locator(".channel").filter(has_text="Open link").get_by_role(
        "button", name="Save", exact=True
    ).click()
    assert state(page, "recruit") == "done"

    step(page, "launch")
    notes(page).click()
    press(page, "Plan tasks")
    look(page)
    page.locator("[action$='/launch/open/'] button").click()
    page.locator(".confirm button.primary").click()
    expect(page.locator(".state-chip[data-status=open]")).to_be_visible()
    study = Study.objects.get()
    assert (study.status, study.criteria.get().scale) == ("open", "preference:5")
    for path in ("log/", "members/"):
        page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        look(page)


def test_what_is_typed_is_lost_by_no_button_and_by_leaving_only_after_a_question(
    chromium_page: Page, live_server: Any, ruth: User
):
    page = chromium_page
    study = make_open_study(instances=2)
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.goto(f"{live_server.url}/studies/{study.pk}/design/task/")
    page.locator("#id_guidelines").press_sequentially("Typed. ")
    press(page, "Guidelines")  # the preview takes what is typed, and leaves it in the form
    expect(page.frame_locator("iframe").locator(".prose").first).to_contain_text("Typed.")
    page.locator("[data-step=size] a").click(no_wait_after=True)
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    expect(page.locator("#id_guidelines")).to_have_value(re.compile("^Typed"))
    page.locator("#id_title").press("Enter")
    expect(success(page)).to_be_visible()
    study.refresh_from_db()
    assert study.guidelines.startswith("Typed")
    assert asked == ["beforeunload"]


def test_members_see_what_their_role_lets_them(chromium_page: Page, live_server: Any, ruth: User):
    page = chromium_page
    study = make_open_study(instances=2)
    membership = Membership.objects.create(study=study, user=ruth, role="analyst")
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/studies/{study.pk}/design/task/")
    expect(page.locator("[data-read-only]")).to_be_visible()
    expect(page.get_by_role("button", name="Save and continue")).to_have_count(0)
    look(page)
    membership.role = "viewer"
    membership.save()
    page.goto(f"{live_server.url}/studies/{study.pk}/")
    expect(page.locator(".rooms a")).to_have_count(2)
    page.goto(f"{live_server.url}/studies/{study.pk}/ledger/")
    expect(page.locator("main")).to_contain_text("owner")
    check_accessible(page)


def test_templates_fit(chromium_page: Page, live_server: Any, ruth: User):
    log_in(chromium_page, live_server.url)
    chromium_page.get_by_role("link", name="From a template of a published protocol").click()
    chromium_page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    look(chromium_page)
    chromium_page.get_by_role("button", name="Use this template").first.click()
    expect(chromium_page.locator("[data-step=data]")).to_be_visible()


def test_the_desktop_in_the_preview_has_both_columns_and_opens_in_full_size(
    chromium_page: Page, live_server: Any, ruth: User
):
    page, study = chromium_page, make_open_study(instances=1, member=ruth)
    log_in(page, live_server.url)
    page.goto(live_server.url + reverse("studies:task", args=[study.pk]))
    frame = page.frame_locator("iframe[name=preview]")
    sides = frame.locator(".pair article")
    expect(sides).to_have_count(2)
    first, second = sides.first.bounding_box(), sides.last.bounding_box()
    screen = page.locator(".screen").bounding_box()
    assert first is not None
    assert second is not None
    assert screen is not None
    assert first["y"] == second["y"]
    assert second["x"] + second["width"] <= screen["x"] + screen["width"]
    press(page, "Guidelines")
    with page.context.expect_page() as opened:
        press(page, "Open in full size, in a new tab")
    expect(opened.value.locator("h2").first).to_have_text("Guidelines")


def test_on_a_phone_the_row_of_steps_fades_only_where_it_goes_on(
    chromium_page: Page, live_server: Any, ruth: User
):
    page, draft = chromium_page, make_study(instances=1, member=ruth)
    log_in(page, live_server.url)
    row = page.locator(".study-nav")

    def fades() -> list[str]:
        ends = "(element) => ['--hidden', '--ahead'].map((name) => getComputedStyle(element).getPropertyValue(name))"
        return row.evaluate(ends)

    page.set_viewport_size({"width": 240, "height": 800})
    page.goto(live_server.url + reverse("studies:data", args=[draft.pk]))
    assert row.evaluate("(element) => element.scrollWidth > element.clientWidth")
    row.evaluate("(element) => element.scrollTo(0, 0)")
    page.wait_for_timeout(100)
    assert fades() == ["0px", "32px"]
    row.evaluate("(element) => element.scrollTo(element.scrollWidth, 0)")
    page.wait_for_timeout(100)
    assert fades() == ["32px", "0px"]
    page.set_viewport_size({"width": 600, "height": 800})
    study = make_open_study(instances=1, member=ruth)
    page.goto(live_server.url + reverse("recruitment:size", args=[study.pk]))
    assert row.evaluate("(element) => element.scrollWidth == element.clientWidth")
    assert fades() == ["0px", "0px"]

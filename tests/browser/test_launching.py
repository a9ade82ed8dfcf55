"""From a design with gaps to accepted late answers, as a researcher does it in a browser."""

import os
from pathlib import Path

from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from annotation.models import Rating
from annotation.services.ratings import Answer
from studies.models import Criterion, Generation, Instance, Membership, Study
from tests.annotation.annotators import annotator
from tests.annotation.answers import submit_rating
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.browser.accessibility import check_accessible, check_fits, check_ids
from tests.browser.pages import notes, numbers, shown, success
from tests.browser.test_researcher_pages import log_in
from tests.studies.factories import make_open_study, make_participation, make_study

SHOTS = os.environ.get("TIEBREAK_TEST_SCREENSHOTS", "")


def look(page: Page, name: str) -> None:
    """On wide and narrow screens, light and dark."""
    for scheme in ("light", "dark"):
        for width in (1440, 360):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            if SHOTS:
                Path(SHOTS).mkdir(parents=True, exist_ok=True)
                page.screenshot(
                    path=f"{SHOTS}/{name}-{scheme}-{width}.png", full_page=True, caret="initial"
                )
            check_ids(page)
            check_accessible(page)
            check_fits(page)
    page.set_viewport_size({"width": 1440, "height": 900})


def state(page: Page, status: str) -> Locator:
    return page.locator(f".study-header [data-status={status}]")


def rate(study: Study, assignment, hit_units) -> None:
    criterion = study.criteria.get()
    for hit_unit in hit_units:
        answer = Answer(shown_label="1", client_key=f"{hit_unit.pk}", duration_ms=4000)
        submit_rating(assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer)


def test_a_study_is_mended_opened_closed_reopened_and_takes_late_answers(page: Page, live_server):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2, ratings_per_hit=1, guidelines="")
    Generation.objects.filter(instance__key="note-0", sample_index=0).update(text="The same.")
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    launch = f"{live_server.url}/studies/{study.pk}/launch/"
    page.goto(launch)
    notes(page).click()
    expect(shown(page, "not_planned")).to_be_visible()
    expect(shown(page, "no_guidelines")).to_be_visible()
    look(page, "draft")

    page.goto(f"{live_server.url}/studies/{study.pk}/design/task/")
    page.locator("#id_guidelines").fill("Read both texts.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(success(page)).to_be_visible()

    page.goto(launch)
    page.get_by_role("button", name="Open the study…").click()
    expect(page.locator("[data-final] li")).to_have_count(4)
    expect(page.locator(".verbs button")).to_be_in_viewport(ratio=1)
    look(page, "planned")
    page.get_by_role("link", name="Cancel").click()

    notes(page).click()
    page.get_by_role("button", name="Plan tasks").click()
    expect(success(page, 2)).to_be_visible()
    expect(shown(page, "identical_texts")).to_contain_text(numbers(1, 10))

    page.get_by_role("button", name="Open the study…").click()
    look(page, "open")
    page.get_by_role("button", name="Open despite the warning").click()
    expect(state(page, "open")).to_be_visible()
    study.refresh_from_db()
    assignment = take_place(participation=make_participation(study), now=timezone.now())
    first, *others = hit_units_of(assignment)
    rate(study, assignment, [first])

    page.get_by_role("button", name="Close…").click()
    consequences = page.locator(".confirm li")
    expect(consequences.filter(has_text=numbers(0, 2))).to_be_visible()
    expect(consequences.filter(has_text=numbers(1))).to_be_visible()
    look(page, "close")
    page.get_by_role("button", name="Close the study").click()
    expect(state(page, "closed")).to_be_visible()
    rate(study, assignment, others)

    page.get_by_role("button", name="Reopen…").click()
    page.get_by_role("button", name="Reopen the study").click()
    look(page, "late")
    page.get_by_role("button", name="Accept late answers…").click()
    expect(page.locator(".confirm li").filter(has_text=numbers(4, 1))).to_be_visible()
    look(page, "accept")
    page.get_by_role("button", name="Accept all").click()
    expect(success(page, 4)).to_be_visible()
    look(page, "log")
    assert Rating.objects.counted().count() == 5
    assert stored_tallies(study=study) == +recount(study=study)


SEEN = ".seen iframe"


def test_what_annotators_see_has_both_texts_on_a_phone_and_leaves_the_checks_in_sight(
    chromium_page: Page, live_server
):
    page, ruth = chromium_page, User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2, member=ruth, comments=True, minutes_per_hit=2)
    Instance.objects.update(source="A long source. " * 60)
    Generation.objects.update(text="A summary of it. " * 40)
    Criterion.objects.update(reason="optional")
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/studies/{study.pk}/launch/")
    seen = page.frame_locator(SEEN)
    for width in (1440, 360):
        page.set_viewport_size({"width": width, "height": 900})
        expect(seen.locator("article")).to_have_count(2)
        height = page.locator(SEEN).bounding_box()["height"]
        assert height <= (335 if width > 360 else 600)
        page.locator(SEEN).scroll_into_view_if_needed()
        question = seen.locator("fieldset").bounding_box()
        for part in ("article >> nth=0", "article >> nth=1"):
            box = seen.locator(part).bounding_box()
            assert box["y"] + box["height"] <= question["y"]
        tops = {one.bounding_box()["y"] for one in seen.locator(".choices label").all()}
        assert len(tops) == 1
        check_fits(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    starts = "rows => rows.map(row => [...row.children].map(e => e.getBoundingClientRect().left))"
    for name, number in page.locator(".lines > div").evaluate_all(starts):
        assert name == number
    lines = page.locator('.steps [data-state="done"] small').evaluate_all(
        "notes => notes.map(e => e.clientHeight / parseFloat(getComputedStyle(e).lineHeight))"
    )
    assert max(lines) < 1.5
    page.set_viewport_size({"width": 360, "height": 900})
    steps = page.locator(".study-nav")
    assert steps.evaluate("e => e.scrollWidth <= e.clientWidth")


def test_what_copies_looks_the_same_on_every_page(chromium_page: Page, live_server):
    page, ruth = chromium_page, User.objects.create_superuser("ruth", password="a long password")
    study = make_open_study(instances=1, member=ruth)
    annotator(study)  # before somebody enters, the button leads on Collect
    log_in(page, live_server.url)
    looks = set()
    for path in ("", "launch/", "recruitment/"):
        page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        look_of = "e => [getComputedStyle(e).color, e.clientHeight, e.clientWidth].join()"
        looks.add(page.locator(".copy:visible").first.evaluate(look_of))
    assert len(looks) == 1


def test_leaving_with_something_typed_asks_and_sending_it_does_not(
    chromium_page: Page, live_server
):
    page, ruth = chromium_page, User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2)
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    address = f"{live_server.url}/studies/{study.pk}/design/task/"
    page.goto(address)
    page.locator("#id_guidelines").press_sequentially("Typed. ")
    page.locator(".crumb a").click()
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.url == address
    page.get_by_label("Title").press("Enter")  # saves, and stays
    expect(success(page)).to_be_visible()
    assert (page.url, asked) == (address, ["beforeunload"])

    page.goto(f"{live_server.url}/studies/{study.pk}/recruitment/")
    for title in ("Another panel", "Prolific"):
        page.locator("summary").filter(has_text=title).click()
    panel = page.locator("section", has=page.get_by_role("heading", name="Another panel"))
    panel.get_by_label("Person parameter").press_sequentially("x")
    prolific = page.locator("section", has=page.get_by_role("heading", name="Prolific"))
    prolific.get_by_label("Description").press_sequentially("Read.")
    prolific.get_by_role("button", name="Set up").click()
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"] * 2  # what stands in the other form would be lost

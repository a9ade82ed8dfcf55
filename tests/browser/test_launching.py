"""From a design with gaps to accepted late answers, as a researcher does it in a browser."""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Rating
from annotation.services.ratings import Answer
from studies.models import Generation, Membership, Study
from tests.annotation.answers import submit_rating
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.browser.accessibility import check_accessible, check_fits, check_ids
from tests.browser.pages import numbers, shown, success
from tests.studies.factories import make_participation, make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.django_db(transaction=True),
]
SHOTS = os.environ.get("TIEBREAK_TEST_SCREENSHOTS", "")


def look(page: Page, name: str, *, of_ours: bool = True) -> None:
    """On wide and narrow screens, light and dark; of the admin's pages only what we added."""
    for scheme in ("light", "dark"):
        for width in (1440, 360):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)  # Django's links fade from one scheme to the other
            if SHOTS:
                Path(SHOTS).mkdir(parents=True, exist_ok=True)
                page.screenshot(
                    path=f"{SHOTS}/{name}-{scheme}-{width}.png", full_page=True, caret="initial"
                )
            if of_ours:
                check_ids(page)
                check_accessible(page)
                check_fits(page)
            else:
                check_section(page, ".collecting")
    page.set_viewport_size({"width": 1440, "height": 900})


def check_section(page: Page, selector: str) -> None:
    """What axe finds in our part of a page of Django's."""
    violations = Axe().run(page, context=selector).response["violations"]
    assert not violations, [
        (violation["id"], violation["nodes"][0]["html"]) for violation in violations
    ]


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/admin/login/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()


def rate(study: Study, assignment, hit_units) -> None:
    criterion = study.criteria.get()
    for hit_unit in hit_units:
        answer = Answer(shown_label="1", client_key=f"{hit_unit.pk}", duration_ms=4000)
        submit_rating(assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer)


def test_a_study_is_mended_opened_closed_reopened_and_takes_late_answers(page: Page, live_server):
    """Without the watch on the console: axe copies fields of Django's with their empty styles."""
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2, ratings_per_hit=1, guidelines="")
    Generation.objects.filter(instance__key="note-0", sample_index=0).update(text="The same.")
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    page.goto(f"{live_server.url}/admin/studies/study/{study.pk}/change/")
    expect(shown(page, "not_planned")).to_be_visible()
    expect(shown(page, "no_guidelines")).to_be_visible()
    look(page, "draft", of_ours=False)

    page.get_by_role("button", name="Open…").click()
    expect(page.locator("[data-final] li")).to_have_count(5)
    look(page, "planned")
    page.get_by_role("link", name="Cancel").click()

    page.locator("#id_guidelines").fill("Read both texts.")
    page.get_by_role("button", name="Plan tasks").click()
    expect(success(page, 2)).to_be_visible()
    expect(page.locator("#id_guidelines")).to_have_value("Read both texts.")
    expect(shown(page, "identical_texts")).to_contain_text(numbers(1, 10))

    page.get_by_role("button", name="Open…").click()
    look(page, "open")
    page.get_by_role("button", name="Open despite the warnings").click()
    expect(page.locator(".state [data-status=open]")).to_be_visible()
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
    expect(page.locator(".state [data-status=closed]")).to_be_visible()
    rate(study, assignment, others)

    page.get_by_role("button", name="Reopen…").click()
    page.get_by_role("button", name="Reopen the study").click()
    expect(page.locator(".checks li").filter(has_text=numbers(4, 1))).to_be_visible()
    look(page, "late", of_ours=False)
    page.get_by_role("button", name="Accept late answers…").click()
    look(page, "accept")
    page.get_by_role("button", name="Accept all").click()
    expect(success(page, 4)).to_be_visible()
    look(page, "log", of_ours=False)
    assert Rating.objects.counted().count() == 5
    assert stored_tallies(study=study) == +recount(study=study)


def test_leaving_with_something_typed_asks_and_sending_it_does_not(
    chromium_page: Page, live_server
):
    page, ruth = chromium_page, User.objects.create_superuser("ruth", password="a long password")
    study = make_study(instances=2)
    Membership.objects.create(study=study, user=ruth)
    log_in(page, live_server.url)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    address = f"{live_server.url}/admin/studies/study/{study.pk}/change/"
    page.goto(address)
    page.locator("#id_guidelines").press_sequentially("Typed. ")
    page.locator(".crumb a").click()
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert page.url == address
    page.get_by_role("button", name="Plan tasks").click()
    expect(success(page, 2)).to_be_visible()
    assert asked == ["beforeunload"]
    page.get_by_label("Title").press("Enter")  # saves, and does no verb
    expect(success(page, 2)).to_have_count(0)
    expect(success(page)).to_be_visible()

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

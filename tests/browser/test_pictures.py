"""The pictures of the documentation, taken from the demo: `make pictures` stores them.

Other runs take them into a folder that is thrown away, so that they fail once a page is gone.
"""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from metrics.demo import half_way_demo_of, load_demo
from studies.models import Study
from tests.browser.pages import wait_for_htmx
from tests.browser.test_researcher_pages import log_in
from tests.paths import ROOT

PICTURES = ROOT / "docs" / "pictures"
# The pages of the finished study, of the one half-way, and of none.
FINISHED = {
    "systems": "results/",
    "machines": "results/machines/",
    "generate-and-select": "generate-and-select/",
    "data-and-report": "data-and-report/",
}
HALF_WAY = {"collect": "", "participants": "ledger/"}
WITHOUT_STUDY = {"new-study": "/studies/new/", "templates": "/new-study/from-template/"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return PICTURES if os.environ.get("TIEBREAK_STORE_PICTURES") else tmp_path


@pytest.fixture
def studies() -> tuple[Study, Study]:
    """The finished study, and the one half-way."""
    ruth = User.objects.create_superuser("ruth", password="a long password")
    finished = load_demo(owner=ruth, say=lambda _: None)
    half_way = half_way_demo_of(ruth)
    assert half_way is not None
    return finished, half_way


def test_every_picture_of_the_documentation_can_be_taken(
    page: Page, live_server, studies: tuple[Study, Study], folder: Path
):
    finished, half_way = studies
    page.set_viewport_size({"width": 1280, "height": 860})
    addresses = {
        **{name: f"/studies/{finished.pk}/{path}" for name, path in FINISHED.items()},
        **{name: f"/studies/{half_way.pk}/{path}" for name, path in HALF_WAY.items()},
        **WITHOUT_STUDY,
    }
    take_researcher_pages(page, live_server.url, addresses, folder)
    take_annotator_pages(page, live_server.url, half_way, folder)
    taken = {path.name for path in folder.glob("*.png")}
    assert taken == {path.name for path in PICTURES.glob("*.png")}


def take_researcher_pages(page: Page, url: str, addresses: dict[str, str], folder: Path) -> None:
    log_in(page, url)
    for name, address in addresses.items():
        page.goto(url + address)
        wait_for_htmx(page)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        page.screenshot(path=folder / f"{name}.png")


def take_annotator_pages(page: Page, url: str, half_way: Study, folder: Path) -> None:
    page.context.clear_cookies()
    page.goto(f"{url}/s/{half_way.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    for question in half_way.comprehension.all():
        page.get_by_label(question.options[question.answer - 1]).check()
    page.locator("button.primary").click()
    expect(page.locator("#unit-heading")).to_be_visible()
    page.screenshot(path=folder / "annotate.png")
    page.set_viewport_size({"width": 390, "height": 780})
    page.screenshot(path=folder / "annotate-on-a-phone.png")

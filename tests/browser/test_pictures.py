"""The pictures of the documentation, taken from the demo study: `make pictures` stores them.

Other runs take them into a folder that is thrown away, so that they fail once a page is gone.
"""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from metrics.demo import load_demo_study
from studies.models import Study
from tests.browser.test_researcher_pages import log_in
from tests.paths import ROOT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.django_db(transaction=True),
]
PICTURES = ROOT / "docs" / "pictures"
RESEARCHER_PAGES = {
    "overview": "/studies/{}/",
    "systems": "/studies/{}/results/",
    "items": "/studies/{}/results/items/",
    "new-study": "/studies/new/",
    "templates": "/new-study/from-template/",
    "generate-and-select": "/studies/{}/generate-and-select/",
    "participants": "/studies/{}/ledger/",
    "data-and-report": "/studies/{}/data-and-report/",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return PICTURES if os.environ.get("TIEBREAK_STORE_PICTURES") else tmp_path


@pytest.fixture
def study() -> Study:
    ruth = User.objects.create_superuser("ruth", password="a long password")
    return load_demo_study(owner=ruth, say=lambda _: None)


def test_every_picture_of_the_documentation_can_be_taken(
    page: Page, live_server, study: Study, folder: Path
):
    page.set_viewport_size({"width": 1280, "height": 860})
    take_researcher_pages(page, live_server.url, study, folder)
    take_annotator_pages(page, live_server.url, study, folder)
    taken = {path.name for path in folder.glob("*.png")}
    assert taken == {path.name for path in PICTURES.glob("*.png")}


def take_researcher_pages(page: Page, url: str, study: Study, folder: Path) -> None:
    log_in(page, url)
    for name, address in RESEARCHER_PAGES.items():
        page.goto(url + address.format(study.pk))
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        page.screenshot(path=folder / f"{name}.png")


def take_annotator_pages(page: Page, url: str, study: Study, folder: Path) -> None:
    page.context.clear_cookies()
    page.goto(f"{url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#unit-heading")).to_be_visible()
    page.screenshot(path=folder / "annotate.png")
    page.set_viewport_size({"width": 390, "height": 780})
    page.screenshot(path=folder / "annotate-on-a-phone.png")

"""What axe finds, and what is wider than the screen."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def check_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    complaints = [(each["id"], each["nodes"][0]["html"]) for each in found]
    assert not complaints, complaints


def check_fits(page: Page) -> None:
    wide, high = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= high, f"{page.url}: {wide} pixels on a screen of {high}"


def check_ids(page: Page) -> None:
    """A label finds its field by an id, so no two elements share one."""
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    twice = {each for each in ids if ids.count(each) > 1}
    assert not twice, twice

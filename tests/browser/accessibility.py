"""What axe finds, what is wider than the screen, and what is too small to read."""

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


def check_legible(page: Page) -> None:
    """A figure that shrinks with the screen takes its words along: below 11 px nobody reads them."""
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map((each) =>"
        " parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a)"
    )
    assert min(sizes, default=12) >= 11, f"{page.url}: words of {min(sizes):.1f} pixels"

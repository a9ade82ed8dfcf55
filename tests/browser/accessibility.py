"""Checks of a page: axe, its width, the uniqueness of ids, and the size of text in figures."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def check_accessible(page: Page) -> None:
    violations = Axe().run(page).response["violations"]
    summaries = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]
    assert not summaries, summaries


def check_fits(page: Page) -> None:
    content, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert content <= screen, f"{page.url}: {content} pixels wide on a screen of {screen}"


def check_ids(page: Page) -> None:
    """Check that ids are unique, because labels refer to their fields by id."""
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    duplicates = {name for name in ids if ids.count(name) > 1}
    assert not duplicates, duplicates


def check_legible(page: Page) -> None:
    """Check that text in figures is at least 11 px, because figures may shrink with the screen."""
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map((text) =>"
        " parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert min(sizes, default=12) >= 11, f"{page.url}: text of {min(sizes):.1f} pixels"

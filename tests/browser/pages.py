"""What a page shows, by codes, states and numbers, so that its wording can change."""

import re

from playwright.sync_api import FrameLocator, Locator, Page, expect


def numbers(*expected: object) -> re.Pattern[str]:
    """A pattern of texts whose first numbers are these."""
    return re.compile(r"^\D*" + r"\D+".join(map(str, expected)) + r"(?!\d)")


def shown(page: Page, code: str) -> Locator:
    """The error or warning with this code."""
    return page.locator(f"[data-code='{code}']")


def wait_for_htmx(page: Page) -> None:
    """Wait until all has come that was asked for. A page that asks for news is hardly ever without requests."""
    page.wait_for_function("() => !document.querySelector('.htmx-request, .htmx-settling')")


def success(page: Page, *counts: object) -> Locator:
    """The message that an action succeeded, which begins with these counts."""
    return page.locator(".success").filter(has_text=numbers(*counts))


def expect_status(page: Page, state: str, *counts: object) -> None:
    """Expect the annotator's status line to show whether the answers are saved."""
    line = page.locator(f"#status [data-status='{state}']")
    expect(line).to_have_text(numbers(*counts) if counts else re.compile("."))


def expect_unit(page: Page | FrameLocator, number: int) -> None:
    expect(page.locator("#unit-heading")).to_have_text(numbers(number))


def notes(page: Page) -> Locator:
    """Return what opens the notes of *Launch*."""
    return page.locator('.launch-checks > [data-severity="note"] summary:has(+ ul)')

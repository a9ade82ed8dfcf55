"""What a page in the browser says, told by codes and numbers: its words may be reworded."""

import re

from playwright.sync_api import FrameLocator, Locator, Page, expect


def numbers(*expected: object) -> re.Pattern[str]:
    """Matches a text whose first numbers are these."""
    return re.compile(r"^\D*" + r"\D+".join(map(str, expected)) + r"(?!\d)")


def told(page: Page, code: str) -> Locator:
    """What a page refuses or warns of."""
    return page.locator(f"[data-code='{code}']")


def done(page: Page, *counts: object) -> Locator:
    """The message that something was done, with how many of what."""
    return page.locator(".success").filter(has_text=numbers(*counts))


def expect_status(page: Page, state: str, *counts: object) -> None:
    """How an annotator's answers are kept, as the line below them says it."""
    line = page.locator(f"#status [data-status='{state}']")
    expect(line).to_have_text(numbers(*counts) if counts else re.compile("."))


def expect_unit(page: Page | FrameLocator, number: int) -> None:
    expect(page.locator("#unit-heading")).to_have_text(numbers(number))

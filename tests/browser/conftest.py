"""Chromium for the browser tests: the installed one, without access to other hosts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, Response, expect

from tests.run import chromium

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]

FOLDER = Path(__file__).parent

# As long as a busy machine may need. How fast pages are is measured by benchmarks.
expect.set_options(timeout=20_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here, and have rows committed, as the server in another thread needs them."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    executable = chromium()
    if executable is None:
        pytest.skip("Chromium is absent: on Debian, apt install chromium-headless-shell.")
    return {**browser_type_launch_args, "executable_path": executable, "args": list(ARGUMENTS)}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "viewport": {"width": 1440, "height": 900}}


@pytest.fixture
def chromium_page(page: Page) -> Iterator[Page]:
    """A page that fails its test on a policy violation, a script error or a missing static file."""
    complaints: list[str] = []
    page.set_default_timeout(30_000)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console", lambda line: complaints.append(_complaint(line)) if _is_fault(line) else None
    )
    page.on(
        "response",
        lambda answer: complaints.append(answer.url) if _is_missing_file(answer) else None,
    )
    yield page
    assert complaints == []


def _complaint(line: ConsoleMessage) -> str:
    page = line.page.url if line.page else ""
    return f"{page}: {line.text}"


def _is_fault(line: ConsoleMessage) -> bool:
    # Refused requests are logged here, too. Some tests cause them on purpose.
    is_request = line.text.startswith(("Failed to load resource", "htmx:", "Response Status Error"))
    return line.type in {"error", "warning"} and not is_request


def _is_missing_file(answer: Response) -> bool:
    return answer.status >= 400 and "/static/" in answer.url

"""From files of ratings that were collected elsewhere to a report: only clicks and typing."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from openpyxl import Workbook
from playwright.sync_api import Page, expect

from studies.models import Study
from tests.browser.accessibility import check_accessible, check_fits, check_ids
from tests.browser.pages import numbers
from tests.paths import ROOT

pytestmark = pytest.mark.enable_socket
CASES = ROOT / "tests" / "cases"
SHOTS = os.environ.get("TIEBREAK_TEST_SCREENSHOTS", "")


@pytest.fixture
def ada(page: Page, live_server: Any) -> Page:
    User.objects.create_user("ada", password="a long password", is_staff=True)
    page.goto(f"{live_server.url}/")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    return page


def upload(page: Page, name: str, content: bytes) -> None:
    page.get_by_role("link", name="Ratings I have").click()
    page.locator("#id_file").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )
    with page.expect_navigation():
        page.get_by_role("button", name="Continue").click()


def look(page: Page, name: str) -> None:
    """Check a page on a phone and a laptop, in light and dark."""
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        check_fits(page)
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"{name}-{width}.png", full_page=True)
    check_accessible(page)
    check_ids(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def write_report(page: Page, tmp_path: Path) -> bytes:
    """Write the report of the study whose page is shown, and return its PDF."""
    with page.expect_navigation():
        page.get_by_role("link", name="Data & report", exact=True).click()
    page.get_by_role("button", name="Report as .zip", exact=True).click()
    link = page.get_by_role("link", name="Download").first
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    download.value.save_as(tmp_path / "report.zip")
    return (tmp_path / "report.zip").read_bytes()


def test_from_a_batch_of_mechanical_turk_to_a_report(ada: Page, tmp_path: Path) -> None:
    page = ada
    upload(page, "batch.csv", (CASES / "mturk_batch.csv").read_bytes())
    look(page, "kind")
    page.get_by_role("link", name="Ratings I have").click()
    expect(page.locator("#ratings-form strong").first).to_have_text(numbers(12, 1, 4, 3, 11))
    look(page, "batch")
    with page.expect_navigation():
        page.get_by_role("button", name="Create study").click()
    study = Study.objects.get()
    assert (study.status, study.dataset.instances.count()) == (Study.Status.CLOSED, 4)
    assert study.dataset.instances.first().generations.count() == 2
    page.goto(page.url)
    look(page, "batch-study")
    assert write_report(page, tmp_path)


def spreadsheet() -> bytes:
    """Return a workbook as somebody keeps it: names of persons, decimal commas, an average."""
    book = Workbook()
    book.active.append(["Aufgabe", "Ann", "Ben", "Eva", "Mittelwert"])
    with (CASES / "wide_raters.csv").open() as file:
        for k, row in enumerate(csv.reader(file)):
            cells = [f"{cell},5" if cell else None for cell in row[1:4]]
            if k:
                book.active.append([f"Text {row[0]}", *cells, "2,5"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_from_a_spreadsheet_nobody_knows_to_a_report(ada: Page, tmp_path: Path) -> None:
    page = ada
    upload(page, "Bewertungen.xlsx", spreadsheet())
    # Whether Ann, Ben and Eva are raters or questions is asked and not guessed.
    expect(page.locator('[data-code="no_rater"]')).to_be_visible()
    look(page, "asked")
    for name in ("Ann", "Ben", "Eva"):
        page.get_by_label(f"Meaning of {name}", exact=True).select_option("label")
        page.get_by_label(f"Rater whose labels {name} has", exact=True).fill(name)
    with page.expect_navigation():
        page.get_by_role("button", name="Update").last.click()
    expect(page.locator("#ratings-form strong").first).to_have_text(numbers(12, 3))
    expect(page.locator("[data-draft]")).to_have_count(0)  # the page has what was typed
    look(page, "corrected")
    page.get_by_label("Title of the study").fill("Ratings of the reading group")
    with page.expect_navigation():
        page.get_by_role("button", name="Create study").click()
    study = Study.objects.get()
    assert (study.title, study.status) == ("Ratings of the reading group", Study.Status.CLOSED)
    assert study.criteria.get().scale == "interval"
    assert write_report(page, tmp_path)

"""From a spreadsheet to a study on Prolific, to its report: only clicks, typing and a drop."""

import base64
import csv
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.pages import notes, numbers
from tests.recruitment.platforms.fake_prolific import FakeProlific

pytestmark = pytest.mark.enable_socket
SHOTS = os.environ.get("TIEBREAK_TEST_SCREENSHOTS", "")
TITLE = "Notes for the night shift"
# An awkward header: no usual name, letters of two scripts, signs, and a column too many.
HEADER = ["Nr.", "Was gefragt wurde", "Ausgabe Fjord (v2)", "βeta → Antwort", "Prüfer/in"]
MEANINGS = ["instance", "source", "text:", "text:", ""]
ITEMS, MAX_CLICKS = 3, 40
DROP = """([encoded, name]) => {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name, { type: "text/csv" }));
    document.body.dispatchEvent(new DragEvent("dragenter", { dataTransfer, bubbles: true }));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
}"""


class Researcher:
    """Somebody at a page whose clicks are counted."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url, self.clicks = page, url, 0

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def follow(self, name: str) -> None:
        # On a busy machine, a click can return before the page that it asks for has come.
        with self.page.expect_navigation():
            self.click(self.page.get_by_role("link", name=name, exact=True))

    def type(self, label: str, text: str, part: Locator | None = None) -> None:
        """Type into a field, which is clicked first."""
        field = (part or self.page).get_by_label(label).first
        self.click(field)
        field.fill(text)

    def drop(self, content: bytes, name: str) -> None:
        expect(self.page.locator("[data-drop]")).to_be_visible()
        self.page.wait_for_load_state("load")
        self.page.evaluate(DROP, [base64.b64encode(content).decode(), name])

    def look(self, name: str) -> None:
        """On wide and narrow screens, light and dark."""
        for scheme in ("light", "dark"):
            for width in (1440, 360):
                self.page.emulate_media(color_scheme=scheme)
                self.page.set_viewport_size({"width": width, "height": 900})
                self._photograph(f"{name}-{scheme}-{width}")
                for check in (check_ids, check_accessible, check_fits, check_legible):
                    check(self.page)
                assert self.page.locator(".primary:visible").count() <= 1, name
        self.page.set_viewport_size({"width": 1440, "height": 900})

    def _photograph(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.wait_for_timeout(300)
            self.page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True, caret="initial")


@pytest.fixture
def prolific(settings: Any, tmp_path: Path) -> Iterator[FakeProlific]:
    with FakeProlific() as fake:
        settings.TIEBREAK_PROLIFIC_URL = fake.base_url
        settings.TIEBREAK_PROLIFIC_KEYS_URL = fake.jwks_url
        settings.TIEBREAK_PUBLIC_URL = "https://ratings.example.org"
        settings.TIEBREAK_EXPORT_FOLDER = str(tmp_path / "exports")
        yield fake


@pytest.fixture
def ruth(page: Page, live_server: Any) -> Researcher:
    User.objects.create_user("ruth", password="a long password", is_staff=True)
    page.set_default_timeout(15_000)
    return Researcher(page, live_server.url)


def spreadsheet() -> bytes:
    """Three questions in a semicolon-separated file with a byte order mark, as spreadsheets save."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=";")
    writer.writerow(HEADER)
    for n in range(1, ITEMS + 1):
        question = f"How did night {n} go on the ward, and what has to be done in the morning?"
        first = f"Night {n} was calm; all rounds were made, and the bed by the window is free."
        second = (
            f"Nothing of note. Please check the drip in room {n}, because its alarm rang twice."
        )
        writer.writerow([f"F-{n}", question, first, second, "mk"])
    return file.getvalue().encode("utf-8-sig")


def meaning_of(page: Page, column: str) -> str:
    return page.get_by_label(f"Meaning of {column}", exact=True).input_value()


def import_spreadsheet(ruth: Researcher) -> None:
    page = ruth.page
    page.goto(f"{ruth.url}/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    ruth.press("Log in")
    ruth.look("01-studies")
    ruth.follow("Texts I have")
    ruth.look("02-new-study")
    ruth.drop(spreadsheet(), "Nachtschicht Ü.csv")
    ruth.press("Continue")
    ruth.look("03-columns")
    assert [meaning_of(page, column) for column in HEADER] == MEANINGS
    ruth.type(f"Name of the system in {HEADER[2]}", "Fjord")
    ruth.type("Title of the study", TITLE)
    ruth.press("Create study")
    expect(page.locator("[data-step=data] [aria-current=step]")).to_be_visible()
    ruth.look("04-data")


def design(ruth: Researcher) -> None:
    page = ruth.page
    ruth.press("Save and continue")
    ruth.type("Guidelines", "Read both notes. Choose the one that helps the morning team more.")
    ruth.look("05-task")
    ruth.press("Save and continue")
    ruth.press("Skip")  # without screening
    ruth.type("Maximum tasks per annotator", "3")
    ruth.type("Estimated minutes per task", "2")
    ruth.type("Reward per annotator", "1.50")
    expect(page.locator("#cost")).to_contain_text("4.50")
    ruth.look("06-size")
    ruth.press("Save and continue")
    ruth.press("Skip")  # without a plan of the analysis
    ruth.look("07-recruit")


def launch(ruth: Researcher, prolific: FakeProlific) -> str:
    """Set Prolific up, open the study and publish it there; return its id there."""
    page = ruth.page
    ruth.click(page.locator("summary").filter(has_text="Prolific"))
    channel = page.locator("section.channel", has=page.get_by_role("heading", name="Prolific"))
    ruth.type("Description", "Compare notes of night shifts.", channel)
    ruth.type("token", prolific.token, channel)
    ruth.click(channel.get_by_role("button", name="Set up"))
    ruth.look("08-prolific-set-up")
    expect(channel.get_by_label("Participants")).to_have_value("3")
    ruth.click(channel.get_by_role("button", name="Create draft on Prolific…"))
    ruth.look("09-draft")
    ruth.click(page.locator(".confirm .primary"))
    expect(channel.get_by_role("button", name="Publish…")).to_be_visible()
    ruth.look("10-draft-made")
    ruth.follow("Next: Launch")
    ruth.look("11-launch")
    ruth.click(notes(ruth.page))
    ruth.press("Plan tasks")
    ruth.look("12-planned")
    ruth.click(page.locator("[action$='/launch/open/'] button"))
    ruth.look("13-open")
    ruth.click(page.locator(".confirm .primary"))
    expect(page.locator(".state-chip[data-status=open]")).to_be_visible()
    ruth.look("14-opened")
    ruth.follow("Publish on Prolific")
    ruth.look("15-recruit")
    ruth.click(channel.get_by_role("button", name="Publish…"))
    ruth.click(page.locator(".confirm .primary"))
    ruth.look("16-published")
    (there,) = prolific.studies
    assert prolific.studies[there]["status"] == "ACTIVE"
    return there


def rate(browser: Browser, url: str, link: str) -> str:
    """Follow the platform's link, rate everything, and return the completion code."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link.replace("https://ratings.example.org", url))
        page.get_by_role("button", name="I agree").click()
        page.get_by_role("button", name="Start").click()
        for _ in range(ITEMS):
            with page.expect_response("**/answer/"):
                page.locator("input[name=criterion-preference]").first.check()
            page.locator("#next a").click()
        expect(page.locator("[data-completed]")).to_be_visible()
        address = page.get_by_role("link", name="Prolific").get_attribute("href") or ""
    return address.partition("cc=")[2]


def collect(ruth: Researcher, browser: Browser, prolific: FakeProlific, there: str) -> None:
    """Three people rate everything, and the room Collect follows."""
    page = ruth.page
    ruth.click(page.get_by_role("link", name="Collect", exact=True))
    ruth.look("17-collect-empty")
    for n, person in enumerate(("ann", "bob", "cid"), start=1):
        submission = prolific.reserve(there, person)
        code = rate(browser, ruth.url, prolific.start(submission))
        expect(page.locator(".counted")).to_have_text(str(n * ITEMS))
        assert prolific.complete(submission, code) == "AWAITING REVIEW"
    expect(page.locator("#fact-done dd")).to_have_text(numbers(9, 9))
    page.reload()
    expect(page.locator("[data-need=all_completed]")).to_be_visible()
    ruth.look("18-collect")


def downloaded(ruth: Researcher, kind: str, folder: Path) -> Path:
    """Download a finished file through the page, and unpack it."""
    link = ruth.page.get_by_role("link", name=f"Download the {kind}")
    with ruth.page.expect_download() as download:
        ruth.click(link)
    download.value.save_as(folder / f"{kind}.zip")
    with zipfile.ZipFile(folder / f"{kind}.zip") as archive:
        archive.extractall(folder / kind)
    return folder / kind


def check_preferences(file: Path, cache: Path) -> None:
    """In the columns that TRL documents for preferences with an explicit prompt."""
    loaded = datasets.load_dataset("json", data_files=str(file), cache_dir=str(cache))["train"]
    cells = {
        cell
        for row in csv.reader(io.StringIO(spreadsheet().decode()), delimiter=";")
        for cell in row
    }
    assert len(loaded) == ITEMS
    for row in loaded:
        assert {row["prompt"], row["chosen"], row["rejected"]} <= cells
        assert {row["chosen_system"], row["rejected_system"]} == {"Fjord", HEADER[3]}


@pytest.mark.thorough
def test_from_a_spreadsheet_to_the_report(
    ruth: Researcher, browser: Browser, prolific: FakeProlific, tmp_path: Path
):
    import_spreadsheet(ruth)
    design(ruth)
    there = launch(ruth, prolific)
    collect(ruth, browser, prolific, there)

    rooms = ruth.page.get_by_role("navigation", name="Study", exact=True)
    ruth.click(rooms.get_by_role("link", name="Results", exact=True))
    expect(ruth.page.locator(".n-used")).to_have_text(numbers(9))
    ruth.follow("Data & report")
    ruth.look("19-data-and-report")
    ruth.press("Report as .zip")
    (pdf,) = downloaded(ruth, "report", tmp_path).rglob("report.pdf")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert TITLE.encode() in pdf.read_bytes()
    ruth.click(ruth.page.get_by_role("checkbox", name="Preferences for training"))
    ruth.press("Export")
    folder = downloaded(ruth, "export", tmp_path)
    ruth.look("20-exports")
    check_preferences(next(folder.rglob("preference.jsonl")), tmp_path / "cache")
    print(f"Clicks: {ruth.clicks}")
    assert ruth.clicks <= MAX_CLICKS

"""From a spreadsheet to a study on Prolific, to its report: only clicks, typing and a drop."""

import base64
import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.recruitment.platforms.fake_prolific import FakeProlific

pytestmark = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
SHOTS = os.environ.get("TIEBREAK_TEST_SCREENSHOTS", "")
TITLE = "Notes for the night shift"
# A deliberately awkward header: no usual name, letters of two scripts, signs, and a column too many.
HEADER = ("Nr.", "Was gefragt wurde", "Ausgabe Fjord (v2)", "βeta → Antwort", "Prüfer/in")
MAX_CLICKS = 40
DROP = """([encoded, name]) => {
    const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], name, { type: "text/csv" }));
    document.body.dispatchEvent(new DragEvent("dragenter", { dataTransfer, bubbles: true }));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
}"""


class Researcher:
    """Somebody at a page whose clicks are counted; a choice in a list takes two."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url, self.clicks = page, url, 0

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def follow(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=True))

    def choose(self, label: str, meaning: str) -> None:
        self.clicks += 2
        self.page.get_by_label(label).select_option(label=meaning)

    def type(self, label: str, text: str, part: Locator | None = None) -> None:
        """Type into a field, which is clicked first."""
        field = (part or self.page).get_by_label(label).first
        self.click(field)
        field.fill(text)

    def drop(self, content: bytes, name: str) -> None:
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
    for n in range(1, 4):
        question = f"How did night {n} go on the ward, and what has to be done in the morning?"
        first = f"Night {n} was calm; all rounds were made, and the bed by the window is free."
        second = (
            f"Nothing of note. Please check the drip in room {n}, because its alarm rang twice."
        )
        writer.writerow([f"F-{n}", question, first, second, "mk"])
    return file.getvalue().encode("utf-8-sig")


def import_spreadsheet(ruth: Researcher) -> None:
    page = ruth.page
    page.goto(f"{ruth.url}/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    ruth.press("Log in")
    ruth.look("01-studies")
    ruth.follow("New study from data")
    ruth.look("02-new-study")
    ruth.drop(spreadsheet(), "Nachtschicht Ü.csv")
    ruth.press("Continue")
    ruth.look("03-columns")
    for column, meaning in zip(
        HEADER,
        ("Instance id", "Source text", "Text of one system", "Text of one system", "(leave out)"),
        strict=True,
    ):
        box = page.get_by_label(f"Meaning of {column}", exact=True)
        if box.evaluate("box => box.selectedOptions[0].text") != meaning:
            print("correct", column, box.evaluate("box => box.selectedOptions[0].text"))
            ruth.choose(f"Meaning of {column}", meaning)
    ruth.type("Title of the study", TITLE)
    ruth.look("04-columns-corrected")
    ruth.press("Create study")
    expect(page.locator("[data-step=data] [aria-current=step]")).to_be_visible()
    ruth.look("05-data")


def design(ruth: Researcher) -> None:
    page = ruth.page
    ruth.press("Save and continue")
    ruth.type("Guidelines", "Read both notes. Choose the one that helps the morning team more.")
    ruth.look("06-task")
    ruth.press("Save and continue")
    ruth.look("07-generate-select")
    ruth.follow("Next: Size & pay")
    ruth.type("Maximum HITs per annotator", "3")
    ruth.type("Estimated minutes per HIT", "2")
    ruth.type("Reward per annotator", "1.50")
    expect(page.locator("#cost")).to_contain_text("4.50")
    ruth.look("08-size")
    ruth.press("Save and continue")
    ruth.look("09-recruit")


def launch(ruth: Researcher, prolific: FakeProlific) -> str:
    """Set Prolific up, open the study and publish it there; return its id there."""
    page = ruth.page
    ruth.click(page.locator("summary").filter(has_text="Prolific"))
    channel = page.locator("section.channel", has=page.get_by_role("heading", name="Prolific"))
    ruth.type("Description", "Compare notes of night shifts.", channel)
    ruth.type("token", prolific.token, channel)
    ruth.click(channel.get_by_role("button", name="Set up"))
    ruth.look("10-prolific-set-up")
    ruth.type("Participants", "3", channel)
    ruth.click(channel.get_by_role("button", name="Create draft on Prolific…"))
    ruth.look("11-draft")
    ruth.click(page.locator(".confirm .primary"))
    expect(channel.get_by_role("button", name="Publish…")).to_be_visible()
    ruth.look("12-draft-made")
    ruth.follow("Next: Launch")
    ruth.look("13-launch")
    ruth.press("Plan HITs")
    ruth.look("14-planned")
    ruth.press("Open…")
    ruth.look("15-open")
    ruth.click(page.locator(".confirm .primary"))
    expect(page.locator(".state-chip[data-status=open]")).to_be_visible()
    ruth.look("16-opened")
    ruth.follow("Recruit")
    ruth.click(channel.get_by_role("button", name="Publish…"))
    ruth.click(page.locator(".confirm .primary"))
    ruth.look("17-published")
    (there,) = prolific.studies
    assert prolific.studies[there]["status"] == "ACTIVE"
    return there


def test_from_a_spreadsheet_to_the_report(
    ruth: Researcher, browser: Browser, prolific: FakeProlific, tmp_path: Path
):
    import_spreadsheet(ruth)
    design(ruth)
    launch(ruth, prolific)
    print("CLICKS", ruth.clicks)

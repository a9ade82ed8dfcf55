"""The researcher's whole path in a browser, on both databases: from an upload to the analysis."""

import json
import random
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from playwright.sync_api import Browser, Locator, Page, expect

from annotation.models import Participation, Rating
from studies.models import Generation, Study
from tests.browser.pages import numbers, success
from tests.tiebreak.formats.bundles import write_lines

# A busy machine may need long for a job; tests do not wait longer than needed.
TIMEOUT_MS = 60_000

pytestmark = pytest.mark.both_databases

STUDY = """\
title = "Which note is better?"
guidelines = "guidelines.md"
consent = "consent.md"
systems = ["old", "new"]
ratings_per_hit = 2
comparisons_per_hit = 1

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which note is better?"

[[criteria]]
name = "ease"
scale = "preference:5"
question = "Which note is easier to read?"
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Write texts that are long enough to differ from their degraded copies."""
    rng = random.Random(0)
    words = [f"word{n}" for n in range(300)]
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    (folder / "guidelines.md").write_text("Read *both* notes.")
    (folder / "consent.md").write_text("You rate notes.")
    sources = {f"i{i}": " ".join(rng.sample(words, 30)) for i in range(10)}
    write_lines(
        folder / "instances.jsonl", [{"id": key, "source": text} for key, text in sources.items()]
    )
    write_lines(
        folder / "generations.jsonl",
        [
            {
                "instance": key,
                "system": system,
                "sample_index": k,
                "text": " ".join(rng.sample(words, 15) + text.split()[:15]) + ".",
            }
            for key, text in sources.items()
            for system in ("old", "new")
            for k in range(2)
        ],
    )
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.iterdir():
            file.write(path, path.name)
    return archive


def see(locator: Locator) -> None:
    expect(locator).to_be_visible(timeout=TIMEOUT_MS)


def log_in(page: Page, url: str) -> None:
    User.objects.create_superuser("ruth", password="a long password")
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()


def upload(page: Page, url: str, bundle: Path) -> Study:
    page.goto(f"{url}/admin/")
    page.get_by_role("link", name="Texts I have").click()
    page.locator("input[type=file]").set_input_files(bundle)
    page.get_by_role("button", name="Continue").click()
    see(success(page, 10, 0))
    return Study.objects.get()


def draw(page: Page, url: str, study: Study) -> None:
    page.goto(f"{url}/studies/{study.pk}/generate-and-select/")
    page.get_by_role("button", name="Score remaining instances").click()
    see(page.locator("#jobs [data-status=done]"))
    page.get_by_label("Instances per pair of systems").fill("4")
    page.get_by_label("Control share").fill("0.5")
    page.get_by_role("button", name="Preview selection").click()
    page.get_by_role("button", name="Draw instances").click()
    confirm(page)
    see(success(page, 4))
    assert study.selected.filter(phase="control").count() == 2


def screen(page: Page, url: str, study: Study) -> None:
    """A training of one unit and a test of two, each with both criteria, from degraded copies."""
    page.goto(f"{url}/studies/{study.pk}/design/quality/")
    page.locator("#id_screening-0-training_units").fill("1")
    page.locator("#id_screening-0-qualification_units").fill("2")
    page.locator("#id_screening-0-pass_mark").fill("2")
    page.get_by_role("button", name="Save", exact=True).click()
    see(success(page))
    for role, n in (("training", 1), ("qualification", 2)):
        page.locator("[data-otherwise] > summary").click()
        page.locator("select[name=make-role]").select_option(role)
        page.locator("input[name=make-n]").fill(str(n))
        page.get_by_role("button", name="Make items").click()
        expect(page.locator(f"[name=units][value^={role}]")).to_have_count(n)


def dry_run(page: Page, url: str, study: Study) -> None:
    page.goto(f"{url}/studies/{study.pk}/dry-runs/")
    page.locator("#id_accuracy").fill("1")
    page.get_by_role("button", name="Start dry run").click()
    see(page.locator("[data-ended-well]"))
    see(page.locator(".dry-run [role=status]").filter(has_text=numbers(8, 8)))
    assert Rating.objects.filter(simulated=True).exists()
    assert not Rating.objects.filter(unit__study=study).exists()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def confirm(page: Page) -> None:
    """Confirm on the confirmation page."""
    page.locator(".confirm button.primary").click()


def annotate(browser: Browser, url: str, study: Study, labels: tuple[str, str]) -> Participation:
    """Let an annotator rate until the end, who prefers an original to its degraded copy."""
    degraded = set(
        Generation.objects.filter(system__is_control=True).values_list("text", flat=True)
    )
    others = set(study.participations.values_list("pk", flat=True))
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(f"{url}/s/{study.pk}/")
        press(page, "I agree")
        press(page, "Start")
        while not _has_ended(page):
            _answer(page, degraded, labels)
        see(page.locator("[data-completed]"))
    return study.participations.exclude(pk__in=others).get()


def _has_ended(page: Page) -> bool:
    unit, end = page.locator("#answer"), page.locator("[data-completed]")
    see(unit.or_(end))
    return end.is_visible()


def _answer(page: Page, degraded: set[str], labels: tuple[str, str]) -> None:
    """Prefer the original to a degraded copy, else give these labels; then go to the next page."""
    texts = [text.strip() for text in page.locator("article .text").all_inner_texts()]
    if degraded & set(texts):
        is_first = texts[1] in degraded
        labels = ("-1", "-2") if is_first else ("1", "2")
    for name, label in zip(("preference", "ease"), labels, strict=True):
        with page.expect_response("**/answer/"):
            page.locator(f"input[name=criterion-{name}][value='{label}']").check()
    step = page.locator("#next a")
    see(step)
    before = _identity(page)
    step.click()
    page.wait_for_function(
        "before => (document.querySelector('#answer [name=assignment]')?.value ?? '')"
        " + (document.querySelector('#answer [name=position]')?.value ?? '') !== before",
        arg=before,
    )


def _identity(page: Page) -> str:
    fields = (page.locator(f"#answer [name={name}]") for name in ("assignment", "position"))
    return "".join(field.input_value() for field in fields)


def exclude(page: Page, url: str, study: Study, person: Participation) -> None:
    page.goto(f"{url}/studies/{study.pk}/ledger/")
    page.get_by_role("link", name=person.rater.pseudonym).click()
    page.get_by_role("button", name="Exclude and replace…").click()
    see(page.locator(".confirm li").filter(has_text=numbers(8, 4)))
    confirm(page)
    see(success(page, 4))


def change_state(page: Page, url: str, study: Study, name: str, state: str) -> None:
    page.goto(f"{url}/studies/{study.pk}/launch/")
    page.get_by_role("button", name=re.compile(f"^{name}.*…")).click()
    confirm(page)
    see(page.locator(f".study-header [data-status={state}]"))


@pytest.mark.thorough
def test_from_an_upload_to_the_analysis(
    chromium_page: Page, browser: Browser, live_server: Any, bundle: Path, tmp_path: Path
):
    url, page = live_server.url, chromium_page
    page.set_default_timeout(TIMEOUT_MS)
    log_in(page, url)
    study = upload(page, url, bundle)
    draw(page, url, study)
    screen(page, url, study)
    dry_run(page, url, study)
    change_state(page, url, study, "Open", "open")

    annotate(browser, url, study, ("-1", "-2"))
    careless = annotate(browser, url, study, ("0", "0"))
    assert not study.places.filter(completed_at=None).exists()
    exclude(page, url, study, careless)
    assert study.places.filter(completed_at=None).count() == 4
    change_state(page, url, study, "Close", "closed")
    change_state(page, url, study, "Reopen", "open")
    annotate(browser, url, study, ("-1", "-1"))
    assert not study.places.filter(completed_at=None).exists()
    change_state(page, url, study, "Close", "closed")

    page.goto(f"{url}/studies/{study.pk}/")
    see(page.locator("#fact-done dd").filter(has_text=numbers(8, 8)))
    see(page.locator(".n-used").filter(has_text=numbers(16)))
    shown = page.request.get(f"{url}/studies/{study.pk}/report.json").json()
    out, report = tmp_path / "export", tmp_path / "report.json"
    call_command("export_study", study.pk, "--out", str(out))
    call_command("analyze", str(out), "--out", str(report), "--section", "set_aside")
    for section in shown["criteria"].values():
        del section["stopping"]  # a file does not know how many responses were planned
    assert json.loads(report.read_text())["criteria"] == shown["criteria"]
    rows = [json.loads(line) for line in (out / "ratings.jsonl").read_text().splitlines()]
    assert not any(row["simulated"] for row in rows)
    assert {row["criterion"] for row in rows} == {"preference", "ease"}
    assert sum(row["excluded"] for row in rows) == 8

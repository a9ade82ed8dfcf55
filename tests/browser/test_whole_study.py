"""One whole study in a browser: from the admin, through three annotators, to the export."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect

from annotation.imports.study_import import import_study
from annotation.models import Rating
from studies.instance_selection.scoring import score_separability
from studies.models import Dataset, Study
from tests.annotation.tallies import recount, stored_tallies
from tests.browser.pages import expect_status, expect_unit, notes, numbers, success
from tests.tiebreak.formats.bundles import make_bundle


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Instances and generations; the study that comes with them is thrown away."""
    owner = User.objects.create_superuser("ruth", password="a long password")
    draft = import_study(path=make_bundle(tmp_path / "bundle"), owner=owner).study
    dataset = draft.dataset
    assert dataset is not None
    draft.delete()
    return dataset


def design(page: Page, url: str, dataset: Dataset) -> Study:
    """The researcher logs in, designs a study, plans and opens it."""
    page.goto(f"{url}/admin/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{url}/admin/studies/study/add/")
    page.get_by_label("Title").fill("Which note is better?")
    page.locator("#id_dataset").select_option(label=dataset.name)
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("button", name="Save and continue").click()
    page.locator("#id_guidelines").fill("# Please\n\nRead *both* texts.")
    page.locator("#id_criteria-0-question").fill("Which note is better?")
    page.get_by_role("button", name="Save and continue").click()
    page.locator("[data-step=size] a").click()
    page.get_by_label("Ratings per task (R)").fill("3")
    page.get_by_label("Comparisons per task (N)").fill("2")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("[data-step=launch] a").click()
    notes(page).click()
    page.get_by_role("button", name="Plan tasks").click()
    expect(success(page, 3, 6, 9)).to_be_visible()
    page.locator("[action$='/launch/open/'] button").click()
    page.get_by_role("button", name=re.compile("^Open")).click()
    expect(page.locator(".state-chip[data-status=open]")).to_be_visible()
    return Study.objects.get()


def enter(page: Page, url: str, study: Study) -> None:
    page.goto(f"{url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_text("Read both texts.")).to_be_visible()
    page.get_by_role("button", name="Start").click()


def answer(page: Page, key: str) -> None:
    page.wait_for_load_state("load")
    page.keyboard.press(key)
    expect_status(page, "saved")


def go_on(page: Page) -> None:
    page.get_by_role("link", name="Next").or_(page.get_by_role("link", name="Finish")).first.click()


def finish(page: Page, keys: str) -> None:
    """Answer whatever is left, then read the code."""
    for turn in range(20):
        page.wait_for_load_state("load")
        if page.locator("[data-completed]").is_visible():
            return
        answer(page, keys[turn % len(keys)])
        with page.expect_navigation():
            page.keyboard.press("n")
    raise AssertionError("the study did not end")


def wander(page: Page, url: str, study: Study) -> None:
    """Reload, go back, correct, leave, and come back to where one was."""
    answer(page, "1")
    page.reload()
    expect(page.locator("#unit-heading")).to_be_visible()
    page.goto(f"{url}/rate/{study.pk}/1/")
    answer(page, "3")
    page.goto(f"{url}/rate/{study.pk}/")
    expect_unit(page, 2)
    page.go_back()
    page.goto("about:blank")
    page.goto(f"{url}/s/{study.pk}/")
    expect_unit(page, 2)


def test_a_study_from_the_admin_to_the_export(
    chromium_page: Page, browser: Browser, live_server: Any, dataset: Dataset, tmp_path: Path
):
    url, researcher = live_server.url, chromium_page
    study = design(researcher, url, dataset)
    for name, keys in (("ann", "123"), ("bob", "31"), ("cid", "2113")):
        context = browser.new_context()
        page = context.new_page()
        enter(page, url, study)
        if name == "bob":
            wander(page, url, study)
        finish(page, keys)
        context.close()
    score_separability(study=study)

    researcher.goto(f"{url}/studies/{study.pk}/")
    expect(researcher.locator("#fact-done dd")).to_have_text(numbers(9, 9))
    expect(researcher.locator(".n-used")).to_have_text(numbers(18))
    shown = researcher.request.get(f"{url}/studies/{study.pk}/report.json").json()

    out, report = tmp_path / "export", tmp_path / "report.json"
    call_command("export_study", study.pk, "--out", str(out), "--format", "jsonl,csv,parquet")
    call_command("analyze", str(out), "--out", str(report))
    for section in shown["criteria"].values():
        del section["stopping"]  # a file does not know how many responses were planned
    assert json.loads(report.read_text())["criteria"] == shown["criteria"]
    rows = [json.loads(line) for line in (out / "ratings.jsonl").read_text().splitlines()]
    counted = [row for row in rows if not row["superseded"]]
    assert set(Counter(row["unit"] for row in counted).values()) == {3}
    assert len({row["unit"] for row in counted}) == 6
    assert Rating.objects.filter(superseded=True).count() == len(rows) - 18 >= 1
    assert stored_tallies(study=study) == +recount(study=study)


def test_the_admin_runs_under_the_policy(chromium_page: Page, live_server: Any, dataset: Dataset):
    """The page fixture fails on any refused style or script."""
    page = chromium_page
    study = design(page, live_server.url, dataset)
    for path in (
        "",
        "studies/study/",
        "studies/dataset/",
        f"studies/dataset/{dataset.pk}/change/",
        "auth/user/",
    ):
        page.goto(f"{live_server.url}/admin/{path}")
        expect(page.locator(".study-header")).to_be_visible()
    page.goto(f"{live_server.url}/studies/{study.pk}/preview/")
    expect(page.locator("nav.preview")).to_be_visible()
    assert Rating.objects.count() == 0

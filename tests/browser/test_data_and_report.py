"""Data & report in a browser: from the choice of formats to the files, and the report as a page."""

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.models import Job
from metrics.exports.report_files import ReportFilesJob, write_report_files
from tests.annotation.exports.test_study_export import rated
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.test_dashboard import CLIPPED, SHEET
from tests.browser.test_generate_select import log_in
from tests.jobs.factories import make_job

pytestmark = pytest.mark.usefixtures("export_folder")


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2] for name in archive.namelist()}


@pytest.mark.parametrize("has_script", [True, False])
def test_a_researcher_exports_and_writes_the_report(
    live_server, browser: Browser, tmp_path, has_script
):
    study = rated(tmp_path / "b")
    with browser.new_context(java_script_enabled=has_script, accept_downloads=True) as context:
        page = context.new_page()
        log_in(page, live_server.url, study)
        page.goto(f"{live_server.url}/studies/{study.pk}/results/")
        page.get_by_role("link", name="Data & report").click()
        page.get_by_role("checkbox", name="Preferences for training").check()
        page.get_by_label("Ties in preferences").select_option("both")
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as export:
            page.get_by_role("link", name="Download the export").click()
        export.value.save_as(tmp_path / "export.zip")
        assert {"ratings.jsonl", "preference.jsonl"} <= names_in(tmp_path / "export.zip")
        with page.expect_download() as report:
            page.get_by_role("button", name="Report as .zip").click()
            if not has_script:
                page.get_by_role("link", name="all files").click()
        report.value.save_as(tmp_path / "report.zip")
        assert {"report.html", "report.pdf", "tables.tex"} <= names_in(tmp_path / "report.zip")


def test_one_press_gives_the_pdf_beside_the_button(live_server, chromium_page: Page, tmp_path):
    page, study = chromium_page, rated(tmp_path / "b")
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/data-and-report/")
    with page.expect_download() as report:
        page.get_by_role("button", name="Report as PDF").click()
    assert report.value.suggested_filename == f"report-{study.pk}.pdf"
    state = page.locator("#report-state")
    expect(state).to_have_attribute("role", "status")
    expect(state).to_contain_text("The report is ready")
    expect(state).to_be_in_viewport()
    for check in (check_accessible, check_fits, check_ids, check_legible):
        check(page)


def test_the_file_of_a_slow_report_comes_by_itself(live_server, chromium_page: Page, tmp_path):
    page, study = chromium_page, rated(tmp_path / "b")
    key = f"report-files:{study.pk}"
    job = make_job(study, kind="report-files", status="running", exclusive_key=key)
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/data-and-report/")
    page.get_by_role("button", name="Report as PDF").click()
    expect(page.get_by_role("progressbar", name="Writing the report")).to_be_visible()
    list(ReportFilesJob().run(job, {}))
    with page.expect_download() as report:
        Job.objects.update(status="done")
    assert report.value.suggested_filename.endswith(".pdf")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_the_page_and_the_report_are_readable(
    live_server, chromium_page: Page, tmp_path, width, scheme
):
    page, study = chromium_page, rated(tmp_path / "b")
    make_job(study, kind="export", status="done", result={"ratings": 21, "bytes": 5000})
    make_job(study, kind="export", status="running", done=3, total=12, options={"formats": ["csv"]})
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/data-and-report/")
    page.get_by_text("What else every export contains").click()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "3")
    for check in (check_accessible, check_fits, check_ids, check_legible):
        check(page)
    Job.objects.filter(status="running").update(status="paused")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    write_report_files(study=study, out=tmp_path / "report")
    page.goto((tmp_path / "report" / "report.html").as_uri())
    for check in (check_accessible, check_fits, check_ids):
        check(page)


def test_the_report_prints_on_a_sheet(chromium_page: Page, tmp_path):
    page = chromium_page
    write_report_files(study=rated(tmp_path / "b"), out=tmp_path / "report")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": SHEET, "height": 1000})
    page.goto((tmp_path / "report" / "report.html").as_uri())
    assert page.evaluate(CLIPPED.replace(".board *", "body *")) == []

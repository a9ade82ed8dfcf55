"""Filters in a browser: chosen by clicks, kept while the page updates, readable everywhere."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.filters import Filter
from annotation.imports.study_import import import_study
from metrics.results.question_pages import PAGES
from metrics.results.services import refresh_report
from studies.models import Instance, Study
from tests.browser.accessibility import check_accessible, check_fits, check_ids, check_legible
from tests.browser.pages import numbers
from tests.browser.test_dashboard import OPEN_ALL, open_dashboard, rate
from tests.browser.test_generate_select import log_in
from tests.studies.factories import make_open_study
from tests.tiebreak.formats.bundles import make_bundle


def of_two_kinds(folder) -> Study:
    study = import_study(path=make_bundle(folder / "b", with_ratings=True)).study
    Instance.objects.update(category="news")
    Instance.objects.filter(key="i0").update(category="a rather long name of a kind of dialogue")
    refresh_report(study=study)
    return study


def test_a_part_is_chosen_kept_and_left_by_clicks(live_server, chromium_page: Page, tmp_path):
    page, study = chromium_page, of_two_kinds(tmp_path)
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/")
    expect(page.locator(".n-used")).to_have_text(numbers(12))
    page.locator(".filter summary").click()
    page.get_by_label("Category").select_option("news")
    page.get_by_role("button", name="Show this part").click()
    expect(page.locator(".n-used")).to_have_text(numbers(8))
    expect(page).to_have_url(
        f"{live_server.url}/studies/{study.pk}/results/?criterion=preference&category=news"
    )
    page.get_by_role("link", name="Can I trust the raters?").click()
    expect(page.locator(".n-used")).to_have_text(numbers(8))
    expect(page.locator(".of-part")).to_be_visible()
    page.get_by_role("link", name="Remove the filter: category news").click()
    expect(page.locator(".n-used")).to_have_text(numbers(12))
    expect(page.locator(".of-part")).to_have_count(0)


def test_a_picture_starts_below_the_line_of_pages_which_has_the_filter(
    live_server, chromium_page: Page, tmp_path
):
    page, study = chromium_page, of_two_kinds(tmp_path)
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/systems/")
    line, summary, data, lead = (
        page.locator(selector).bounding_box()
        for selector in (
            ".study-nav",
            ".filter summary",
            ".study-nav a[href*='/data-and']",
            ".lead-figure",
        )
    )
    assert line["y"] <= summary["y"]
    assert summary["x"] < data["x"]
    assert lead["y"] <= 132


def test_on_a_phone_the_four_questions_fit_below_one_line_and_the_filter_is_at_the_foot(
    live_server, chromium_page: Page, tmp_path
):
    page, study = chromium_page, of_two_kinds(tmp_path)
    Study.objects.update(title="A study with a title that no phone has room for")
    log_in(page, live_server.url, study)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server.url}/studies/{study.pk}/results/systems/")
    questions = page.locator(".study-nav > ul > li > a:visible").all()
    boxes = [one.bounding_box() for one in questions]
    assert len(boxes) == 4
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
    assert page.locator(".study-title").bounding_box()["height"] < 30
    assert page.locator(".study-header .state-chip:visible").count() >= 1
    assert page.locator(".lead-figure").bounding_box()["y"] <= 160
    expect(page.locator(".filter summary")).to_be_hidden()
    expect(page.locator(".meta a[href*='/data-and']")).to_be_visible()
    page.locator(".meta").get_by_role("link", name="Filter").click()
    page.locator(".filter summary").click()
    page.get_by_label("Category").select_option("news")
    page.get_by_role("button", name="Show this part").click()
    expect(page.locator(".n-used")).to_have_text(numbers(8))


def test_a_part_is_chosen_from_a_row_of_the_picture(live_server, chromium_page: Page, tmp_path):
    page, study = chromium_page, of_two_kinds(tmp_path)
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/raters/")
    check_accessible(page)
    page.locator(".chart").get_by_role("link", name="news").click()
    expect(page.locator(".n-used")).to_have_text(numbers(8))
    expect(page.locator(".chips a")).to_have_text(re.compile("news"))


def test_a_part_updates_while_it_is_looked_at(live_server, chromium_page: Page, monkeypatch):
    study = make_open_study(instances=6, comparisons_per_hit=1, ratings_per_hit=2)
    rate(study, "ann")
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)
    refresh_report(study=study)
    page, chosen = chromium_page, Filter(raters="channel:test")
    open_dashboard(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/?{chosen.address}")
    expect(page.get_by_text("The statistics are being computed")).to_be_visible()
    refresh_report(study=study, chosen=chosen)
    expect(page.locator(".n-used")).to_have_text(numbers(1))
    rate(study, "bob")
    expect(page.locator("[data-stale]")).to_be_visible()
    refresh_report(study=study)
    refresh_report(study=study, chosen=chosen)
    expect(page.locator(".n-used")).to_have_text(numbers(2))
    expect(page.locator(".of-part")).to_be_visible()
    check_ids(page)


def test_a_list_of_items_appears_when_its_part_is_computed(
    live_server, chromium_page: Page, tmp_path, monkeypatch
):
    page, study = chromium_page, of_two_kinds(tmp_path)
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)
    open_dashboard(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/items/?category=news")
    expect(page.get_by_text("The statistics are being computed")).to_be_visible()
    refresh_report(study=study, chosen=Filter(category="news"))
    expect(page.locator(".comparison")).to_have_count(4)


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_a_part_fit(live_server, chromium_page: Page, tmp_path, width, scheme):
    page, study = chromium_page, of_two_kinds(tmp_path)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    open_dashboard(page, live_server.url, study)
    long = "category=a+rather+long+name+of+a+kind+of+dialogue&stratum=PA%3C0.6&since=2020-01-01"
    refused_or_empty = ("?category=nothing", "?version=1", "results/?category=nothing")
    parts = [f"{path}?{long}" for path in ("", *(f"results/{tab.slug}/" for tab in PAGES))]
    for path in (*parts, *refused_or_empty):
        page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        page.evaluate(OPEN_ALL)
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(page)


def test_a_title_is_cut_only_where_there_is_no_room_for_it(
    live_server, chromium_page: Page, tmp_path
):
    page, study = chromium_page, of_two_kinds(tmp_path)
    Study.objects.update(title="A study with a title of forty-five characters")
    snapshot = study.report_snapshots.get(digest="")
    snapshot.report["simulated"] = True
    snapshot.save()
    log_in(page, live_server.url, study)
    is_whole = "element => element.scrollWidth <= element.clientWidth"
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{live_server.url}/studies/{study.pk}/results/systems/")
    assert page.locator(".study-title").evaluate(is_whole)
    Study.objects.update(title="Short")
    for place in ("results/systems/", "", "launch/"):
        page.goto(f"{live_server.url}/studies/{study.pk}/{place}")
        rooms = page.locator(".rooms").bounding_box()
        assert abs(rooms["x"] + rooms["width"] / 2 - 640) <= 1
    # Pages without rooms have the account beside it, and the title a line of its own.
    page.set_viewport_size({"width": 360, "height": 740})
    for address in (reverse("studies:from-template"), reverse("annotation:new-study")):
        page.goto(f"{live_server.url}{address}")
        assert page.locator(".study-title").evaluate(is_whole)
        check_fits(page)

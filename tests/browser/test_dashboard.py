"""The dashboard in a browser: it updates by itself and can be printed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotation.imports.study_import import import_study
from annotation.services.ratings import Answer
from metrics.results.question_pages import PAGES
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.models import Study
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.browser.accessibility import (
    check_accessible,
    check_contrast,
    check_fits,
    check_ids,
    check_legible,
)
from tests.browser.pages import numbers
from tests.browser.test_generate_select import log_in
from tests.studies.factories import make_open_study, make_participation
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.reading.messages import RANK_SET


def rate(study: Study, name: str) -> None:
    assignment = take_place(participation=make_participation(study, name))
    for number, hit_unit in enumerate(hit_units_of(assignment)):
        answers = {c: Answer("1", f"{name}-{number}") for c in study.criteria.all()}
        submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)


def open_dashboard(page: Page, url: str, study: Study) -> None:
    log_in(page, url, study)
    page.goto(f"{url}/studies/{study.pk}/")


@pytest.mark.parametrize("path", ["", "results/"])
def test_a_page_of_a_closed_study_asks_once_for_news(live_server, chromium_page: Page, path):
    study = make_open_study(instances=6, comparisons_per_hit=1, ratings_per_hit=2)
    rate(study, "ann")
    Study.objects.filter(pk=study.pk).update(status=Study.Status.CLOSED)
    refresh_report(study=study)
    log_in(chromium_page, live_server.url, study)
    answers: list[int] = []
    chromium_page.on("response", lambda got: "numbers/" in got.url and answers.append(got.status))
    chromium_page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
    chromium_page.wait_for_timeout(3000)
    assert answers.count(286) == 1
    assert answers[-1] == 286


def test_ratings_appear_by_themselves_and_statistics_once_computed(
    live_server, chromium_page: Page, monkeypatch
):
    study = make_open_study(instances=6, comparisons_per_hit=1, ratings_per_hit=2)
    rate(study, "ann")
    refresh_report(study=study)
    # Reports are built by a worker in another process.
    monkeypatch.setattr("metrics.tasks.refresh_report_task.apply_async", lambda args, queue: None)
    page = chromium_page
    log_in(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/")
    expect(page.locator(".n-used")).to_have_text(numbers(1))
    polling = page.locator("[name=shown]").get_attribute("hx-trigger") or ""
    # Changes are promised within two seconds: that long a page waits, and the rest is for the answer.
    assert int(polling.removeprefix("every ").removesuffix("ms")) < 1000
    page.wait_for_timeout(2500)  # the page has polled at least once
    page.locator(".analyses > summary").click()
    unfolded = page.locator("#statistics .analyses > div > details").first
    unfolded.locator("summary").focus()
    for name in ("bob", "cid", "dot"):
        rate(study, name)
    expect(page.locator("[data-stale]")).to_be_visible()
    expect(page.locator(".n-used")).to_have_text(numbers(1))
    # That there are newer ratings does not replace the statistics.
    expect(unfolded.locator("summary")).to_be_focused()
    expect(unfolded).not_to_have_attribute("open", "")
    unfolded.locator("summary").click()
    refresh_report(study=study)
    expect(page.locator(".n-used")).to_have_text(numbers(4))
    expect(page.locator("[data-stale]")).to_have_count(0)
    expect(unfolded).to_have_attribute("open", "")
    check_ids(page)


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_fit(live_server, chromium_page: Page, tmp_path, width, scheme):
    study = rated_elsewhere(tmp_path)
    chromium_page.emulate_media(color_scheme=scheme)
    chromium_page.set_viewport_size({"width": width, "height": 900})
    open_dashboard(chromium_page, live_server.url, study)
    for path in (f"results/{tab.slug}/" for tab in PAGES):
        chromium_page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        expect(chromium_page.locator(".n-used")).to_have_text(numbers(12))
        chromium_page.evaluate(OPEN_ALL)
        for check in (check_accessible, check_fits, check_ids, check_legible):
            check(chromium_page)


@pytest.mark.parametrize("width", [1440, 360])
def test_the_page_that_is_chosen_is_bold_and_moves_no_other(
    live_server, chromium_page: Page, tmp_path, width
):
    study, places = rated_elsewhere(tmp_path), []
    chromium_page.set_viewport_size({"width": width, "height": 900})
    open_dashboard(chromium_page, live_server.url, study)
    questions = [page for page in PAGES if not page.part_of]
    for page in questions:
        chromium_page.goto(f"{live_server.url}/studies/{study.pk}/results/{page.slug}/")
        links = chromium_page.locator(".study-nav ul > li > a")
        bold, *lefts = links.evaluate_all(
            """links => [links.filter(one => getComputedStyle(one).fontWeight >= 600).map(one => one.ariaCurrent),
                ...links.map(one => one.getBoundingClientRect().left)]"""
        )
        assert bold == ["page"]
        places.append(lefts)
        # Words stand in the middle of the room for their bold form, but the ends are those of what is below.
        rests = links.evaluate_all(RESTS)
        middle = rests[1:-1] if width > 960 else rests
        assert all(abs(before - after) < 0.5 for before, after in middle), rests
        assert width < 960 or max(abs(rests[0][0]), abs(rests[-1][1])) < 0.5, rests
    # Letters are placed on fractions of a pixel.
    assert all(max(of_one) - min(of_one) < 0.5 for of_one in zip(*places, strict=True))


RESTS = """links => links.filter(one => one.checkVisibility()).map(one => {
    const range = document.createRange(), word = [...one.children].find(each => each.checkVisibility());
    range.selectNodeContents(word);
    const text = range.getBoundingClientRect(), room = word.getBoundingClientRect();
    return [text.left - room.left, room.right - text.right];
})"""
# What has just come is opened later, as htmx listens to it only after a moment: `.htmx-added` marks it.
OPEN_ALL = """() => [...document.querySelectorAll("details")].filter(
    folded => !folded.closest(".htmx-added")).forEach(folded => { folded.open = true; })"""


def rated_elsewhere(tmp_path: Path) -> Study:
    study = import_study(path=make_bundle(tmp_path / "b", with_ratings=True)).study
    refresh_report(study=study)
    return study


# A4 within margins of two centimetres, in the browser's pixels.
SHEET = 642
CLIPPED = """() => [...document.querySelectorAll(".board *")].filter(element =>
    getComputedStyle(element).overflowX !== "visible" && element.scrollWidth > element.clientWidth
    || element.getBoundingClientRect().right > document.documentElement.clientWidth + 1
).map(element => element.outerHTML.slice(0, 80))"""


def test_a_sheet_of_paper_clips_nothing(live_server, chromium_page: Page, tmp_path):
    page, study = chromium_page, rated_elsewhere(tmp_path)
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": SHEET, "height": 1000})
    open_dashboard(page, live_server.url, study)
    for path in (f"results/{tab.slug}/" for tab in PAGES):
        page.goto(f"{live_server.url}/studies/{study.pk}/{path}")
        expect(page.locator(".n-used")).to_have_text(numbers(12))
        page.evaluate(OPEN_ALL)
        assert page.evaluate(CLIPPED) == [], path
    # Dark ink on white, also in the dark scheme.
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")


def judged_elsewhere(tmp_path: Path) -> Study:
    """Return a study of three systems whose machine raters also rate what annotators did not."""
    bundle, pairs = make_bundle(tmp_path / "b"), (("old", "new"), ("new", "next"), ("next", "old"))
    design = bundle / "study.toml"
    design.write_text(design.read_text().replace('["old", "new"]', '["old", "new", "next"]'))
    names = [f"i{i}" for i in range(72)]
    write_lines(bundle / "instances.jsonl", [{"id": name, "source": name} for name in names])
    write_lines(
        bundle / "generations.jsonl",
        [{"instance": n, "system": s, "text": f"{s} {n}"} for n in names for s, _ in pairs],
    )
    rated = [(rater, "human", names[:36]) for rater in ("ann", "bob", "cid", "dot")]
    rated += [(rater, "machine", names) for rater in ("judge", "a judge with a long name")]
    rows = [
        {
            "unit": name,
            "instance": name,
            "rater": rater,
            "kind": kind,
            "label": (i * i + len(rater) * (i % 4 == 0)) % 3 - 1,
            "system_a": pairs[i % 3][0],
            "system_b": pairs[i % 3][1],
            "side_a": ("left", "right")[(i + len(rater)) % 2],
        }
        for rater, kind, shown in rated
        for i, name in enumerate(shown)
    ]
    write_lines(bundle / "ratings.jsonl", rows)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    for name in ("controlled_win_rate", "davidson"):
        refresh_section(study=study, name=name)
    return study


def test_everything_unfolded_of_machine_raters_and_rankings(
    live_server, chromium_page: Page, tmp_path
):
    page, study = chromium_page, judged_elsewhere(tmp_path)
    open_dashboard(page, live_server.url, study)
    shown = {
        "systems": (
            *("#figure-order", "#figure-controlled-win-rates", "#figure-davidson"),
            f"th:text-is('{RANK_SET}')",
            "caption:text-is('Win rates with machine raters')",
        ),
        "machines": ("#stand-in-heading",),
        "each-machine": ("#figure-perception-2", "#by-stratum-2-kendall"),
    }
    for slug, parts in shown.items():
        page.goto(f"{live_server.url}/studies/{study.pk}/results/{slug}/")
        open_machines(page)
        for part in parts:
            expect(page.locator(part)).to_be_visible()
        page.evaluate(OPEN_ALL)
        page.set_viewport_size({"width": 1280, "height": 900})
        check_accessible(page)
        page.set_viewport_size({"width": 360, "height": 900})
        page.emulate_media(color_scheme="dark")
        for check in (check_contrast, check_fits, check_ids, check_legible):
            check(page)
        page.emulate_media(color_scheme="light")


def open_machines(page: Page) -> None:
    """Open everything, also what comes when something else is opened, until all machine raters are here."""
    awaited = page.locator(".one-machine > details > div:not(.of-machine), .htmx-added")
    for _ in range(200):
        page.evaluate(OPEN_ALL)
        if not awaited.count():
            page.evaluate(OPEN_ALL)
            return
        page.wait_for_timeout(100)
    pytest.fail("What is opened does not come.")


def test_coefficients_by_stratum_change_in_place_and_are_a_page(
    live_server, chromium_page: Page, tmp_path
):
    page, study = chromium_page, judged_elsewhere(tmp_path)
    open_dashboard(page, live_server.url, study)
    page.goto(f"{live_server.url}/studies/{study.pk}/results/each-machine/")
    open_machines(page)
    chosen = page.locator("#by-stratum-1-binned_js")
    chosen.click()
    expect(chosen).to_have_attribute("aria-current", "true")
    expect(chosen).to_be_focused()
    expect(page.locator("#by-stratum-2-krippendorff_alpha")).to_have_attribute(
        "aria-current", "true"
    )
    page.goto(f"{live_server.url}{chosen.get_attribute('href')}")
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for check in (check_accessible, check_contrast, check_fits, check_ids, check_legible):
            check(page)

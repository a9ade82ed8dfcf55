"""Every chart of every page fits its box at any width, with long names and many raters."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from annotation.imports.study_import import import_study
from metrics.demo import load_demo
from metrics.results.sections import refresh_section
from metrics.results.services import refresh_report
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, Study
from tests.browser.pages import wait_for_htmx
from tests.browser.test_every_page import OPEN_ALL, pages_of
from tests.browser.test_researcher_pages import log_in
from tests.tiebreak.formats.bundles import STUDY, write_lines
from tiebreak.reading.charts.intervals import THICK_KEY
from tiebreak.reading.figures.systems.systems import ALL_AT_ONCE
from tiebreak.report.registry import on_request

WIDTHS = (360, 768, 1280, 1440, 1920)
SYSTEMS = ["W" * 40, "模型" * 20, "a-system-with-a-name-of-forty-characters", "short"]
MACHINES = [f"judge {n} with a name of forty characters.." for n in range(6)]
# What is wrong with the charts that are seen: the words of each fault.
FAULTS = """() => {
  const faults = [], seen = element => element.checkVisibility();
  for (const chart of [...document.querySelectorAll('.chart')].filter(seen)) {
    const box = chart.parentElement.getBoundingClientRect(), name = chart.ariaLabel.slice(0, 40);
    const room = chart.parentElement.parentElement.getBoundingClientRect().width;
    if (room - box.width > 110) faults.push(`${name}: ${box.width} of ${room} pixels`);
    if (box.right > document.documentElement.clientWidth) faults.push(`${name}: cut by the page`);
    for (let holder = chart; holder; holder = holder.parentElement) {
      const mayScroll = holder === chart || getComputedStyle(holder).overflowX !== 'visible';
      if (mayScroll && holder.scrollWidth > holder.clientWidth + 1)
        faults.push(`${name}: ${holder.tagName} ${holder.className} scrolls`);
    }
    const labels = [];
    for (const element of [...chart.querySelectorAll('text, span')].filter(seen)) {
      const range = document.createRange();
      range.selectNodeContents(element);
      const boxes = element.tagName === 'text' ? [element.getBoundingClientRect()] : range.getClientRects();
      labels.push(...[...boxes].filter(one => one.width).map(one => [one, element]));
      const size = parseFloat(getComputedStyle(element).fontSize);
      if (size !== 14) faults.push(`${name}: letters of ${size} pixels`);
    }
    labels.forEach(([a, one], n) => {
      if (a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1)
        faults.push(`${name}: "${one.textContent}" is outside`);
      for (const [b, other] of labels.slice(0, n))
        if (one !== other && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
          faults.push(`${name}: "${one.textContent}" is on "${other.textContent}"`);
    });
  }
  return faults;
}"""
COUNT = "() => [...document.querySelectorAll('.chart')].filter(one => one.checkVisibility()).length"


def rating(instance: int, rater: str, kind: str, pair: tuple[str, str], k: int) -> dict[str, Any]:
    label = random.Random(f"{instance} {rater} {pair}").choice((-1, -1, 0, 1, 1))
    return {
        **{"unit": f"i{instance}/{pair[0][0]}{pair[1][0]}/{k}", "instance": f"i{instance}"},
        **{"rater": rater, "kind": kind, "label": label, "sample_index": k},
        **{"system_a": pair[0], "system_b": pair[1]},
    }


def rated_study(folder: Path) -> Study:
    """Return a study with long names of systems, six machine raters and scores of separability."""
    folder.mkdir()
    names = ", ".join(f'"{name}"' for name in SYSTEMS)
    text = STUDY.replace('"old", "new"', names)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "guidelines.md").write_text("Read both.", encoding="utf-8")
    write_lines(folder / "instances.jsonl", [{"id": f"i{n}", "source": "S"} for n in range(12)])
    texts = [
        {"instance": f"i{n}", "system": name, "sample_index": k, "text": f"{name[:5]} {n % 4} {k}"}
        for n in range(12)
        for name in SYSTEMS
        for k in range(2)
    ]
    write_lines(folder / "generations.jsonl", texts)
    raters = [(f"r{n}", "human") for n in range(3)] + [(name, "machine") for name in MACHINES]
    pairs = [tuple(sorted((a, b))) for a, b in pairwise(SYSTEMS)]
    rows = [
        rating(n, rater, kind, pair, k)
        for n in range(12)
        for pair in pairs
        for rater, kind in raters
        for k in range(2)
    ]
    write_lines(folder / "ratings.jsonl", rows)
    study = import_study(path=folder).study
    score_separability(study=study)
    refresh_report(study=study)
    for name in on_request():
        refresh_section(study=study, name=name)
    return study


@pytest.mark.thorough
def test_no_chart_is_cut_scrolls_or_has_labels_on_each_other(page: Page, live_server, tmp_path):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = rated_study(tmp_path / "bundle")
    Membership.objects.create(study=study, user=ruth)
    client = Client()
    client.force_login(ruth)
    with_charts = [p for p in pages_of(study, client) if b'class="chart' in client.get(p).content]
    log_in(page, live_server.url)
    faults, drawn = [], 0
    for path in with_charts:
        page.goto(live_server.url + path)
        page.evaluate(OPEN_ALL)
        wait_for_htmx(page)
        drawn += page.evaluate(COUNT)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            faults += [f"{path} at {width}: {fault}" for fault in page.evaluate(FAULTS)]
    assert drawn > 20
    assert not faults, "\n".join(faults)


# Of each rater of the picture the heights at which cells begin, and which cells do not say their
# kind and their interval.
CELLS = """() => [...document.querySelectorAll('.lead-figure table.chart tbody tr')].map(row => [
  new Set([...row.children].map(cell => Math.round(cell.getBoundingClientRect().top))).size,
  [...row.querySelectorAll('td')].filter(cell =>
    getComputedStyle(cell, '::before').content !== `"${cell.dataset.label}"`
    || !cell.querySelector('.note').checkVisibility()
    || !/\\d to /.test(cell.querySelector('.note').textContent)).length,
])"""


@pytest.mark.thorough
def test_a_rater_is_a_block_on_a_phone_whose_cells_say_their_kind_and_interval(
    page: Page, live_server
):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = load_demo(owner=ruth, say=lambda _: None)
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server.url}/studies/{study.pk}/results/machines/")
    name = page.locator(".lead .whole", has_text="judge-70b")
    assert name.bounding_box()["height"] < 40  # on one line
    seen = page.locator(".lead-figure table.chart td:visible")
    expect(seen).to_have_count(26)  # what kinds are, and five for each rater and the best possible
    assert page.evaluate(CELLS) == [[4, 0]] * 5  # its name, all items, four kinds two by two


# Where chance is drawn: whether on a name or value of its row, and how many of its lines.
CHANCE = """() => {
  const seen = [...document.querySelectorAll('.lead-figure .reference')].filter(one => one.checkVisibility());
  const words = [...document.querySelectorAll('.lead-figure .chart :is(.name, .value, .group)')];
  const lines = seen.map(one => one.getBoundingClientRect());
  return [lines.length, words.filter(word => lines.some(line => {
    const box = word.getBoundingClientRect();
    return line.left < box.right && line.right > box.left && line.top < box.bottom - 2 && line.bottom > box.top + 2;
  })).length];
}"""
# The fonts of headings that are not the one of the page.
FONTS = """() => [...new Set([...document.querySelectorAll('main :is(h2:not(.lead), h3)')].filter(
  one => one.checkVisibility()).map(one => getComputedStyle(one).fontFamily.split(',')[0]))]"""


@pytest.mark.thorough
def test_a_phone_says_what_two_thicknesses_of_a_line_are_in_the_picture(page: Page, live_server):
    ruth = User.objects.create_superuser("ruth", password="a long password")
    study = load_demo(owner=ruth, say=lambda _: None)
    log_in(page, live_server.url)
    page.set_viewport_size({"width": 360, "height": 740})
    for question, key in (("systems", ALL_AT_ONCE), ("raters", THICK_KEY)):
        page.goto(f"{live_server.url}/studies/{study.pk}/results/{question}/")
        picture = page.locator(".lead-figure .chart")
        assert picture.locator("[stroke-width='5']").count()
        expect(picture.get_by_text(key.partition("{")[0])).to_be_visible()
    # Chance stands in the lanes of the marks, one for each row.
    lines, on_words = page.evaluate(CHANCE)
    assert (lines, on_words) == (
        page.locator(".strip:not(.heading) > .plot.row:visible").count(),
        0,
    )
    # Each number of ratings is said once above the lines of raters.
    expect(page.locator(".each")).to_be_visible()
    assert not page.locator(".raters [data-label='Ratings']:visible").count()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator(".each")).to_be_hidden()
    cells = [one.bounding_box() for one in page.locator(".measures > .leading > div").all()]
    assert len({cell["y"] for cell in cells}) == 1 < len(cells)
    assert max(cell["width"] for cell in cells) <= 320
    for address in ("results/raters/", "results/machines/", ""):
        page.goto(f"{live_server.url}/studies/{study.pk}/{address}")
        assert page.evaluate(FONTS) == ["system-ui"]

"""Checks of a page: axe, its width, the uniqueness of ids, the size of text in figures, paper."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The one rule that version 2.2 of the guidelines added, which is off unless it is asked for.
TARGETS = {"runOnly": {"type": "rule", "values": ["target-size"]}}
AXE = Axe().axe_script
RUN_AXE = "async options => (await axe.run(document, options)).violations"
# The width of A4 within margins of two centimetres, in the browser's pixels.
SHEET = 642
UNSTICK = """() => [...document.querySelectorAll("body *")]
    .filter(element => getComputedStyle(element).position === "sticky")
    .forEach(element => { element.style.position = "static"; })"""
CLIPPED = """() => [...document.querySelectorAll("body *")].filter(element => {
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    const isHidden = !element.checkVisibility() || box.width < 2 || element.closest("svg, select, textarea, input, .unseen");
    const isCut = style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
    return !isHidden && (isCut || box.right > document.documentElement.clientWidth + 1);
}).map(element => element.outerHTML.slice(0, 80))"""


def check_accessible(page: Page) -> None:
    _check_rules(page, {})


def check_targets(page: Page) -> None:
    """Check that what can be pressed is large enough where nothing that stays in sight covers it."""
    page.evaluate(UNSTICK)
    _check_rules(page, TARGETS)


def check_rules(page: Page) -> None:
    """Check everything and the size of what can be pressed at once, for half of the time of both."""
    page.evaluate(UNSTICK)
    _check_rules(page, {"rules": {"target-size": {"enabled": True}}})


def check_contrast(page: Page) -> None:
    """Check the one rule that depends on the scheme of colours."""
    _check_rules(page, {"runOnly": ["color-contrast"]})


def _check_rules(page: Page, options: dict[str, Any]) -> None:
    page.wait_for_load_state("load")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    # To describe what passed, which nobody reads, takes axe longer than all of its checks.
    violations = page.evaluate(
        RUN_AXE, {"resultTypes": ["violations"], "preload": False, **options}
    )
    summaries = [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]
    assert not summaries, summaries


def check_fits(page: Page) -> None:
    content, screen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert content <= screen, f"{page.url}: {content} pixels wide on a screen of {screen}"


STACKED = """() => [...document.querySelectorAll('tr > *')].filter(cell => {
  const shown = [cell, cell.parentElement].every(one => getComputedStyle(one).display === 'block');
  return shown && cell.checkVisibility() && cell.offsetWidth < cell.parentElement.clientWidth / 2;
}).map(cell => cell.outerHTML.slice(0, 80))"""


def check_stacks(page: Page) -> None:
    """Check that cells which stand below one another use the width that they have."""
    narrow = page.evaluate(STACKED)
    assert not narrow, narrow


def check_ids(page: Page) -> None:
    """Check that ids are unique, because labels refer to their fields by id."""
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    duplicates = {name for name in ids if ids.count(name) > 1}
    assert not duplicates, duplicates


GROUNDS = """() => [...document.querySelectorAll('.scroll, .chart')].filter((one) => {
  const probe = document.createElement('i');
  probe.style.backgroundColor = 'var(--ground)';
  one.append(probe);
  const [meant] = [getComputedStyle(probe).backgroundColor, probe.remove()];
  let behind = one.parentElement;
  const colour = () => getComputedStyle(behind).backgroundColor;
  while (behind.parentElement && colour() === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  return one.checkVisibility() && meant !== colour();
}).map((one) => one.ariaLabel ?? one.className)"""


def check_grounds(page: Page) -> None:
    """Check that what covers shadows and lines has the colour of the ground on which it stands."""
    faults = page.evaluate(GROUNDS)
    assert not faults, f"{page.url}: another ground behind {faults}"


def check_legible(page: Page) -> None:
    """Check that text in figures is at least 11 px, because figures may shrink with the screen."""
    sizes = page.evaluate(
        "[...document.querySelectorAll('.chart :is(text, span)')].map((text) =>"
        " parseFloat(getComputedStyle(text).fontSize))"
    )
    assert min(sizes, default=12) >= 11, f"{page.url}: text of {min(sizes):.1f} pixels"


# Letters of another size than the three of the style sheet, except those of texts that annotators read
# and of Django's own pages.
SIZES = """() => {
  const probe = document.createElement('i');
  document.body.append(probe);
  const scale = ['--lead', '--body', '--small'].map(name => {
    probe.style.fontSize = `var(${name})`;
    return getComputedStyle(probe).fontSize;
  });
  probe.remove();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), others = new Set();
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement, { fontSize } = getComputedStyle(holder);
    if (!walker.currentNode.data.trim() || [...scale, '0px'].includes(fontSize)) continue;
    if (!holder.checkVisibility() || holder.closest('.text, .prose:not(.guide), kbd, .unseen, #container')) continue;
    others.add(`${fontSize}: ${holder.outerHTML.slice(0, 80)}`);
  }
  return [...others];
}"""


def check_sizes(page: Page) -> None:
    """Check that all letters of a page have one of three sizes."""
    others = page.evaluate(SIZES)
    assert not others, others


# The words that are seen, without numbers, names in tables and charts, texts of the study, and what
# is folded. `before` is an element; only words above it are counted.
WORDS = """before => {
  const main = document.querySelector('main'), seen = [];
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, holder = node.parentElement;
    if (before && before.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) break;
    if (holder.closest('table, svg, .chart, .files, .text, .unseen, form, script') || !holder.checkVisibility()) continue;
    seen.push(...node.data.split(/\\s+/).filter(word => /\\p{L}/u.test(word)));
  }
  return seen.length;
}"""


def check_begins(page: Page) -> None:
    """Check that what a page is about begins near its top, below the study's rooms.

    So it does when the page arrives: the filter, which opens below the rooms, is closed.
    """
    page.evaluate(
        "() => document.querySelectorAll('.filter').forEach(one => { one.open = false; })"
    )
    top = page.evaluate(
        "() => document.querySelector('main').getBoundingClientRect().top + scrollY"
    )
    assert top <= 160, f"The content begins at {top:.0f} px."


def check_one_filled(page: Page) -> None:
    """Check that at most one button is filled, so that it says what comes next."""
    filled = page.locator(".primary:visible").all_inner_texts()
    assert len(filled) <= 1, f"Several buttons are filled: {filled}."


def check_leads(page: Page) -> None:
    """Check that a question's finding and picture come before any scrolling, and few words with them."""
    lead = page.locator(".lead-figure")
    if not lead.count() or not lead.locator(".chart").count():
        return
    chart = lead.locator(".chart:visible").first
    box = chart.bounding_box()
    assert box
    assert box["y"] + min(box["height"], 300) <= 900, f"The picture begins at {box}."
    n_before, n = page.evaluate(WORDS, chart.element_handle()), page.evaluate(WORDS, None)
    assert n_before <= 120, f"{n_before} words come before the picture."
    assert n <= 250, f"The page has {n} words."


# How far below the last word of a question's finding its picture begins.
GAPS = """() => [...document.querySelectorAll('.lead-figure:has(.chart)')].map(figure => {
  const words = document.createRange();
  words.selectNodeContents(figure.querySelector('.lead'));
  return figure.querySelector('.chart').getBoundingClientRect().top - words.getBoundingClientRect().bottom;
})"""


def check_follows(page: Page) -> None:
    """Check that a question's picture stands right below its finding."""
    gaps = page.evaluate(GAPS)
    assert max(gaps, default=0) <= 80, f"{gaps} px are between a finding and its picture."


def check_prints(page: Page) -> None:
    """Check that nothing is wider than a sheet of A4, where nobody can scroll."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": SHEET, "height": 900})
    clipped = page.evaluate(CLIPPED)
    page.emulate_media(media="screen")
    assert not clipped, f"wider than the sheet: {clipped}"

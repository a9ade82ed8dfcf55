"""Texts as their authors meant them: indentation, direction, and words longer than a screen."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import HITUnit
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from studies.models import ComprehensionQuestion, Generation, Instance, Screening, Study, Unit
from tests.browser.accessibility import check_accessible, check_fits
from tests.browser.pages import expect_status, expect_unit
from tests.studies.factories import make_open_study, make_study, open_knowingly

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."
CODE = "def area(side):\n    return side * side\n\n\n    # indented"
ARABIC = "قال المدير: «انتهى العمل»."
HEBREW = "האם התרגום נאמן למקור?"
WORD = "Donaudampfschifffahrtsgesellschaft" * 12


def enter(page: Page, live_server: Any, study: Study) -> None:
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()


def is_right_aligned(block: Locator) -> bool:
    """Whether the first line of its text ends at the right edge and not at the left."""
    return block.evaluate(
        """(element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            const all = [...range.getClientRects()], box = element.getBoundingClientRect();
            const line = all.filter((each) => each.top === all[0].top);
            const right = box.right - Math.max(...line.map((each) => each.right));
            return right < Math.min(...line.map((each) => each.left)) - box.left;
        }"""
    )


def test_indentation_and_blank_lines_are_kept(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1)
    Generation.objects.update(text=CODE)
    enter(page, live_server, study)
    text = page.locator(".compared").first
    expect(text).to_be_visible()
    # What a selection of it would be copied as is what it looks like.
    assert text.evaluate("(element) => element.innerText") == CODE


def test_right_to_left_texts_start_at_the_right_in_every_block(chromium_page: Page, live_server):
    study = make_study(instances=1, guidelines=ARABIC, consent=HEBREW)
    Instance.objects.update(
        source=ARABIC, messages=[{"role": "user", "content": f"{HEBREW}\nsecond line"}]
    )
    Generation.objects.update(text=f"{ARABIC}\n\nAn English paragraph.")
    study.criteria.update(question=HEBREW, scale="nominal:جيد,سيئ")
    plan_hits(study=study)
    ComprehensionQuestion.objects.create(
        study=study, text=HEBREW, choices=f"{ARABIC}\nno", answer=1
    )
    open_knowingly(study)
    page = chromium_page
    page.goto(f"{live_server.url}/s/{study.pk}/")
    assert is_right_aligned(page.locator(".prose p").first)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert is_right_aligned(page.locator(".prose p").first)
    assert is_right_aligned(page.locator("li").first)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("legend")).to_be_visible()
    assert is_right_aligned(page.locator("legend"))
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="Submit answers").click()
    for block in (".source > .text", ".turn .text", ".compared", "legend"):
        assert is_right_aligned(page.locator(block).first), block
    assert (
        page.locator(".choices [dir=auto]").first.evaluate("(e) => getComputedStyle(e).direction")
        == "rtl"
    )
    check_accessible(page)


def test_an_english_paragraph_in_an_arabic_text_starts_at_the_left(
    chromium_page: Page, live_server
):
    page, study = chromium_page, make_open_study(instances=1)
    Generation.objects.update(text=f"{ARABIC}\nAn English line.")
    enter(page, live_server, study)
    text = page.locator(".compared").first
    edges = text.evaluate(
        """(element) => {
            const range = document.createRange();
            range.selectNodeContents(element);
            const box = element.getBoundingClientRect();
            const all = [...range.getClientRects()];
            const first = all.filter((each) => each.top === all[0].top);
            return [box.right - Math.max(...first.map((each) => each.right)), all.at(-1).left - box.left];
        }"""
    )
    assert max(edges) < 2


def test_study_text_is_not_said_to_be_english(chromium_page: Page, live_server):
    page, study = chromium_page, make_open_study(instances=1)
    enter(page, live_server, study)
    for block in (".source > .text", ".compared", "legend", "h1"):
        assert page.locator(block).first.evaluate("(e) => e.closest('[lang]').lang") == "", block


def screened_study() -> Study:
    """Every page an annotator meets, each with a word that is longer than the screen."""
    study = make_study(
        instances=8, comparisons_per_hit=1, ratings_per_hit=1, guidelines=WORD, consent=WORD
    )
    Generation.objects.update(text=f"{WORD} {PROSE}")
    Instance.objects.update(source=WORD, messages=[{"role": WORD, "content": WORD}])
    study.criteria.update(question=WORD)
    Study.objects.update(title=WORD[:200])
    study.criteria.create(
        name="fluency", question="Fluent?", scale=f"nominal:{WORD[:150]},no", position=1
    )
    for role in (Unit.Role.TRAINING, Unit.Role.QUALIFICATION):
        degrade_copies(study=study, role=role, n=1)
    plan_hits(study=study)
    Unit.objects.exclude(role="main").update(explanation=WORD)
    Screening.objects.create(
        study=study,
        training_units=1,
        qualification_units=1,
        pass_mark=1,
        qualification_tries=2,
        shows_answers=True,
    )
    ComprehensionQuestion.objects.create(
        study=study, text=WORD, choices=f"{WORD}\nno", answer=2, explanation=WORD
    )
    return open_knowingly(Study.objects.get())


@pytest.mark.parametrize("width", [360, 1440])
def test_no_page_is_wider_than_the_screen(chromium_page: Page, live_server, width):
    page, study = chromium_page, screened_study()
    page.set_viewport_size({"width": width, "height": 740})
    page.goto(f"{live_server.url}/s/{study.pk}/")
    check_fits(page)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    check_fits(page)
    page.get_by_role("button", name="Start").click()
    for choice in (0, 1):  # wrong, and with the explanation right
        expect(page.get_by_role("button", name="Submit answers")).to_be_visible()
        check_fits(page)
        page.get_by_role("radio").nth(choice).check()
        page.get_by_role("button", name="Submit answers").click()
    expect(page.locator("[data-stage=training]")).to_be_visible()
    answer_wrong(page, "training")
    expect(page.locator("#feedback .wrong")).to_be_visible()
    check_fits(page)
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator("[data-stage=qualification]")).to_be_visible()
    answer_wrong(page, "qualification")
    page.get_by_role("link", name="Finish the test", exact=True).click()
    expect(page.locator("form[action$='/try-again/']")).to_be_visible()
    expect(page.locator(".feedback .wrong")).to_be_visible()
    check_fits(page)
    check_accessible(page)


def answer_wrong(page: Page, stage: str) -> None:
    """Prefer the degraded copy."""
    first_is_right = not HITUnit.objects.get(hit__kind=stage).side_bit
    page.locator("fieldset").nth(0).get_by_role("radio").nth(2 if first_is_right else 0).check()
    page.locator("fieldset").nth(1).get_by_role("radio").nth(1).check()
    expect_status(page, "saved")


@pytest.mark.parametrize(
    ("width", "words"), [(1440, ("Left", "Right")), (360, ("First", "Second"))]
)
def test_training_says_what_was_expected_in_the_words_of_the_choices(
    chromium_page: Page, live_server, width, words
):
    page, study = chromium_page, make_study(instances=4, comparisons_per_hit=1)
    Generation.objects.update(text=PROSE)
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=1)
    plan_hits(study=study)
    Screening.objects.create(study=study, training_units=1)
    open_knowingly(study)
    page.set_viewport_size({"width": width, "height": 800})
    enter(page, live_server, study)
    expect_unit(page, 1)
    page.wait_for_load_state("load")
    first_is_right = not HITUnit.objects.get(hit__kind="training").side_bit
    page.get_by_role("radio").nth(2 if first_is_right else 0).check()
    right = page.locator(".choices label > span").nth(0 if first_is_right else 2).inner_text()
    assert right.startswith(words[0] if first_is_right else words[1])
    expect(page.locator(".expected")).to_be_visible()
    assert page.locator(".expected").inner_text().endswith(right)

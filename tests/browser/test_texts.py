"""Rendered texts in a real browser: what stays in view, what is marked, and what cannot break out."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from studies.models import Generation, Instance, Study
from tests.browser.accessibility import check_accessible, check_fits
from tests.browser.pages import expect_status, expect_unit
from tests.browser.test_policy import LISTEN
from tests.studies.factories import make_open_study, make_study
from tests.studies.rendering.hostile import hostile_texts

MARKDOWN = """# Plan

Use *binary search* on a **sorted** list ([docs](https://e.example/x)).

| step | bounds |
|---|---|
| 1 | 0 to 10 |

```python
def half(low, high):
    return (low + high) // 2
```

It takes $\\log_2 n$ steps, and \\[ \\sum_{i=0}^{k} 2^i \\]

- قال المدير
"""
CHANGED = MARKDOWN.replace("binary", "linear").replace("// 2", "// 3").replace("log_2", "log_3")
LONG = (MARKDOWN + "Some words of a longer text. " * 40 + "\n\n") * 12


def rated(page: Page, live_server: Any, texts: tuple[str, str], **design: Any) -> Study:
    study = make_open_study(
        instances=1,
        samples=1,
        source_format="markdown_latex",
        generation_format="markdown_latex",
        **design,
    )
    Instance.objects.update(source=texts[0])
    for system, text in zip(study.systems.all(), texts, strict=True):
        Generation.objects.filter(system=system).update(text=text)
    page.goto(f"{live_server.url}/s/{study.pk}/")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    expect_unit(page, 1)
    page.wait_for_load_state("load")
    return study


def in_view(page: Page) -> bool:
    """Whether every answer and the button to continue are within the window."""
    return page.evaluate(
        """[...document.querySelectorAll(".choices label, #next :is(a, button)")].every((element) => {
            const box = element.getBoundingClientRect();
            return box.top >= 0 && box.bottom <= window.innerHeight && box.right <= window.innerWidth;
        })"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (800, 900), (360, 740)])
def test_the_answers_stay_in_view_beside_texts_of_3000_words(
    chromium_page: Page, live_server, size, scheme
):
    page = chromium_page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    assert len(LONG.split()) > 3_000
    rated(page, live_server, (LONG, LONG))
    assert in_view(page)
    check_fits(page)
    check_accessible(page)
    panels = page.locator(".work article")
    assert all(panel.evaluate("(e) => e.scrollHeight > e.clientHeight") for panel in panels.all())
    panels.last.evaluate("(element) => element.scrollIntoView()")
    assert in_view(page)
    assert page.evaluate("document.documentElement.scrollTop") == 0


def test_the_question_stands_right_below_short_texts_beside_a_long_source(
    chromium_page: Page, live_server
):
    page = chromium_page
    page.set_viewport_size({"width": 1440, "height": 900})
    study = rated(page, live_server, ("A text.", "Another text."))
    Instance.objects.filter(dataset=study.dataset).update(source=LONG)
    page.reload()
    source, pair, legend = (
        page.locator(name).first.bounding_box() for name in (".source", ".pair", "legend")
    )
    assert source
    assert pair
    assert legend
    assert 16 <= legend["y"] - pair["y"] - pair["height"] <= 32
    assert source["y"] + source["height"] > 700


def test_without_javascript_the_answers_are_in_view(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    rated(page, live_server, (LONG, LONG))
    expect(page.locator("#differences")).to_be_hidden()
    # Without scripts, nothing can be evaluated in the page.
    label = page.locator(".choices label").last.bounding_box()
    assert label is not None
    assert label["y"] + label["height"] < 900
    context.close()


def test_on_a_low_screen_the_page_scrolls_as_a_whole(chromium_page: Page, live_server):
    page = chromium_page
    page.set_viewport_size({"width": 740, "height": 360})
    rated(page, live_server, (LONG, LONG))
    assert page.evaluate("document.documentElement.scrollHeight > 3 * window.innerHeight")
    page.get_by_role("radio").first.check()
    expect_status(page, "saved")


def test_one_key_scrolls_both_texts(chromium_page: Page, live_server):
    page = chromium_page
    rated(page, live_server, (LONG, LONG))
    tops = "[...document.querySelectorAll('.work article')].map((e) => e.scrollTop)"
    assert page.evaluate(tops) == [0, 0]
    page.keyboard.press("j")
    first, second = page.evaluate(tops)
    assert first == second > 100
    page.keyboard.press("k")
    assert page.evaluate(tops) == [0, 0]


@pytest.mark.parametrize("size", [(1440, 900), (360, 740)])
def test_differences_of_rendered_texts_are_marked_by_button_and_key(
    chromium_page: Page, live_server, size
):
    page = chromium_page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    rated(page, live_server, (MARKDOWN, CHANGED))
    html = "[...document.querySelectorAll('.compared')].map((e) => e.innerHTML)"
    before = page.evaluate(html)
    button = page.get_by_role("button", name="Highlight differences")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    marks = [text.locator("mark").all_text_contents() for text in page.locator(".compared").all()]
    assert sorted(tuple(of) for of in marks) == [("binary", "2", "log2n"), ("linear", "3", "log3n")]
    check_accessible(page)
    page.keyboard.press("d")
    expect(page.locator("mark")).to_have_count(0)
    assert page.evaluate(html) == before


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            (
                "Mix (200 g) of flour. Bake 40 minutes, then rest.",
                "200 g of Flour, bake 45 minutes.",
            ),
            {("Mix", "40", "then rest."), ("45",)},
        ),
        (("It cost 5%, or -3.", "It cost 5 or 3"), {("5%,", "-3."), ("5", "3")}),
        (("The US said: no!", "The us said no"), {("US",), ("us",)}),
        (("Use `f[x]` here", "Use `f(x)` here"), {("f[x]",), ("f(x)",)}),
        # They differ in nothing else.
        (("Well, no.", "Well no."), {("Well,",), ("Well",)}),
    ],
)
def test_words_that_differ_only_in_punctuation_or_a_first_capital_are_not_marked(
    chromium_page: Page, live_server, texts, expected
):
    page = chromium_page
    rated(page, live_server, texts)
    page.keyboard.press("d")
    marks = [text.locator("mark").all_text_contents() for text in page.locator(".compared").all()]
    assert {tuple(of) for of in marks} == expected


def test_near_identical_texts_of_any_length_can_be_compared(chromium_page: Page, live_server):
    text = " ".join(f"word{n}" for n in range(20_000))
    page = chromium_page
    rated(page, live_server, (text, text.replace("word9999 ", "other ")))
    page.keyboard.press("d")
    expect(page.locator("mark")).to_have_count(2)


def test_texts_too_long_to_compare_say_so(chromium_page: Page, live_server):
    texts = tuple(" ".join(f"{name}{n}" for n in range(3_100)) for name in "ab")
    page = chromium_page
    rated(page, live_server, texts)
    page.get_by_role("button", name="Highlight differences").click()
    expect(page.locator("#too-long")).to_be_visible()
    expect(page.locator("#differences")).to_be_hidden()
    page.keyboard.press("d")
    expect(page.locator("mark")).to_have_count(0)


@pytest.fixture
def previewed(chromium_page: Page, live_server) -> Study:
    study = make_study(
        instances=1, samples=1, source_format="markdown_latex", generation_format="plain_latex"
    )
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    cookie = client.cookies["sessionid"].value
    chromium_page.context.add_cookies(
        [{"name": "sessionid", "value": cookie, "url": live_server.url}]
    )
    chromium_page.add_init_script(LISTEN)
    return study


OUTSIDE = """[...document.querySelectorAll(".text *")].filter((element) =>
    getComputedStyle(element).position !== "static" || element.matches("a, img, script, style, svg, iframe")
).length"""


@pytest.mark.slow
def test_no_hostile_text_breaks_the_policy_or_the_layout(
    chromium_page: Page, live_server, previewed
):
    page = chromium_page
    page.set_viewport_size({"width": 360, "height": 740})
    page.set_default_timeout(60_000)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    # Chromium takes minutes to lay out some that are longer, such as 100,000 accents on one letter.
    texts = [text.replace("\0", "")[:20_000] for text in hostile_texts()]
    for start in range(20):
        first, second, *turns = texts[start::20]
        Instance.objects.update(messages=[{"role": "user", "content": text} for text in turns])
        for system, text in zip(previewed.systems.all(), (first, second), strict=True):
            Generation.objects.filter(system=system).update(text=text)
        page.goto(f"{live_server.url}/studies/{previewed.pk}/preview/?page=unit")
        assert page.evaluate("window.violations") == [], start
        check_fits(page)
        assert in_view(page), start
        assert page.evaluate(OUTSIDE) == 0, start
    assert [url for url in requested if not url.startswith(live_server.url)] == []


BLANK = "\n" * 9
CODE = "```python\n" + "print(1)\n" * 12 + "```\n\n"
LINE = "One line of a source that people have to read before they answer.\n\n"


@pytest.mark.parametrize("has_script", [True, False])
@pytest.mark.parametrize(
    ("text", "is_cut"),
    [(LINE, False), (LINE * 3, False), *((start + LINE * 30, True) for start in ("", BLANK, CODE))],
)
def test_on_a_phone_a_source_is_cut_under_a_button_once_it_was_shown_whole_or_not_at_all(
    browser, live_server, has_script, text, is_cut
):
    context = browser.new_context(
        java_script_enabled=has_script, viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    rated(page, live_server, (MARKDOWN, CHANGED))
    Instance.objects.update(source=text)
    page.reload()
    source = page.get_by_role("region", name="Source text")
    more = source.get_by_role("button", name="Show all of it")
    expect(more).to_be_hidden()
    assert source.evaluate(HIDDEN) == 0
    page.reload()
    expect(more).to_be_visible(visible=is_cut and has_script)
    if is_cut and has_script:
        assert source.evaluate(HIDDEN) > 0
        assert (
            more.evaluate("more => getComputedStyle(more.parentElement).backgroundImage") != "none"
        )
        check_fits(page)
        check_accessible(page)
        more.click()
        expect(more).to_be_hidden()
        expect(source).to_be_focused()
    assert source.evaluate(HIDDEN) == 0
    context.close()


HIDDEN = "box => box.scrollHeight - box.clientHeight"


@pytest.mark.parametrize("has_script", [True, False])
def test_fields_are_read_beside_the_source_on_a_dark_phone(browser, live_server, has_script):
    phone = {"width": 360, "height": 740}
    context = browser.new_context(
        java_script_enabled=has_script, viewport=phone, color_scheme="dark"
    )
    page = context.new_page()
    rated(page, live_server, (MARKDOWN, CHANGED), fields="passage\nfacts | Facts | raters | after")
    Instance.objects.update(metadata={"passage": "x" * 5000, "facts": MARKDOWN})
    page.reload()
    source = page.get_by_role("region", name="Source text")
    names = source.get_by_role("heading", level=2).all_inner_texts()
    assert names == ["Passage", "Source text", "Facts"]
    text = source.locator("details .text")
    expect(text).to_be_hidden()
    source.get_by_text("Show all 5000 characters").click()
    expect(text).to_be_visible()
    if has_script:
        check_fits(page)
        check_accessible(page)
        assert in_view(page)
    context.close()

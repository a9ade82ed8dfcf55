"""Hostile texts yield nothing outside the allow-list, in a bounded time."""

from html.parser import HTMLParser
from time import process_time

import pytest

from studies.rendering import RENDERERS, render_text
from studies.rendering.markdown import LANGUAGES, MAX_CODE, highlighted
from studies.rendering.sanitizing import ATTRIBUTES, CLASSES, TAGS, VALUES
from tests.studies.rendering.hostile import hostile_texts

# A guard against a text that never ends (backtracking grows exponentially), not a measure of speed:
# the slowest text takes under 2 seconds, and ten times as long while coverage is measured.
MAX_SECONDS = 90


class Checker(HTMLParser):
    """Collects what is not allowed in rendered HTML. Another parser than the sanitiser's."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            values = VALUES.get(tag, {}).get(name, set())
            is_class = name == "class" and set((value or "").split()) <= CLASSES.get(tag, set())
            if not (name in ATTRIBUTES.get(tag, ()) or value in values or is_class):
                self.faults.append(f"<{tag} {name}={value}>")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data[:20]}")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"<!{decl[:20]}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"<?{data[:20]}")


def faults(rendered: str) -> list[str]:
    checker = Checker()
    checker.feed(rendered)
    checker.close()
    return checker.faults


def test_there_are_500_hostile_texts():
    assert len(set(hostile_texts())) == 500


@pytest.mark.thorough
@pytest.mark.parametrize(
    "start", [8, *(pytest.param(start, marks=pytest.mark.slow) for start in (*range(8), 9))]
)
def test_nothing_outside_the_allow_list_and_nothing_takes_long(start):
    problems = []
    for text in hostile_texts()[start::10]:
        for text_format in RENDERERS:
            started = process_time()
            rendered = render_text(text, text_format)
            if process_time() - started > MAX_SECONDS:
                problems.append((text[:60], text_format, "slow"))
            if len(rendered) < 300_000:  # the others consist of repetitions
                problems += [(text[:60], text_format, fault) for fault in faults(rendered)]
    assert problems == []


def test_no_tag_or_attribute_of_the_allow_list_runs_or_loads_anything():
    assert (
        not {"script", "style", "img", "svg", "a", "iframe", "form", "input", "annotation-xml"}
        & TAGS
    )
    names = {name for names in ATTRIBUTES.values() for name in names}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"href", "src", "style", "id", "class", "name", "xlink:href"}


@pytest.mark.thorough
@pytest.mark.parametrize("alphabet", ["\n \t", "(){}[]", "\"'\\`", "a.b ", "</!-a =>", "a<>,? "])
def test_no_lexer_takes_long(alphabet):
    # Without a period, so that the check for repetitions does not excuse it.
    code = "".join(alphabet[(n * n // 7 + n) % len(alphabet)] for n in range(MAX_CODE))
    for language in LANGUAGES:
        started = process_time()
        highlighted(code, language)
        assert process_time() - started < 3, language

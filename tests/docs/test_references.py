"""Tests that the documentation names exist, as do the labels that the tutorial and the how-to guides quote."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from metrics.results.question_pages import PAGES as RESULTS
from metrics.results.questions import QUESTIONS
from tests.docs.pages import PAGES, name_of, text_of
from tests.paths import ROOT
from tiebreak.report.registry import on_request

SECURITY = text_of(ROOT / "docs" / "security.md")
METHODS = "".join(text_of(page) for page in sorted((ROOT / "docs" / "methods").glob("*.md")))
STEPWISE = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
SERVER = ("config", "metrics", "recruitment", "machine_raters", "annotation", "studies")


def named_tests() -> Iterator[tuple[str, str]]:
    """Files that the security page names, each with a test that follows it, or "" for the file."""
    for cell in re.findall(r"\| ([^|]*`tests/[^|]*) \|$", SECURITY, re.M):
        path = ""
        for code in re.findall(r"`([^`]+)`", cell):
            if code.startswith("tests/"):
                path = code
                yield path, ""
            else:
                yield path, code


@pytest.mark.parametrize(("path", "name"), sorted(set(named_tests())))
def test_every_test_that_guards_a_defence_exists(path, name):
    text = (ROOT / path).read_text()
    assert not name or re.search(rf"def test_(\w+_)?{name}\(", text)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+/test_\w+)`", METHODS))))
def test_every_test_of_a_method_exists(name):
    assert [*(ROOT / "tests").rglob(f"{name}.py")]


@pytest.fixture(scope="module")
def sources() -> list[str]:
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    templates = [text.replace("{{ platform.title }}", "Prolific") for text in templates]
    return templates + [path.read_text() for name in SERVER for path in (ROOT / name).rglob("*.py")]


def labels_in(document: Path) -> list[str]:
    return [
        " ".join(label.split()) for label in re.findall(r"\*\*(.+?)\*\*", text_of(document), re.S)
    ]


@pytest.mark.parametrize("document", STEPWISE, ids=name_of)
def test_every_label_that_a_guide_presses_is_on_a_page(document, sources):
    missing = [label for label in labels_in(document) if not any(label in s for s in sources)]
    assert missing == []


def test_guides_press_labels():
    assert sum(len(labels_in(document)) > 3 for document in STEPWISE) >= 5


def test_the_gallery_has_the_four_questions_and_names_what_pages_show(sources):
    text = text_of(ROOT / "docs" / "figures.md")
    assert re.findall(r"^## (.+)$", text, re.M) == [question.title for question in QUESTIONS]
    reading = [path.read_text() for path in (ROOT / "tiebreak" / "reading").rglob("*.py")]
    named = re.findall(r"^\| \*\*(.+?)\*\*", text, re.M)
    assert len(named) > 20
    assert [name for name in named if not any(name in s for s in sources + reading)] == []


def parts_named() -> list[tuple[str, str]]:
    """Each part of a question that the documentation names, such as *Consistency* of *Can I trust the raters?*."""
    titles = "|".join(re.escape(question.title) for question in QUESTIONS)
    named = rf"\*([^*\n]+)\*,?(?: a part)? of \*({titles})\*"
    texts = (" ".join(text_of(page).split()) for page in PAGES)
    return sorted({found for text in texts for found in re.findall(named, text)})


def test_every_part_of_a_question_that_the_documentation_names_exists():
    slugs = {question.title: question.slug for question in QUESTIONS}
    offered = [(page.title, page.part_of) for page in RESULTS]
    offered += [(section.title, section.question) for section in on_request().values()]
    known = parts_named()
    assert len(known) > 5
    for name, question in known:
        assert any(t.startswith(name) and q == slugs[question] for t, q in offered), name

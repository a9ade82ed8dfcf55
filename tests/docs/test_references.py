"""Tests that the documentation names exist, as do the labels that the tutorial quotes."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import text_of
from tests.paths import ROOT

SECURITY = text_of(ROOT / "docs" / "security.md")
METHODS = text_of(ROOT / "docs" / "methods.md")
TUTORIAL = text_of(ROOT / "docs" / "tutorial.md")
SERVER = ("config", "metrics", "recruitment", "annotation", "studies")


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
    folders = (ROOT / "tests", ROOT / "tests" / "tiebreak")
    assert any((folder / f"{name}.py").is_file() for folder in folders)


def test_every_label_that_the_tutorial_presses_is_on_a_page():
    sources = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    sources += [path.read_text() for name in SERVER for path in (ROOT / name).rglob("*.py")]
    labels = re.findall(r"\*\*(.+?)\*\*", TUTORIAL)
    assert labels
    assert [label for label in labels if not any(label in text for text in sources)] == []

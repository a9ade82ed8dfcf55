"""Commands in the documentation exist, and its examples give the output that it shows."""

import doctest
import re

import pytest
import yaml
from django.core.management import get_commands

from tests.docs.pages import PAGES, name_of, text_of
from tests.paths import ROOT
from tiebreak import __version__
from tiebreak.cli import COMMANDS

SETTINGS = (ROOT / "config" / "settings.py").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = {name for names in re.findall(r"^([a-z -]+):", MAKEFILE, re.M) for name in names.split()}
OTHER_SOURCES = [
    path.read_text()
    for folder in ("benchmarks", "config", "tests")
    for path in (ROOT / folder).glob("*.py")
]
# Settings of a model server end in the server's name.
PER_SERVER = ("TIEBREAK_MODEL_KEY_", "TIEBREAK_MODEL_OPTIONS_")


def commands(text: str, program: str) -> set[str]:
    """The words that follow a program, inside `code` and in blocks of code.

    What follows -u, -O or -d is a user or a database.
    """
    code = re.findall(r"```.*?```", text, re.S) + re.findall(r"`[^`\n]+`", text)
    return {
        name
        for part in code
        for name in re.findall(rf"(?:^|(?<!-[uOd])[\s`]){program} ([a-z][a-z_-]+)", part)
    }


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_every_make_target_exists(document):
    assert commands(text_of(document), "make") - TARGETS == set()


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_every_management_command_exists(document):
    assert commands(text_of(document), r"manage\.py") - set(get_commands()) == set()


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_every_command_of_the_library_exists(document):
    assert commands(text_of(document), "-m tiebreak") - set(COMMANDS) == set()
    assert commands(text_of(document), "tiebreak") - set(COMMANDS) == set()


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_every_environment_variable_is_read(document):
    text = text_of(document)
    of_examples = set(re.findall(r"os\.environ\[['\"](\w+)", text))
    for name in set(re.findall(r"\bTIEBREAK_[A-Z_0-9]*[A-Z0-9]", text)) - of_examples:
        known = next((prefix for prefix in PER_SERVER if name.startswith(prefix)), name)
        assert known in SETTINGS or any(known in text for text in OTHER_SOURCES), name


def test_the_readers_that_the_library_page_names_are_those_there_are():
    from tiebreak.formats.readers import READERS

    page = text_of(ROOT / "docs" / "library.md")
    table = page.partition("| reader | reads |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.M)) == sorted(READERS)


@pytest.mark.parametrize("name", ["README.md", "docs/library.md"])
def test_examples_in_python_give_what_they_say(name):
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "license"} <= citation.keys()


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_no_release_whose_database_is_stored_is_still_to_come(document):
    text = " ".join(text_of(document).split())
    for release in (ROOT / "tests" / "upgrades").glob("[0-9]*"):
        assert not re.search(
            rf"(until|before|once) {re.escape(release.name)} is released", text, re.I
        )
        assert "no release yet" not in text

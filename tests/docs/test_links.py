"""Links in the documentation have existing targets, and an index links to every page."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, anchors_of, links_of, name_of
from tests.paths import ROOT

INDEX = ROOT / "docs" / "index.md"
METHODS = ROOT / "docs" / "methods.md"


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(document):
    for target in links_of(document):
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        assert path.is_file(), f"{name_of(document)}: {target}"
        assert not anchor or anchor in anchors_of(path), f"{name_of(document)}: {target}"


def pages_linked_from(page: Path) -> set[Path]:
    targets = (target.partition("#")[0] for target in links_of(page))
    return {(page.parent / target).resolve() for target in targets if target.endswith(".md")}


def test_an_index_links_to_every_page():
    linked = pages_linked_from(INDEX) | pages_linked_from(METHODS)
    missing = set(PAGES) - linked - {INDEX, ROOT / "README.md"}
    assert [name_of(page) for page in missing] == []


def test_the_readme_links_to_the_index():
    assert INDEX in pages_linked_from(ROOT / "README.md")

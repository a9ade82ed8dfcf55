"""The repository's documentation as texts."""

import re
from pathlib import Path

from tests.paths import ROOT

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "how-to").glob("*.md"),
        *(ROOT / "docs" / "methods").glob("*.md"),
        *(ROOT / "docs" / "reference").glob("*.md"),
    ]
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.S | re.M)


def links_of(page: Path) -> list[str]:
    """Targets of the page's links and pictures, without those to other sites."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose_of(page))
    return [target for target in targets if "://" not in target]


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as repository hosts make them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

"""Recognises texts that were written as Markdown, from a sample of them."""

import re
from collections.abc import Callable, Iterable
from itertools import islice

from studies.rendering.renderers import PLAIN

LOOKED_AT = 500
# A stray sign occurs in plain texts, too.
LEAST_SHARE = 0.1
# Not numbered lists and bullet points, which people write in plain texts as well.
SIGNS: dict[str, Callable[[str], object]] = {
    "Markdown headings": re.compile(r"^#{1,6} ", re.MULTILINE).search,
    "bold text (**)": re.compile(r"\*\*\S").search,
    "tables": re.compile(r"^\|.*\|", re.MULTILINE).search,
    "code blocks": lambda text: "```" in text,
}


def markdown_share(texts: Iterable[str]) -> float:
    """Return the share of the first texts that have a sign of Markdown; 0 without texts."""
    looked_at = [*islice(texts, LOOKED_AT)]
    return n_with_markdown(looked_at) / max(1, len(looked_at))


def n_with_markdown(texts: Iterable[str]) -> int:
    """Return how many texts have a sign of Markdown."""
    return sum(any(has(text) for has in SIGNS.values()) for text in texts)


def recognised_format(texts: Iterable[str]) -> str:
    """Return the format in which texts are shown if nobody chooses one."""
    return "markdown" if markdown_share(texts) >= LEAST_SHARE else PLAIN

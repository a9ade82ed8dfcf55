"""The registry of renderers, by the formats in which a study shows its texts."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import caches
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from studies.rendering.formulas import plain_with_formulas
from studies.rendering.markdown import markdown_parser
from studies.rendering.sanitizing import sanitized

# Raise the version when the output for the same text changes so that no old one is used.
VERSION = 2
# Longer texts are shown as they are: nobody reads so much markup, and it would take seconds.
MAX_CHARACTERS = 100_000
CACHE = "texts"
PLAIN = "plain"


@dataclass(frozen=True)
class Renderer:
    """Turns a text into HTML, which is sanitised afterwards. Forms show its title.

    The whitespace of a text is kept unless it `is_markup`. A renderer without `to_html` escapes.
    """

    title: str
    to_html: Callable[[str], str] | None = None
    is_markup: bool = False


RENDERERS: dict[str, Renderer] = {
    PLAIN: Renderer("plain text"),
    "markdown": Renderer("Markdown", markdown_parser(formulas=False).render, is_markup=True),
    "plain_latex": Renderer("plain text with LaTeX formulas", plain_with_formulas),
    "markdown_latex": Renderer(
        "Markdown with LaTeX formulas", markdown_parser(formulas=True).render, is_markup=True
    ),
}


def text_formats() -> list[tuple[str, str]]:
    """Return the names and titles of the renderers, from which a study chooses."""
    return [(name, renderer.title) for name, renderer in RENDERERS.items()]


def is_markup(text: str, text_format: str) -> bool:
    """Whether line breaks and spaces of the text are formatting, and are not shown as they are."""
    return bool(text) and RENDERERS[text_format].is_markup and len(text) <= MAX_CHARACTERS


def render_text(text: str, text_format: str) -> SafeString:
    """Return a text as safe HTML, from the cache unless the format is plain."""
    to_html = RENDERERS[text_format].to_html
    if to_html is None or len(text) > MAX_CHARACTERS:
        return escape(text)
    key = f"{VERSION}:{text_format}:{sha256(text.encode()).hexdigest()}"
    html: str | None = caches[CACHE].get(key)
    if html is None:
        html = sanitized(to_html(text))
        caches[CACHE].set(key, html)
    return mark_safe(html)  # noqa: S308  the sanitiser's output

"""The registry of renderers, by the formats in which a study shows its texts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from django.core.cache import caches
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from studies.rendering.formulas import plain_with_formulas
from studies.rendering.markdown import as_markdown, markdown_parser
from studies.rendering.sanitizing import sanitized

# Raise the version when the output for the same text changes so that no old one is used.
VERSION = 3
# Longer texts are shown as they are: nobody reads so much markup, and it would take seconds.
MAX_CHARACTERS = 100_000
CACHE = "texts"
PLAIN = "plain"


@dataclass(frozen=True)
class Renderer:
    """Turns a text into HTML, which is sanitised afterwards. Forms show its title.

    The whitespace of a text is kept unless it `is_markup`. A renderer without `to_html` escapes. One of
    markup returns None for a text that has none, which is shown in the `plain` format.
    """

    title: str
    to_html: Callable[[str], str | None] | None = None
    is_markup: bool = False
    plain: str = PLAIN


RENDERERS: dict[str, Renderer] = {
    PLAIN: Renderer("plain text"),
    "markdown": Renderer(
        "Markdown", partial(as_markdown, markdown_parser(formulas=False)), is_markup=True
    ),
    "plain_latex": Renderer("plain text with LaTeX formulas", plain_with_formulas),
    "markdown_latex": Renderer(
        "Markdown with LaTeX formulas",
        partial(as_markdown, markdown_parser(formulas=True)),
        is_markup=True,
        plain="plain_latex",
    ),
}


def text_formats() -> list[tuple[str, str]]:
    """Return the names and titles of the renderers, from which a study chooses."""
    return [(name, renderer.title) for name, renderer in RENDERERS.items()]


def is_markup(text: str, text_format: str) -> bool:
    """Whether line breaks and spaces of the text are formatting, and are not shown as they are."""
    return _rendered(text, text_format)[0] if text else False


def render_text(text: str, text_format: str) -> SafeString:
    """Return a text as safe HTML, from the cache unless the format is plain."""
    return mark_safe(_rendered(text, text_format)[1])  # noqa: S308  the sanitiser's output


def _rendered(text: str, text_format: str) -> tuple[bool, str]:
    """Return whether the HTML of a text is markup, and the HTML."""
    renderer = RENDERERS[text_format]
    if renderer.to_html is None or len(text) > MAX_CHARACTERS:
        return False, escape(text)
    key = f"{VERSION}:{text_format}:{sha256(text.encode()).hexdigest()}"
    known: tuple[bool, str] | None = caches[CACHE].get(key)
    if known is None:
        html = renderer.to_html(text)
        known = (
            _rendered(text, renderer.plain)
            if html is None
            else (renderer.is_markup, sanitized(html))
        )
        caches[CACHE].set(key, known)
    return known

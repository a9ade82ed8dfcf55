"""The documents in docs/ as pages: Markdown with anchors, and links that lead to other pages.

The index shows only its four groups of documents: what precedes them is for people without a server.
A guide is named by its path in docs/ without `.md`, such as `how-to/write-the-paper`.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import nh3
from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from studies.markdown import ATTRIBUTES, TAGS, markdown_parser

FOLDER = settings.BASE_DIR / "docs"
PICTURES = FOLDER / "pictures"
INDEX = "index"
NO_PAGE = re.compile(r"^\* \[[^\]]+\]\((?:\.\./\S+|\S+\.rst)\).*\n(?: .*\n)*", re.M)
HEADINGS = ("h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True)
class Guide:
    name: str
    title: str
    html: SafeString


@lru_cache
def guide_names() -> frozenset[str]:
    return frozenset(
        path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.md")
    )


def address_of(guide: str) -> str:
    """Return the address of a guide, whose name may end in an anchor."""
    name, _, anchor = guide.partition("#")
    address = reverse("studies:guides") if name == INDEX else reverse("studies:guide", args=[name])
    return f"{address}#{anchor}" if anchor else address


def read_guide(name: str) -> Guide | None:
    """Return a guide, or None if docs/ has none of this name.

    Not kept: its links begin with the path under which the site answers, and reading takes 15 ms.
    """
    if name not in guide_names():
        return None
    title, text = _source(name)
    html = nh3.clean(
        _PARSER.render(text, {"name": name}),
        tags=TAGS | {"img"},
        attributes=ATTRIBUTES | {"img": {"src", "alt"}} | {heading: {"id"} for heading in HEADINGS},
        # What may be wider than the screen scrolls, which must be possible with the keyboard.
        set_tag_attribute_values={tag: {"tabindex": "0"} for tag in ("table", "pre")},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer",
    )
    return Guide(name, title, mark_safe(html))  # noqa: S308  the sanitiser's output


@dataclass(frozen=True)
class Section:
    """The text below one heading of a guide, up to the next one; `anchor` is "" for the title."""

    guide: str
    title: str
    heading: str
    anchor: str
    text: str

    @property
    def address(self) -> str:
        return address_of(f"{self.guide}#{self.anchor}")


@lru_cache
def guide_sections() -> tuple[Section, ...]:
    """Return the sections of all guides, in the order in which the index lists the guides."""
    return tuple(section for name in dict.fromkeys(_listed(INDEX)) for section in _sections(name))


def _listed(index: str) -> Iterator[str]:
    """Yield the guides that an index lists, each before those of its own folder, which it lists."""
    for name in re.findall(r"^\* .*?\]\((\S+)\.md\)", _source(index)[1], re.M):
        if name in guide_names():
            yield name
            yield from _listed(name) if (FOLDER / name).is_dir() else ()


def _sections(name: str) -> Iterator[Section]:
    title, text = _source(name)
    heading, anchor, below = title, "", list[str]()
    tokens = _PARSER.parse(text, {"name": name})
    for before, token in zip([tokens[0], *tokens], tokens, strict=False):
        if before.type == "heading_open" and before.tag != "h2":
            yield Section(name, title, heading, anchor, " ".join(below))
            heading, anchor, below = _words(token), str(before.attrGet("id")), []
        elif token.type in {"inline", "fence"} and before.tag != "h2":
            below.append(_words(token))
    yield Section(name, title, heading, anchor, " ".join(below))


def _words(token: Token) -> str:
    """Return the text of a token without its markup."""
    if not token.children:
        return token.content
    return "".join(" " if c.type == "softbreak" else c.content for c in token.children)


def _source(name: str) -> tuple[str, str]:
    """Return the title and the Markdown of a guide; of the index, the groups with what is a page."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    if name == INDEX:
        text = "# All documents\n" + NO_PAGE.sub("", text[text.index("\n## ") :])
    return text.partition("\n")[0].removeprefix("# "), text


def _add_anchors(state: StateCore) -> None:
    for token, content in zip(state.tokens, state.tokens[1:], strict=False):
        if token.type == "heading_open":
            # As repository hosts make it.
            token.attrSet("id", re.sub(r"[^\w\- ]", "", content.content.lower()).replace(" ", "-"))


def _lead_links_to_pages(state: StateCore) -> None:
    for token in state.tokens:
        if token.children:
            token.children = _with_addresses(token.children, state.env["name"])


def _with_addresses(tokens: list[Token], name: str) -> list[Token]:
    """Return the tokens of a text; a link to a file that is no page becomes its text."""
    shown: list[Token] = []
    is_page = True
    for token in tokens:
        if token.type == "link_open":
            address = _address(str(token.attrGet("href") or ""), name)
            is_page = address is not None
            token.attrSet("href", address or "")
        if is_page or token.type not in {"link_open", "link_close"}:
            shown.append(token)
    return shown


def _address(target: str, name: str) -> str | None:
    """Return where a link in a guide leads, or None if the pages do not have its target."""
    if target.startswith("#") or "://" in target:
        return target
    path, _, anchor = target.partition("#")
    guide = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".md")
    if not path.endswith(".md") or guide not in guide_names():
        return None
    return address_of(f"{guide}#{anchor}")


def _picture(
    _renderer: RendererProtocol,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _env: object,
) -> str:
    """Show a picture of the documentation from this server."""
    token = tokens[index]
    name = posixpath.basename(str(token.attrGet("src")))
    address = reverse("studies:guide-picture", args=[name])
    return format_html('<img src="{}" alt="{}">', address, token.content)


_PARSER = markdown_parser()
_PARSER.add_render_rule("image", _picture)
_PARSER.core.ruler.push("anchors", _add_anchors)
_PARSER.core.ruler.push("addresses", _lead_links_to_pages)

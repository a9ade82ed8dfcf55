"""Renders researchers' Markdown as sanitised HTML."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_core import StateCore

TAGS = {
    *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre"),
    *("blockquote", "ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def render_markdown(text: str) -> SafeString:
    """Render Markdown as safe HTML. Raw HTML is escaped, and images become their alt text.

    An external image would reveal annotators' IP addresses to its server.
    """
    html = nh3.clean(
        _PARSER.render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        # Links open in a new tab so that the current comparison stays open.
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return mark_safe(html)  # noqa: S308  the sanitiser's output


def _lower_headings(state: StateCore) -> None:
    """Lower headings by one level, because the page has its own first-level heading."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def markdown_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.add_render_rule("image", lambda _, tokens, i, *__: escapeHtml(tokens[i].content))
    return parser


_PARSER = markdown_parser()

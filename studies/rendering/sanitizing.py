"""The second wall: whatever a renderer returns, only these tags and attributes reach a page."""

import nh3
from pygments.token import STANDARD_TYPES

from studies.rendering.formulas import MATHML

BLOCKS = ("p", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "table")
TAGS = {
    *BLOCKS,
    *("br", "hr", "em", "strong", "s", "code", "pre", "li", "thead", "tbody", "tr", "th", "td"),
    *("div", "span", *MATHML),
}
ATTRIBUTES = {"ol": {"start"}, **{tag: set(names) for tag, names in MATHML.items() if names}}
# No value of these attributes is the author's.
VALUES = {
    **{tag: {"dir": {"auto"}} for tag in BLOCKS},
    "pre": {"dir": {"ltr"}},
    **{tag: {"tabindex": {"0"}} for tag in ("div", "span")},
}
CLASSES = {
    "div": {"wide"},
    "span": {"wide", "address", "picture", "formula", *STANDARD_TYPES.values()} - {""},
}


def sanitized(html: str) -> str:
    """Return the HTML without tags, attributes and values that are not listed above."""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        tag_attribute_values=VALUES,
        allowed_classes=CLASSES,
        generic_attribute_prefixes=set(),
        url_schemes=set(),
        link_rel=None,
    )

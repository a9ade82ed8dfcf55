"""Names: of classes of items, which lead to the part of the ratings that they are, and in headings."""

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeString, mark_safe

from tiebreak.reading.charts.chart import key_in, link_to

register = template.Library()
# A word that a browser would break, such as the name of a model.
BREAKS = re.compile(r"\S*[-–/]\S*")


@register.filter
def unbroken(heading: str | None) -> SafeString:
    """Write a heading that breaks between its words only, unless a word is longer than a line."""
    return mark_safe(BREAKS.sub(r'<span class="whole">\g<0></span>', escape(heading or "")))  # noqa: S308


@register.simple_tag(takes_context=True)
def items_name(context: dict[str, Any], name: str) -> SafeString:
    """Write a cell of a table as pictures write names: with a link where the page has its address."""
    return mark_safe(link_to(conditional_escape(name), _address(context, name)))  # noqa: S308


@register.simple_tag(takes_context=True)
def items_link(context: dict[str, Any], name: str, words: str) -> SafeString:
    """Write a link to the items of a class in other words, where the page has its address."""
    address = _address(context, name)
    return mark_safe(link_to(conditional_escape(words), address) if address else "")  # noqa: S308


def _address(context: dict[str, Any], name: str) -> str | None:
    return (context.get("items_links") or {}).get(key_in(name))

"""Names of classes of items, which lead to the part of the ratings that they are."""

from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from tiebreak.reading.charts.chart import key_in, link_to

register = template.Library()


@register.simple_tag(takes_context=True)
def items_name(context: dict[str, Any], name: str) -> SafeString:
    """Write a cell of a table as pictures write names: with a link where the page has its address."""
    address = (context.get("items_links") or {}).get(key_in(name))
    return mark_safe(link_to(conditional_escape(name), address))  # noqa: S308

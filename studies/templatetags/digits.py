"""The numbers of `tiebreak.digits` as filters, which every template has."""

from collections.abc import Callable
from typing import Any

from django import template

from tiebreak import digits

register = template.Library()


def _known(in_words: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a filter that, as Django's, shows nothing where there is no number."""
    return lambda number: "" if number in (None, "") else in_words(number)


for name in ("in_digits", "small_in_digits", "percent", "duration", "money"):
    register.filter(name, _known(getattr(digits, name)))

"""The numbers of `tiebreak.digits` as filters, which every template has."""

from django import template

from tiebreak.digits import (
    about_minutes,
    duration,
    in_digits,
    in_thousands,
    money,
    percent,
    small_in_digits,
)

register = template.Library()

for in_words in (in_digits, in_thousands, small_in_digits, percent, duration, about_minutes, money):
    # As Django's own filters do, they show nothing where there is no number.
    said = lambda n, say=in_words: "" if n in (None, "") else say(n)  # noqa: E731
    register.filter(in_words.__name__, said)

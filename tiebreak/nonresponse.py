"""Answers that give no label, though somebody answered: the rater cannot say, or the item is broken."""

from collections.abc import Mapping

CANNOT_SAY = "cannot_say"
BROKEN = "broken"
# What each code means, in words for people.
NONRESPONSES: Mapping[str, str] = {CANNOT_SAY: "cannot say", BROKEN: "broken or harmful"}

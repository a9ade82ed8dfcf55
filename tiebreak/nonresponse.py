"""Answers that give no label, though somebody answered: the rater cannot say, or the item is broken."""

from collections.abc import Iterable, Mapping

# What spreadsheets and programs write for a missing value. Among numbers, words and signs also do so;
# among words they may be labels: a word is one, and of a sign or of Python's None nobody can tell.
MISSING = {"na", "n/a", "#n/a", "<na>", "nan", "null"}
WORDS = {"none", "missing"}
UNCLEAR = {"None", "-", "--", "–", "—", "?", "."}


def is_missing(label: object, labels: Iterable[object] = ()) -> bool:
    """Return whether a label marks a missing value, as "NA" does, and is not among a scale's labels."""
    if not isinstance(label, str) or label.strip().casefold() not in MISSING | WORDS | UNCLEAR:
        return False
    return label not in map(str, labels)


CANNOT_SAY = "cannot_say"
BROKEN = "broken"
# What each code means, in words for people.
NONRESPONSES: Mapping[str, str] = {CANNOT_SAY: "cannot say", BROKEN: "broken or harmful"}

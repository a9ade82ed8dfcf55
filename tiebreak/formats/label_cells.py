"""The cells of one criterion as labels: points with words, decimal commas, percentages, spellings."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tiebreak.errors import InvalidInput
from tiebreak.nonresponse import is_missing

Label = str | int | float
_POINT = re.compile(r"(-?\d+)\s*(?:[-–—:.)=]\s*|\()\s*([^\W\d].*)", re.DOTALL)
_WHOLE = re.compile(r"[-+]?\d+")
_COMMA = re.compile(r"[-+]?\d*,\d+")
_PENDING = {
    "pending",
    "tbd",
    "todo",
    "unrated",
    "unlabeled",
    "unlabelled",
    "not rated",
    "not labeled",
}
PENDING = "Counted as a label: {}. If nothing was given there yet, empty these cells."
_PERCENT = re.compile(r"([-+]?\d+(?:[.,]\d+)?)\s*%")


@dataclass(frozen=True)
class LabelRule:
    """What the cells of a criterion mean: ``labels`` by the text of the cell, and a note on it."""

    labels: dict[str, Label] = field(default_factory=dict)
    note: str = ""

    def __call__(self, cell: Label) -> Label:
        """Return the label of a cell; cells of which nothing is to be said stay as they are."""
        return self.labels.get(str(cell).strip(), cell)


def rule_for(cells: Iterable[Label]) -> LabelRule:
    """Return what the distinct cells of one criterion mean.

    Raises `InvalidInput` for numbers that may be read in two ways.
    """
    texts = {str(cell).strip() for cell in cells if not is_missing(cell)}
    for rule in (_points, _commas, _percentages, _spellings):
        found = rule(texts)
        if found is not None:
            return found
    waiting = sorted(text for text in texts if text.casefold() in _PENDING)
    return LabelRule(note=PENDING.format(", ".join(waiting)) if waiting else "")


def _points(texts: set[str]) -> LabelRule | None:
    """Read "1 - Strongly disagree" as the point 1, if all cells are points, with or without words."""
    points = {text: match for text in texts if (match := _POINT.fullmatch(text))}
    others = {text for text in texts - {*points} if not _WHOLE.fullmatch(text)}
    words: dict[str, set[str]] = {}
    for match in points.values():
        words.setdefault(match[1], set()).add(match[2].casefold())
    if not points or others or any(len(named) > 1 for named in words.values()):
        return None
    named = ", ".join(sorted(points)[:7])
    return LabelRule({t: int(m[1]) for t, m in points.items()}, f"Points of the scale: {named}.")


def _commas(texts: set[str]) -> LabelRule | None:
    with_comma = {text for text in texts if _COMMA.fullmatch(text)}
    if not with_comma or not all(t in with_comma or _WHOLE.fullmatch(t) for t in texts):
        return None
    if all(re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", text) for text in with_comma):
        raise InvalidInput(
            "unclear_number",
            f"{min(with_comma)} may be a number with three decimals or a thousand. Write numbers with a"
            " point, such as 1.234, or without a separator",
        )
    changed: dict[str, Label] = {text: text.replace(",", ".") for text in with_comma}
    return LabelRule(changed, "Numbers have a decimal comma.")


def _percentages(texts: set[str]) -> LabelRule | None:
    matches = {text: _PERCENT.fullmatch(text) for text in texts}
    if not texts or None in matches.values():
        return None
    numbers: dict[str, Label] = {t: m[1].replace(",", ".") for t, m in matches.items() if m}
    return LabelRule(numbers, "Percentages are read as numbers from 0 to 100.")


def _spellings(texts: set[str]) -> LabelRule | None:
    """Read words that differ only in case as one label."""
    spelled: dict[str, list[str]] = {}
    for text in sorted(texts):
        spelled.setdefault(text.casefold(), []).append(text)
    twice = [same for same in spelled.values() if len(same) > 1]
    if not twice:
        return None
    listed = "; ".join(" and ".join(f"“{text}”" for text in same) for same in twice[:5])
    labels: dict[str, Label] = {text: same[0] for same in twice for text in same}
    return LabelRule(labels, f"Read as one label: {listed}.")


Winner = Callable[[str], Label | None]
_LEFT = {
    "a",
    "left",
    "model_a",
    "system_a",
    "model a",
    "system a",
    "first",
    "output_a",
    "response_a",
}
_RIGHT = {
    "b",
    "right",
    "model_b",
    "system_b",
    "model b",
    "system b",
    "second",
    "output_b",
    "response_b",
}
_TIE = {
    "tie",
    "draw",
    "equal",
    "same",
    "both",
    "neither",
    "none",
    "tie (both good)",
    "no preference",
}
_BAD = {"tie (bothbad)", "both bad", "bothbad", "both_bad", "tie (both bad)", "bad"}


def side_of(cell: Label, system_a: str, system_b: str) -> Label | None:
    """Return the preference that a word for a side, or a system's name, says; None for other cells."""
    text = str(cell).strip()
    if text in (system_a, system_b) and system_a != system_b:
        return -1 if text == system_a else 1
    word = text.casefold()
    by_word = ((_LEFT, -1), (_RIGHT, 1), (_TIE, 0), (_BAD, "bad"))
    return next((label for words, label in by_word if word in words), None)

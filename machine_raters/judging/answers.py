"""The answers that a judge may give, and the strict reading of what it gave."""

import re
from collections.abc import Callable, Iterator
from string import ascii_uppercase

from studies.model_servers import COMPLETE
from tiebreak.errors import InvalidInput
from tiebreak.scales import BAD, Label, Scale

# What a judge may write before its answer, and around it.
_LEAD = re.compile(r"(?:final\s+)?(?:answer|verdict)\s*[:：]\s*", re.IGNORECASE)
_MARKS = " \t*_`\"'“”"
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII)
# Servers tell the probabilities of so many tokens at most.
MAX_SIGNS = 20


def allowed_answers(scale: Scale) -> tuple[str, ...]:
    """Return the answers of a scale as a judge writes them; none if any number is allowed."""
    if scale.labels is None:
        return ()
    return tuple(answer_text(scale, label) for label in scale.labels)


def answer_text(scale: Scale, label: Label) -> str:
    """Return a label as a judge writes it. The text shown first is A.

    A preference is in the order of the screen: negative for the text shown first.
    """
    side = scale.side_of(label)
    if side == 0:
        return scale.words_for(label)
    letter = "A" if side < 0 else "B"
    strengths = {abs(int(other)) for other in scale.order_labels or ()} - {0}
    return letter if len(strengths) == 1 else f"{letter} {scale.words_for(label)}"


def signs(scale: Scale) -> dict[Label, str]:
    """Return one character for each label, as a model has probabilities of single tokens.

    An answer of one character stands for itself; the others get the letters that are free. A and B
    are always the two texts. There may be at most `MAX_SIGNS` labels.
    """
    texts = {label: answer_text(scale, label) for label in scale.labels or ()}
    letters = ascii_uppercase[2:] if scale.kind == "preference" else ascii_uppercase
    free = iter([letter for letter in letters if letter not in texts.values()])
    return {label: text if len(text) == 1 else next(free) for label, text in texts.items()}


def has_signs(scale: Scale) -> bool:
    """Return whether a judge may answer by probability on this scale."""
    return 0 < len(scale.labels or ()) <= MAX_SIGNS


def parse_answer(text: str, scale: Scale, *, finish_reason: str = "") -> Label | None:
    """Return the label that the last line of a text names, or None if it names none exactly.

    A text that was cut off names none, because its last line may be a part of an argument.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or finish_reason not in COMPLETE:
        return None
    if scale.labels is None:
        return _number(lines[-1], scale)
    for strip in _STRIPS:
        for answer in filter(None, _without_lead(strip, lines[-1])):
            named = [label for label in scale.labels if answer in _names(scale, label, strip)]
            if named:
                return named[0] if len(named) == 1 else None
    return None


def in_system_order(label: Label | None, scale: Scale, *, is_a_first: bool) -> Label | None:
    """Return a preference between the texts on screen as one between the systems."""
    if label is None or label == BAD or scale.kind != "preference" or is_a_first:
        return label
    return -int(label)


def _in_lower_case(text: str) -> str:
    return text.strip().casefold()


def _without_marks(text: str) -> str:
    return _in_lower_case(text.strip(_MARKS))


def _without_brackets(text: str) -> str:
    """Return the text without brackets and a full stop. A point before a digit stays."""
    return _in_lower_case(text.lstrip(_MARKS + "[(").rstrip(_MARKS + "])."))


# What answers and labels are compared without, from nothing to everything that may surround an
# answer: a label with such characters is itself as long as it was written like that.
_Strip = Callable[[str], str]
_STRIPS: tuple[_Strip, ...] = (str.strip, _in_lower_case, _without_marks, _without_brackets)


def _without_lead(strip: _Strip, line: str) -> Iterator[str]:
    """Yield a line, and what follows "Answer:" in it."""
    answer = strip(line)
    yield answer
    if lead := _LEAD.match(answer):
        yield strip(answer[lead.end() :])


def _names(scale: Scale, label: Label, strip: _Strip) -> list[str]:
    """Return what names a label: its answer and, for a bare choice, the words of its button."""
    answer = answer_text(scale, label)
    names = [answer]
    if scale.side_of(label):
        names.append(f"{answer[0]} {scale.words_for(label)}")
    return [strip(name) for name in names]


def _number(line: str, scale: Scale) -> Label | None:
    """Return the number that a line consists of, but for what may surround it."""
    *_, answer = _without_lead(_without_brackets, line)
    try:
        return scale.parse_label(answer) if _NUMBER.fullmatch(answer) else None
    except InvalidInput:
        return None

"""Presentation of a unit: its texts in the order of the sides, and the wording of each choice.

These objects contain no system names or database ids, so no template can reveal one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from annotation.forms import field_of
from annotation.selectors import as_shown
from studies.models import Criterion, Instance, Unit
from tiebreak.scales import Label, Scale

# Scales with more labels than this get a number field instead of buttons.
MAX_CHOICES = 20
SIDES: dict[int, Literal["", "first", "second"]] = {-1: "first", 0: "", 1: "second"}


@dataclass(frozen=True)
class Choice:
    """One possible answer. If it has a side, the page shows the side's name before `words`."""

    value: str
    words: str
    side: Literal["", "first", "second"] = ""
    key: str = ""
    is_chosen: bool = False


@dataclass(frozen=True)
class Question:
    """One criterion as a question, with choices or, for long scales, with a number field."""

    field: str
    text: str
    choices: tuple[Choice, ...] = ()
    value: str = ""
    low: Label | None = None
    high: Label | None = None
    step: str = "any"

    @property
    def is_short(self) -> bool:
        """Whether all choices are so short that they fit in one row on any screen."""
        return all(len(choice.words) <= 2 for choice in self.choices)


@dataclass(frozen=True)
class Turn:
    speaker: str
    text: str


@dataclass(frozen=True)
class UnitPage:
    """The parts of a unit that an annotator sees."""

    source: str
    turns: tuple[Turn, ...]
    texts: tuple[str, ...]
    questions: tuple[Question, ...]

    @property
    def has_source(self) -> bool:
        return bool(self.source or self.turns)

    @property
    def is_comparison(self) -> bool:
        return len(self.texts) == 2


def unit_page(
    unit: Unit, criteria: Iterable[Criterion], *, a_first: bool, shown_labels: Mapping[int, str]
) -> UnitPage:
    """Return a unit with its questions. `shown_labels` are the earlier answers as displayed."""
    texts = unit.text_list if a_first else unit.text_list[::-1]
    return UnitPage(
        source=unit.instance.source if unit.instance else "",
        turns=turns_of(unit.instance),
        texts=tuple(text.generation.text if text.generation else "" for text in texts),
        questions=tuple(question(c, shown_labels.get(c.pk)) for c in criteria),
    )


def labels_as_shown(
    labels: Mapping[int, str], criteria: Iterable[Criterion], *, a_first: bool
) -> dict[int, str]:
    return {
        criterion.pk: as_shown(labels[criterion.pk], criterion=criterion, a_first=a_first)
        for criterion in criteria
        if labels.get(criterion.pk)
    }


def question(criterion: Criterion, shown_label: str | None) -> Question:
    scale = criterion.parsed_scale
    blank = Question(field_of(criterion), criterion.question, value=shown_label or "")
    if scale.labels is None:
        return replace(blank, low=0 if scale.kind == "ratio" else None)
    if len(scale.labels) > MAX_CHOICES and scale.kind != "nominal":
        return replace(blank, low=scale.labels[0], high=scale.labels[-1], step="1")
    choices = tuple(
        _choice(scale, label, key=str(number) if number <= 9 else "", chosen=blank.value)
        for number, label in enumerate(scale.labels, start=1)
    )
    return replace(blank, choices=choices)


def _choice(scale: Scale, label: Label, *, key: str, chosen: str) -> Choice:
    value, side = str(label), SIDES[scale.side_of(label)]
    return Choice(value, scale.words_for(label), side, key, is_chosen=value == chosen)


def choice_as_shown(label: str, criterion: Criterion, *, a_first: bool) -> Choice:
    """Return the choice on the annotator's screen that corresponds to a stored label."""
    scale = criterion.parsed_scale
    shown = scale.parse_label(as_shown(label, criterion=criterion, a_first=a_first))
    return _choice(scale, shown, key="", chosen="")


def turns_of(instance: Instance | None) -> tuple[Turn, ...]:
    """Return an instance's conversation. The text of a message may be divided into parts."""
    messages: Sequence[Any] = instance.messages if instance else ()
    return tuple(_turn(message) for message in messages if isinstance(message, dict))


def _turn(message: dict[str, Any]) -> Turn:
    speaker = str(message.get("role") or message.get("name") or "")
    content = message.get("content") or ""
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict))
        content = "\n".join(str(part) for part in parts)
    return Turn(speaker.capitalize(), str(content))

"""Presentation of a unit: its texts in the order of the sides, and the wording of each choice.

These objects contain no system names or database ids, so no template can reveal one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from annotation.forms import NO_LABEL, field_of, reason_field_of
from annotation.models import Rating
from annotation.selectors import as_shown
from studies.models import Criterion, Instance, Unit
from tiebreak.formats.shown_fields import FieldText, field_texts
from tiebreak.nonresponse import BROKEN, CANNOT_SAY
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
class ShownAnswer:
    """An answer as the page shows it: the value of its field, and the reason."""

    value: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Question:
    """One criterion as a question, with choices or, for long scales, with a number field.

    `nonresponses` are the choices that give no label. `least_reason` is the minimum length of a reason:
    0 if it is optional, None if it is not asked for.
    """

    field: str
    text: str
    choices: tuple[Choice, ...] = ()
    nonresponses: tuple[Choice, ...] = ()
    reason_field: str = ""
    reason: str = ""
    least_reason: int | None = None
    value: str = ""
    low: Label | None = None
    high: Label | None = None
    step: str = "any"

    @property
    def number(self) -> str:
        """The number in the field of a long scale."""
        return "" if self.value.startswith(NO_LABEL) else self.value

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
    fields: tuple[FieldText, ...] = ()

    @property
    def has_source(self) -> bool:
        """Whether there is anything to read beside the texts that are rated."""
        return bool(self.source or self.turns or self.fields)

    @property
    def is_comparison(self) -> bool:
        return len(self.texts) == 2

    @property
    def nonresponses(self) -> tuple[Choice, ...]:
        return self.questions[0].nonresponses if self.questions else ()


def unit_page(
    unit: Unit,
    criteria: Iterable[Criterion],
    *,
    a_first: bool,
    shown: Mapping[int, ShownAnswer],
    fields: str,
    nonresponses: Iterable[str] = (),
) -> UnitPage:
    """Return a unit with its questions. `shown` are the earlier answers as displayed.

    `fields` is the study's setting of further texts.
    """
    texts = unit.text_list if a_first else unit.text_list[::-1]
    return UnitPage(
        source=unit.instance.source if unit.instance else "",
        turns=turns_of(unit.instance),
        texts=tuple(text.generation.text if text.generation else "" for text in texts),
        questions=tuple(
            question(c, shown.get(c.pk, ShownAnswer()), nonresponses) for c in criteria
        ),
        fields=tuple(field_texts(fields, unit.instance.metadata, "raters"))
        if unit.instance
        else (),
    )


def answers_as_shown(
    ratings: Mapping[int, Rating], criteria: Iterable[Criterion], *, a_first: bool
) -> dict[int, ShownAnswer]:
    return {
        criterion.pk: _as_shown(ratings[criterion.pk], criterion, a_first=a_first)
        for criterion in criteria
        if criterion.pk in ratings
    }


def _as_shown(rating: Rating, criterion: Criterion, *, a_first: bool) -> ShownAnswer:
    if rating.label is None:
        return ShownAnswer(f"{NO_LABEL}{rating.nonresponse}", rating.reason)
    value = as_shown(rating.label, criterion=criterion, a_first=a_first)
    return ShownAnswer(value, rating.reason)


# What annotators read, and the keys that choose it.
NONRESPONSES = {CANNOT_SAY: ("I cannot say", "0"), BROKEN: ("Broken or harmful", "x")}


def question(
    criterion: Criterion, shown: ShownAnswer, nonresponses: Iterable[str] = ()
) -> Question:
    scale = criterion.parsed_scale
    least = {Criterion.Reason.OPTIONAL: 0, Criterion.Reason.REQUIRED: criterion.reason_length}
    blank = Question(
        field_of(criterion),
        criterion.question,
        value=shown.value,
        nonresponses=tuple(_nonresponse(name, shown.value) for name in nonresponses),
        reason_field=reason_field_of(criterion),
        reason=shown.reason,
        least_reason=least.get(Criterion.Reason(criterion.reason)),
    )
    if scale.labels is None:
        return replace(blank, low=0 if scale.kind == "ratio" else None)
    if len(scale.labels) > MAX_CHOICES and scale.kind != "nominal":
        return replace(blank, low=scale.labels[0], high=scale.labels[-1], step="1")
    choices = tuple(
        _choice(scale, label, key=str(number) if number <= 9 else "", chosen=blank.value)
        for number, label in enumerate(scale.labels, start=1)
    )
    return replace(blank, choices=choices)


def _nonresponse(name: str, chosen: str) -> Choice:
    words, key = NONRESPONSES[name]
    value = f"{NO_LABEL}{name}"
    return Choice(value, words, key=key, is_chosen=value == chosen)


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

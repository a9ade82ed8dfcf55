"""Forms that annotators submit: answers to comprehension questions and to units."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms

from annotation.screen_keys import read_screen_key
from annotation.services.ratings import Answer
from studies.models import ComprehensionQuestion, Criterion

DAY_MS = 24 * 60 * 60 * 1000
# The latter where the browser had translated the page.
LAYOUTS = ("side_by_side", "stacked", "side_by_side_translated", "stacked_translated")


class ComprehensionForm(forms.Form):
    """A form with one choice for each comprehension question about the guidelines."""

    def __init__(self, questions: Sequence[ComprehensionQuestion], *args: Any) -> None:
        super().__init__(*args)
        for question in questions:
            choices = list(enumerate(question.options, start=1))
            self.fields[f"question-{question.pk}"] = forms.TypedChoiceField(
                label=question.text, choices=choices, coerce=int, widget=forms.RadioSelect
            )

    @property
    def answers(self) -> dict[int, int]:
        return {int(name.split("-")[1]): value for name, value in self.cleaned_data.items()}


class AnswerForm(forms.Form):
    """The unit that an answer belongs to, and how the answer was given. Scales validate the labels.

    A script sends the layout and the duration, so invalid values are dropped instead of rejected.
    """

    # The key of a screen, where it may not be known which screens share a task.
    assignment = forms.CharField(max_length=80)
    position = forms.IntegerField(min_value=1, max_value=10_000)
    client_key = forms.RegexField(r"^[A-Za-z0-9-]{8,64}\Z")
    layout = forms.CharField(required=False)
    duration_ms = forms.CharField(required=False, max_length=20)

    def clean(self) -> None:
        super().clean()
        if read := read_screen_key(self.cleaned_data.get("assignment", "")):
            self.cleaned_data["assignment"], self.cleaned_data["position"] = read

    def clean_layout(self) -> str:
        layout = self.cleaned_data["layout"]
        return layout if layout in LAYOUTS else LAYOUTS[0]

    def clean_duration_ms(self) -> int | None:
        text = self.cleaned_data["duration_ms"]
        is_plausible = text.isascii() and text.isdecimal() and int(text) <= DAY_MS
        return int(text) if is_plausible else None

    def answers(self, criteria: Iterable[Criterion]) -> dict[Criterion, Answer]:
        """Return the answers to those criteria for which something was submitted."""
        chosen = {c: self.data.get(field_of(c), "").strip() for c in criteria}
        return {c: self._answer(c, value) for c, value in chosen.items() if value}

    def _answer(self, criterion: Criterion, value: str) -> Answer:
        nonresponse = value.removeprefix(NO_LABEL) if value.startswith(NO_LABEL) else ""
        reason = (
            self.data.get(reason_field_of(criterion), "")
            .replace("\r\n", "\n")
            .replace("\0", "")
            .strip()
        )
        return Answer(
            shown_label="" if nonresponse else value,
            nonresponse=nonresponse,
            reason=reason,
            client_key=self.cleaned_data["client_key"],
            layout=self.cleaned_data["layout"],
            position=self.cleaned_data["position"],
            duration_ms=self.cleaned_data["duration_ms"],
        )


# The value of a nonresponse starts so, as no label does: in scales, commas separate the labels.
NO_LABEL = ","


def shown_value(answer: Answer) -> str:
    """Return the value of an answer's field."""
    return f"{NO_LABEL}{answer.nonresponse}" if answer.nonresponse else answer.shown_label


def reason_field_of(criterion: Criterion) -> str:
    """Return the name of the field with the reason for an answer to a criterion."""
    return f"reason-{criterion.name}"


def field_of(criterion: Criterion) -> str:
    """Return the name of the field with the label for a criterion."""
    return f"criterion-{criterion.name}"

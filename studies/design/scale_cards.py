"""A form field for scales: cards that show what annotators answer, instead of a typed code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from tiebreak.reading.words import preference_title
from tiebreak.scales import BAD, PREFERENCES, Scale

SCORES, LABELS, TYPED = "scores", "labels", "typed"


@dataclass(frozen=True)
class Card:
    """A kind of scale to choose: its value in the form, its title, and the answers it offers."""

    value: str
    title: str
    answers: tuple[str, ...]
    is_chosen: bool = False


class ScaleCards(forms.Widget):
    """Cards for the scales, which together write the same text as a typed code.

    A request that has only the code itself, as from the complete form, is understood as well.
    """

    template_name = "studies/scale_cards.html"
    use_fieldset = True

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:  # noqa: ARG002
        # Django's own renderer of forms does not know the project's templates.
        return render_to_string(self.template_name, self.get_context(name, value, attrs))

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        return context | {"name": name, "code": value or "", **_parts(str(value or ""))}

    def value_from_datadict(self, data: Mapping[str, Any], _: Any, name: str) -> Any:
        card = data.get(f"{name}_card")
        if card == SCORES:
            low, high = data.get(f"{name}_low", "").strip(), data.get(f"{name}_high", "").strip()
            return f"ordinal:{low}..{high}"
        if card == LABELS:
            lines = data.get(f"{name}_labels", "").replace(",", "\n").splitlines()
            return f"nominal:{','.join(line.strip() for line in lines if line.strip())}"
        if card in PREFERENCES:
            return f"{card}+{BAD}" if data.get(f"{name}_bad") else card
        return data.get(name)

    def value_omitted_from_data(self, data: Mapping[str, Any], _: Any, name: str) -> bool:
        return name not in data and f"{name}_card" not in data

    def id_for_label(self, id_: str, index: str | None = None) -> str:  # noqa: ARG002
        return ""


def _parts(code: str) -> dict[str, Any]:
    """Return the cards with the one of a code chosen, and the values of their fields."""
    base, _, extra = code.partition("+")
    kind, _, rest = code.partition(":")
    is_range = kind == "ordinal" and "," not in rest
    low, _, high = rest.partition("..") if is_range else ("1", "", "5")
    cards = {"ordinal": SCORES if is_range else TYPED, "nominal": LABELS}
    chosen = base if base in PREFERENCES else cards.get(kind, TYPED)
    return {
        "cards": [_card(name, chosen) for name in PREFERENCES],
        "chosen": chosen,
        "bad": extra == BAD,
        "low": low,
        "high": high,
        "labels": rest.replace(",", "\n") if kind == "nominal" else "",
    }


def _card(name: str, chosen: str) -> Card:
    scale = Scale.parse(name)
    labels = scale.labels or ()
    answers = tuple(f"{_SIDES[scale.side_of(label)]}{scale.words_for(label)}" for label in labels)
    return Card(name, preference_title(scale), answers, is_chosen=name == chosen)


_SIDES = {-1: "Left ", 0: "", 1: "Right "}

"""The form that chooses a part of a study's ratings, and what pages say about the part."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms

from annotation.filter_choices import FilterChoices
from annotation.filters import BETWEEN_SYSTEMS, CHANNEL, EVERYTHING, NO_FAILED_CHECK, Filter
from recruitment.platforms import platforms
from tiebreak.digits import counted
from tiebreak.reading.charts.chart import Key
from tiebreak.reading.findings import stratum_name
from tiebreak.report.model.report import CriterionSection

ALL = ("", "All")
NAMES = {
    "category": "category",
    "metadata": "",
    "pair": "pair",
    "separability": "",
    "stratum": "agreement",
    "raters": "annotators",
    "since": "from",
    "until": "until",
    "version": "version",
}
DAY = "Write the day as year, month and day, for example 2026-11-30, or leave the field empty."
TURNED_AROUND = "The first day is after the last day. Swap them, or leave one of them empty."


def _unknown(what: str) -> dict[str, str]:
    sentence = f"“%(value)s” is not {what}. Choose one from the list, or leave the filter empty."
    return {"invalid_choice": sentence}


def _choice(label: str, what: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, error_messages=_unknown(what))


def _day(label: str) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": DAY},
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )


class FilterForm(forms.Form):
    """Chooses a part of the ratings, among what occurs in the study."""

    category = _choice("Category", "a category of this study's instances")
    metadata = _choice("Other field of the instances", "a value of this study's metadata")
    pair = _choice("Pair of systems", "a pair of systems that this study compares")
    separability = _choice("Separability of the texts", "a range of this study's separability")
    stratum = _choice("Agreement among annotators", "a stratum of agreement")
    raters = _choice("Annotators", "a group of this study's annotators")
    since = _day("From (day in UTC)")
    until = _day("Until (included)")
    version = forms.TypedChoiceField(
        label="Version of the study",
        required=False,
        coerce=int,
        empty_value=None,
        error_messages=_unknown("a version of this study"),
    )

    def __init__(self, choices: FilterChoices, data: Mapping[str, Any]) -> None:
        super().__init__(data, prefix=None, auto_id="filter-%s")
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [ALL, *((value, in_words(name, value)) for value in values)]

    def clean(self) -> None:
        since, until = (self.cleaned_data.get(name) for name in ("since", "until"))
        if since and until and since > until:
            self.add_error("since", forms.ValidationError(TURNED_AROUND, code="turned_around"))

    @property
    def filter(self) -> Filter:
        return Filter(**self.cleaned_data)

    @property
    def problems(self) -> list[str]:
        """Why the filter is refused, in sentences."""
        return [str(problem) for problems in self.errors.values() for problem in problems]

    @property
    def offered(self) -> Iterator[forms.BoundField]:
        """The fields that can choose something, which a list of one value cannot, and those in use."""
        for field in self:
            choices = getattr(field.field, "choices", None)
            if choices is None or len(choices) > 2 or field.value():
                yield field


def in_words(name: str, value: str) -> str:
    """Return the display name of a filter's value."""
    if name in CLASSES:
        return stratum_name(CLASSES[name], value)
    if value == NO_FAILED_CHECK:
        return "without failed gold checks"
    if name == "raters":
        provider = value.removeprefix(f"{CHANNEL}:")
        platform = platforms().get(provider)
        return f"by {platform.title if platform else provider}"
    return value.replace(":", ": ", 1) if name == "metadata" else value


def has_empty_values(query: Mapping[str, str]) -> bool:
    """Return whether an address names filters without a value, as a sent form does."""
    return any(not query[name].strip() for name in NAMES if name in query)


def without_empty_values(query: Mapping[str, str]) -> str:
    """Return the query of the address that people should see and share."""
    return urlencode({name: value for name, value in query.items() if value.strip()})


def asked_values(query: Mapping[str, Any]) -> dict[str, str]:
    return {name: query[name].strip() for name in NAMES if query.get(name, "").strip()}


# The filters that choose a class of items, by the name that the report has of the classification.
OF_ITEMS = {
    "category": "category",
    "systems": "pair",
    "separability": "separability",
    "agreement": "stratum",
}
CLASSES = {name: kind for kind, name in OF_ITEMS.items()}


def links_to_parts(
    choices: FilterChoices | None,
    chosen: Filter,
    criterion: str,
    about: CriterionSection,
    page: str = "",
) -> dict[Key, str]:
    """Return the address that adds each class of items to what is chosen, as the form would.

    A class that has all items, or none of them, would change nothing or show nothing. ``page`` is the
    page of results on which the part is shown, by default the one that has the link.
    """
    here, links = {"criterion": criterion, **chosen.values}, {}
    for stratum in about.strata:
        kind, value = key = (stratum.stratifier, stratum.stratum)
        name = OF_ITEMS.get(kind, "criterion")
        is_part = 0 < stratum.n_units < about.n_units
        if is_part and name not in here and value in (choices or {}).get(name, []):
            links[key] = f"{page}?{urlencode({**here, name: value})}"
            turned = BETWEEN_SYSTEMS.join(reversed(value.split(BETWEEN_SYSTEMS)))
            links.setdefault((kind, turned), links[key])  # pairs of systems have two orders
    return links


@dataclass(frozen=True)
class Chip:
    """One value that is chosen, and the query of the page without it."""

    words: str
    without: str


@dataclass(frozen=True)
class Part:
    """The part of the ratings that a page shows; of the whole study everything here is empty."""

    chosen: Filter = EVERYTHING

    def __bool__(self) -> bool:
        return bool(self.chosen)

    @property
    def name(self) -> str:
        """A few words that follow the title of a figure."""
        return ", ".join(self._words().values())

    def chips(self, criterion: str) -> list[Chip]:
        values, here = self.chosen.values, {"criterion": criterion} if criterion else {}
        return [
            Chip(words, urlencode({**here, **{k: v for k, v in values.items() if k != name}}))
            for name, words in self._words().items()
        ]

    def _words(self) -> dict[str, str]:
        return {
            name: f"{NAMES[name]} {in_words(name, value)}".strip()
            for name, value in self.chosen.values.items()
        }


def size_of(about: CriterionSection, annotators: int) -> str:
    """Return a sentence that says how much is in a part."""
    machines = counted(about.n_machine_ratings, "rating")
    more = f", and {machines} of machine raters" if about.n_machine_ratings else ""
    return (
        f"This part has {counted(about.n_units, 'item')},"
        f" {counted(about.n_ratings, 'rating')} of {counted(annotators, 'annotator')}{more}."
    )

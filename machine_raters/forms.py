"""The forms of new machine raters. Programs send the same values, which the same forms check."""

from collections.abc import Mapping
from typing import Any, Self

from django import forms
from django.urls import reverse
from django.utils.text import capfirst

from annotation.models import Rater
from machine_raters.judging.presets import PRESETS, presets_for
from machine_raters.juries.verdicts import possible_members
from machine_raters.models import Baseline, ExampleSet, Judge, Jury, SyntheticSet
from machine_raters.models.judge import MAX_EXAMPLES
from studies.models import Criterion, Instance, Study
from studies.models.dataset import validate_name
from studies.systems.forms import ModelServerForm
from tiebreak.asking.prompts import INSTRUCTIONS
from tiebreak.formats.shown_fields import origin_of

NO_SUCH_COLUMN = "No item has a column {column}. Please name one that the items have."
REFERENCE_NOT_SHOWN = "Please let the judge read the reference, too, or leave its column empty."
# How many items are looked at for their columns, and how many columns a page offers.
ITEMS_SEEN, MAX_OFFERED = 200, 20
NO_CRITERION = "Please choose at least one criterion that this judge is to rate by."
# What a judge rates by is chosen with its settings, and stored in rows of its own.
JUDGE_CRITERIA = ("criterion", "criteria")
JUDGE_SETTINGS = (
    *("name", *JUDGE_CRITERIA, "asks_together"),
    *("server", "language_model", "preset", "instructions", "answered_by", "constraint"),
    *("examples", "example_set", "with_reasons", "with_reference", "reference_field"),
    *("comparisons", "budget", "runs"),
    "writes_steps",
    *("temperature", "max_tokens", "seed"),
    *("prompt_price", "answer_price"),
)
BASELINE_SETTINGS = ("name", "criterion", "method", "server", "language_model", "seed")
JURY_SETTINGS = ("name", "criterion", "members", "rule")
SET_SETTINGS = (
    *("name", "server", "language_model", "passages", "examples", "retriever"),
    *("temperature", "max_tokens", "seed"),
)


def _choice(model: Any, **options: Any) -> Any:
    """Return a field that names a row. The form knows which rows there are."""
    return forms.ModelChoiceField(model.objects.none(), to_field_name="name", **options)


def _choices(model: Any, name: str, **options: Any) -> Any:
    """Return a field that names several rows."""
    widget = forms.CheckboxSelectMultiple
    return forms.ModelMultipleChoiceField(
        model.objects.none(), to_field_name=name, widget=widget, **options
    )


class MachineRaterForm(ModelServerForm):
    """The settings of a new machine rater, which never change afterwards.

    Criteria, sets of examples and members are chosen by name, as programs do.
    """

    def __init__(self, study: Study, data: Any = None, **options: Any) -> None:
        name = self._meta.model._meta.model_name
        super().__init__(data, auto_id=f"{name}_%s", **options)
        self.study = study
        self.asked: frozenset[str] = frozenset()  # what the address of its page asks for
        for criteria in {*JUDGE_CRITERIA} & {*self.fields}:
            self._offer(criteria, study.criteria.all())
        if "server" in self.fields:
            self.offer_servers("none")

    @classmethod
    def defaults(cls, asked: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003  for subclasses
        """Return the settings that one has by default, if these were asked for."""
        return {}

    def fill(self, asked: Mapping[str, str]) -> Self:
        """Let a form that is not sent yet have what the address of its page asks for."""
        known = {name: value for name, value in asked.items() if name in self.fields}
        self.initial = {**self.initial, **known, **self.defaults(known)}
        self.asked = frozenset(known)
        return self

    def is_further_open(self) -> bool:
        is_asked = any(field.name in self.asked for field in self.further_fields())
        return is_asked or super().is_further_open()

    def _offer(self, name: str, rows: Any) -> None:
        """Offer rows for a field. They are read once, and there is no empty choice."""
        field: Any = self.fields[name]
        field.queryset = rows
        field.choices = [(getattr(one, field.to_field_name), str(one)) for one in rows]


class JudgeForm(MachineRaterForm):
    """The settings of a new judge of one or several criteria. Programs may name one as `criterion`."""

    FIRST = (
        *("name", "criteria", "server", "language_model"),
        *("preset", "instructions", "answered_by"),
    )
    criterion = _choice(Criterion, required=False, widget=forms.HiddenInput)
    criteria = _choices(
        Criterion, "name", required=False, help_text="It rates each item by each of them."
    )
    example_set = _choice(
        ExampleSet,
        required=False,
        label="Set of examples",
        help_text="A named set of training items, instead of a number of them.",
    )

    class Meta:
        model = Judge
        fields = JUDGE_SETTINGS

    def __init__(self, study: Study, data: Any = None) -> None:
        names = [criterion.name for criterion in study.criteria.all()]
        super().__init__(study, data, initial={"criteria": names, **self.defaults({})})
        choices = [(name, preset.named) for name, preset in presets_for(study).items()]
        # Choosing one shows the form again, filled in.
        fills = {
            "hx-get": f"{reverse('machine_raters:judges', args=[study.pk])}?add=judge",
            "hx-include": "[name=name], [name=server], [name=language_model], [name=reference_field]",
            **{"hx-target": "#add", "hx-select": "#add", "hx-swap": "outerHTML"},
        }
        preset = Judge._meta.get_field("preset")
        self.fields["preset"] = forms.ChoiceField(
            label=capfirst(preset.verbose_name),
            choices=[("", "none: ask as annotators are asked"), *choices],
            required=False,
            widget=forms.Select(attrs=fills),
            help_text=preset.help_text,
        )
        sets: Any = self.fields["example_set"]
        sets.queryset = study.example_sets.all()
        if len(names) == 1:
            self.fields["asks_together"].widget = forms.HiddenInput()
        self._offer_columns()

    def _offer_columns(self) -> None:
        """Offer the columns of the items that could be the reference, if they are few, or ask for none."""
        instances = Instance.objects.filter(dataset=self.study.dataset_id).exclude(metadata={})
        seen = instances.order_by("pk").values_list("metadata", flat=True)[:ITEMS_SEEN]
        columns = {
            name: f"{name} (by a language model)" if origin_of(value) else name
            for metadata in seen
            for name, value in metadata.items()
        }
        field = self.fields["reference_field"]
        if not columns:
            field.widget = forms.HiddenInput()
        elif len(columns) <= MAX_OFFERED:
            choices = [("", "none: the item's own reference"), *sorted(columns.items())]
            field.widget = forms.Select(choices=choices)

    @classmethod
    def defaults(cls, asked: Mapping[str, Any]) -> dict[str, Any]:
        preset = PRESETS.get(str(asked.get("preset")))
        return preset.filled if preset else {"instructions": INSTRUCTIONS}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        one, several = values.pop("criterion", None), values.get("criteria", [])
        values["criteria"] = sorted({*several, *filter(None, [one])}, key=lambda c: c.position)
        if not values["criteria"] and not self.errors:
            self.add_error("criteria", forms.ValidationError(NO_CRITERION, code="required"))
        self._check_reference(values)
        return values

    def _check_reference(self, values: dict[str, Any]) -> None:
        """Add an error if the reference comes from a column that no item has, or is not shown."""
        column = values.get("reference_field")
        if not column:
            return
        instances = Instance.objects.filter(dataset=self.study.dataset_id)
        if not instances.filter(metadata__has_key=column).exists():
            unknown = NO_SUCH_COLUMN.format(column=column)
            self.add_error("reference_field", forms.ValidationError(unknown, code="unknown_column"))
        elif not values.get("with_reference"):
            self.add_error(
                "reference_field",
                forms.ValidationError(REFERENCE_NOT_SHOWN, code="reference_not_shown"),
            )


class BaselineForm(MachineRaterForm):
    criterion = _choice(Criterion)

    class Meta:
        model = Baseline
        fields = BASELINE_SETTINGS

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        criteria: Any = self.fields["criterion"]
        preferences = [c for c in study.criteria.all() if c.parsed_scale.kind == "preference"]
        criteria.queryset = study.criteria.filter(scale__startswith="preference")
        criteria.choices = [(one.name, str(one)) for one in preferences]


class JuryForm(MachineRaterForm):
    criterion = _choice(Criterion)
    members = _choices(Rater, "pseudonym")

    class Meta:
        model = Jury
        fields = JURY_SETTINGS

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(study, data)
        self._offer("members", possible_members(study))


class SyntheticSetForm(MachineRaterForm):
    class Meta:
        model = SyntheticSet
        fields = SET_SETTINGS


class ExampleSetForm(forms.Form):
    """The name of a new set of examples, and its items, one key a line."""

    name = forms.CharField(max_length=200, validators=[validate_name])
    items = forms.CharField(
        label="Training items",
        widget=forms.Textarea,
        help_text="Their keys, one a line, in the order in which judges read them.",
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="example_set_%s")

    def clean_items(self) -> list[str]:
        keys = [line.strip() for line in self.cleaned_data["items"].splitlines() if line.strip()]
        if not 0 < len(keys) <= MAX_EXAMPLES:
            sentence = f"Please enter the keys of 1 to {MAX_EXAMPLES} training items."
            raise forms.ValidationError(sentence, code="number_of_items")
        return keys

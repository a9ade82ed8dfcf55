"""The form of a system: every setting of decoding is a field."""

from typing import Any

from django import forms

from studies.design.opened_forms import OpenedForm
from studies.model_servers import check_model, server_names
from studies.models import Dataset, System, dataset as bounds
from studies.refusals import told_on
from studies.systems.prompts import placeholders_of
from studies.systems.services import SETTINGS
from tiebreak.asking.samples import MAX_TOKENS, TEMPERATURE

DECODING = ("temperature", "top_p", "max_tokens", "samples", "seed", "stop")
NEWLINE = "\\n"
ALL_ALIKE = "At temperature 0 all texts are the same. Choose 1, or a higher temperature."
NO_MODEL = "Enter the name of the language model, as the model server knows it."


class SystemForm(forms.ModelForm[System]):
    """A new system, or one that is changed or copied."""

    FIRST = ("name", "server", "language_model", "prompt_template", "temperature", "max_tokens")
    temperature = forms.FloatField(
        label="Temperature (τ)",
        required=False,
        min_value=0,
        max_value=bounds.MAX_TEMPERATURE,
        help_text=f"At 0 all texts of an instance are the same, so one is made. Empty: {TEMPERATURE}.",
    )
    max_tokens = forms.IntegerField(
        label="Maximum length in tokens",
        required=False,
        min_value=1,
        max_value=bounds.MAX_TOKENS,
        help_text=f"Longer texts are cut off. Empty: {MAX_TOKENS}.",
    )
    top_p = forms.FloatField(
        label="Top-p", required=False, min_value=1e-6, max_value=1, help_text="Empty: 1."
    )
    samples = forms.IntegerField(
        label="Texts per instance (K)",
        required=False,
        min_value=1,
        max_value=bounds.MAX_SAMPLES,
        help_text="Empty: as many as are chosen for all systems when texts are generated.",
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=bounds.MAX_SEED,
        help_text="Empty: the seed that is chosen when texts are generated.",
    )
    stop = forms.CharField(
        label="Texts that end the answer",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=f"One a line; write {NEWLINE} for the end of a line.",
    )

    class Meta:
        model = System
        fields = ("name", "server", "language_model", "prompt_template")
        widgets = {
            "language_model": forms.TextInput(attrs={"list": "model-names"}),
            "prompt_template": forms.Textarea(attrs={"rows": 6}),
        }
        labels = {"server": "Model server"}

    def __init__(self, dataset: Dataset, data: Any = None, **options: Any) -> None:
        system: System = options.pop("system", None) or System()
        known = {**system.decoding, "stop": _typed(system.decoding.get("stop", []))}
        options["initial"] = known | options.get("initial", {})
        super().__init__(data, auto_id="system_%s", instance=system, **options)
        self.instance.dataset = dataset
        names = [(name, name) for name in server_names()]
        self.fields["server"] = forms.ChoiceField(
            label="Model server",
            choices=[("", "the one that is chosen when texts are generated"), *names],
            required=False,
        )
        self.fields[
            "prompt_template"
        ].help_text = f"Each of these is replaced with the instance's own text: {', '.join(placeholders_of(dataset))}."

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIRST]

    def further_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.FIRST]

    def is_further_open(self) -> bool:
        return any(field.errors or field.initial for field in self.further_fields())

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("server"):
            with told_on(self):
                check_model(values["server"], values.get("language_model", ""), advice=NO_MODEL)
        if values.get("temperature") == 0:
            values["samples"] = values.get("samples") or 1
            if values["samples"] > 1:
                self.add_error("samples", forms.ValidationError(ALL_ALIKE, code="all_alike"))
        return values

    def clean_stop(self) -> list[str]:
        lines = self.cleaned_data["stop"].splitlines()
        return [line.replace(NEWLINE, "\n") for line in lines if line]

    def settings(self) -> dict[str, Any]:
        """Return the values as the services take them."""
        entered = {name: self.cleaned_data[name] for name in DECODING}
        decoding = {name: value for name, value in entered.items() if value not in (None, [])}
        values = {name: self.cleaned_data[name] for name in ("name", *SETTINGS[:-1])}
        return values | {"decoding": decoding}


class ChangedSystemForm(OpenedForm, SystemForm):
    """The form of a system that is stored, which notices what another person saved."""


def _typed(stops: list[str]) -> str:
    return "\n".join(stop.replace("\n", NEWLINE) for stop in stops)

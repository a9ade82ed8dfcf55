"""The form of a system: every setting of decoding is a field."""

from typing import Any, ClassVar

from django import forms

from studies.design.opened_forms import OpenedForm
from studies.model_servers import check_model, server_names
from studies.models import Dataset, System, dataset as bounds
from studies.refusals import told_on
from studies.systems.prompts import placeholders_of
from studies.systems.services import SETTINGS
from tiebreak.asking.samples import DEFAULT_PROMPT, MAX_TOKENS, TEMPERATURE

DECODING = ("temperature", "top_p", "max_tokens", "samples", "seed", "stop")
NEWLINE = "\\n"
ALL_ALIKE = "At temperature 0 all texts are the same. Choose 1, or a higher temperature."
NO_MODEL = "Enter the name of the language model, as the model server knows it."
FIELD_NAME = "Such as reference_by_model: a name that no column of your table has."
AT_SAMPLING = "the one that is chosen when texts are generated"


class ModelServerForm(forms.ModelForm[Any]):
    """A form about a model of a server, with what is seldom needed in a fold."""

    # What stands before the fold. Empty: there is no fold.
    FIRST: ClassVar[tuple[str, ...]] = ()

    def offer_servers(self, without: str) -> None:
        """Offer the servers of this installation, and the models that the chosen one lists."""
        names = [(name, name) for name in server_names()]
        field = self.fields["server"]
        self.fields["server"] = forms.ChoiceField(
            label="Model server",
            choices=names if field.required else [("", without), *names],
            required=field.required,
            help_text=field.help_text,
        )
        self.fields["language_model"].widget.attrs["list"] = "model-names"

    def first_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FIRST or self.fields]

    def further_fields(self) -> list[forms.BoundField]:
        shown = self.FIRST or self.fields
        return [field for field in self.visible_fields() if field.name not in shown]

    def is_further_open(self) -> bool:
        """Whether the fold must show a refused value."""
        return any(field.errors for field in self.further_fields())


def _number(kind: Any, label: str, low: float, high: float, help_text: str) -> Any:
    return kind(label=label, required=False, min_value=low, max_value=high, help_text=help_text)


class SystemForm(ModelServerForm):
    """A new system, or one that is changed or copied."""

    FIRST = ("name", "server", "language_model", "prompt_template", "temperature", "max_tokens")
    temperature = _number(
        forms.FloatField,
        "Temperature (τ)",
        *(0, bounds.MAX_TEMPERATURE),
        f"At 0 all texts of an instance are the same, so one is made. Empty: {TEMPERATURE}.",
    )
    max_tokens = _number(
        forms.IntegerField,
        "Maximum length in tokens",
        *(1, bounds.MAX_TOKENS),
        f"Longer texts are cut off. Empty: {MAX_TOKENS}.",
    )
    top_p = _number(forms.FloatField, "Top-p", 1e-6, 1, "Empty: 1.")
    samples = _number(
        forms.IntegerField,
        "Texts per instance (K)",
        *(1, bounds.MAX_SAMPLES),
        "Empty: as many as are chosen for all systems when texts are generated.",
    )
    seed = _number(forms.IntegerField, "Seed", 0, bounds.MAX_SEED, f"Empty: {AT_SAMPLING}.")
    stop = forms.CharField(
        label="Texts that end the answer",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=f"One a line; write {NEWLINE} for the end of a line.",
    )

    class Meta:
        model = System
        fields = ("name", "server", "language_model", "prompt_template")
        help_texts = {"server": ""}
        widgets = {"prompt_template": forms.Textarea(attrs={"rows": 6})}

    def __init__(self, dataset: Dataset, data: Any, *, system: System, initial: Any) -> None:
        known = {**system.decoding, "stop": _typed(system.decoding.get("stop", []))}
        super().__init__(data, auto_id="system_%s", instance=system, initial=known | initial)
        self.offer_servers(AT_SAMPLING)
        known_names = ", ".join(placeholders_of(dataset))
        self.fields[
            "prompt_template"
        ].help_text = f"Each of these is replaced with the instance's own text: {known_names}."

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
        entered = {name: self.cleaned_data.get(name) for name in DECODING}
        decoding = {name: value for name, value in entered.items() if value not in (None, [])}
        values = {name: self.cleaned_data[name] for name in ("name", *SETTINGS[:-1])}
        return values | {"decoding": decoding}


class ChangedSystemForm(OpenedForm, SystemForm):
    """The form of a system that is stored, which notices what another person saved."""


class WrittenFieldForm(SystemForm):
    """The name of a field of the instances that a language model writes, and how, as of a system."""

    def __init__(self, dataset: Dataset, data: Any = None) -> None:
        server = next(iter(server_names()), "")
        system = System(server=server, prompt_template=DEFAULT_PROMPT)
        super().__init__(dataset, data, system=system, initial={})
        del self.fields["samples"]
        self.fields["seed"].help_text = "Empty: 0."
        self.fields["temperature"].help_text = f"Empty: {TEMPERATURE}."
        name, prompt = self.fields["name"], self.fields["prompt_template"]
        name.label, name.help_text = "Name of the field", FIELD_NAME
        prompt.required, self.fields["server"].required = True, True
        self.offer_servers("")


def _typed(stops: list[str]) -> str:
    return "\n".join(stop.replace("\n", NEWLINE) for stop in stops)

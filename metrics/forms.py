"""What a researcher fills in on the page where instances are chosen."""

import re
from typing import Any, cast

from django import forms
from django.conf import settings
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from studies.instance_selection.sampling import FAKE
from studies.instance_selection.scoring import what_is_missing
from studies.models import InstanceSelection, Job, Study
from tiebreak.similarity import SIMILARITIES

DUMMY = "Dummy texts (testing only)"
NO_SERVER = (
    "No model server is configured here. Whoever runs Tiebreak names one in TIEBREAK_MODEL_SERVERS,"
    " such as gpu1=http://10.0.0.5:8000/v1, and starts it again; docs/generate-and-select.md has the rest."
    " To see how this page works without one, choose the dummy texts: they are marked everywhere,"
    " and nobody can be asked to rate them."
)
MAX_TEMPERATURE, MAX_TEMPERATURES = 2, 8


class FocusedForm(forms.BaseForm):
    """A form that, refused, puts the cursor where the first thing is to be mended."""

    def is_valid(self) -> bool:
        is_valid = super().is_valid()
        odd = [name for name in self.fields if name in self.errors]
        if odd:
            self.fields[odd[0]].widget.attrs["autofocus"] = True
        return is_valid


class SamplingForm(FocusedForm, forms.Form):
    """What a job that samples generations has to know."""

    server = forms.ChoiceField(
        help_text="Set up by whoever runs Tiebreak here. A system that names a server in the"
        " dataset keeps its own."
    )
    samples = forms.IntegerField(label="Generations each (K)", min_value=2, max_value=50, initial=5)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0)
    prompt = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="For systems without a template of their own; {source} is filled in.",
    )
    temperatures = forms.CharField(
        label="Other temperatures (τ)",
        required=False,
        help_text="Such as 0.3, 0.7, 1. Then only these are sampled, on some instances, to see"
        " whether δ depends on them.",
    )
    instances = forms.IntegerField(
        label="Instances for other temperatures", min_value=3, max_value=200, initial=50
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted(settings.TIEBREAK_MODEL_SERVERS)
        field = cast(forms.ChoiceField, self.fields["server"])
        # Dummy texts are asked for and never met: they are not what stands there unasked.
        unasked = [] if names else [("", "none is configured")]
        field.choices = [*unasked, *((name, name) for name in names), (FAKE, DUMMY)]
        if not names:
            field.help_text = NO_SERVER
        if self.initial.get("server") not in names:
            self.initial.pop("server", None)

    def clean_prompt(self) -> str:
        prompt = str(self.cleaned_data["prompt"])
        if prompt and "{source}" not in prompt:
            sentence = "Write {source} where an instance's text belongs."
            raise forms.ValidationError(sentence, code="no_source")
        return prompt

    def clean_temperatures(self) -> list[float]:
        text = self.cleaned_data["temperatures"]
        try:
            found = sorted({float(word) for word in re.split(r"[,\s]+", text) if word})
        except ValueError:
            found = [0.0]
        if not all(0 < each <= MAX_TEMPERATURE for each in found) or len(found) > MAX_TEMPERATURES:
            sentence = "List up to 8 numbers above 0 and up to 2, such as 0.3, 1."
            raise forms.ValidationError(sentence, code="bad_temperatures")
        return found


class _SelectOfInstalled(forms.Select):
    """What cannot be chosen is there all the same, so that one knows it exists."""

    missing: dict[str, str] = {}

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(*args, **kwargs)
        if option["value"] in self.missing:
            option["attrs"]["disabled"] = True
            option["label"] += " (not installed)"
        return option


class ScoringForm(FocusedForm, forms.Form):
    similarity = forms.ChoiceField(
        choices=[(name, each.title) for name, each in SIMILARITIES.items()],
        widget=_SelectOfInstalled,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.missing = {name: said for name in SIMILARITIES if (said := what_is_missing(name))}
        field = self.fields["similarity"]
        cast(_SelectOfInstalled, field.widget).missing = self.missing
        field.help_text = _by_sentence(self.missing)
        if self.initial.get("similarity") in self.missing:
            del self.initial["similarity"]  # a browser sends nothing where this one is shown

    def clean_similarity(self) -> str:
        name = str(self.cleaned_data["similarity"])
        if name in self.missing:
            raise forms.ValidationError(self.missing[name], code="not_installed")
        return name


def _by_sentence(missing: dict[str, str]) -> SafeString:
    """Each sentence once, with all that it is about."""
    names: dict[str, list[str]] = {}
    for name, sentence in sorted(missing.items()):
        names.setdefault(sentence, []).append(SIMILARITIES[name].title)
    rows = [(", ".join(of), sentence) for sentence, of in names.items()]
    return format_html_join(mark_safe("<br>"), "Not installed: {}. {}", rows)


class DesignForm(FocusedForm, forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = InstanceSelection
        fields = ("design", "instances", "control_share", "weights", "floor", "seed")


def sampling_form(study: Study, data: Any = None) -> SamplingForm:
    """Filled in as last time, so that other temperatures are asked of the same server."""
    last = study.jobs.filter(kind=Job.Kind.SAMPLING).first()
    known = last.options if last is not None else {}
    kept = {name: known[name] for name in ("server", "samples", "seed", "prompt") if name in known}
    return SamplingForm(data, auto_id="sample_%s", initial=kept)


def scoring_form(study: Study, data: Any = None) -> ScoringForm:
    return ScoringForm(data, auto_id="score_%s", initial={"similarity": study.similarity})


def design_form(study: Study, data: Any = None) -> DesignForm:
    """Filled in as the instances were drawn; a quarter of them where they were not."""
    stored = InstanceSelection.objects.filter(study=study).first()
    count = study.dataset.instances.count() if study.dataset else 0
    design = stored or InstanceSelection(study=study, instances=max(1, count // 4))
    return DesignForm(data, instance=design)

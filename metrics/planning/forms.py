"""The forms of Generate & select."""

import re
from collections.abc import Collection
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from metrics.messages import (
    BAD_TEMPERATURES,
    DUMMY_TEXTS,
    NO_SERVER,
    PROMPT_HELP,
    PROMPT_WITHOUT_SOURCE,
    SERVER_HELP,
    TEMPERATURES_HELP,
)
from studies.access import Right, studies_of
from studies.data.dataset_jobs import jobs_of
from studies.instance_selection.sampling import SamplingJob
from studies.instance_selection.scoring import similarities_left, what_is_missing
from studies.instance_selection.trial import SystemTrialJob
from studies.model_servers import FAKE
from studies.models import Instance, InstanceSelection, Study
from tiebreak.similarity import SIMILARITIES

MAX_TEMPERATURE, MAX_TEMPERATURES = 2, 8
Researcher = User | AnonymousUser | None


class SamplingForm(forms.Form):
    """The options of a job that generates texts."""

    server = forms.ChoiceField(help_text=SERVER_HELP)
    samples = forms.IntegerField(
        label="Generations per system and instance (K)", min_value=2, max_value=50, initial=5
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, initial=0)
    prompt = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=PROMPT_HELP,
    )
    temperatures = forms.CharField(
        label="Other temperatures (τ)",
        required=False,
        help_text=TEMPERATURES_HELP,
    )
    instances = forms.IntegerField(
        label="Instances at other temperatures", min_value=3, max_value=200, initial=50
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted(settings.TIEBREAK_MODEL_SERVERS)
        field = cast(forms.ChoiceField, self.fields["server"])
        # Dummy texts are never preselected, so without a server the default is an empty choice.
        empty = [] if names else [("", "No server is configured")]
        field.choices = [*empty, *((name, name) for name in names), (FAKE, DUMMY_TEXTS)]
        if not names:
            field.help_text = NO_SERVER
        if self.initial.get("server") not in names:
            self.initial.pop("server", None)

    def clean_prompt(self) -> str:
        prompt = str(self.cleaned_data["prompt"])
        if prompt and "{source}" not in prompt:
            raise forms.ValidationError(PROMPT_WITHOUT_SOURCE, code="no_source")
        return prompt

    def clean_temperatures(self) -> list[float]:
        text = self.cleaned_data["temperatures"]
        try:
            temperatures = sorted({float(part) for part in re.split(r"[,\s]+", text) if part})
        except ValueError:
            temperatures = [0.0]
        is_in_range = all(0 < temperature <= MAX_TEMPERATURE for temperature in temperatures)
        if not is_in_range or len(temperatures) > MAX_TEMPERATURES:
            raise forms.ValidationError(BAD_TEMPERATURES, code="bad_temperatures")
        return temperatures


class _PossibleSelect(forms.Select):
    """A select that shows options that nothing can be done with, but disables them."""

    why_not: dict[str, str] = {}

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(*args, **kwargs)
        if option["value"] in self.why_not:
            option["attrs"]["disabled"] = True
            option["label"] += f" ({self.why_not[option['value']]})"
        return option


class ScoringForm(forms.Form):
    """Asks by which similarity to score, of those by which something is ``left`` to score."""

    similarity = forms.ChoiceField(
        choices=[(name, similarity.title) for name, similarity in SIMILARITIES.items()],
        widget=_PossibleSelect,
    )

    def __init__(self, left: Collection[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.missing = {name: reason for name in SIMILARITIES if (reason := what_is_missing(name))}
        field = self.fields["similarity"]
        done = {name: "scored" for name in SIMILARITIES if name not in left}
        why_not = done | dict.fromkeys(self.missing, "not installed")
        cast(_PossibleSelect, field.widget).why_not = why_not
        field.help_text = _missing_help(self.missing)
        self.is_scored = self.initial["similarity"] in done
        self.is_possible = len(why_not) < len(SIMILARITIES)
        if self.initial["similarity"] in why_not:
            del self.initial["similarity"]  # because browsers do not submit disabled options

    def clean_similarity(self) -> str:
        name = str(self.cleaned_data["similarity"])
        if name in self.missing:
            raise forms.ValidationError(self.missing[name], code="not_installed")
        return name


def _missing_help(missing: dict[str, str]) -> SafeString:
    """Return why similarities are unavailable, grouped by reason."""
    titles: dict[str, list[str]] = {}
    for name, reason in sorted(missing.items()):
        titles.setdefault(reason, []).append(SIMILARITIES[name].title)
    rows = [(", ".join(similarities), reason) for reason, similarities in titles.items()]
    return format_html_join(mark_safe("<br>"), "Not installed: {}. {}", rows)


PILOT_HELP = (
    "A study of the same dataset in which annotators rated instances that were drawn at random. The preview"
    " then says what each way of choosing would have saved there. A draw by machine raters' doubt needs"
    " their ratings of every instance, too."
)


class DesignForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = InstanceSelection
        fields = ("design", "instances", "control_share", "weights", "floor", "pilot", "seed")

    def __init__(self, pilots: QuerySet[Study], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if pilots.exists():
            field = cast(forms.ModelChoiceField, self.fields["pilot"])  # type: ignore[type-arg]
            field.queryset = pilots
            field.help_text = PILOT_HELP
        else:
            del self.fields["pilot"]


def sampling_form(study: Study, data: Any = None) -> SamplingForm:
    """Return the form with the last job's or trial's options so that the next job uses the same server."""
    last = jobs_of(study).filter(kind__in=[SamplingJob.name, SystemTrialJob.name]).first()
    options = last.options if last is not None else {}
    names = ("server", "samples", "seed", "prompt")
    initial = {name: options[name] for name in names if name in options}
    return SamplingForm(data, auto_id="sample_%s", initial=initial)


def scoring_form(study: Study, data: Any = None) -> ScoringForm:
    initial = {"similarity": study.similarity}
    return ScoringForm(similarities_left(study), data, auto_id="score_%s", initial=initial)


def design_form(study: Study, data: Any = None, user: Researcher = None) -> DesignForm:
    """Return the form with the last draw's design, or else with a quarter of the instances.

    It offers the researcher's other studies of the dataset as pilots, if there are any.
    """
    stored = InstanceSelection.objects.filter(study=study).first()
    count = Instance.objects.filter(dataset=study.dataset_id).count()
    design = stored or InstanceSelection(study=study, instances=max(1, count // 4))
    pilots = Study.objects.none()
    if user is not None and study.dataset_id is not None:
        pilots = studies_of(user, Right.READ).filter(dataset=study.dataset_id).exclude(pk=study.pk)
    return DesignForm(pilots.order_by("-created_at"), data, instance=design)

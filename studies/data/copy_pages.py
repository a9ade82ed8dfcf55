"""The page on which perturbed copies are added to a scoring study, and shown with what was changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from studies.access import researchers_only, right_for, shows_and_changes_study, study_for, user_of
from studies.data.model_copies import (
    COPY_TOKENS,
    MAX_PROMPT,
    TEMPERATURE,
    last_job_of,
    refusals_of,
    start_model_copies,
)
from studies.data.perturbed_copies import CopiesMade, add_perturbed_copies, reasons_in_words
from studies.models import Generation, Study
from studies.models.bounds import MAX_BIG_SEED
from studies.models.dataset import MAX_TEMPERATURE, MAX_TOKENS
from studies.refusals import told_on
from studies.services import is_frozen
from tiebreak.perturbations import MODEL_PERTURBATIONS, PERTURBATIONS, instruction_of

MAX_LENGTH = 600
PROMPT = "prompt "  # begins the names of fields
LEVELS = ("characters", "words", "sentences")
ASKED = "The language model is asked for the copies. They are added to the study as they arrive."


class CopiesForm(forms.Form):
    """Which perturbations are made of every text, a field for each level."""

    seed = forms.IntegerField(
        label="Seed",
        initial=0,
        min_value=0,
        max_value=MAX_BIG_SEED,
        help_text="The same texts and seed give the same copies on every machine.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for level in LEVELS:
            self.fields[level] = forms.MultipleChoiceField(
                label=f"Changes of {level}",
                required=False,
                widget=forms.CheckboxSelectMultiple,
                choices=[
                    (p.name, f"{p.kind}, {p.degree}: {p.change}")
                    for p in PERTURBATIONS.values()
                    if p.level == level
                ],
            )
        self.order_fields([*LEVELS, "seed"])

    def names(self) -> list[str]:
        return [name for level in LEVELS for name in self.cleaned_data[level]]


class ModelCopiesForm(forms.Form):
    """Which perturbations a language model makes of every text, and which model."""

    names = forms.MultipleChoiceField(
        label="Changes",
        widget=forms.CheckboxSelectMultiple,
        choices=[
            (p.name, f"{p.level}, {p.degree}: {p.change}") for p in MODEL_PERTURBATIONS.values()
        ],
    )
    server = forms.ChoiceField(label="Model server")
    language_model = forms.CharField(
        label="Language model",
        max_length=200,
        required=False,
        help_text="The model that writes. Leave empty only if it runs in a worker. Choose a different model"
        " from your judges, which may find their own faults less often, or more often.",
    )
    temperature = forms.FloatField(
        initial=TEMPERATURE, min_value=0, max_value=MAX_TEMPERATURE, label="Temperature"
    )
    max_tokens = forms.IntegerField(
        label="Maximum length of a copy in tokens",
        initial=COPY_TOKENS,
        min_value=1,
        max_value=MAX_TOKENS,
    )
    seed = forms.IntegerField(
        label="Seed",
        initial=0,
        min_value=0,
        max_value=MAX_BIG_SEED,
        help_text="Texts whose answer was refused are asked about again only with another seed.",
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        last = last_job_of(study)
        super().__init__(data, auto_id="model_%s", initial=last.options if last else None)
        used = last.options.get("prompts", {}) if last else {}
        names: Any = self.fields["names"]
        for name, words in names.choices:
            self.fields[PROMPT + name] = forms.CharField(
                label=words,
                required=False,
                max_length=MAX_PROMPT,
                initial=used.get(name) or instruction_of(name),
                widget=forms.Textarea(attrs={"rows": 4}),
            )
        servers = sorted(settings.TIEBREAK_MODEL_SERVERS)
        self.fields["server"].choices = [(name, name) for name in servers]  # type: ignore[attr-defined]

    def settings_fields(self) -> list[forms.BoundField]:
        return [field for field in self if not field.name.startswith(PROMPT)]

    def prompt_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name.startswith(PROMPT)]

    def options(self) -> dict[str, Any]:
        """Return what `start_model_copies` takes: prompts only of what was chosen, none if empty."""
        values = self.cleaned_data
        options = {name: values[name] for name in values if not name.startswith(PROMPT)}
        told = {name: values[PROMPT + name].replace("\r\n", "\n") for name in values["names"]}
        return options | {"prompts": told}


@dataclass(frozen=True)
class CopiesOfSystem:
    """The copies of one kind of one system: how many, what was changed, and the first with its text."""

    system: str
    original_system: str
    texts: int
    change: str
    original: str
    copy: str


@shows_and_changes_study
def perturbed_copies(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the study's copies, and add some; a refused form is shown again with its values."""
    form = CopiesForm(request.POST or None)
    if form.is_bound and form.is_valid():
        with told_on(form):
            made = add_perturbed_copies(
                study=study,
                names=form.names(),
                seed=form.cleaned_data["seed"],
                by=user_of(request),
            )
            messages.success(request, made_in_words(made))
            return redirect("studies:perturbed-copies", study.pk)
    return _page(request, study, form, ModelCopiesForm(study))


@require_POST
@researchers_only
def model_copies(request: HttpRequest, study_id: str) -> HttpResponse:
    """Have a language model write copies; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = ModelCopiesForm(study, request.POST)
    if form.is_valid():
        with told_on(form):
            start_model_copies(study=study, by=user_of(request), **form.options())
            messages.success(request, ASKED)
            return redirect("studies:perturbed-copies", study.pk)
    return _page(request, study, CopiesForm(), form)


def _page(
    request: HttpRequest, study: Study, form: CopiesForm, by_model: ModelCopiesForm
) -> HttpResponse:
    is_refused = form.is_bound or by_model.is_bound
    can_add = not is_frozen(study) and study.unit_kind == Study.UnitKind.GENERATION
    context = {
        "here": "data",
        "study": study,
        "form": form,
        "by_model": by_model,
        "has_servers": bool(settings.TIEBREAK_MODEL_SERVERS),
        "job": last_job_of(study),
        "refusals": [row | {"change": _change(row["perturbation"])} for row in refusals_of(study)],
        "copies": list(_copies(study)),
        "can_add": can_add,
        "can_save": can_add,  # the page's own button is the one that is meant
        "is_comparison": study.unit_kind == Study.UnitKind.COMPARISON,
    }
    status = 400 if is_refused else 200
    return render(request, "studies/perturbed_copies.html", context, status=status)


def made_in_words(made: CopiesMade) -> str:
    """Return how many copies were made, and why there are not more."""
    sentence = f"Copies made: {made.copies:,}. Systems of copies added: {len(made.systems)}."
    if not made.refused:
        return sentence
    return f"{sentence} Texts without a copy, with the reason: {reasons_in_words(made.refused)}."


def _copies(study: Study) -> Iterator[CopiesOfSystem]:
    """Yield the study's systems of copies, each with its number of texts and its first text."""
    systems = study.systems.exclude(perturbed_from=None).select_related("perturbed_from")
    rows = systems.annotate(texts=Count("generations"), first=Min("generations"))
    rows = rows.order_by("perturbed_from__name", "pk")
    firsts = Generation.objects.in_bulk([row.first for row in rows])
    originals = {
        _place(text.system_id, text): text.text
        for text in Generation.objects.filter(
            system__in=[row.perturbed_from_id for row in rows],
            instance__in=[first.instance_id for first in firsts.values()],
        )
    }
    for row in rows:
        first = firsts.get(row.first)
        yield CopiesOfSystem(
            row.name,
            str(row.perturbed_from),
            row.texts,
            _change(row.perturbation),
            _shortened(originals.get(_place(row.perturbed_from_id, first), "")),
            _shortened(first.text if first else ""),
        )


def _place(system: int | None, text: Generation | None) -> tuple[int | None, ...]:
    return (system, text.instance_id, text.sample_index) if text else ()


def _shortened(text: str) -> str:
    return shorten(text, MAX_LENGTH, placeholder=" …")


def _change(name: str) -> str:
    """Return what a perturbation changes, or its name if another program made it."""
    if name in MODEL_PERTURBATIONS:
        return f"{MODEL_PERTURBATIONS[name].change}, by a language model"
    return PERTURBATIONS[name].change if name in PERTURBATIONS else name

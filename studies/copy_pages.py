"""The page on which perturbed copies are added to a scoring study, and shown with what was changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from studies.access import researchers_only, right_for, study_for
from studies.models import Generation, Study
from studies.models.bounds import MAX_BIG_SEED
from studies.perturbed_copies import CopiesMade, add_perturbed_copies, reasons_in_words
from studies.refusals import form_errors
from studies.services import is_frozen
from tiebreak.errors import DomainError
from tiebreak.perturbations import PERTURBATIONS

MAX_LENGTH = 600
LEVELS = ("characters", "words", "sentences")


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


@dataclass(frozen=True)
class CopiesOfSystem:
    """The copies of one kind of one system: how many, what was changed, and the first with its text."""

    system: str
    original_system: str
    texts: int
    change: str
    original: str
    copy: str


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def perturbed_copies(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the study's copies, and add some; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = CopiesForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            made = add_perturbed_copies(
                study=study,
                names=form.names(),
                seed=form.cleaned_data["seed"],
                by=cast(User, request.user),
            )
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, made_in_words(made))
            return redirect("studies:perturbed-copies", study.pk)
    context = {
        "study": study,
        "form": form,
        "copies": list(_copies(study)),
        "can_add": not is_frozen(study) and study.unit_kind == Study.UnitKind.GENERATION,
        "is_comparison": study.unit_kind == Study.UnitKind.COMPARISON,
    }
    return render(request, "studies/perturbed_copies.html", context)


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
    """Return what a perturbation changes, or its name if a language model made it."""
    return PERTURBATIONS[name].change if name in PERTURBATIONS else name

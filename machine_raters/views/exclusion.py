"""The page that asks why something that machines made is left out of the results."""

from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from machine_raters.models.exclusion import MAX_REASON
from studies.models import Study
from studies.refusals import form_errors
from tiebreak.errors import DomainError


class ExclusionForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON,
        label="Reason, as the report should state it",
        help_text="What is wrong with how it was made, not with what came of it.",
    )


@dataclass(frozen=True)
class Exclusion:
    """What is to be excluded, as the page says it; ``done`` is said afterwards, on page ``back``."""

    study: Study
    name: str
    sentences: tuple[str, ...]
    done: str
    back: str


def exclusion_page(
    request: HttpRequest, exclusion: Exclusion, exclude: Callable[[str], object]
) -> HttpResponse:
    """Show what an exclusion does and ask for its reason; a refused form is shown again."""
    form = ExclusionForm(request.POST or None, auto_id="exclusion_%s")
    if form.is_bound and form.is_valid():
        try:
            exclude(form.cleaned_data["reason"])
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, exclusion.done)
            return redirect(exclusion.back)
    context = {"study": exclusion.study, "exclusion": exclusion, "form": form}
    status = 400 if form.is_bound else 200
    return render(request, "machine_raters/exclude.html", context, status=status)

"""The researcher's page of named sets of examples for judges."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from machine_raters.forms import ExampleSetForm
from machine_raters.judging.example_sets import (
    add_example_set,
    delete_example_set,
    example_set_named,
    example_sets_of,
)
from studies.access import researchers_only, right_for, study_for
from studies.models import Unit
from studies.refusals import form_errors
from tiebreak.errors import DomainError


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def example_sets(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the page and add a set; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = ExampleSetForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            add_example_set(study=study, by=cast(User, request.user), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, "The set was added. Choose it for a new judge.")
            return redirect("machine_raters:example-sets", study.pk)
    training = study.units.filter(role=Unit.Role.TRAINING).order_by("pk")
    context = {"study": study, "form": form, "sets": example_sets_of(study), "training": training}
    status = 400 if form.is_bound else 200
    return render(request, "machine_raters/example_sets.html", context, status=status)


@require_POST
@researchers_only
def delete(request: HttpRequest, study_id: str, example_set_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        example_set = example_set_named(study, example_set_id)
        delete_example_set(example_set=example_set, by=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{example_set} was deleted.")
    return redirect("machine_raters:example-sets", study.pk)

"""The part of the page of judges that adds baselines, which are simple raters."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.baselines.forms import BaselineForm
from annotation.baselines.services import add_baseline, baseline_named, start_baseline
from annotation.judging.passes import Items
from annotation.views.baseline_rows import listed
from annotation.views.judges import judges_page
from annotation.views.machine_jobs import newest_jobs
from studies.access import Right, researchers_only, study_for
from studies.refusals import form_errors
from tiebreak.errors import DomainError


@require_POST
@researchers_only
def add(request: HttpRequest, study_id: str) -> HttpResponse:
    """Add a baseline; a refused form is shown again with its values."""
    study = study_for(request.user, study_id)
    form = BaselineForm(study, request.POST)
    if form.is_valid():
        try:
            added = add_baseline(study=study, by=cast(User, request.user), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, f"{added} was added, and has started to rate.")
            return redirect("annotation:judges", study.pk)
    return judges_page(request, study, baseline_form=form)


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(
        request, "annotation/baseline_list.html", listed(study, Items.of(study), newest_jobs(study))
    )


@require_POST
@researchers_only
def start(request: HttpRequest, study_id: str, baseline_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        baseline = baseline_named(study, baseline_id)
        start_baseline(baseline=baseline, by=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{baseline} rates what it has not rated yet.")
    return redirect("annotation:judges", study.pk)

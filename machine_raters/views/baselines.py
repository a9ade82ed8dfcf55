"""The part of the page of judges that adds and removes baselines, which are simple raters."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from machine_raters.baselines.forms import BaselineForm
from machine_raters.baselines.services import (
    add_baseline,
    baseline_named,
    delete_baseline,
    exclude_baseline,
    juries_with,
    reinstate_baseline,
    start_baseline,
)
from machine_raters.judging.passes import Items
from machine_raters.models import Baseline
from machine_raters.views.baseline_rows import listed
from machine_raters.views.exclusion import Exclusion, exclusion_page
from machine_raters.views.judges import judges_page
from machine_raters.views.newest_jobs import newest_jobs
from studies.access import Right, researchers_only, right_for, study_for
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
            return redirect("machine_raters:judges", study.pk)
    return judges_page(request, study, baseline_form=form)


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(
        request,
        "machine_raters/baseline_list.html",
        listed(study, Items.of(study), newest_jobs(study)),
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
    return redirect("machine_raters:judges", study.pk)


@require_POST
@researchers_only
def delete(request: HttpRequest, study_id: str, baseline_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        baseline = baseline_named(study, baseline_id)
        delete_baseline(baseline=baseline, by=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{baseline} was deleted.")
    return redirect("machine_raters:judges", study.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def exclude(request: HttpRequest, study_id: str, baseline_id: str) -> HttpResponse:
    """Ask why the ratings of a baseline are to be left out of the results, and leave them out."""
    study = study_for(request.user, study_id, right_for(request))
    try:
        baseline = baseline_named(study, baseline_id)
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect("machine_raters:judges", study.pk)
    by = cast(User, request.user)
    return exclusion_page(
        request,
        _exclusion(baseline),
        lambda reason: exclude_baseline(baseline=baseline, reason=reason, by=by),
    )


def _exclusion(baseline: Baseline) -> Exclusion:
    sentences = [
        f"Its ratings ({baseline.rater.ratings.count()}) are left out of all results, reports and"
        " figures. They stay in exports, flagged as excluded, with your reason.",
        "It rates nothing more. The report lists the exclusion with its time as a deviation.",
        "You can reinstate it later, and its ratings count again.",
        "Exclude it for how it was made, such as a wrong criterion or rule. To leave out a yardstick"
        " that does better than a judge would make the judge look better than it is.",
    ]
    if names := ", ".join(map(str, juries_with(baseline))):
        sentences.append(
            f"It is a member of {names}. What was decided with it stays as it is, and nothing more is"
            " decided while it is excluded."
        )
    return Exclusion(
        study=baseline.study,
        name=baseline.name,
        sentences=tuple(sentences),
        done=f"{baseline} was excluded. Its ratings no longer count.",
        back=reverse("machine_raters:judges", args=[baseline.study_id]),
    )


@require_POST
@researchers_only
def reinstate(request: HttpRequest, study_id: str, baseline_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        baseline = baseline_named(study, baseline_id)
        reinstate_baseline(baseline=baseline, by=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{baseline} was reinstated. Its ratings count again.")
    return redirect("machine_raters:judges", study.pk)

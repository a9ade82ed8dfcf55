"""The researcher's page of juries, which combine machine raters."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from machine_raters.judging.passes import Items
from machine_raters.juries.forms import JuryForm
from machine_raters.juries.job import JuryJob
from machine_raters.juries.services import add_jury, juries_of, jury_named, start_jury
from studies.access import Right, researchers_only, right_for, study_for
from studies.data.dataset_jobs import jobs_of
from studies.models import Study
from studies.refusals import form_errors
from tiebreak.errors import DomainError


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def juries(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the page and add a jury; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = JuryForm(study, request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            jury = add_jury(study=study, by=cast(User, request.user), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, f"{jury} was added, and has started to decide.")
            return redirect("machine_raters:juries", study.pk)
    context = {"form": form, **_listed(study)}
    return render(
        request, "machine_raters/juries.html", context, status=400 if form.is_bound else 200
    )


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(request, "machine_raters/jury_list.html", _listed(study))


@require_POST
@researchers_only
def start(request: HttpRequest, study_id: str, jury_id: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    try:
        jury = jury_named(study, jury_id)
        start_jury(jury=jury, by=cast(User, request.user))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{jury} decides what its members have answered since.")
    return redirect("machine_raters:juries", study.pk)


def _listed(study: Study) -> dict[str, Any]:
    jobs = jobs_of(study).filter(kind=JuryJob.name).order_by("pk")
    newest = {job.options["jury"]: job for job in jobs}
    return {
        "study": study,
        "items": Items.of(study).number,
        "rows": [{"jury": jury, "job": newest.get(jury.public_id)} for jury in juries_of(study)],
        "is_moving": any(job.is_moving for job in newest.values()),
    }

"""The researcher's page of synthetic items, on which judges are tested."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.judging.services import judge_named
from annotation.synthetic.accuracy import ABOUT, CAUTION
from annotation.synthetic.checking_job import SyntheticCheckJob
from annotation.synthetic.forms import SyntheticSetForm
from annotation.synthetic.making_job import SyntheticJob
from annotation.synthetic.services import (
    add_synthetic_set,
    check_judge,
    continue_synthetic_set,
    synthetic_set_named,
)
from annotation.synthetic.summaries import shown_items, summaries
from studies.access import Right, researchers_only, right_for, study_for
from studies.dataset_jobs import jobs_of
from studies.models import Study
from studies.refusals import form_errors
from tiebreak.errors import DomainError


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def synthetic(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the page and add a set; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    form = SyntheticSetForm(request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            made = add_synthetic_set(study=study, by=_researcher(request), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, f"{made} is being made.")
            return redirect("annotation:synthetic", study.pk)
    context = {"form": form, **_listed(study)}
    status = 400 if form.is_bound else 200
    return render(request, "annotation/synthetic.html", context, status=status)


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(request, "annotation/synthetic_list.html", _listed(study))


@require_POST
@researchers_only
def start(request: HttpRequest, study_id: str, set_id: str) -> HttpResponse:
    """Ask for the texts of a set that are missing."""
    study = study_for(request.user, study_id)
    try:
        made = synthetic_set_named(study, set_id)
        continue_synthetic_set(made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"The missing texts of {made} are being made.")
    return redirect("annotation:synthetic", study.pk)


@require_POST
@researchers_only
def check(request: HttpRequest, study_id: str, set_id: str, judge_id: str) -> HttpResponse:
    """Test a judge on a set."""
    study = study_for(request.user, study_id)
    try:
        made, judge = synthetic_set_named(study, set_id), judge_named(study, judge_id)
        check_judge(judge=judge, made=made, by=_researcher(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    else:
        messages.success(request, f"{judge} is being tested on {made}.")
    return redirect("annotation:synthetic", study.pk)


def _researcher(request: HttpRequest) -> User:
    return cast(User, request.user)


def _listed(study: Study) -> dict[str, Any]:
    kinds = (SyntheticJob.name, SyntheticCheckJob.name)
    jobs = list(jobs_of(study).filter(kind__in=kinds).order_by("pk"))
    makers = {job.options["synthetic_set"]: job for job in jobs if job.kind == SyntheticJob.name}
    tests = {
        (job.options["synthetic_set"], job.options["judge"]): job
        for job in jobs
        if job.kind == SyntheticCheckJob.name
    }
    judges, examples = list(study.judges.select_related("criterion")), shown_items(study)
    rows = [
        {
            "set": one.made,
            "summary": one,
            "job": makers.get(one.made.public_id),
            "judges": [
                (judge, tests.get((one.made.public_id, judge.public_id))) for judge in judges
            ],
            "examples": examples.get(one.made.pk, []),
        }
        for one in summaries(study)
    ]
    return {
        "study": study,
        "rows": rows,
        "about": ABOUT,
        "caution": CAUTION,
        "is_moving": any(job.is_moving for job in (*makers.values(), *tests.values())),
    }

"""The researcher's page of judges: create one, try it, let it rate, delete it."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from machine_raters.baselines.forms import BaselineForm
from machine_raters.judging.forms import JudgesForm
from machine_raters.judging.injection_job import JudgeInjectionJob
from machine_raters.judging.job import JudgeDryRunJob, JudgingJob
from machine_raters.judging.passes import Items
from machine_raters.judging.progress import with_progress
from machine_raters.judging.services import (
    create_judges,
    delete_judge,
    judge_named,
    start_judging,
    try_injections,
    try_judge,
)
from machine_raters.messages import JUDGE_IN_DRAFT, JUDGE_NO_ITEMS
from machine_raters.models import Judge
from machine_raters.uploads.uploading import VerdictsForm
from machine_raters.views.baseline_rows import with_form
from machine_raters.views.newest_jobs import OF_JUDGES, NewestJobs, is_moving, newest_jobs
from studies.access import Right, researchers_only, right_for, study_for
from studies.models import Study
from studies.refusals import form_errors
from tiebreak.errors import DomainError

CREATED = "The judge was created. Try it on five items next."
CREATED_SEVERAL = "One judge was created for each criterion. Try them on five items next."


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def judges(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the page and create a judge; a refused form is shown again with its values."""
    study = study_for(request.user, study_id, right_for(request))
    # The forms of judges and of simple raters choose from them.
    prefetch_related_objects([study], "criteria")
    form = JudgesForm(study, request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            made = create_judges(study=study, by=cast(User, request.user), **form.cleaned_data)
        except DomainError as refusal:
            form.add_error(None, form_errors(refusal))
        else:
            messages.success(request, CREATED if len(made) == 1 else CREATED_SEVERAL)
            return redirect("machine_raters:judges", study.pk)
    return judges_page(request, study, form=form)


def judges_page(
    request: HttpRequest,
    study: Study,
    *,
    form: JudgesForm | None = None,
    baseline_form: BaselineForm | None = None,
    verdicts_form: VerdictsForm | None = None,
) -> HttpResponse:
    """Return the page; a form that was sent was refused, and is shown with its problems."""
    form = form or JudgesForm(study)
    items, newest = Items.of(study), newest_jobs(study)
    baselines = with_form(study, items, newest, baseline_form)
    context = {"form": form, **_judges(study, items, newest), **baselines}
    context["verdicts_form"] = verdicts_form or VerdictsForm()
    status = 400 if form.is_bound or baseline_form or verdicts_form else 200
    return render(request, "machine_raters/judges.html", context, status=status)


@require_safe
@researchers_only
def part(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show only the list, so that it can refresh while a form is being filled in."""
    study = study_for(request.user, study_id, Right.READ)
    return render(
        request,
        "machine_raters/judge_list.html",
        _judges(study, Items.of(study), newest_jobs(study)),
    )


@require_POST
@researchers_only
def act(request: HttpRequest, study_id: str, judge_id: str, action: str) -> HttpResponse:
    study = study_for(request.user, study_id)
    if action not in ACTIONS:
        raise Http404("A judge has no such action.")
    try:
        judge = judge_named(study, judge_id)
        messages.success(request, ACTIONS[action](judge, cast(User, request.user)))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
    return redirect("machine_raters:judges", study.pk)


def _try(judge: Judge, by: User) -> str:
    try_judge(judge=judge, by=by)
    return f"{judge.name} is being tried. Its prompts and answers appear below."


def _try_injections(judge: Judge, by: User) -> str:
    try_injections(judge=judge, by=by)
    return f"Prompt injections are being tried on {judge.name}. What they changed appears below."


def _start(judge: Judge, by: User) -> str:
    start_judging(judge=judge, by=by)
    return f"{judge.name} has started. It can be paused and stopped under Jobs."


def _delete(judge: Judge, by: User) -> str:
    delete_judge(judge=judge, by=by)
    return f"{judge.name} was deleted."


ACTIONS: dict[str, Callable[[Judge, User], str]] = {
    "try": _try,
    "injections": _try_injections,
    "start": _start,
    "delete": _delete,
}


def _judges(study: Study, items: Items, newest: NewestJobs) -> dict[str, Any]:
    rows = [_row(judge, items, newest) for judge in with_progress(study)]
    return {
        "study": study,
        "rows": rows,
        "is_moving": is_moving(newest, OF_JUDGES),
        "are_pairs": items.are_pairs,
        "not_yet": _why_not_yet(study, items) if rows else "",
    }


def _why_not_yet(study: Study, items: Items) -> str:
    """Return why no judge of this study could rate now, or "" if it could."""
    if study.status == Study.Status.DRAFT:
        return JUDGE_IN_DRAFT
    return "" if items.number else JUDGE_NO_ITEMS


def _row(judge: Any, items: Items, newest: NewestJobs) -> dict[str, Any]:
    asked = items.passes(judge)
    return {
        "judge": judge,
        "asked": asked,
        "open": max(0, asked - judge.answers - judge.progress.failed),
        "progress": judge.progress,
        "job": newest.get((JudgingJob.name, judge.public_id)),
        "dry_run": newest.get((JudgeDryRunJob.name, judge.public_id)),
        "injections": newest.get((JudgeInjectionJob.name, judge.public_id)),
    }

"""The researcher's page of dry runs: start one, follow its progress, read its results."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.counts import NO_PLACES, progress_by_study, study_counts
from annotation.services.plan_checks import has_design
from jobs.models import Job
from recruitment.forms import DryRunForm
from recruitment.services.dry_runs import (
    DryRunOptions,
    copy_of,
    dry_runs_of,
    end_dry_run,
    remove_dry_run,
    start_dry_run,
    suggested_raters,
)
from studies.access import changes_study, shows_and_changes_study, shows_study, user_of
from studies.confirming import Question, ask, is_confirmed
from studies.models import Study
from studies.refusals import told, told_on

MAX_SHOWN = 10


@shows_and_changes_study
def dry_runs(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the page and start a dry run; a refused form is shown again with its values."""
    listed = _runs(study)
    last = [job.options for job, _ in listed["runs"][:1]]
    initial = {"raters": suggested_raters(study)} | (last[0] if last else {})
    form = DryRunForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        options = DryRunOptions(**form.cleaned_data)
        with told_on(form):
            start_dry_run(study=study, options=options, by=user_of(request))
            return redirect("recruitment:dry-runs", study.pk)
    status = 400 if form.is_bound else 200
    starts = has_design(study)  # then the page's own button is the one that is meant
    context = {"study": study, "form": form, "has_design": starts, "can_save": starts, **listed}
    return render(request, "recruitment/dry_runs.html", context, status=status)


@shows_study
def part(request: HttpRequest, study: Study) -> HttpResponse:
    """Show only the list so that it can refresh while a form is being filled in."""
    return render(request, "recruitment/dry_run_list.html", _runs(study))


@changes_study
def stop(request: HttpRequest, study: Study, job_id: str) -> HttpResponse:
    end_dry_run(job=_job(study, job_id))
    messages.success(
        request, "The dry run was stopped. The bots' answers so far are in its copy of the study."
    )
    return redirect("recruitment:dry-runs", study.pk)


@changes_study
def remove(request: HttpRequest, study: Study, job_id: str) -> HttpResponse:
    job = _job(study, job_id)
    question = _removing(job)
    if not is_confirmed(request, question):
        return ask(request, question, back=reverse("recruitment:dry-runs", args=[study.pk]))
    with told(request):
        remove_dry_run(job=job)
        messages.success(request, "The dry run was deleted.")
    return redirect("recruitment:dry-runs", study.pk)


def _removing(job: Job) -> Question:
    counts = study_counts(copy_of(job))
    return Question(
        title="Delete this dry run?",
        sentences=(
            "This deletes its copy of the study, with its simulated ratings"
            f" ({counts.ratings}) and the bots' findings. The study itself is not changed. This"
            " cannot be undone.",
        ),
        button="Delete the dry run",
        facts=(job.public_id, job.status, counts.ratings),
    )


def _job(study: Study, job_id: str) -> Job:
    job = dry_runs_of(study).filter(public_id=job_id).first()
    if job is None:
        raise Http404("This study has no such dry run.")
    return job


def _runs(study: Study) -> dict[str, Any]:
    jobs = list(dry_runs_of(study)[:MAX_SHOWN])
    progress = progress_by_study(job.owner for job in jobs)
    runs = [(job, progress.get(job.owner, NO_PLACES)) for job in jobs]
    return {"study": study, "runs": runs, "is_moving": any(job.is_moving for job in jobs)}

"""The jobs of a study, and for the server's administrators all jobs."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from jobs.models import UNFINISHED, Job
from jobs.rows import job_rows, newest_and_unfinished
from jobs.services import pause_job, resume_job, stop_job
from metrics.messages import JOB_PAUSES, JOB_RESUMED, JOB_STOPPED
from recruitment.services.retention import retention
from studies.access import changes_study, researchers_only, shows_study, user_of
from studies.data.dataset_jobs import jobs_of
from studies.models import Study
from studies.refusals import told

MAX_JOBS = 30
# What is done to a job, and what the page then says.
CHANGES: dict[str, tuple[Callable[..., None], str]] = {
    "pause": (pause_job, JOB_PAUSES),
    "resume": (resume_job, JOB_RESUMED),
    "stop": (stop_job, JOB_STOPPED),
}


@shows_study
def study_jobs(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's jobs."""
    return render(request, "metrics/jobs.html", {"here": "jobs", **_list(study)})


@shows_study
def study_jobs_part(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the list alone, which the page polls while a job is moving."""
    return render(request, "metrics/job_list.html", _list(study))


def _list(study: Study) -> dict[str, Any]:
    jobs = Job.objects.filter(Q(owner=study.pk) | Q(owner__in=study.dry_runs.values("pk")))
    rows = job_rows(newest_and_unfinished(jobs, MAX_JOBS))
    return {"study": study, "rows": rows, "is_moving": any(row.job.is_moving for row in rows)}


@changes_study
def change(request: HttpRequest, study: Study, job_id: str, action: str) -> HttpResponse:
    """Pause, resume or stop a job."""
    do, sentence = CHANGES[action]
    with told(request):
        job = jobs_of(study).filter(public_id=job_id).first()
        if job is None:
            raise Http404("This study has no such job.")
        do(job=job)
        messages.success(request, sentence)
    return redirect("metrics:jobs", study.pk)


@require_safe
@researchers_only
def server_jobs(request: HttpRequest) -> HttpResponse:
    """Show the server's unfinished and newest jobs to its administrators."""
    if not user_of(request).is_superuser:
        raise Http404("There is no such page.")
    newest = Job.objects.filter(pk__in=Job.objects.order_by("-pk")[:MAX_JOBS].values("pk"))
    jobs = newest | Job.objects.filter(status__in=UNFINISHED)
    rows = job_rows(newest_and_unfinished(jobs, MAX_JOBS))
    titles = dict(
        Study.objects.filter(pk__in={row.job.owner for row in rows}).values_list("pk", "title")
    )
    context = {
        "rows": [(row, titles.get(row.job.owner, "")) for row in rows],
        "retention": retention(),
        "upload_hours": settings.TIEBREAK_UPLOADS_KEPT_HOURS,
        "export_days": settings.TIEBREAK_EXPORTS_KEPT_DAYS,
    }
    return render(request, "metrics/server_jobs.html", context)

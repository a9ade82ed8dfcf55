"""Jobs: list, start, follow, pause, resume, stop, and the file of an export."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.exports.export_jobs import finished_export, start_export
from api.access import researcher, visible_job, visible_jobs, visible_study
from api.messages import NOT_A_DRY_RUN
from api.schema import NOTHING, described
from api.serializers.studies import (
    BotOptions,
    ExportOptions,
    JobSerializer,
    SamplingOptions,
    ScoringOptions,
)
from api.validation import checked, checked_form
from jobs.models import Job
from jobs.rows import job_rows, newest_and_unfinished
from jobs.services import pause_job, resume_job, stop_job
from metrics.exports.report_files import start_report_files
from metrics.planning.forms import sampling_form, scoring_form
from recruitment.forms import DryRunForm
from recruitment.services.dry_runs import (
    DryRunJob,
    DryRunOptions,
    end_dry_run,
    remove_dry_run,
    start_dry_run,
)
from studies.access import Right
from studies.data.dataset_jobs import start_dataset_job
from studies.instance_selection.sampling import start_sampling
from studies.instance_selection.scoring import ScoringJob
from tiebreak.errors import DomainError

TAG = "jobs"
MAX_JOBS = 100
STARTED = {201: JobSerializer}
NO_BROKER = {503: ["no_broker"]}
NO_SUCH_JOB = {404: ["no_such_job"]}


class Jobs(APIView):
    @described(
        "List a study's jobs",
        tag=TAG,
        description="All unfinished jobs and the newest others, dry runs included, at most 100 if"
        " possible.",
        responses={200: JobSerializer(many=True)},
    )
    def get(self, request: Request, study_id: str) -> Response:
        jobs = visible_jobs(visible_study(request, study_id))
        rows = job_rows(newest_and_unfinished(jobs, MAX_JOBS))
        return Response([JobSerializer(row).data for row in rows])


class StartSampling(APIView):
    @described(
        "Start to generate texts",
        tag=TAG,
        request=SamplingOptions,
        responses=STARTED,
        refusals={
            409: ["not_a_draft", "job_unfinished", "dataset_busy", "no_dataset"],
            **NO_BROKER,
        },
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(SamplingOptions, request.data)
        values["temperatures"] = ", ".join(map(str, values["temperatures"]))
        options = checked_form(sampling_form(study, values))
        return started(start_sampling(study=study, options=options, by=researcher(request)))


class StartScoring(APIView):
    @described(
        "Start to score separability",
        tag=TAG,
        request=ScoringOptions,
        responses=STARTED,
        refusals={409: ["job_unfinished", "dataset_busy", "no_dataset"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(ScoringOptions, request.data)
        values["similarity"] = values["similarity"] or study.similarity
        options = checked_form(scoring_form(study, values))
        job = start_dataset_job(
            study=study, kind=ScoringJob.name, options=options, by=researcher(request)
        )
        return started(job)


class StartExport(APIView):
    @described(
        "Start an export",
        tag=TAG,
        request=ExportOptions,
        responses=STARTED,
        refusals={409: ["job_unfinished", "no_preferences"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.READ)
        values = checked(ExportOptions, request.data)
        formats = sorted(set(values["formats"]))
        job = start_export(
            study=study,
            formats=formats,
            ties=values["ties"],
            with_texts=values["with_texts"],
            by=researcher(request),
        )
        return started(job)


class StartReportFiles(APIView):
    @described(
        "Start to write the report's files",
        tag=TAG,
        description="HTML, PDF, LaTeX tables, BibTeX, JSON and the figures as SVG, in one .zip. It is"
        " downloaded as an export is.",
        responses=STARTED,
        refusals={409: ["job_unfinished"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id, Right.READ)
        return started(start_report_files(study=study, by=researcher(request)))


class StartDryRun(APIView):
    @described(
        "Start a dry run",
        tag=TAG,
        description="Bots rate a copy of the study.",
        request=BotOptions,
        responses=STARTED,
        refusals={409: ["dry_run_unfinished", "is_dry_run", "no_dataset"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str) -> Response:
        study = visible_study(request, study_id)
        values = checked(BotOptions, request.data)
        options = DryRunOptions(**checked_form(DryRunForm(values)))
        return started(start_dry_run(study=study, options=options, by=researcher(request)))


class JobView(APIView):
    @described("Read a job", tag=TAG, responses={200: JobSerializer}, refusals=NO_SUCH_JOB)
    def get(self, request: Request, study_id: str, job_id: str) -> Response:
        _, job = visible_job(request, study_id, job_id)
        return _job(job)

    @described(
        "Delete a dry run",
        tag=TAG,
        description="Deletes its copy of the study with the simulated ratings, too.",
        responses=NOTHING,
        refusals={**NO_SUCH_JOB, 409: ["dry_run_unfinished", "not_a_dry_run"]},
    )
    def delete(self, request: Request, study_id: str, job_id: str) -> Response:
        _, job = visible_job(request, study_id, job_id)
        if job.kind != DryRunJob.name:
            raise DomainError("not_a_dry_run", NOT_A_DRY_RUN)
        remove_dry_run(job=job)
        return Response(status=204)


class PauseJob(APIView):
    @described(
        "Pause a job",
        tag=TAG,
        description="Workers stop after the part that they are working on. Results are kept.",
        responses={200: JobSerializer},
        refusals=NO_SUCH_JOB,
    )
    def post(self, request: Request, study_id: str, job_id: str) -> Response:
        _, job = visible_job(request, study_id, job_id)
        pause_job(job=job)
        return _job(job)


class ResumeJob(APIView):
    @described(
        "Resume a paused or failed job",
        tag=TAG,
        responses={200: JobSerializer},
        refusals={**NO_SUCH_JOB, 409: ["not_stopped", "job_unfinished"], **NO_BROKER},
    )
    def post(self, request: Request, study_id: str, job_id: str) -> Response:
        _, job = visible_job(request, study_id, job_id)
        resume_job(job=job)
        return _job(job)


class StopJob(APIView):
    @described(
        "Stop a job for good",
        tag=TAG,
        description="Results so far are kept. Stopping a dry run also closes its copy of the study.",
        responses={200: JobSerializer},
        refusals=NO_SUCH_JOB,
    )
    def post(self, request: Request, study_id: str, job_id: str) -> Response:
        _, job = visible_job(request, study_id, job_id)
        if job.kind == DryRunJob.name:
            end_dry_run(job=job)
        else:
            stop_job(job=job)
        return _job(job)


class DownloadExport(APIView):
    @described(
        "Download a finished export",
        tag=TAG,
        description="Also the files of a report.",
        responses={
            (200, "application/zip"): OpenApiResponse(
                OpenApiTypes.BINARY, description="The bundle as a .zip file."
            )
        },
        refusals={404: ["no_such_export"]},
    )
    def get(self, request: Request, study_id: str, job_id: str) -> FileResponse:
        study = visible_study(request, study_id)
        file = finished_export(study=study, job_id=job_id)
        return FileResponse(
            file.open("rb"),
            as_attachment=True,
            filename=f"tiebreak-{study.pk}.zip",
            content_type="application/zip",
        )


def started(job: Job) -> Response:
    """Return the response to a request that has queued a job."""
    response = _job(job)
    response.status_code = 201
    return response


def _job(job: Job) -> Response:
    """Return the job as it is now; eager workers may have ended it."""
    return Response(JobSerializer(job_rows([Job.objects.get(pk=job.pk)])[0]).data)

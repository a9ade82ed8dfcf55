"""Jobs: list, start, follow, pause, resume, stop, and the file of an export; imports."""

from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse

from annotation.exports.export_jobs import finished_export, start_export
from annotation.imports.import_jobs import import_for
from api.access import creator, visible_job, visible_jobs
from api.messages import NOT_A_DRY_RUN, NOT_TRIED
from api.resources import Resource, endpoint
from api.serializers.jobs import (
    BotOptions,
    ExportOptions,
    FieldOptions,
    JobSerializer,
    ModelCopiesOptions,
    SamplingOptions,
    ScoringOptions,
    TrialForecast,
    TrialOptions,
)
from api.validation import checked_form
from jobs.models import Job
from jobs.rows import JobRow, job_rows, newest_and_unfinished
from jobs.services import pause_job, resume_job, stop_job
from metrics.exports.report_files import start_report_files
from metrics.planning.forms import sampling_form, scoring_form
from metrics.planning.trials import trial_of
from recruitment.forms import DryRunForm
from recruitment.services.dry_runs import (
    DryRunJob,
    DryRunOptions,
    end_dry_run,
    remove_dry_run,
    start_dry_run,
)
from studies.access import Right
from studies.data.dataset_jobs import dataset_of, start_dataset_job
from studies.data.model_copies import start_model_copies
from studies.instance_selection.sampling import start_sampling
from studies.instance_selection.scoring import ScoringJob
from studies.instance_selection.trial import start_trial
from studies.instance_selection.written_fields import write_field
from studies.models import Study
from studies.systems.forms import WrittenFieldForm
from tiebreak.errors import DomainError

MAX_JOBS = 100
ZIP = {
    (200, "application/zip"): OpenApiResponse(
        OpenApiTypes.BINARY, description="The bundle as a .zip file."
    )
}


class Jobs(Resource):
    tag = "jobs"
    lookup_url_kwarg, lookup_value_converter = "job_id", "public_id"

    def job(self) -> Job:
        return visible_job(self.request, **self.kwargs)

    @endpoint(gives=JobSerializer, many=True)
    def list(self) -> Any:
        """List a study's jobs.

        All unfinished jobs and the newest others, dry runs included, at most 100 if possible.
        """
        return job_rows(newest_and_unfinished(visible_jobs(self.study()), MAX_JOBS))

    @endpoint(detail=False, takes=SamplingOptions, gives=JobSerializer, status=201)
    def sampling(self) -> JobRow:
        """Start generating texts."""
        study = self.study()
        options = self._sampling_options(study)
        return now(start_sampling(study=study, options=options, by=self.by))

    @endpoint(detail=False, takes=TrialOptions, gives=JobSerializer, status=201)
    def trial(self) -> JobRow:
        """Try a system.

        Asks it for three texts, which are not stored as texts: the job's result has them, with the prompt,
        seconds and tokens of each.
        """
        study, system = self.study(), self.values["system"]
        options = self._sampling_options(study)
        return now(start_trial(study=study, system=system, options=options, by=self.by))

    @endpoint(detail=False, method="get", url_path="trial-forecast", gives=TrialForecast)
    def trial_forecast(self) -> Any:
        """Read what all texts would take.

        Time and cost of all texts of the system that was tried last, at the pace of its trial.
        """
        trial = trial_of(self.study())
        if trial is None or "whole" not in trial:
            raise DomainError("not_tried", NOT_TRIED, status=404)
        return trial

    def _sampling_options(self, study: Study) -> dict[str, Any]:
        values = {**self.values, "temperatures": ", ".join(map(str, self.values["temperatures"]))}
        return checked_form(sampling_form(study, values))

    @endpoint(
        detail=False,
        url_path="perturbed-copies",
        takes=ModelCopiesOptions,
        gives=JobSerializer,
        status=201,
    )
    def perturbed_copies(self) -> JobRow:
        """Start letting a language model write perturbed copies.

        They are scored like the originals, in a draft that scores single texts.
        """
        return now(start_model_copies(study=self.study(), by=self.by, **self.values))

    @endpoint(
        detail=False, url_path="written-field", takes=FieldOptions, gives=JobSerializer, status=201
    )
    def written_field(self) -> JobRow:
        """Start letting a language model write a field.

        A further text of each instance, such as a reference, which judges read if they name it
        (`reference_field`). Its origin is in the instances' `metadata`.
        """
        study = self.study()
        form = WrittenFieldForm(dataset_of(study), self.values)
        checked_form(form)
        return now(write_field(study=study, by=self.by, **form.settings()))

    @endpoint(detail=False, takes=ScoringOptions, gives=JobSerializer, status=201)
    def scoring(self) -> JobRow:
        """Start scoring separability."""
        study = self.study()
        similarity = self.values["similarity"] or study.similarity
        options = checked_form(scoring_form(study, {"similarity": similarity}))
        job = start_dataset_job(study=study, kind=ScoringJob.name, options=options, by=self.by)
        return now(job)

    @endpoint(detail=False, takes=ExportOptions, gives=JobSerializer, status=201)
    def export(self) -> JobRow:
        """Start an export."""
        study, values = self.study(Right.READ), self.values
        formats = sorted(set(values.pop("formats")))
        return now(start_export(study=study, formats=formats, **values, by=self.by))

    @endpoint(detail=False, url_path="report-files", gives=JobSerializer, status=201)
    def report_files(self) -> JobRow:
        """Start writing the report's files.

        HTML, PDF, LaTeX tables, BibTeX, JSON and the figures as SVG, in one .zip. Download it
        like an export.
        """
        return now(start_report_files(study=self.study(Right.READ), by=self.by))

    @endpoint(detail=False, url_path="dry-run", takes=BotOptions, gives=JobSerializer, status=201)
    def dry_run(self) -> JobRow:
        """Start a dry run.

        Bots rate a copy of the study.
        """
        study = self.study()
        options = DryRunOptions(**checked_form(DryRunForm(self.values)))
        return now(start_dry_run(study=study, options=options, by=self.by))

    @endpoint(gives=JobSerializer)
    def retrieve(self) -> JobRow:
        """Read a job."""
        return now(self.job())

    @endpoint()
    def destroy(self) -> None:
        """Delete a dry run.

        Also deletes its copy of the study with the simulated ratings.
        """
        job = self.job()
        if job.kind != DryRunJob.name:
            raise DomainError("not_a_dry_run", NOT_A_DRY_RUN)
        remove_dry_run(job=job)

    @endpoint(detail=True, gives=JobSerializer)
    def pause(self) -> JobRow:
        """Pause a job.

        Workers stop after the part that they are working on. Results are kept.
        """
        job = self.job()
        pause_job(job=job)
        return now(job)

    @endpoint(detail=True, gives=JobSerializer)
    def resume(self) -> JobRow:
        """Resume a paused or failed job."""
        job = self.job()
        resume_job(job=job)
        return now(job)

    @endpoint(detail=True, gives=JobSerializer)
    def stop(self) -> JobRow:
        """Stop a job for good.

        Results so far are kept. Stopping a dry run also closes its copy of the study.
        """
        job = self.job()
        end = end_dry_run if job.kind == DryRunJob.name else stop_job
        end(job=job)
        return now(job)

    @endpoint(gives=ZIP)
    def download(self) -> FileResponse:
        """Download a finished export.

        Or the files of a report.
        """
        study = self.study()
        return FileResponse(
            finished_export(study=study, job_id=self.kwargs["job_id"]).open("rb"),
            as_attachment=True,
            filename=f"tiebreak-{study.pk}.zip",
            content_type="application/zip",
        )


class Imports(Resource):
    tag = "studies"
    lookup_url_kwarg, lookup_value_converter = "job_id", "public_id"

    @endpoint(gives=JobSerializer)
    def retrieve(self) -> JobRow:
        """Read an import.

        The job of a large file. When it is done, `result.study` is the study; if the file was refused,
        `result` has the code and the problems.
        """
        return now(import_for(creator(self.request), self.kwargs["job_id"]))


def now(job: Job) -> JobRow:
    """Return the job as it is now; eager workers may have ended it."""
    return job_rows([Job.objects.get(pk=job.pk)])[0]

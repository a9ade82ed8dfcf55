"""The page *Data & report*: what can be downloaded, and the exports that exist."""

import tempfile
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django import forms
from django.contrib import messages
from django.db.models import Count, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import escape
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from annotation.exports.export_jobs import ExportJob, export_file, finished_export, start_export
from annotation.exports.study_export import BENCHMARKS, StudyExport
from annotation.filters import EVERYTHING, Filter, ratings_in
from annotation.models import Rating
from jobs.models import Job
from jobs.rows import JobRow, job_rows, newest_and_unfinished
from metrics.exports.report_files import ReportFilesJob, start_report_files
from metrics.messages import EXPORT_STARTED, TOO_MANY_FOR_DIRECT
from metrics.results.filters import asked_values
from metrics.results.requested_report import asked_for
from metrics.results.selectors import stored_counts
from studies.access import Right, of_study, shows_study, user_of
from studies.models import Study
from studies.refusals import as_not_found, told
from tiebreak.errors import DomainError
from tiebreak.formats.export_columns import RATINGS_WITH_TEXTS
from tiebreak.formats.shown_fields import field_columns

MAX_EXPORTS = 20
WANTED = ("pdf", "zip")  # which file of a report a page waits for
EXPORTS_CHANGED = "exports-changed"  # the event at which the list of exports asks for itself
# Ratings that a page writes itself, within about two seconds.
MAX_DIRECT = 20_000


@dataclass(frozen=True)
class ExportKind:
    """A format that can be chosen: what the files contain, and who they are for."""

    name: str
    title: str
    contents: str
    audience: str


KINDS = (
    ExportKind(
        "jsonl",
        "Ratings as JSON Lines",
        "Every rating, of people and machine raters, with its flags, one JSON object on each line.",
        "For archives and scripts.",
    ),
    ExportKind(
        "csv",
        "Ratings as CSV",
        "The same ratings as a table of text.",
        "For spreadsheets, R and SPSS.",
    ),
    ExportKind(
        "xlsx",
        "Ratings as XLSX",
        "The same ratings as a workbook, with texts exactly as they are.",
        "For Excel and LibreOffice.",
    ),
    ExportKind(
        "parquet",
        "Ratings as Parquet",
        "The same ratings as typed columns, a fraction of the size.",
        "For pandas, Polars, DuckDB and large studies.",
    ),
    ExportKind(
        "preference",
        "Preferences for training",
        "One prompt with a chosen and a rejected text for each comparison, by the majority of annotators.",
        "For DPO and reward models with TRL.",
    ),
    ExportKind(
        "hf",
        "Hugging Face dataset",
        "A folder of Parquet tables with a dataset card and Croissant metadata, responsible-AI fields"
        " included.",
        "For publishing the data; datasets.load_dataset reads it.",
    ),
    ExportKind(
        "alpacaeval",
        "Verdicts as AlpacaEval",
        "A row for each preference, machines' and people's separate.",
        "For AlpacaEval's leaderboards and analyses.",
    ),
    ExportKind(
        "alttest",
        "Labels as in the alternative annotator test",
        "For each criterion people's and machines' labels, by rater and item.",
        "For the published test of whether a machine may replace an annotator.",
    ),
    ExportKind(
        "llmbar",
        "Verdicts as LLMBar",
        "The comparisons of two systems on which all annotators agree, and machines' verdicts in both"
        " orders. Ties are left out.",
        "For LLMBar's accuracy of evaluators.",
    ),
    ExportKind(
        "lmarena",
        "Verdicts as LMArena",
        "A battle for each preference, with the text that came first as model A's text.",
        "For programs that rank systems from battles.",
    ),
    ExportKind(
        "mtbench",
        "Verdicts as MT-Bench",
        "Votes of people, machines' judgments of pairs in two games, and their scores of single texts.",
        "For FastChat's agreement and win rates.",
    ),
    ExportKind(
        "pandalm",
        "Verdicts as PandaLM",
        "The comparisons with exactly three annotators, and a file for each pass of a machine.",
        "For PandaLM's evaluation of judges.",
    ),
)
TIES = (
    ("drop", "Leave ties out"),
    ("half", "Write each tie once, half of them in each direction"),
    ("both", "Write each tie twice, once in each direction"),
)


class ExportForm(forms.Form):
    formats = forms.MultipleChoiceField(
        choices=[(kind.name, kind.title) for kind in KINDS], initial=["jsonl"]
    )
    with_texts = forms.BooleanField(
        label="Add the texts and the preferred system's name to each rating",
        required=False,
        help_text="For reading ratings in a spreadsheet: each file of ratings gets the columns source,"
        " text_a, text_b and winner.",
    )
    with_comments = forms.BooleanField(
        label="Add a table of annotators' comments",
        required=False,
        help_text="What annotators typed, which may identify them: a file comments in each format of"
        " the ratings.",
    )
    ties = forms.ChoiceField(
        label="Ties in preferences for training", choices=TIES, initial="drop", required=False
    )


@shows_study
def data_and_report(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what can be downloaded, and the study's exports; of a part, its ratings and statistics."""
    context, status, chosen = _page(study), HTTPStatus.OK, EVERYTHING
    if asked_values(request.GET):
        asked = asked_for(study, request.GET)
        context |= asked.filtering(request.GET.get("criterion", ""))
        chosen = asked.chosen
        status = status if asked.part is not None else HTTPStatus.BAD_REQUEST
    if status == HTTPStatus.OK:
        context["by_kind"] = _by_kind(study, chosen)
    return render(request, "metrics/data_and_report.html", context, status=status)


def _by_kind(study: Study, chosen: Filter) -> dict[str, int]:
    """Return how many ratings people gave, and how many machine raters did.

    Those of the whole study were counted with the report, because counting a million takes longer than the page.
    """
    report = study.report_snapshots.filter(digest="").only("counted").first()
    if chosen == EVERYTHING and report is not None and (counts := stored_counts(report)):
        return {"human": counts.rows.people, "machine": counts.rows.machines}
    ratings = ratings_in(study, chosen).in_statistics()
    return dict(ratings.order_by().values_list("rater__kind").annotate(n=Count("pk")))


@shows_study
def exports_part(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the list of exports alone, which the page polls while one is being written."""
    return render(request, "metrics/exports.html", _exports(study))


@require_POST
@of_study(Right.READ)
def export(request: HttpRequest, study: Study) -> HttpResponse:
    """Start an export."""
    form = ExportForm(request.POST)
    if not form.is_valid():
        return render(request, "metrics/data_and_report.html", _page(study, form), status=400)
    options = form.cleaned_data | {"ties": form.cleaned_data["ties"] or "drop"}
    with told(request):
        start_export(study=study, **options, by=user_of(request))
        messages.success(request, EXPORT_STARTED)
    return redirect("metrics:data-and-report", study.pk)


@shows_study
def download_export(_: HttpRequest, study: Study, job_id: str) -> FileResponse:
    """Send the file of a finished export."""
    with as_not_found():
        file = finished_export(study=study, job_id=job_id)
    is_report = Job.objects.filter(public_id=job_id, kind=ReportFilesJob.name).exists()
    name = f"{'report' if is_report else 'tiebreak'}-{study.pk}.zip"
    return FileResponse(file.open("rb"), as_attachment=True, filename=name)


@shows_study
def ratings_csv(request: HttpRequest, study: Study) -> HttpResponse | FileResponse:
    """Send the ratings that count with their texts, or all if asked; a worker writes those of a large study.

    They are those of the part that the address asks for.
    """
    export = StudyExport(study, ["csv"], with_texts=True)
    if asked_values(request.GET):
        asked = asked_for(study, request.GET)
        if asked.part is None:
            return asked.refusal()
        chosen = ratings_in(study, asked.chosen).values("pk")
        export.ratings = export.ratings.filter(pk__in=chosen)
    if "all" not in request.GET:
        export.ratings = export.ratings.in_statistics()
    if export.ratings.count() > MAX_DIRECT:
        messages.info(request, TOO_MANY_FOR_DIRECT.format(MAX_DIRECT), extra_tags="too_many")
        return redirect("metrics:data-and-report", study.pk)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        path = Path(folder) / "ratings.csv"
        for _ in export.write_ratings(path):
            pass
        # An open file can be read after its name is gone.
        return FileResponse(
            path.open("rb"),
            as_attachment=True,
            filename=f"ratings-{study.pk}.csv",
            content_type="text/csv; charset=utf-8",
        )


@shows_study
def report_pdf(_: HttpRequest, study: Study, job_id: str) -> HttpResponse:
    """Send the PDF alone of a report that was written."""
    with as_not_found(), ZipFile(finished_export(study=study, job_id=job_id)) as archive:
        names = [name for name in archive.namelist() if name.endswith("report.pdf")]
        if not names:
            raise Http404("This file has no report.")
        content = archive.read(names[0])
    response = HttpResponse(content, content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="report-{study.pk}.pdf"'
    return response


@require_POST
@of_study(Right.READ)
def report_files(request: HttpRequest, study: Study) -> HttpResponse:
    """Start to write the files of the report, or follow the job that does so already."""
    try:
        job = start_report_files(study=study, by=user_of(request))
        job.refresh_from_db()  # a fast worker may have written it already
    except DomainError as refusal:
        running = _reports(study).filter(finished_at=None).first()
        if running is None:
            return _refused(request, study, refusal)
        job = running
    return (
        _report_state(request, study, job) if "HX-Request" in request.headers else _to_report(study)
    )


@shows_study
def report_state(request: HttpRequest, study: Study, job_id: str) -> HttpResponse:
    """Return how far a report is, or nothing if that is what the page shows already."""
    return _report_state(request, study, get_object_or_404(_reports(study), public_id=job_id))


def _to_report(study: Study) -> HttpResponse:
    return redirect(f"{reverse('metrics:data-and-report', args=[study.pk])}#report-heading")


def _refused(request: HttpRequest, study: Study, refusal: DomainError) -> HttpResponse:
    if "HX-Request" in request.headers:
        return HttpResponse(escape(refusal.message))
    messages.error(request, refusal.message, extra_tags=refusal.code)
    return _to_report(study)


def _report_state(request: HttpRequest, study: Study, job: Job) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    state = _state_of(study, job)
    # A live region would be read out again, although nothing has changed.
    if asked.get("shown") == state["shown"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    wanted = asked.get("wanted") if asked.get("wanted") in WANTED else ""
    response = render(request, "metrics/report_state.html", state | {"wanted": wanted})
    return trigger_client_event(response, EXPORTS_CHANGED)


def _state_of(study: Study, job: Job | None) -> dict[str, Any]:
    """Return what a page says about a report that is written, or was."""
    if job is None:
        return {}
    (row,) = job_rows([job])
    shown = f"{job.status} {row.stuck.code if row.stuck else ''}".strip()
    return {"study": study, "row": row, "job": job, "is_there": _is_there(row), "shown": shown}


def _reports(study: Study) -> QuerySet[Job]:
    return Job.objects.filter(owner=study.pk, kind=ReportFilesJob.name).order_by("-pk")


def _page(study: Study, form: ExportForm | None = None) -> dict[str, Any]:
    """Return the page with a form that was sent, or with what the last export was asked for."""
    listed = _exports(study)
    jobs = [row.job for row, _ in listed["exports"] if row.job.kind == ExportJob.name]
    form = form or ExportForm(initial=jobs[0].options if jobs else None)
    chosen = form["formats"].value() or []
    kinds = [(kind, kind.name in chosen) for kind in KINDS if kind.name not in BENCHMARKS]
    benchmarks = [(kind, kind.name in chosen) for kind in KINDS if kind.name in BENCHMARKS]
    state = _state_of(study, _reports(study).first())
    return {
        "here": "data-and-report",
        "form": form,
        "csv_columns": {**RATINGS_WITH_TEXTS, **field_columns(study.fields)}.items(),
        "choices": [form["with_texts"], form["with_comments"]],
        "kinds": kinds,
        "benchmark_kinds": benchmarks,
        "benchmark_is_chosen": any(is_chosen for _, is_chosen in benchmarks),
        "has_ratings": Rating.objects.filter(unit__study=study).exists(),
        **state,
        **listed,
    }


def _exports(study: Study) -> dict[str, Any]:
    jobs = Job.objects.filter(owner=study.pk, kind__in=[ExportJob.name, ReportFilesJob.name])
    rows = job_rows(newest_and_unfinished(jobs, MAX_EXPORTS))
    exports = [(row, _is_there(row)) for row in rows]
    return {"study": study, "exports": exports, "is_moving": any(r.job.is_moving for r in rows)}


def _is_there(row: JobRow) -> bool:
    return row.job.status == Job.Status.DONE and export_file(row.job).is_file()

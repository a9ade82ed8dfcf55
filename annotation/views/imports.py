"""Pages for researchers: a new study from an uploaded file, in two steps, and large imports."""

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.imports.import_jobs import (
    ImportRequest,
    ListedProblem,
    choice_in,
    import_for,
    import_or_start,
    inspect_upload,
    kinds_in,
    kinds_listed,
    listed_problems,
    problems_in,
    problems_of,
    repeat_import,
)
from annotation.imports.kept_uploads import KeptUpload, keep_upload, kept_upload
from annotation.imports.sample_files import SAMPLE_FILES, sample_file
from annotation.imports.uploads import PREVIEW_ROWS, as_one, upload_limits
from annotation.views.import_columns import MEANINGS, choice_of, chosen_rows, column_rows
from annotation.views.starts import start_named
from jobs.models import Job
from jobs.rows import job_rows
from jobs.services import stop_job
from studies.access import researchers_only, study_for, user_of
from studies.data.bundle_import import KnownDataset
from studies.data.table_import import BadTable, Choice, check_title
from studies.design.protocols import protocols
from studies.models import Study
from studies.refusals import as_not_found, form_errors
from tiebreak.errors import DomainError
from tiebreak.formats.cells import MAX_COLUMNS
from tiebreak.formats.confined import BUNDLE, TABLE, Read
from tiebreak.formats.rows import escape_formula

NOT_ALL_READ = (
    "The file is large, so at most its first {:,} rows were read here. Create the study: all rows are"
    " checked before anything is stored."
)
NOT_A_TABLE = (
    "The file is no plain table of texts. Import it as a new study from the list of studies."
)
ALREADY_IMPORTED = (
    "This study was created from the file already. To create another one, upload the file again."
)
# In the session: the upload that was imported last, and the address of its study.
IMPORTED = "imported"
MAX_LISTED = 50
OfToken = Callable[[HttpRequest, str], HttpResponse]
MAX_TITLE = 200
LEAVE_OUT = "leave_out"
SUFFIXES = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.parquet,.arrow,.xlsx,.gz,.zip,.eval"


class FilesInput(forms.FileInput):
    """Takes one file or several, which `as_one` puts together."""

    allow_multiple_selected = True

    def value_from_datadict(self, _: Any, files: MultiValueDict[str, Any], name: str) -> list[Any]:
        return files.getlist(name)


class FilesField(forms.FileField):
    def clean(self, data: list[Any], initial: Any = None) -> Any:
        """Return the only file, or a .zip of several."""
        return super().clean(as_one(data) if data else None, initial)


class UploadForm(forms.Form):
    """A file or several, or the token of what was uploaded before."""

    file = FilesField(
        label="File",
        required=False,
        widget=FilesInput(attrs={"accept": SUFFIXES, "multiple": True, "required": True}),
    )
    upload = forms.CharField(required=False, widget=forms.HiddenInput)
    # Shown only if the dataset turns out to be on this server already.
    use_known = forms.BooleanField(
        required=False,
        widget=forms.HiddenInput,
        label="Create a new study that uses the existing dataset",
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        if not values.get("file") and not values.get("upload") and not self.errors:
            raise forms.ValidationError("Choose a file first.", code="no_file")
        return values

    def offer_known_dataset(self, upload: KeptUpload) -> None:
        """Ask whether to use the known dataset, without another upload of the file."""
        self.data = {**self.data, "upload": upload.token}
        del self.fields["file"].widget.attrs["required"]
        self.fields["use_known"].widget = forms.CheckboxInput()


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def new_study(request: HttpRequest) -> HttpResponse:
    """Take a file: a bundle is imported, and a table leads to the page of its columns."""
    is_sent, start = request.method == "POST", start_named(request.GET.get("begin", ""))
    form = UploadForm(request.POST, request.FILES) if is_sent else UploadForm()
    if is_sent and form.is_valid():
        upload = None
        try:
            upload = _upload(form, request)
            reading = upload.read(in_web=True)
            draft = _draft(request)
            if draft is not None and reading.kind != TABLE:
                raise DomainError("not_a_table", NOT_A_TABLE, status=400)
            if draft is not None:
                address = reverse("annotation:import-columns", args=[upload.token])
                return redirect(f"{address}?study={draft.pk}")
            if reading.kind != BUNDLE:
                page = _page_of(upload, reading, start.slug)
                address = reverse(f"annotation:import-{page}", args=[upload.token])
                return redirect(address + ("?begin=prompts" if start.slug == "prompts" else ""))
            known: KnownDataset = "use" if form.cleaned_data["use_known"] else "refuse"
            return import_now_or_later(
                request, ImportRequest(upload, user_of(request), known_dataset=known)
            )
        except DomainError as refusal:
            form.add_error("file", ["Nothing was imported.", *form_errors(refusal)])
            if refusal.code == "known_dataset" and upload is not None:
                form.offer_known_dataset(upload)
            elif upload is not None and request.FILES:
                upload.remove()  # no page comes back to it, and it would count
    limits = upload_limits()
    context = {
        "draft": _draft(request),
        "start": start,
        "form": form,
        "samples": SAMPLE_FILES,
        "limits": f"{limits.rows:,} rows, {MAX_COLUMNS} columns and {limits.cell:,} characters",
    }
    return render(request, "imports/new_study.html", context)


def _draft(request: HttpRequest) -> Study | None:
    """Return the draft that gets the texts, if the page was opened from its step Data."""
    key = request.GET.get("study", "")
    return study_for(request.user, key) if key else None


def _page_of(upload: KeptUpload, reading: Read, start: str) -> str:
    """Return the page of texts to be rated, or of ratings, or the one that asks which they are."""
    if reading.kind != TABLE:
        return "ratings"
    if not reading.ratings:
        # Without ratings for certain, the page answers about what it asked for.
        return "ratings" if start == "ratings" else "columns"
    _, summary, _ = inspect_upload(upload, Choice())
    return "kind" if summary.is_usable and len(summary.systems) > 1 else "ratings"


def _upload(form: UploadForm, request: HttpRequest) -> KeptUpload:
    file, token = form.cleaned_data["file"], form.cleaned_data["upload"]
    if file is None:
        return kept_upload(token=token, by=user_of(request))
    return keep_upload(upload=file, by=user_of(request))


def import_now_or_later(request: HttpRequest, wanted: ImportRequest) -> HttpResponse:
    """Import a small file now and show its study, or queue a large one and show its progress."""
    imported = import_or_start(wanted)
    if isinstance(imported, Job):
        return redirect("annotation:import", imported.public_id)
    messages.success(request, imported.sentence)
    if imported.remarks:
        messages.warning(request, "\n".join(imported.remarks))
    is_over = imported.study.status == Study.Status.CLOSED
    page = redirect("metrics:results" if is_over else "studies:data", imported.study.pk)
    request.session[IMPORTED] = [wanted.upload.token, page.url]
    return page


def with_upload(view: Callable[[HttpRequest, KeptUpload], HttpResponse]) -> OfToken:
    """Give a page its upload, or lead back to the first page if it is not there any more."""

    @wraps(view)
    def of_token(request: HttpRequest, upload: str) -> HttpResponse:
        try:
            kept = kept_upload(token=upload, by=user_of(request))
        except DomainError as refusal:
            token, study = request.session.get(IMPORTED, ("", ""))
            if token == upload:  # the browser's Back, after the study was created
                messages.info(request, ALREADY_IMPORTED, extra_tags="already_imported")
                return redirect(study)
            messages.error(request, refusal.message, extra_tags=refusal.code)
            return redirect("annotation:new-study")
        return view(request, kept)

    return of_token


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
@with_upload
def columns(request: HttpRequest, kept: KeptUpload) -> HttpResponse:
    """Show the guessed columns of a table, take corrections, and create the study."""
    if request.method != "POST":
        # An import that was refused leads here, and keeps its choice.
        options = options_of_import(request)
        start = Choice("prompts" if request.GET.get("begin") == "prompts" else None)
        return _columns_page(request, kept, choice_in(options) if options else start)
    try:
        choice = choice_of(request.POST)
        if request.POST.get("do") not in {"create", LEAVE_OUT}:
            return _columns_page(request, kept, choice)
        return import_now_or_later(request, _import_request(request, kept, choice))
    except BadTable as refusal:
        return _columns_page(request, kept, choice, refusal=refusal)
    except DomainError as refusal:
        choice = Choice(request.POST.get("layout"), sheet=request.POST.get("sheet", ""))
        return _columns_page(request, kept, choice, refusal=refusal)


def _import_request(request: HttpRequest, kept: KeptUpload, choice: Choice) -> ImportRequest:
    return ImportRequest(
        kept,
        user_of(request),
        title=title_in(request, kept),
        choice=choice,
        bad_rows="leave_out" if request.POST["do"] == LEAVE_OUT else "refuse",
        known_dataset="use" if request.POST.get("use_known") else "refuse",
        template=request.POST.get("template", ""),
        study=draft.pk if (draft := _draft(request)) else "",
        kind=TABLE,
    )


def options_of_import(request: HttpRequest) -> dict[str, Any]:
    """Return the options of the refused import from which a page was opened, if any."""
    if "import" not in request.GET:
        return {}
    options: dict[str, Any] = import_for(user_of(request), request.GET["import"]).options
    return options


def title_in(request: HttpRequest, kept: KeptUpload) -> str:
    """Return the title that was typed. Raises `DomainError` if it cannot be used."""
    title = request.POST.get("title", title_of(kept)).strip()
    check_title(title)
    return title


# Such as the number that browsers give a second download, or “final v3”.
_VERSION = re.compile(r"(?:\s*\((?:\d+|copy)\)|[\s-]+(?:final|draft|copy|v\d+))+$", re.IGNORECASE)


def title_of(kept: KeptUpload) -> str:
    """Return a title from a file's name, without what tells versions of a file apart at its end."""
    stem = Path(kept.name.removesuffix(".gz")).stem.replace("_", " ").strip()
    title = _VERSION.sub("", stem) or stem
    return f"{title[:1].upper()}{title[1:]}"[:MAX_TITLE]


def _columns_page(
    request: HttpRequest, kept: KeptUpload, choice: Choice, *, refusal: DomainError | None = None
) -> HttpResponse:
    profile, summary, is_preview = inspect_upload(kept, choice)
    doubts, plan = [], summary.plan
    if plan and plan.columns and (plan.unclear or plan.doubtful) and not summary.empty_below:
        # What is to be confirmed is shown with all that it leads to, so that one answer is enough.
        guess = replace(choice, layout=plan.layout, columns=plan.columns, is_complete=True)
        _, as_guessed, _ = inspect_upload(kept, guess)
        if as_guessed.is_usable:
            doubts, summary = kinds_in(summary), as_guessed
    rows, plan = column_rows(profile, summary), summary.plan
    used = set(plan.columns.values()) if plan else set()
    is_lost = refusal is not None and not isinstance(refusal, BadTable)
    context = {
        "draft": _draft(request),
        "upload": kept,
        "summary": summary,
        "rows": chosen_rows(rows, request.POST.dict()) if is_lost else rows,
        "meanings": MEANINGS,
        "title": request.POST.get("title", title_of(kept)),
        "layout": plan.layout if plan else "",
        "is_prompts": bool(summary.is_usable and not summary.systems),
        "problems": kinds_in(summary),
        "is_preview": is_preview,
        "preview_rows": PREVIEW_ROWS,
        "refusal": refusal,
        # The counts would come from columns other than the chosen ones.
        "is_unclear": refusal is not None and refusal.code == "repeated_role",
        "doubts": doubts,
        "fill_down": plan.fill_down if plan else choice.fill_down,
        "leaves_out_errors": choice.leave_out_errors,
        "has_bad_rows": isinstance(refusal, BadTable),
        "asks_for_known": refusal is not None and refusal.code == "known_dataset",
        "other_texts": [
            c.name for c in profile.columns.values() if c.is_prose and c.name not in used
        ],
        "templates": protocols(),
        "template": request.POST.get("template", ""),
    }
    status = 200 if refusal is None else 400
    return render(request, "imports/columns.html", context, status=status)


@require_POST
@researchers_only
def column_problems(request: HttpRequest, upload: str) -> HttpResponse:
    """Send the rows with problems, for the columns as they were chosen, as a CSV file."""
    with as_not_found():
        kept = kept_upload(token=upload, by=user_of(request))
    try:
        choice = choice_of(request.POST)
        _, summary, is_preview = inspect_upload(kept, choice)
    except DomainError as refusal:
        return _csv(problems_of(refusal))
    rest = [ListedProblem(None, "", NOT_ALL_READ.format(PREVIEW_ROWS))] if is_preview else []
    return _csv([*problems_in(summary), *rest])


def _csv(problems: Iterable[ListedProblem]) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="problems.csv"'
    response.write(BOM_UTF8)  # as Excel needs it
    writer = csv.writer(response)
    writer.writerow(["row", "column", "reason"])
    for problem in problems:
        writer.writerow(
            [problem.row or "", escape_formula(problem.column), escape_formula(problem.reason)]
        )
    return response


@require_safe
@researchers_only
def sample(request: HttpRequest, name: str) -> HttpResponse:  # noqa: ARG001  a view
    """Send a sample file."""
    file = sample_file(name)
    if file is None:
        raise Http404("There is no such sample file.")
    response = HttpResponse(file.write(), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return response


# Imports of large files.


@require_safe
@researchers_only
def import_page(request: HttpRequest, job_id: str) -> HttpResponse:
    """Show an import's progress, its study, or why it was refused."""
    return render(request, "imports/import.html", _import_context(request, job_id))


@require_safe
@researchers_only
def import_part(request: HttpRequest, job_id: str) -> HttpResponse:
    """Return the state alone, which the page polls while the job is moving."""
    return render(request, "imports/import_state.html", _import_context(request, job_id))


def _import_context(request: HttpRequest, job_id: str) -> dict[str, Any]:
    job = import_for(user_of(request), job_id)
    problems = listed_problems(job)
    return {
        "job": job,
        "row": job_rows([job])[0],
        "study": Study.objects.filter(pk=job.result.get("study", "")).first(),
        "problems": kinds_listed(job) or problems[:MAX_LISTED],
        "n_problems": len(problems),
        "is_waiting": job.is_moving,
        "token": job.options["token"],
    }


@require_POST
@researchers_only
def repeat(request: HttpRequest, job_id: str) -> HttpResponse:
    """Import the file again, and accept what it was refused for."""
    job = import_for(user_of(request), job_id)
    try:
        again = repeat_import(
            job=job,
            leaves_out="leave_out" in request.POST,
            uses_known="use_known" in request.POST,
        )
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return redirect("annotation:import", job.public_id)
    return redirect("annotation:import", again.public_id)


@require_POST
@researchers_only
def stop(request: HttpRequest, job_id: str) -> HttpResponse:
    """Stop an import; what is not stored completely is not stored at all."""
    job = import_for(user_of(request), job_id)
    stop_job(job=job)
    return redirect("annotation:import", job.public_id)


@require_safe
@researchers_only
def import_problems(request: HttpRequest, job_id: str) -> HttpResponse:
    """Send the problems of a refused import as a CSV file."""
    job: Job = import_for(user_of(request), job_id)
    return _csv(listed_problems(job))

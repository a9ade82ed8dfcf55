"""Imports of uploaded files: immediately if they are small, else by a worker."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.urls import reverse

from annotation.imports.kept_uploads import KeptUpload, kept_upload
from annotation.imports.study_import import Imported, import_study
from annotation.imports.uploads import PREVIEW_ROWS, upload_limits
from jobs.kinds import JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from studies.access import study_for
from studies.data.bundle_import import KnownDataset
from studies.data.table_import import (
    BadRows,
    BadTable,
    Choice,
    ImportedTable,
    import_table_in_steps,
    inspect_table,
)
from studies.data.text_formats import formats_in_words
from studies.design.protocols import fill_in, protocol_named
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.formats import FormatError
from tiebreak.formats.confined import BUNDLE, RATINGS, TABLE, PlainTable, Read
from tiebreak.formats.errors import ProblemKind
from tiebreak.formats.layouts import Choice as RatingChoice, Seen
from tiebreak.formats.tables import Profile, TableSummary

NOT_OF_KIND = "is a table, not a bundle, or a bundle, not a table. Send it to the other address"
NOT_RUNNING = "The import was stopped before anything was stored."


@dataclass(frozen=True)
class ImportRequest:
    """An uploaded file, and how its researcher wants it to be imported.

    `title` and `choice` are for tables: a bundle says by itself what it is.
    """

    upload: KeptUpload
    by: User
    title: str = ""
    choice: Choice = field(default_factory=Choice)
    bad_rows: BadRows = "refuse"
    known_dataset: KnownDataset = "refuse"
    # What the file has to be; "" where a page has looked at it.
    kind: str = ""
    # How ratings of other people are to be read, if the file has them.
    ratings: RatingChoice | None = None
    # The template of a published protocol that fills in the draft of a table; "" for none.
    template: str = ""
    # The draft that gets the texts of a table, instead of a new study; "" for none.
    study: str = ""


@dataclass(frozen=True)
class ImportedUpload:
    """The study of an import, and sentences on what was imported."""

    study: Study
    sentence: str
    remarks: tuple[str, ...]
    made: ImportedTable | Imported


@dataclass(frozen=True)
class ListedProblem:
    """A problem of an uploaded file, as pages and downloads list it."""

    row: int | None
    column: str
    reason: str
    # How many are like this one, and the first of their rows.
    where: str = ""
    code: str = ""


Steps = Generator[tuple[int, int], None, ImportedUpload]
Then = Callable[[Study], None]


def import_upload(request: ImportRequest) -> ImportedUpload:
    """Import an upload now, and delete it."""
    steps = _steps(request, then=lambda _: None, in_web=True)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            request.upload.remove()
            imported: ImportedUpload = end.value
            return imported


def import_or_start(request: ImportRequest) -> ImportedUpload | Job:
    """Import a small file now; queue the import of one that is large or takes long to read."""
    reader = request.ratings.reader if request.ratings else ""
    try:
        reading = request.upload.read(in_web=True, sheet=request.choice.sheet, reader=reader)
        if request.upload.is_small(reading):
            return import_upload(request)
    except FormatError as error:
        if {problem.code for problem in error.problems} != {"reading_too_slow"}:
            raise
    return start_import(request)


def _steps(request: ImportRequest, then: Then, *, in_web: bool = False) -> Steps:
    """Import an upload all or nothing, and yield how many rows of how many were checked."""
    yield 0, 1
    if request.ratings is not None:
        return (yield from _ratings_steps(request, request.ratings, then, in_web=in_web))
    reading = request.upload.read(in_web=False, sheet=request.choice.sheet)
    _check_kind(request.upload, reading, request.kind)
    steps = _bundle_steps if reading.kind == BUNDLE else _table_steps
    return (yield from steps(request, reading, then))


def _check_kind(upload: KeptUpload, reading: Read, wanted: str) -> None:
    if wanted not in ("", reading.kind):
        raise FormatError.of(upload.name, None, f"not_a_{wanted}", NOT_OF_KIND)


def _ratings_steps(
    request: ImportRequest, choice: RatingChoice, then: Then, *, in_web: bool
) -> Steps:
    """Import ratings of other people, which a confined process writes as a bundle."""
    with TemporaryDirectory(dir=request.upload.path.parent) as folder:
        reading, seen = request.upload.read_ratings(
            choice, in_web=in_web, title=request.title, into=Path(folder)
        )
        reading = replace(reading, notes=[seen.sentence, *seen.notes])
        return (yield from _bundle_steps(request, reading, then))


def _bundle_steps(request: ImportRequest, reading: Read, then: Then) -> Steps:
    yield 0, 1
    imported = import_study(
        path=Path(reading.path),
        owner=request.by,
        limits=upload_limits(),
        known_dataset=request.known_dataset,
        then=then,
    )
    sentence = f"Imported {counted(imported.instances, 'instance')} and {counted(imported.ratings, 'rating')}."
    imported = replace(imported, notes=tuple(reading.notes))
    return ImportedUpload(imported.study, sentence, tuple(imported.remarks), imported)


def _table_steps(request: ImportRequest, reading: Read, then: Then) -> Steps:
    protocol = protocol_named(request.template) if request.template else None
    if request.study:
        study_for(request.by, request.study)

    def filled_in(study: Study) -> None:
        if protocol is not None:
            fill_in(study=study, protocol=protocol, by=request.by)
        then(study)

    imported = yield from import_table_in_steps(
        path=request.upload.path,
        plain=PlainTable.of(reading, request.upload.name),
        owner=request.by,
        title=request.title,
        choice=request.choice,
        limits=upload_limits(),
        bad_rows=request.bad_rows,
        known_dataset=request.known_dataset,
        study=request.study,
        then=filled_in,
    )
    summary = imported.summary
    sentence = (
        f"Imported {counted(summary.instances, 'instance')} with"
        f" {counted(summary.generations, 'text')} of {counted(len(summary.systems), 'system')}."
        if summary.systems
        else f"Imported {counted(summary.instances, 'prompt')}. Texts of systems are missing so far."
    )
    left_out = (f"Left out: {summary.losses}.",) if summary.problems else ()
    steps_left = protocol.steps_left if protocol else ()
    formats = formats_in_words(imported.study)
    remarks = (*summary.notes, *left_out, *filter(None, [formats]), *steps_left)
    return ImportedUpload(imported.study, sentence, remarks, imported)


def inspect_upload(upload: KeptUpload, choice: Choice) -> tuple[Profile, TableSummary, bool]:
    """Return what a table contains, and whether that is only of the first rows of a large one."""
    try:
        reading = upload.read(in_web=True, sheet=choice.sheet)
        _check_kind(upload, reading, TABLE)
    except FormatError as error:
        return Profile(), TableSummary.of_refusal(error), False
    plain = PlainTable.of(reading, upload.name)
    max_rows = None if reading.is_whole else PREVIEW_ROWS
    profile, summary = inspect_table(
        path=upload.path, plain=plain, choice=choice, max_rows=max_rows
    )
    return profile, summary, not reading.is_whole


def first_of_ratings(upload: KeptUpload, choice: RatingChoice) -> tuple[Read, Seen]:
    """Return what a page shows of ratings before they are stored, or why they cannot be read."""
    reading = Read(RATINGS)
    try:
        reading = upload.read(in_web=True, sheet=choice.sheet, reader=choice.reader)
        return reading, upload.read_ratings(choice, in_web=True)[1]
    except FormatError as error:
        return reading, Seen(choice.reader, code=error.problems[0].code, refusal=error.message)


def problems_in(table: TableSummary) -> list[ListedProblem]:
    return [ListedProblem(p.row, p.column or "", p.reason) for p in table.problems]


def problems_of(refusal: DomainError) -> list[ListedProblem]:
    """Return what is wrong with a file, row by row."""
    if isinstance(refusal, BadTable):
        return problems_in(refusal.summary)
    if isinstance(refusal, FormatError):
        return [ListedProblem(p.line, p.file, p.reason) for p in refusal.problems]
    return [ListedProblem(None, "", refusal.message)]


def kinds_of(refusal: DomainError) -> list[ListedProblem]:
    """Return what is wrong with a file, equal problems once."""
    if isinstance(refusal, BadTable):
        return kinds_in(refusal.summary)
    if isinstance(refusal, FormatError):
        return list(map(_listed, refusal.kinds))
    return problems_of(refusal)


def kinds_in(table: TableSummary) -> list[ListedProblem]:
    return list(map(_listed, table.kinds))


def _listed(kind: ProblemKind[Any]) -> ListedProblem:
    column, row = kind.first.place
    where = kind.where if kind.count > 1 else ""
    return ListedProblem(row, column or "", kind.first.reason, where, kind.first.code)


class ImportJob(JobKind):
    """Imports an upload in one step; the rows that are checked are its progress."""

    name = "import"
    label = "import data"

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse("annotation:import", args=[job.public_id])

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        if Job.objects.get(pk=job.pk).result.get("study"):  # stored by a worker that died since
            yield Progress(1)
            return
        request = _request_of(job)
        total = 1
        try:
            steps = _steps(request, then=lambda study: _note_study(job, study))
            while True:
                checked, total = next(steps)
                yield Progress(checked, size=max(total, checked, 1))
        except StopIteration as end:
            imported: ImportedUpload = end.value
            _note(job, sentence=imported.sentence, remarks=list(imported.remarks))
            request.upload.remove()
        except DomainError as refusal:
            _note(job, **_as_result(refusal))
            raise
        yield Progress(total, size=total)


def _note_study(job: Job, study: Study) -> None:
    """Record the study in the transaction that stores it, unless another worker was faster."""
    current = Job.objects.select_for_update().get(pk=job.pk)
    if current.status != Job.Status.RUNNING or current.result.get("study"):
        raise DomainError("import_stopped", NOT_RUNNING)
    current.result["study"] = study.pk
    current.save(update_fields=["result"])


def _note(job: Job, **facts: Any) -> None:
    current = Job.objects.get(pk=job.pk)
    Job.objects.filter(pk=job.pk).update(result=current.result | facts)


def _as_result(refusal: DomainError) -> dict[str, Any]:
    is_usable = isinstance(refusal, BadTable) and refusal.summary.is_usable
    return {
        "code": refusal.code,
        "problems": [vars(problem) for problem in problems_of(refusal)],
        "kinds": [vars(problem) for problem in kinds_of(refusal)],
        "can_leave_out": is_usable,
        "losses": refusal.summary.losses if isinstance(refusal, BadTable) else "",
    }


def start_import(request: ImportRequest) -> Job:
    """Queue an import. Raises `DomainError` if this upload is being imported already."""
    choice = request.choice
    options = {
        "token": request.upload.token,
        "name": request.upload.name,
        "title": request.title,
        "layout": choice.layout,
        # As pairs, because PostgreSQL orders the keys of an object, and systems are in the columns' order.
        "columns": list((choice.columns or {}).items()),
        "is_complete": choice.is_complete,
        "leave_out": list(choice.leave_out),
        "fill_down": list(choice.fill_down),
        "leave_out_errors": choice.leave_out_errors,
        "sheet": choice.sheet,
        "bad_rows": request.bad_rows,
        "known_dataset": request.known_dataset,
        "kind": request.kind,
        "template": request.template,
        "study": request.study,
        "ratings": None if request.ratings is None else asdict(request.ratings),
    }
    key = f"import:{request.upload.id}"
    return start_job(kind=ImportJob.name, exclusive_key=key, options=options, by=request.by)


def repeat_import(*, job: Job, leaves_out: bool = False, uses_known: bool = False) -> Job:
    """Import the upload of a failed job again, and accept what it was refused for."""
    request = _request_of(job)
    if leaves_out:
        request = replace(request, bad_rows="leave_out")
    if uses_known:
        request = replace(request, known_dataset="use")
    return start_import(request)


def _request_of(job: Job) -> ImportRequest:
    options = job.options
    if job.created_by is None:
        raise DomainError("no_importer", "The researcher who uploaded this file was deleted.")
    return ImportRequest(
        upload=kept_upload(token=options["token"], by=job.created_by),
        by=job.created_by,
        title=options["title"],
        choice=choice_in(options),
        bad_rows=options["bad_rows"],
        known_dataset=options["known_dataset"],
        kind=options.get("kind", ""),
        ratings=rating_choice_in(options),
        template=options.get("template", ""),
        study=options.get("study", ""),
    )


def rating_choice_in(options: dict[str, Any]) -> RatingChoice | None:
    """Return how a job reads ratings of other people, or None if its file has none."""
    chosen = options.get("ratings")
    return chosen and RatingChoice.from_json(chosen)


def choice_in(options: dict[str, Any]) -> Choice:
    """Return the choice that a job was started with."""
    return Choice(
        options["layout"],
        dict(options["columns"]),
        options["is_complete"],
        tuple(options.get("leave_out", ())),
        options.get("sheet", ""),
        tuple(options.get("fill_down", ())),
        options.get("leave_out_errors", False),
    )


def import_for(user: User, public_id: str) -> Job:
    """Return an import that the user started, or any for a superuser; else raise 404."""
    jobs = Job.objects.filter(kind=ImportJob.name, public_id=public_id)
    job = (jobs if user.is_superuser else jobs.filter(created_by=user)).first()
    if job is None:
        raise Http404("There is no such import.")
    return job


def kinds_listed(job: Job) -> list[ListedProblem]:
    """Return the problems for which an import was refused, equal ones once."""
    return [ListedProblem(**problem) for problem in job.result.get("kinds", [])]


def listed_problems(job: Job) -> list[ListedProblem]:
    """Return the problems for which an import was refused."""
    return [ListedProblem(**problem) for problem in job.result.get("problems", [])]

"""Studies: made from files or for a dataset, their settings, life cycle, counts and report."""

from typing import Any

from django.http import HttpResponse
from django.urls import reverse
from rest_framework.response import Response
from rest_framework.serializers import ListSerializer

from annotation.counts import study_counts
from annotation.filters import EVERYTHING, Filter
from annotation.imports.import_jobs import (
    ImportedUpload,
    ImportRequest,
    import_or_start,
    inspect_upload,
)
from annotation.imports.kept_uploads import keep_upload
from annotation.services.planning import draw_and_plan, plan_hits, take_all_and_plan
from annotation.services.systems import remove_system
from api.access import creator, visible_dataset, visible_studies, visible_study
from api.design import change_design
from api.pagination import StudyPagination
from api.resources import Resource, endpoint
from api.serializers.design import (
    MAX_SYSTEMS,
    CloneSerializer,
    DesignChange,
    NewStudy,
    SystemChange,
    SystemQuery,
)
from api.serializers.studies import (
    BundleUpload,
    ChangedStudy,
    CheckSerializer,
    CopiesOptions,
    DrawnPlan,
    ExistingRatings,
    ImportedStudy,
    MadeCopies,
    OpenOptions,
    PlanSerializer,
    Progress,
    QueuedImport,
    ReportQuery,
    SelectionOptions,
    StudyDetail,
    StudySummary,
    TableRead,
    TableUpload,
)
from api.validation import checked_form
from jobs.models import Job
from metrics.results.filters import FilterForm, asked_values
from metrics.results.services import choices_of, newest_report
from recruitment.services.cloning import clone_study
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.access import Right
from studies.data.perturbed_copies import CopiesMade, add_perturbed_copies
from studies.data.table_import import BadTable, Choice, ImportedTable, parse_columns
from studies.models import InstanceSelection, Study
from studies.services import create_study, delete_draft
from studies.systems.services import add_system, describe_systems
from tiebreak.errors import DomainError
from tiebreak.formats import FormatError
from tiebreak.formats.confined import BUNDLE, TABLE
from tiebreak.formats.layouts import Choice as RatingChoice
from tiebreak.formats.tables import TableSummary


class Studies(Resource):
    tag = "studies"
    lookup_url_kwarg, lookup_value_converter = "study_id", "public_id"

    @endpoint(gives=StudySummary, many=True, pages=StudyPagination)
    def list(self) -> Response:
        """List your studies."""
        pages = StudyPagination()
        studies = visible_studies(self.request).select_related("dataset")
        page = pages.paginate_queryset(studies, self.request, view=self)
        return pages.get_paginated_response(StudySummary(page, many=True).data)

    @endpoint(takes=BundleUpload, is_upload=True, gives={201: ImportedStudy, 202: QueuedImport})
    def create(self) -> Response:
        """Create a study from a bundle.

        The limits are the same as for uploads on the pages. All of the bundle is stored, or
        nothing. A file that is large after unpacking, or takes long to read, is imported by a worker: the answer is
        202 with the job, whose result names the study.
        """
        owner, values = creator(self.request), self.values
        kept = keep_upload(upload=values["bundle"], by=owner)
        wanted = ImportRequest(kept, owner, known_dataset=values["known_dataset"], kind=BUNDLE)
        imported = _imported(wanted)
        if isinstance(imported, Job):
            return _queued(imported)
        return _created(imported.study, ImportedStudy(imported.made))

    @endpoint(
        detail=False,
        url_path="from-table",
        takes=TableUpload,
        is_upload=True,
        gives={200: TableRead, 201: TableRead, 202: QueuedImport},
    )
    def from_table(self) -> Response:
        """Create a study from a table.

        The layout and the columns are guessed where they are left out; with `dry_run`, nothing is
        stored, and of a large table only the first rows are read. All of the table is stored, or
        nothing. A large file is imported by a worker, as a large bundle is.
        """
        owner, values = creator(self.request), self.values
        choice = Choice(
            values["layout"] or None,
            parse_columns(values["columns"]),
            leave_out=tuple(values["leave_out"]),
            sheet=values["sheet"],
            fill_down=tuple(values["fill_down"]),
            leave_out_errors=values["leave_out_errors"],
        )
        kept = keep_upload(upload=values["table"], by=owner)
        if values["dry_run"]:
            try:
                _, summary, is_preview = inspect_upload(kept, choice)
            finally:
                kept.remove()
            return Response(_read(summary, None, is_preview=is_preview).data)
        wanted = ImportRequest(
            kept,
            owner,
            title=values["title"],
            choice=choice,
            bad_rows="leave_out" if values["leave_out_bad_rows"] else "refuse",
            known_dataset=values["known_dataset"],
            kind=TABLE,
        )
        try:
            imported = _imported(wanted)
        except FormatError as error:
            raise BadTable(TableSummary.of_refusal(error)) from error
        if isinstance(imported, Job):
            return _queued(imported)
        assert isinstance(imported.made, ImportedTable)
        return _created(imported.study, _read(imported.made.summary, imported.study.pk))

    @endpoint(
        detail=False,
        url_path="from-ratings",
        takes=ExistingRatings,
        is_upload=True,
        gives={201: ImportedStudy, 202: QueuedImport},
    )
    def from_ratings(self) -> Response:
        """Create a closed study from ratings that were collected elsewhere.

        The file is that of an annotation platform, or a table in any layout, in which what is left out
        is guessed. The first remark says what was read. If it is not clear who rated what, the answer
        is 400, and nothing is stored. A large file is imported by a worker, as a large bundle is.
        """
        owner, values = creator(self.request), self.values
        choice = RatingChoice.parse(
            values["columns"],
            values["leave_out"],
            values["scales"],
            reader=values["reader"],
            sheet=values["sheet"],
            fill_down=values["fill_down"],
        )
        kept = keep_upload(upload=values["ratings"], by=owner)
        wanted = ImportRequest(
            kept,
            owner,
            title=values["title"],
            known_dataset=values["known_dataset"],
            ratings=choice,
        )
        imported = _imported(wanted)
        if isinstance(imported, Job):
            return _queued(imported)
        return _created(imported.study, ImportedStudy(imported.made))

    @endpoint(detail=False, url_path="without-file", takes=NewStudy, gives={201: StudyDetail})
    def without_file(self) -> Response:
        """Create a study without a file.

        A draft for a dataset that is on the server, or without one, with a first question.
        """
        owner, values = creator(self.request), self.values
        if values["dataset"] is not None:
            values["dataset"] = visible_dataset(self.request, values["dataset"])
        study = create_study(study=Study(**values), owner=owner)
        return _created(study, StudyDetail(study))

    @endpoint(gives=StudyDetail)
    def retrieve(self) -> Study:
        """Read a study's design and state."""
        return self.study()

    @endpoint(takes=DesignChange, gives=ChangedStudy)
    def partial_update(self) -> dict[str, Any]:
        """Change a study's design.

        Settings that are left out stay as they are; a list replaces the whole list. Once a study
        has been opened, only settings that do not change what its ratings mean can be changed.
        """
        study = self.study()
        added = change_design(study, self.values, self.request)
        return {"study": Study.objects.get(pk=study.pk), "added_places": added}

    @endpoint()
    def destroy(self) -> None:
        """Delete a draft.

        Studies that have been opened are kept, because ratings are append-only.
        """
        delete_draft(study=self.study(Right.OWN))

    @endpoint(detail=True, gives={201: CloneSerializer})
    def clone(self) -> Response:
        """Clone a study.

        Creates a draft with the same design and without ratings.
        """
        creator(self.request)
        clone = clone_study(study=self.study())
        return _created(clone.study, CloneSerializer(clone))

    @endpoint(
        detail=True,
        method="patch",
        takes=ListSerializer(child=SystemChange(), max_length=MAX_SYSTEMS),
        gives=SystemChange,
        many=True,
    )
    def systems(self) -> Any:
        """Set how systems write texts.

        Changes the language models, prompts and decoding settings of the dataset's systems that are
        named. They are used when texts are generated.
        """
        return describe_systems(study=self.study(), rows=self.values)

    @endpoint(
        detail=True, url_path="perturbed-copies", takes=CopiesOptions, gives=MadeCopies, status=201
    )
    def perturbed_copies(self) -> CopiesMade:
        """Add perturbed copies of a draft's texts by rules.

        Each is scored like its original. A language model writes them in a job.
        """
        return add_perturbed_copies(study=self.study(), by=self.by, **self.values)

    @systems.mapping.post  # type: ignore[untyped-decorator]
    @endpoint(takes=SystemChange, gives=SystemChange, status=201)
    def add_system(self) -> Any:
        """Add a system to a draft.

        The last of the study's systems, whose texts are made by a job. Its name must be new in the dataset.
        """
        return add_system(study=self.study(), **self.values)

    @systems.mapping.delete  # type: ignore[untyped-decorator]
    @endpoint(query=SystemQuery)
    def remove_system(self) -> None:
        """Remove a system from a draft.

        With its texts, its scores and the plan, as long as no other study uses it.
        """
        remove_system(study=self.study(), name=self.values["name"])

    @endpoint(detail=True, gives=PlanSerializer)
    def plan(self) -> Any:
        """Plan the tasks of a draft.

        Replaces an earlier plan. A study must be planned before it is opened.
        """
        return plan_hits(study=self.study())

    @endpoint(detail=True, takes=SelectionOptions, gives=DrawnPlan)
    def selection(self) -> dict[str, Any]:
        """Draw instances and plan their tasks.

        Needs separability scores by the study's similarity or, for the design `doubt`, a pilot with
        machine ratings of all instances that shows a gain; `length` needs texts only. Replaces an earlier draw and plan of a
        draft.
        """
        study, values = self.study(), self.values
        pilot = values.pop("pilot", None)
        if pilot is not None:
            values["pilot"] = visible_study(self.request, pilot, Right.READ)
        design = InstanceSelection(study=study, **values)
        drawn, plan = draw_and_plan(study=study, design=design, by=self.by)
        return {"drawn": drawn, "plan": plan}

    @selection.mapping.delete  # type: ignore[untyped-decorator]
    @endpoint(gives=PlanSerializer)
    def take_all(self) -> Any:
        """Take all instances and plan their tasks.

        Deletes the draw and the plan of a draft.
        """
        return take_all_and_plan(study=self.study(), by=self.by)

    @endpoint(detail=True, method="get", url_path="launch-checks", gives=CheckSerializer, many=True)
    def launch_checks(self) -> Any:
        """Read the launch checks.

        What keeps the study from opening (errors), and what you have to confirm (warnings).
        """
        return launch_checks(self.study())

    @endpoint(detail=True, takes=OpenOptions, gives=StudySummary)
    def open(self) -> Study:
        """Open a draft or a paused study.

        Lets annotators in. `problems` of a refusal lists the launch checks; repeat the request with
        the codes of the warnings that you accept.
        """
        return open_study(study=self.study(), by=self.by, **self.values)

    @endpoint(detail=True, gives=StudySummary)
    def pause(self) -> Study:
        """Pause an open study.

        No new places are handed out; annotators may finish those that they hold.
        """
        return pause_study(study=self.study(), by=self.by)

    @endpoint(detail=True, gives=StudySummary)
    def close(self) -> Study:
        """Close an open or paused study.

        Answers that still arrive are stored and flagged late.
        """
        return close_study(study=self.study(), by=self.by)

    @endpoint(detail=True, gives=StudySummary)
    def reopen(self) -> Study:
        """Reopen a closed study."""
        return reopen_study(study=self.study(), by=self.by)

    @endpoint(detail=True, method="get", gives=Progress)
    def progress(self) -> Any:
        """Read a study's counts."""
        return study_counts(self.study(Right.SEE))

    @endpoint(
        detail=True,
        method="get",
        query=ReportQuery,
        gives={(200, "application/json"): dict[str, Any]},
    )
    def report(self) -> HttpResponse:
        """Read a study's report.

        The stored report, as its JSON schema describes it. The Tiebreak-Report header says
        whether it is `current` or `outdated`; in that case, and if there is none yet, a new one is
        requested. With any of the other parameters it covers a part of the ratings, which
        `source.part` names. Of many parts some differ by chance, so call a part chosen after seeing
        the data exploratory.
        """
        study, query = self.study(Right.READ), self.values
        report, is_current = newest_report(
            study=study, chosen=_chosen(study, query), must_be_current=query["current"]
        )
        state = "current" if is_current else "outdated"
        return Response(report.as_json(), headers={"Tiebreak-Report": state})


def _chosen(study: Study, query: dict[str, Any]) -> Filter:
    """Return the part that is asked for, by the form of the pages."""
    if not asked_values(query):
        return EVERYTHING
    form = FilterForm(choices_of(study=study), query)
    checked_form(form)
    return form.filter


def _imported(wanted: ImportRequest) -> ImportedUpload | Job:
    """Import a program's upload, which no page comes back to if it is refused."""
    try:
        return import_or_start(wanted)
    except (DomainError, MemoryError):
        wanted.upload.remove()
        raise


def _queued(job: Job) -> Response:
    url = reverse("api:import-detail", args=[job.public_id])
    body = QueuedImport({"job": job.public_id}).data
    return Response(body, status=202, headers={"Location": url})


def _read(summary: TableSummary, study: str | None, *, is_preview: bool = False) -> TableRead:
    return TableRead({"study": study, "is_preview": is_preview, **summary.as_json()})


def _created(study: Study, shown: Any) -> Response:
    url = reverse("api:study-detail", args=[study.pk])
    return Response(shown.data, status=201, headers={"Location": url})

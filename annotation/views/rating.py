"""The rating pages. Every request leads to the page that the annotator should see next."""

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple
from uuid import uuid4

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms import AnswerForm
from annotation.hot_path_sql import find_work_of, unit_with_texts
from annotation.messages import (
    ANSWER_NOTES,
    CHECKS_MISSED,
    DAMAGED_ANSWER,
    NO_ANSWER,
    PLACE_LOST,
)
from annotation.models import Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import (
    AnnotatorProgress,
    Worksheet,
    is_a_first,
    latest_assignment,
    lost_previous_place,
    progress_of,
    worksheet,
)
from annotation.services.places import NotCleared, NoWorkLeft, find_work
from annotation.services.ratings import submit_ratings
from annotation.services.screening import judged, screening_of
from annotation.views.participation_cookie import (
    SeeOther,
    annotator_page,
    current_participation,
    is_htmx,
    participation_stub,
)
from annotation.views.steps import feedback_on, step_page
from annotation.views.unit_presentation import (
    UnitPage,
    field_of,
    labels_as_shown,
    unit_page,
    unit_total,
)
from studies.models import Study
from tiebreak.errors import DomainError


class Note(NamedTuple):
    """A message shown next to the unit or to its saved answer."""

    code: str
    sentence: str


LOST = Note("place_lost", PLACE_LOST)
WARNING = Note("checks_missed", CHECKS_MISSED)
Status = Participation.Status


@require_safe
@annotator_page
def rate(request: HttpRequest, study_id: str) -> HttpResponse:
    stub = participation_stub(request, study_id)
    if stub is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    try:
        work = find_work(participation=stub)
    except DomainError as refusal:
        return _page_without_work(request, study_id, refusal)
    sheet = worksheet(work.assignment, () if work.is_new else None)
    may_have_lost = work.is_new and work.has_unfinished
    return _page(
        request,
        sheet,
        sheet.first_open or max(sheet.hit_units),
        progress=work.progress,
        notice=LOST if may_have_lost and lost_previous_place(work.assignment) else None,
    )


def _page_without_work(request: HttpRequest, study_id: str, refusal: DomainError) -> HttpResponse:
    """Return the page for an annotator who gets no place, either now or at all."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    if isinstance(refusal, NotCleared):
        return _step(request, participation)
    if isinstance(refusal, NoWorkLeft):
        return redirect(settings.ANNOTATOR_END_URL, study_id)
    raise refusal


def _step(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Return the page of a step before the first HIT. Training and tests look like any HIT."""
    page = step_page(request, participation)
    if isinstance(page, HttpResponse):
        return page
    sheet = worksheet(page)
    position = sheet.first_open or max(sheet.hit_units)
    return _page(request, sheet, position, progress=AnnotatorProgress(0, 1))


@require_safe
@annotator_page
def look_back(request: HttpRequest, study_id: str, position: int) -> HttpResponse:
    """Show an answered unit of the current HIT, so that it can be corrected. Takes no place."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    assignment = latest_assignment(participation)
    if assignment is None or participation.status != Participation.Status.ACTIVE:
        return redirect("annotation:rate", study_id)
    sheet = _sheet(participation, assignment)
    if position not in sheet.hit_units or not sheet.is_answered(position):
        return redirect("annotation:rate", study_id)
    return _page(request, sheet, position, progress=progress_of(participation))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def answer(request: HttpRequest, study_id: str) -> HttpResponse:
    if request.method != "POST":
        return redirect("annotation:rate", study_id)
    stub = participation_stub(request, study_id)
    if stub is None:
        raise Http404("This browser has no participation in the study.")
    form = AnswerForm(request.POST)
    if not form.is_valid():
        raise DomainError("damaged_answer", DAMAGED_ANSWER, status=400)
    sheet, position = _answered_unit(stub, form)
    labels = _submitted_labels(request, sheet)
    try:
        ratings = _save(form, sheet, position, labels)
    except DomainError as refusal:
        if is_htmx(request):
            raise
        participation = sheet.assignment.participation
        assert participation is not None
        return _page(
            request,
            worksheet(sheet.assignment),
            position,
            progress=progress_of(participation),
            submitted=labels,
            refusal=refusal,
        )
    sheet = worksheet(sheet.assignment, ratings)
    if is_htmx(request):
        context = _navigation(study_id, sheet, position) | {
            "feedback": _training_feedback(sheet, position),
            "status_note": _status_note(ratings, sheet.assignment.participation),
            "may_stop": _may_stop(sheet, hits_completed=0),
        }
        return render(request, "annotation/answer_saved.html", context)
    if sheet.assignment.stage == ScreeningAttempt.Stage.TRAINING:
        return SeeOther(reverse("annotation:rate-position", args=[study_id, position]))
    return SeeOther(reverse("annotation:rate", args=[study_id]))


def _training_feedback(sheet: Worksheet, position: int) -> list[dict[str, Any]]:
    """Return the expected answers to a training unit once it has been answered."""
    if sheet.assignment.stage != ScreeningAttempt.Stage.TRAINING or not sheet.is_answered(position):
        return []
    unit = sheet.hit_units[position].unit_id
    return [
        feedback_on(row, right) for row, right in judged(sheet.assignment) if row.unit_id == unit
    ]


def _sheet(participation: Participation, assignment: Assignment) -> Worksheet:
    # The participation and its study are already loaded, so the selectors need not query them.
    assignment.participation = participation
    assignment.hit.study = participation.study
    return worksheet(assignment)


def _answered_unit(stub: Participation, form: AnswerForm) -> tuple[Worksheet, int]:
    """Return the worksheet and position of an answer, or raise 404 if they are somebody else's."""
    public_id = form.cleaned_data["assignment"]
    assignment = find_work_of(public_id, stub.public_id, stub.study_id)
    if assignment is None:
        raise Http404("No such assignment in this participation.")
    sheet = worksheet(assignment, ())
    position: int = form.cleaned_data["position"]
    if position not in sheet.hit_units:
        raise Http404("No such unit in this assignment.")
    return sheet, position


def _submitted_labels(request: HttpRequest, sheet: Worksheet) -> dict[int, str]:
    labels = {c.pk: request.POST.get(field_of(c), "").strip() for c in sheet.criteria}
    return {criterion: label for criterion, label in labels.items() if label}


def _save(
    form: AnswerForm, sheet: Worksheet, position: int, labels: Mapping[int, str]
) -> list[Rating]:
    """Save all submitted labels of a unit, or none. Returns the assignment's ratings."""
    if not labels:
        raise DomainError("no_answer", NO_ANSWER, status=400)
    answers = {
        criterion: form.answer(labels[criterion.pk])
        for criterion in sheet.criteria
        if criterion.pk in labels
    }
    return submit_ratings(
        assignment=sheet.assignment, hit_unit=sheet.hit_units[position], answers=answers
    )


def _page(
    request: HttpRequest,
    sheet: Worksheet,
    position: int,
    *,
    progress: AnnotatorProgress,
    submitted: Mapping[int, str] | None = None,
    refusal: DomainError | None = None,
    notice: Note | None = None,
) -> HttpResponse:
    study = sheet.assignment.hit.study
    is_completed = sheet.assignment.status == Assignment.Status.COMPLETED
    context = {
        **_navigation(study.pk, sheet, position),
        "study": study,
        "page": _unit_page(sheet, position, submitted or {}),
        "assignment": sheet.assignment.public_id,
        "position": position,
        "client_key": uuid4(),
        "hit": progress.completed if is_completed else progress.completed + 1,
        "hits": progress.total,
        "needed": _pass_mark(sheet.assignment),
        "feedback": _training_feedback(sheet, position),
        "may_stop": _may_stop(sheet, progress.completed),
        "notice": WARNING if _is_warned(sheet.assignment) else notice,
        "refusal": refusal,
    }
    return render(
        request, "annotation/unit.html", context, status=refusal.status if refusal else 200
    )


def _may_stop(sheet: Worksheet, hits_completed: int) -> bool:
    """Whether to offer stopping, which is possible between two HITs while more are available.

    Reads only what is already loaded, because the function runs for every answer. The page behind
    the link checks again.
    """
    participation, assignment = sheet.assignment.participation, sheet.assignment
    is_done = sheet.first_open is None
    is_between_hits = is_done or (hits_completed and not sheet.answered)
    if participation is None or assignment.stage or not is_between_hits:
        return False
    study = assignment.hit.study
    is_last = is_done and assignment.position >= (study.hits_per_annotator or inf)
    if is_last or study.status == Study.Status.CLOSED or participation.status != Status.ACTIVE:
        return False
    return participation.may_leave_early


def _status_note(ratings: list[Rating], participation: Participation | None) -> Note | None:
    """Return the note for the newest answer if it was saved but may not be counted."""
    latest = max((row for row in ratings if not row.superseded), key=lambda row: row.pk)
    has_left = participation is not None and participation.status == Status.LEFT
    if latest.late:
        code = "late"
    elif latest.excluded:
        code = "excluded"
    elif latest.surplus or latest.partial:
        code = "left" if has_left else "surplus"
    else:
        return None
    return Note(code, ANSWER_NOTES[code])


def _pass_mark(assignment: Assignment) -> int | None:
    """Return how many units of a test must be answered correctly, or None outside a test."""
    if assignment.stage != ScreeningAttempt.Stage.QUALIFICATION:
        return None
    screening = screening_of(assignment.hit.study)
    return screening.pass_mark if screening else None


def _is_warned(assignment: Assignment) -> bool:
    participation = assignment.participation
    return participation is not None and participation.warned_at is not None


def _unit_page(sheet: Worksheet, position: int, submitted: Mapping[int, str]) -> UnitPage:
    hit_unit = sheet.hit_units[position]
    a_first = is_a_first(sheet.assignment, hit_unit)
    stored = labels_as_shown(sheet.labels_of(position), sheet.criteria, a_first=a_first)
    return unit_page(
        unit_with_texts(hit_unit.unit_id),
        sheet.criteria,
        a_first=a_first,
        shown_labels={**stored, **submitted},
    )


def _navigation(study_id: str, sheet: Worksheet, position: int) -> dict[str, Any]:
    """Return the annotator's progress in the HIT and the addresses of the neighbouring pages."""
    positions = list(sheet.hit_units)
    index = positions.index(position)
    previous = positions[index - 1] if index else None
    following = next((n for n in positions[index + 1 :] if sheet.is_answered(n)), None)
    rate_url = reverse("annotation:rate", args=[study_id])
    return {
        "study_id": study_id,
        "index": index + 1,
        **unit_total(*sheet.announced_total),
        "answered": sheet.answered,
        "stored": len(sheet.labels_of(position)),
        "asked": len(sheet.criteria),
        "is_answered": sheet.is_answered(position),
        "stage": sheet.assignment.stage,
        "is_hit_done": sheet.first_open is None,
        "previous_url": f"{rate_url}{previous}/" if previous else "",
        # Without a position, the address leads to the first open unit.
        "next_url": f"{rate_url}{following}/" if following else rate_url,
    }

"""Rating: every request is sent to the one page where the annotator should be."""

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
from annotation.models import Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import (
    AnnotatorProgress,
    Worksheet,
    is_a_first,
    latest_assignment,
    lost_last,
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
from annotation.views.steps import lesson, step_page
from annotation.views.unit_presentation import (
    UnitPage,
    announcement,
    field_of,
    labels_as_shown,
    unit_page,
)
from studies.models import Study
from tiebreak.errors import DomainError


class Note(NamedTuple):
    """What an annotator is told beside the unit or its answer."""

    code: str
    sentence: str


CHOOSE = "Please choose an answer."
LOST = Note(
    "place_lost",
    "The time for your last task ran out before it was complete, and somebody else took it over."
    " What you answered there is kept. This is another task.",
)
WARNING = Note(
    "checks_missed",
    "Please read carefully: some of your answers did not fit texts where the right answer is"
    " known. If that goes on, your part in this study may end.",
)
Status = Participation.Status
# Said beside "Saved" by the flag an answer got.
STATUS_NOTES = {
    "late": "The study was closed before this came, so it may not be counted.",
    "excluded": "Your part in this study has ended, so this is kept and not counted.",
    "surplus": "The time for this task ran out and somebody else took it over. Your answer is kept"
    " but may not be counted. Please go on with the next task.",
    "left": "You stopped before this answer came, so it is kept but may not be counted.",
}
DAMAGED = "Your answer arrived damaged and was not saved. Please reload the page and answer again."


@require_safe
@annotator_page
def rate(request: HttpRequest, study_id: str) -> HttpResponse:
    named = participation_stub(request, study_id)
    if named is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    try:
        work = find_work(participation=named)
    except DomainError as refusal:
        return _elsewhere(request, study_id, refusal)
    sheet = worksheet(work.assignment, () if work.is_new else None)
    return _page(
        request,
        sheet,
        sheet.first_open or max(sheet.hit_units),
        share=work.share,
        notice=LOST if work.is_new and work.has_left and lost_last(work.assignment) else None,
    )


def _elsewhere(request: HttpRequest, study_id: str, refusal: DomainError) -> HttpResponse:
    """The page for whom there is no place, or not yet."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    if isinstance(refusal, NotCleared):
        return _step(request, participation)
    if isinstance(refusal, NoWorkLeft):
        return redirect(settings.ANNOTATOR_END_URL, study_id)
    raise refusal


def _step(request: HttpRequest, participation: Participation) -> HttpResponse:
    """What comes before the first place; a training or test has pages like any HIT."""
    page = step_page(request, participation)
    if isinstance(page, HttpResponse):
        return page
    sheet = worksheet(page)
    share = AnnotatorProgress(0, 1)
    return _page(request, sheet, sheet.first_open or max(sheet.hit_units), share=share)


@require_safe
@annotator_page
def look_back(request: HttpRequest, study_id: str, position: int) -> HttpResponse:
    """An answered unit of the HIT at hand, to correct it; it reserves nothing."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    assignment = latest_assignment(participation)
    if assignment is None or participation.status != Participation.Status.ACTIVE:
        return redirect("annotation:rate", study_id)
    sheet = _sheet(participation, assignment)
    if position not in sheet.hit_units or not sheet.is_answered(position):
        return redirect("annotation:rate", study_id)
    return _page(request, sheet, position, share=progress_of(participation))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def answer(request: HttpRequest, study_id: str) -> HttpResponse:
    if request.method != "POST":
        return redirect("annotation:rate", study_id)
    named = participation_stub(request, study_id)
    if named is None:
        raise Http404("This browser has no part in the study.")
    form = AnswerForm(request.POST)
    if not form.is_valid():
        raise DomainError("damaged_answer", DAMAGED, status=400)
    sheet, number = _addressed(named, form)
    shown = _chosen(request, sheet)
    try:
        ratings = _save(form, sheet, number, shown)
    except DomainError as refusal:
        if is_htmx(request):
            raise
        participation = sheet.assignment.participation
        assert participation is not None
        share = progress_of(participation)
        return _page(
            request, worksheet(sheet.assignment), number, share=share, given=shown, refusal=refusal
        )
    sheet = worksheet(sheet.assignment, ratings)
    if is_htmx(request):
        steps = _steps(study_id, sheet, number)
        told = {
            "lessons": _lessons(sheet, number),
            "status_note": _status_note(ratings, sheet.assignment.participation),
            "may_stop": _may_stop(sheet, done=0),
        }
        return render(request, "annotation/saved.html", steps | told)
    if sheet.assignment.stage == ScreeningAttempt.Stage.TRAINING:
        return SeeOther(reverse("annotation:rate-position", args=[study_id, number]))
    return SeeOther(reverse("annotation:rate", args=[study_id]))


def _lessons(sheet: Worksheet, number: int) -> list[dict[str, Any]]:
    """In training, what is held to be right is said once a unit was answered."""
    if sheet.assignment.stage != ScreeningAttempt.Stage.TRAINING or not sheet.is_answered(number):
        return []
    unit = sheet.hit_units[number].unit_id
    return [lesson(row, right) for row, right in judged(sheet.assignment) if row.unit_id == unit]


def _sheet(participation: Participation, assignment: Assignment) -> Worksheet:
    # Both are at hand; without this the selectors would fetch them again.
    assignment.participation = participation
    assignment.hit.study = participation.study
    return worksheet(assignment)


def _addressed(named: Participation, form: AnswerForm) -> tuple[Worksheet, int]:
    """The unit an answer belongs to: one of this annotator's own, or it does not exist."""
    public_id = form.cleaned_data["assignment"]
    assignment = find_work_of(public_id, named.public_id, named.study_id)
    if assignment is None:
        raise Http404("No such assignment in this participation.")
    sheet = worksheet(assignment, ())
    number: int = form.cleaned_data["position"]
    if number not in sheet.hit_units:
        raise Http404("No such unit in this assignment.")
    return sheet, number


def _chosen(request: HttpRequest, sheet: Worksheet) -> dict[int, str]:
    given = {c.pk: request.POST.get(field_of(c), "").strip() for c in sheet.criteria}
    return {criterion: label for criterion, label in given.items() if label}


def _save(
    form: AnswerForm, sheet: Worksheet, number: int, shown: Mapping[int, str]
) -> list[Rating]:
    """All that was sent of a unit, or nothing. Returns what the assignment's answers are now."""
    if not shown:
        raise DomainError("no_answer", CHOOSE, status=400)
    answers = {
        criterion: form.answer(shown[criterion.pk])
        for criterion in sheet.criteria
        if criterion.pk in shown
    }
    return submit_ratings(
        assignment=sheet.assignment, hit_unit=sheet.hit_units[number], answers=answers
    )


def _page(
    request: HttpRequest,
    sheet: Worksheet,
    number: int,
    *,
    share: AnnotatorProgress,
    given: Mapping[int, str] | None = None,
    refusal: DomainError | None = None,
    notice: Note | None = None,
) -> HttpResponse:
    study = sheet.assignment.hit.study
    is_done = sheet.assignment.status == Assignment.Status.COMPLETED
    context = {
        **_steps(study.pk, sheet, number),
        "study": study,
        "page": _unit_page(sheet, number, given or {}),
        "assignment": sheet.assignment.public_id,
        "position": number,
        "client_key": uuid4(),
        "hit": share.done if is_done else share.done + 1,
        "hits": share.of,
        "needed": _needed(sheet.assignment),
        "lessons": _lessons(sheet, number),
        "may_stop": _may_stop(sheet, share.done),
        "notice": WARNING if _is_warned(sheet.assignment) else notice,
        "refusal": refusal,
    }
    return render(
        request, "annotation/unit.html", context, status=refusal.status if refusal else 200
    )


def _may_stop(sheet: Worksheet, done: int) -> bool:
    """Between two HITs, with one done and more to come: then stopping here is offered.

    Told from what is at hand, because every answer asks; the page behind the link counts.
    """
    participation, own = sheet.assignment.participation, sheet.assignment
    is_done = sheet.first_open is None
    is_between = is_done or (done and not sheet.answered)
    if participation is None or own.stage or not is_between:
        return False
    study = own.hit.study
    is_last = is_done and own.position >= (study.hits_per_annotator or inf)
    if is_last or study.status == Study.Status.CLOSED or participation.status != Status.ACTIVE:
        return False
    return participation.may_leave_early


def _status_note(ratings: list[Rating], participation: Participation | None) -> Note | None:
    """What became of the answer just given, where it is not simply saved."""
    latest = max((each for each in ratings if not each.superseded), key=lambda each: each.pk)
    has_left = participation is not None and participation.status == Status.LEFT
    if latest.late:
        code = "late"
    elif latest.excluded:
        code = "excluded"
    elif latest.surplus or latest.partial:
        code = "left" if has_left else "surplus"
    else:
        return None
    return Note(code, STATUS_NOTES[code])


def _needed(assignment: Assignment) -> int | None:
    """How many units of a test have to be right; None elsewhere."""
    if assignment.stage != ScreeningAttempt.Stage.QUALIFICATION:
        return None
    screening = screening_of(assignment.hit.study)
    return screening.pass_mark if screening else None


def _is_warned(assignment: Assignment) -> bool:
    participation = assignment.participation
    return participation is not None and participation.warned_at is not None


def _unit_page(sheet: Worksheet, number: int, given: Mapping[int, str]) -> UnitPage:
    hit_unit = sheet.hit_units[number]
    a_first = is_a_first(sheet.assignment, hit_unit)
    stored = labels_as_shown(sheet.labels_of(number), sheet.criteria, a_first=a_first)
    return unit_page(
        unit_with_texts(hit_unit.unit_id),
        sheet.criteria,
        a_first=a_first,
        shown_labels={**stored, **given},
    )


def _steps(study_id: str, sheet: Worksheet, number: int) -> dict[str, Any]:
    """Where the annotator stands in the HIT, and which pages lie before and behind."""
    numbers = list(sheet.hit_units)
    index = numbers.index(number)
    earlier = numbers[index - 1] if index else None
    later = next((n for n in numbers[index + 1 :] if sheet.is_answered(n)), None)
    here = reverse("annotation:rate", args=[study_id])
    return {
        "study_id": study_id,
        "index": index + 1,
        **announcement(*sheet.announced),
        "answered": sheet.answered,
        "stored": len(sheet.labels_of(number)),
        "asked": len(sheet.criteria),
        "is_answered": sheet.is_answered(number),
        "stage": sheet.assignment.stage,
        "is_hit_done": sheet.first_open is None,
        "previous_url": f"{here}{earlier}/" if earlier else "",
        # Without a number: the page where the annotator should be.
        "next_url": f"{here}{later}/" if later else here,
    }

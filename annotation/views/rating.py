"""The rating pages. Every request leads to the page that the annotator should see next."""

from collections.abc import Mapping
from uuid import uuid4

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms import AnswerForm, shown_value
from annotation.hot_path_sql import unit_with_texts
from annotation.messages import CHECKS_MISSED, DAMAGED_ANSWER, PLACE_LOST, TEST_PASSED, Note
from annotation.models import Assignment, Participation, ScreeningAttempt
from annotation.screen_keys import screen_key
from annotation.selectors import (
    TaskPosition,
    Worksheet,
    has_test,
    is_a_first,
    lost_previous_place,
    marks_differences,
    mixes_in_checks,
    nonresponses_of,
    position_among_tasks,
    task_position_of,
    task_to_correct,
    worksheet,
    worksheet_of,
)
from annotation.services.places import NotCleared, NoWorkLeft, Work, find_work, note_opened
from annotation.services.ratings import Answer, RatingResult, submit_ratings
from annotation.services.screening import has_passed_test, screening_of, training_feedback
from annotation.views.comment_box import CommentBox, CommentForm, sent_comment
from annotation.views.participation_cookie import (
    SeeOther,
    annotator_page,
    current_participation,
    is_htmx,
    participation_stub,
)
from annotation.views.screening_steps import feedback_on, step_page
from annotation.views.unit_presentation import (
    ShownAnswer,
    UnitPage,
    answers_as_shown,
    unit_page,
)
from studies.models import Criterion, Study
from tiebreak.errors import DomainError


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
    position = sheet.first_open or max(sheet.hit_units)
    note_opened(work.assignment, position)
    return _page(
        request,
        sheet,
        position,
        task_position=position_among_tasks(sheet, position, work.progress, work.previous),
        notice=_notice(work, may_have_lost=may_have_lost),
    )


def _notice(work: Work, *, may_have_lost: bool) -> Note | None:
    """Return what somebody must know about a new task: that it is the first after the test, or another."""
    if may_have_lost and lost_previous_place(work.assignment):
        return PLACE_LOST
    is_first = work.is_new and not work.progress.completed and has_test(work.assignment.hit.study)
    return TEST_PASSED if is_first and has_passed_test(work.assignment) else None


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
    return _page(request, sheet, position, task_position=TaskPosition(number=1, total=1))


@require_safe
@annotator_page
def look_back(
    request: HttpRequest, study_id: str, position: int | None = None, task: str | None = None
) -> HttpResponse:
    """Show an answered unit so that it can be corrected. Takes no place.

    By default, it is the last answered unit of the latest HIT.
    """
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    assignment = task_to_correct(participation, task)
    # An address that shows an answered item would tell which items share a task.
    if assignment is None or (not assignment.stage and mixes_in_checks(participation.study)):
        return redirect("annotation:rate", study_id)
    # The participation and its study are already loaded, so the selectors need not query them.
    assignment.participation, assignment.hit.study = participation, participation.study
    sheet = worksheet(assignment)
    position = max(sheet.answered, default=0) if position is None else position
    if position not in sheet.answered:
        return redirect("annotation:rate", study_id)
    return _page(request, sheet, position, task_position=task_position_of(sheet, position))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def answer(request: HttpRequest, study_id: str) -> HttpResponse:
    """Store the answers to one unit, and show the result."""
    if request.method != "POST":
        return redirect("annotation:rate", study_id)
    participation = participation_stub(request, study_id)
    if participation is None:
        raise Http404("This browser has no participation in the study.")
    form = AnswerForm(request.POST)
    if not form.is_valid():
        raise DomainError("damaged_answer", DAMAGED_ANSWER, status=400)
    sheet = worksheet_of(form.cleaned_data["assignment"], participation)
    position = form.cleaned_data["position"]
    if sheet is None or position not in sheet.hit_units:
        raise Http404("This participation has no such assignment or item.")
    answers = form.answers(sheet.criteria)
    try:
        result = submit_ratings(sheet=sheet, position=position, answers=answers)
    except DomainError as refusal:
        if is_htmx(request):
            raise
        return _refused(request, sheet.assignment, position, answers, refusal)
    return _result_page(request, sheet.assignment.hit.study, result)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def comment(request: HttpRequest, study_id: str) -> HttpResponse:
    """Save the comment on one unit, and show the same unit again."""
    if request.method != "POST":
        return redirect("annotation:rate", study_id)
    participation = participation_stub(request, study_id)
    form = CommentForm(request.POST)
    if participation is None or not form.is_valid():
        raise Http404("This browser has no such item.")
    sheet = worksheet_of(form.cleaned_data["assignment"], participation)
    position = form.cleaned_data["position"]
    person = sheet.assignment.participation if sheet else None
    if sheet is None or person is None or position not in sheet.hit_units:
        raise Http404("This participation has no such assignment or item.")
    item = (sheet.assignment, sheet.hit_units[position])
    box = sent_comment(request, person, item)
    if is_htmx(request):
        return render(request, "annotation/comment_status.html", {"comment": box})
    sheet = worksheet(sheet.assignment)
    at = task_position_of(sheet, position)
    return _page(request, sheet, position, task_position=at, comment=box)


def _result_page(request: HttpRequest, study: Study, result: RatingResult) -> HttpResponse:
    """Return what changes on the page or, without JavaScript, a redirect to the next page."""
    if is_htmx(request):
        context = {
            "study": study,
            "study_id": study.pk,
            "progress": result.progress,
            "note": result.note,
            "feedback": [feedback_on(*verdict) for verdict in result.feedback],
        }
        return render(request, "annotation/answer_saved.html", context)
    if result.next_position is not None:
        return SeeOther(reverse("annotation:rate-position", args=[study.pk, result.next_position]))
    return SeeOther(reverse("annotation:rate", args=[study.pk]))


def _refused(
    request: HttpRequest,
    assignment: Assignment,
    position: int,
    answers: Mapping[Criterion, Answer],
    refusal: DomainError,
) -> HttpResponse:
    """Return the page again with what was chosen, and why it was refused."""
    sheet = worksheet(assignment)
    return _page(
        request,
        sheet,
        position,
        task_position=task_position_of(sheet, position),
        submitted={
            criterion.pk: ShownAnswer(shown_value(answer), answer.reason)
            for criterion, answer in answers.items()
        },
        refusal=refusal,
    )


def _page(
    request: HttpRequest,
    sheet: Worksheet,
    position: int,
    *,
    task_position: TaskPosition,
    submitted: Mapping[int, ShownAnswer] | None = None,
    refusal: DomainError | None = None,
    notice: Note | None = None,
    comment: CommentBox | None = None,
) -> HttpResponse:
    assignment, participation = sheet.assignment, sheet.assignment.participation
    study = assignment.hit.study
    progress = sheet.progress_at(position)
    names = (assignment.public_id, position)
    if not progress.is_numbered:
        names = (screen_key(*names), 1)
    page, said = _unit_page(sheet, position, submitted or {})
    if comment is None and study.comments:
        comment = CommentBox(said)
    is_warned = participation is not None and participation.warned_at is not None
    context = {
        "study": study,
        "study_id": study.pk,
        "page": page,
        "progress": progress,
        "assignment": names[0],
        "position": names[1],
        "client_key": uuid4(),
        "hit": task_position.number,
        "hits": task_position.total,
        "done": task_position.percent_done,
        "previous_task": task_position.previous,
        "stays": not assignment.stage and mixes_in_checks(study),
        "marks_differences": marks_differences(study),
        "needed": _pass_mark(assignment),
        "feedback": [feedback_on(*verdict) for verdict in training_feedback(sheet, position)],
        "participation": participation,
        "notice": CHECKS_MISSED if is_warned else notice,
        "refusal": refusal,
        "comment": comment,
    }
    refused = refusal or (comment.refusal if comment else None)
    status = refused.status if refused else 200
    return render(request, "annotation/unit.html", context, status=status)


def _pass_mark(assignment: Assignment) -> int | None:
    """Return how many units of a test must be answered correctly, or None outside a test."""
    if assignment.stage != ScreeningAttempt.Stage.QUALIFICATION:
        return None
    screening = screening_of(assignment.hit.study)
    return screening.pass_mark if screening else None


def _unit_page(
    sheet: Worksheet, position: int, submitted: Mapping[int, ShownAnswer]
) -> tuple[UnitPage, str]:
    """Return the page of a unit, and the annotator's comment on it."""
    hit_unit = sheet.hit_units[position]
    a_first = is_a_first(sheet.assignment, hit_unit)
    stored = answers_as_shown(sheet.current[position], sheet.criteria, a_first=a_first)
    unit, said = unit_with_texts(sheet.assignment, hit_unit)
    page = unit_page(
        unit,
        sheet.criteria,
        a_first=a_first,
        shown={**stored, **submitted},
        fields=sheet.assignment.hit.study.fields,
        nonresponses=nonresponses_of(sheet.assignment),
    )
    return page, said

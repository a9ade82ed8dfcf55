"""The steps before the first HIT: waiting for the platform, questions, training, the test."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.forms import ComprehensionForm
from annotation.models import Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import is_a_first
from annotation.services.screening import (
    UNANSWERED,
    Step,
    answer_comprehension,
    ask_for_another_try,
    begin_stage,
    clear_participation,
    judged,
    screening_of,
    tries_left,
)
from annotation.views.participation_cookie import SeeOther, annotator_page, current_participation
from annotation.views.reading import guidelines_page
from annotation.views.unit_presentation import choice_as_shown
from tiebreak.errors import DomainError


def step_page(request: HttpRequest, participation: Participation) -> HttpResponse | Assignment:
    """The page of the step at hand, or the training or test whose units are to be shown."""
    step = clear_participation(participation=participation)
    if step == Step.NONE:
        return SeeOther(reverse("annotation:rate", args=[participation.study_id]))
    if step == Step.CONFIRMATION:
        return redirect(settings.ANNOTATOR_ENTRY_URL, participation.study_id)
    if step == Step.GUIDELINES:
        return guidelines_page(request, participation)
    if step == Step.COMPREHENSION:
        return _questions(request, participation)
    assignment = begin_stage(participation=participation)
    return assignment or _result(request, participation, step)


@require_POST
@annotator_page
def comprehension(request: HttpRequest, study_id: str) -> HttpResponse:
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    questions = list(participation.study.comprehension.all())
    form = ComprehensionForm(questions, request.POST)
    if not form.is_valid():
        refusal = DomainError("unanswered", UNANSWERED, status=400)
        return _questions(request, participation, refusal=refusal)
    attempt = answer_comprehension(participation=participation, answers=form.answers)
    if attempt.is_passed:
        return SeeOther(reverse("annotation:rate", args=[study_id]))
    participation.refresh_from_db()
    if participation.status != Participation.Status.ACTIVE:
        return SeeOther(reverse(settings.ANNOTATOR_END_URL, args=[study_id]))
    return _questions(request, participation, failed=attempt)


@require_POST
@annotator_page
def try_again(request: HttpRequest, study_id: str) -> HttpResponse:
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    ask_for_another_try(participation=participation)
    return SeeOther(reverse("annotation:rate", args=[study_id]))


def _questions(
    request: HttpRequest,
    participation: Participation,
    *,
    refusal: DomainError | None = None,
    failed: ScreeningAttempt | None = None,
) -> HttpResponse:
    questions = list(participation.study.comprehension.all())
    wrong = [q for q in questions if failed and failed.answers.get(str(q.pk)) != q.answer]
    context = {
        "study": participation.study,
        "form": ComprehensionForm(questions),
        "refusal": refusal,
        "wrong": wrong,
        "left": tries_left(participation, ScreeningAttempt.Stage.COMPREHENSION),
    }
    status = refusal.status if refusal else 200
    return render(request, "annotation/comprehension.html", context, status=status)


def _result(request: HttpRequest, participation: Participation, step: Step) -> HttpResponse:
    """A test that was failed, with tries left."""
    attempt = participation.screening_attempts.filter(stage=step.value).order_by("-number").first()
    if attempt is None or tries_left(participation, ScreeningAttempt.Stage(step.value)) == 0:
        raise DomainError("screened_out", "The test was not passed, and there is no try left.")
    screening = screening_of(participation.study)
    context: dict[str, Any] = {
        "study": participation.study,
        "attempt": attempt,
        "needed": screening.pass_mark if screening else 0,
        "left": tries_left(participation, ScreeningAttempt.Stage(step.value)),
        "lessons": lessons(participation, step) if screening and screening.shows_answers else [],
    }
    return render(request, "annotation/result.html", context)


def lessons(participation: Participation, step: Step) -> list[dict[str, Any]]:
    """What was asked in the last try, what was said, and what is held to be right."""
    own = participation.assignments.filter(run__startswith=f"{step.value}:")
    last = own.select_related("hit__study", "participation").order_by("-position").first()
    return [lesson(row, right) for row, right in judged(last)] if last else []


def lesson(rating: Rating, is_right: bool) -> dict[str, Any]:
    assignment = rating.assignment
    hit_unit = assignment.hit.hit_units.get(unit=rating.unit_id)
    a_first = is_a_first(assignment, hit_unit)
    known = str(rating.unit.known_labels[rating.criterion.name])
    return {
        "question": rating.criterion.question,
        "said": choice_as_shown(rating.label or "", rating.criterion, a_first=a_first),
        "known": choice_as_shown(known, rating.criterion, a_first=a_first),
        "is_right": is_right,
        "explanation": rating.unit.explanation,
    }

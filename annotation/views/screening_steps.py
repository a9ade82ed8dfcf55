"""The steps before the first HIT: confirmation, comprehension questions, training and the test."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.forms import ComprehensionForm
from annotation.hot_path_sql import units_of_hit
from annotation.messages import SCREENED_OUT, UNANSWERED
from annotation.models import Assignment, Participation, Rating, ScreeningAttempt
from annotation.selectors import is_a_first
from annotation.services.screening import (
    Step,
    answer_comprehension,
    begin_stage,
    clear_participation,
    judged,
    request_another_try,
    screening_of,
    tries_left,
)
from annotation.views.guidelines import guidelines_page
from annotation.views.participation_cookie import SeeOther, annotator_page, current_participation
from annotation.views.unit_presentation import choice_as_shown
from tiebreak.errors import DomainError


def step_page(request: HttpRequest, participation: Participation) -> HttpResponse | Assignment:
    """Return the page of the current step, or the training or test assignment to show."""
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
    return assignment or _failed_test(request, participation, step)


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
    request_another_try(participation=participation)
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
        "participation": participation,
        "form": ComprehensionForm(questions),
        "refusal": refusal,
        "wrong": wrong,
        "left": tries_left(participation, ScreeningAttempt.Stage.COMPREHENSION),
    }
    status = refusal.status if refusal else 200
    return render(request, "annotation/comprehension.html", context, status=status)


def _failed_test(request: HttpRequest, participation: Participation, step: Step) -> HttpResponse:
    """Return the page that follows a failed test if attempts are left."""
    attempt = participation.screening_attempts.filter(stage=step.value).order_by("-number").first()
    left = tries_left(participation, ScreeningAttempt.Stage(step.value))
    if attempt is None or left == 0:
        raise DomainError("screened_out", SCREENED_OUT)
    screening = screening_of(participation.study)
    context: dict[str, Any] = {
        "study": participation.study,
        "participation": participation,
        "attempt": attempt,
        "needed": screening.pass_mark if screening else 0,
        "left": left,
        "feedback": [],
    }
    if screening and screening.shows_answers:
        attempts = participation.assignments.filter(run__startswith=f"{step.value}:")
        last = attempts.select_related("hit__study", "participation").order_by("-position").first()
        context["feedback"] = (
            [feedback_on(row, right) for row, right in judged(last)] if last else []
        )
    return render(request, "annotation/test_failed.html", context)


def feedback_on(rating: Rating, is_right: bool) -> dict[str, Any]:
    """Return an answer and the expected answer as they were displayed, with the explanation."""
    assignment = rating.assignment
    hit_unit = next(u for u in units_of_hit(assignment.hit) if u.unit_id == rating.unit_id)
    a_first = is_a_first(assignment, hit_unit)
    expected = str(rating.unit.known_labels[rating.criterion.name])
    return {
        "question": rating.criterion.question,
        "answer": choice_as_shown(rating.label or "", rating.criterion, a_first=a_first),
        "expected": choice_as_shown(expected, rating.criterion, a_first=a_first),
        "is_right": is_right,
        "explanation": rating.unit.explanation,
    }

"""The pages on which annotators leave: the end of a study, and stopping early."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Participation, ScreeningAttempt
from annotation.selectors import (
    checked_items_of_visit,
    hits_of_visit,
    mixes_in_checks,
    progress_of,
)
from annotation.services.participations import finish_participation
from annotation.services.places import NoWorkLeft, why_no_work
from annotation.views.comment_box import CommentBox, sent_comment
from annotation.views.participation_cookie import SeeOther, annotator_page, current_participation
from recruitment.messages import ENDED, NEXT_STEP, SCREENED_OUT_BY, TEST_PAID, TEST_UNPAID
from recruitment.platforms import Ending, ReturnInstructions
from recruitment.platforms.pay_claims import is_paid_by_code
from recruitment.services.entry import is_paid, resume_participation
from recruitment.services.leaving import (
    check_may_leave_early,
    leave_early,
    return_instructions,
)
from recruitment.terms import agreed_pay, earned, screen_out_reward
from studies.models import Study
from tiebreak.errors import DomainError

Status = Participation.Status


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def end(request: HttpRequest, study_id: str) -> HttpResponse:
    """Show the last page to annotators without work; send others back to their task.

    Its form sends a comment on the whole study.
    """
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect("recruitment:welcome", study_id)
    own = participation.comments.filter(assignment=None).values_list("text", flat=True).first()
    comment = CommentBox(own or "") if participation.study.comments else None
    if request.method == "POST":
        comment = sent_comment(request, participation)
        if comment.refusal is None:
            return SeeOther(reverse("recruitment:end", args=[study_id]))
    refusal = why_no_work(participation)
    if not isinstance(refusal, NoWorkLeft):
        return redirect("annotation:rate", study_id)
    return _end_page(request, participation, refusal, comment)


def _end_page(
    request: HttpRequest,
    participation: Participation,
    refusal: DomainError,
    comment: CommentBox | None,
) -> HttpResponse:
    """Finish the participation only if a HIT was completed; otherwise work may still come up."""
    done = hits_of_visit(participation)
    if done:
        finish_participation(participation=participation)
    ending = _ending(participation, done)
    instructions = return_instructions(participation, ending)
    if ended := ENDED.get(participation.status):
        refusal = DomainError(participation.status, ended.format(_failed_step(participation)))
    advice = ""
    if ending == Ending.SCREENED_OUT:
        advice = f"{_test_pay(participation)} {_next_step(instructions)}".strip()
    context = {
        "study": participation.study,
        "comment": comment,
        "done": done,
        "items": checked_items_of_visit(participation),
        "is_completed": ending == Ending.COMPLETED,
        "is_screened_out": ending == Ending.SCREENED_OUT,
        "return_instructions": instructions,
        "refusal": refusal,
        "advice": advice,
        "may_resume": _may_resume(participation),
    }
    status = comment.refusal.status if comment and comment.refusal else 200
    return render(request, "recruitment/end.html", context, status=status)


def _failed_step(participation: Participation) -> str:
    """Return which step before the first task a screened-out person did not pass."""
    attempts = ScreeningAttempt.objects.filter(
        rater=participation.rater_id, study=participation.study_id, is_passed=False
    )
    stages = attempts.exclude(stage=ScreeningAttempt.Stage.TRAINING).order_by("-pk")
    return SCREENED_OUT_BY[stages.values_list("stage", flat=True).first() or ""]


def _test_pay(participation: Participation) -> str:
    """Return what someone who failed the test is paid, in a study that pays."""
    amount = screen_out_reward(participation)
    if amount is not None:
        return TEST_PAID.format(amount, participation.study.currency)
    return TEST_UNPAID if participation.study.reward else ""


def _next_step(instructions: ReturnInstructions) -> str:
    if instructions.post_to:
        return NEXT_STEP["form"]
    if instructions.url:
        return NEXT_STEP["link"]
    return NEXT_STEP["code" if instructions.code else "none"]


def _ending(participation: Participation, done: int) -> Ending:
    if participation.status == Status.SCREENED_OUT:
        return Ending.SCREENED_OUT
    if participation.status in {Status.STOPPED, Status.EXCLUDED}:
        return Ending.FAILED_CHECK
    return Ending.COMPLETED if done else Ending.NO_WORK


def _may_resume(participation: Participation) -> bool:
    progress = progress_of(participation)
    is_open = participation.study.status == Study.Status.OPEN
    may_work = participation.status in {Status.ACTIVE, Status.FINISHED}
    return (
        is_open and may_work and progress.completed < progress.total and not is_paid(participation)
    )


@require_POST
@annotator_page
def look_again(request: HttpRequest, study_id: str) -> HttpResponse:
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect("recruitment:welcome", study_id)
    resume_participation(participation=participation)
    return SeeOther(reverse("annotation:rate", args=[study_id]))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def leave(request: HttpRequest, study_id: str) -> HttpResponse:
    """Ask for confirmation, with the effect on the payment, before someone leaves early."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect("recruitment:welcome", study_id)
    if participation.status != Status.ACTIVE:
        return redirect("annotation:rate", study_id)
    if request.method == "POST":
        leave_early(participation=participation)
        return SeeOther(reverse("annotation:rate", args=[study_id]))
    check_may_leave_early(participation)
    is_paid_by_task = agreed_pay(participation).per_task is not None
    context = {
        "study": participation.study,
        # Elsewhere a number of tasks would tell which items share one, and nobody is paid by it.
        "counts_tasks": is_paid_by_task or not mixes_in_checks(participation.study),
        "done": hits_of_visit(participation),
        "items": checked_items_of_visit(participation),
        "owed": earned(participation),
        "is_paid_by_task": is_paid_by_task,
        "needs_code": is_paid_by_code(participation.submission.channel),
    }
    return render(request, "recruitment/leave.html", context)

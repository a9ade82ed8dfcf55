"""The end: what became of the work, and the way back to where the annotator came from."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Participation
from annotation.selectors import hits_of_visit, progress_of
from annotation.services.participations import finish_participation
from annotation.services.places import NoWorkLeft, why_no_work
from annotation.views.participation_cookie import SeeOther, annotator_page, current_participation
from recruitment.platforms import Ending, ReturnInstructions
from recruitment.services.entry import is_paid, resume_participation
from recruitment.services.leaving import (
    check_may_leave_early,
    leave_early,
    owed_on_leaving,
    return_instructions,
)
from studies.models import Study
from tiebreak.errors import DomainError

Status = Participation.Status
# What became of it, and what to do, for who ended otherwise than by finishing.
SENTENCES: dict[str, str] = {
    Status.SCREENED_OUT: "The questions or the test were not passed, so there is no work for you"
    " in this study. Your invitation says whether the time this took is paid.",
    Status.STOPPED: "Several answers did not fit texts where the right answer is known, so no"
    " further work is given to you. What you completed before counts.",
    Status.EXCLUDED: "Several answers did not fit texts where the right answer is known, so your"
    " part in this study has ended and others will repeat it. If you think this is a mistake,"
    " please write to the researchers.",
    Status.RETURNED: "Your submission was returned on the platform, so what you answered here"
    " does not count. If you take the study up there again in time, come back by its link.",
    Status.RELEASED: "You were away for longer than a place is held, so it was given to somebody"
    " else. What you completed before counts.",
    Status.REJECTED: "Your submission was not accepted by the researchers. The platform has their"
    " message, and a way to answer it.",
    Status.TIMED_OUT: "The platform's time for this submission is over, so others may have taken"
    " your place. Your answers are kept. If they can still count, the researchers will settle it"
    " with you on the platform.",
}


@require_safe
@annotator_page
def end(request: HttpRequest, study_id: str) -> HttpResponse:
    """Where annotators are sent for whom there is no work; others go back to theirs."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect("recruitment:welcome", study_id)
    refusal = why_no_work(participation)
    if not isinstance(refusal, NoWorkLeft):
        return redirect("annotation:rate", study_id)
    return _end_page(request, participation, refusal)


def _end_page(
    request: HttpRequest, participation: Participation, refusal: DomainError
) -> HttpResponse:
    """Who completed no HIT stays welcome: a place that somebody left may become free again."""
    done = hits_of_visit(participation)
    if done:
        finish_participation(participation=participation)
    ending = _ending(participation, done)
    way_out = return_instructions(participation, ending)
    context = {
        "study": participation.study,
        "done": done,
        "is_completed": ending == Ending.COMPLETED,
        "return_instructions": way_out,
        "refusal": _ended(participation) or refusal,
        "advice": _advice(way_out) if ending == Ending.SCREENED_OUT else "",
        "may_resume": _may_resume(participation),
    }
    return render(request, "recruitment/end.html", context)


def _ended(participation: Participation) -> DomainError | None:
    sentence = SENTENCES.get(participation.status)
    return DomainError(participation.status, sentence) if sentence else None


def _advice(way_out: ReturnInstructions) -> str:
    """What to do now, by what the page really shows."""
    if way_out.post_to:
        return ADVICE["form"]
    if way_out.url:
        return ADVICE["link"]
    return ADVICE["code" if way_out.code else "none"]


ADVICE = {
    "form": "Please submit the HIT below, so that the platform knows.",
    "link": "Please go back by the button below, so that whoever invited you knows.",
    "code": "Please give the code below to whoever invited you.",
    "none": "You can close this page.",
}


def _ending(participation: Participation, done: int) -> Ending:
    if participation.status == Status.SCREENED_OUT:
        return Ending.SCREENED_OUT
    if participation.status in {Status.STOPPED, Status.EXCLUDED}:
        return Ending.FAILED_CHECK
    return Ending.COMPLETED if done else Ending.NO_WORK


def _may_resume(participation: Participation) -> bool:
    share = progress_of(participation)
    is_open = participation.study.status == Study.Status.OPEN
    is_welcome = participation.status in {Status.ACTIVE, Status.FINISHED}
    return is_open and is_welcome and share.completed < share.total and not is_paid(participation)


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
    """Asked once more, with what it means for the pay, before somebody leaves early."""
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect("recruitment:welcome", study_id)
    if participation.status != Status.ACTIVE:
        return redirect("annotation:rate", study_id)
    if request.method == "POST":
        leave_early(participation=participation)
        return SeeOther(reverse("annotation:rate", args=[study_id]))
    check_may_leave_early(participation)
    context = {
        "study": participation.study,
        "done": hits_of_visit(participation),
        "of": progress_of(participation).total,
        "owed": owed_on_leaving(participation),
    }
    return render(request, "recruitment/leave.html", context)

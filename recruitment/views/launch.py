"""The step *Launch*: every check in one list, the numbers, and planning and opening."""

from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.counts import progress_of
from recruitment.admission import OPEN_LINK
from recruitment.launch.channels import somebody_can_enter
from recruitment.launch.check import LaunchCheck
from recruitment.public_address import public_url
from recruitment.services.channels import channel_statuses
from recruitment.services.launch_checks import launch_checks
from recruitment.step_pages import cost_context
from recruitment.study_actions import ACTIONS, PLANNING, offered_actions
from studies.access import changes_study, shows_study
from studies.confirming import ask, is_confirmed
from studies.design.steps import StepState, place_of, steps, study_frame
from studies.models import Study
from studies.refusals import told


@dataclass(frozen=True)
class ShownCheck:
    """A launch check with the page where it can be fixed, if there is one."""

    check: LaunchCheck
    title: str
    url: str


@shows_study
def launch(request: HttpRequest, study: Study) -> HttpResponse:
    prefetch_related_objects([study], "channels")  # which several checks look at
    current = launch_checks(study)
    if study.status == Study.Status.OPEN:
        current += somebody_can_enter(study)
    titles = {step.url_name: step.title for step in steps()}
    checks = [
        ShownCheck(
            check,
            titles.get(check.where, ""),
            reverse(check.where, args=[study.pk]) if check.where else "",
        )
        for check in current
    ]
    plans_first = any(check.code in PLANNING for check in current)
    statuses = channel_statuses(study)
    frame = study_frame(study, request.user, place_of("launch"))
    context: dict[str, Any] = {
        "study": study,
        "frame": frame,
        "here": "launch",
        "must": [shown for shown in checks if shown.check.is_error],
        "should": [shown for shown in checks if not shown.check.is_error],
        # The steps that were left out on purpose, which nothing else on the page mentions.
        "notes": [step for step in frame.steps if step.status.state == StepState.NOT_NEEDED],
        "progress": progress_of(study),
        "channels": [s.platform.title for s in statuses if s.is_open],
        "drafts": [s.platform.title for s in statuses if s.is_draft_there],
        "actions": offered_actions(study, current),
        "plans_first": plans_first,
        "planning": PLANNING,
        "is_ready": not any(check.is_error for check in current if check.code not in PLANNING),
        **cost_context(study),
    }
    if any(status.is_open and status.platform.name == OPEN_LINK for status in statuses):
        context["link"] = public_url(request, reverse("recruitment:welcome", args=[study.pk]))
    return render(request, "recruitment/launch.html", context)


@changes_study
def act(request: HttpRequest, study: Study, action: str) -> HttpResponse:
    """Plan, open, pause or close the study, after a confirmation that names what is final."""
    if action not in ACTIONS:
        raise Http404("There is no such action for a study.")
    back = reverse("recruitment:launch", args=[study.pk])
    with told(request):
        if "confirmed" not in request.POST:
            ACTIONS[action].prepare_question(study)
        question = ACTIONS[action].question_for(study)
        if question is not None and not is_confirmed(request, [question]):
            return ask(request, [question], back=back)
        sentence = ACTIONS[action].do(study, cast(User, request.user), question)
        messages.success(request, sentence)
    return redirect(back)

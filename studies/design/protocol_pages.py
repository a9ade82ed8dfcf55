"""The pages of templates: a new study from one, and one for a draft that exists."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from studies.access import researchers_only, shows_and_changes_study, user_of
from studies.confirming import Question, ask, is_confirmed
from studies.design.protocols import (
    Protocol,
    check_can_fill_in,
    create_from_protocol,
    fill_in,
    protocol_named,
    protocols,
)
from studies.models import Study
from tiebreak.errors import DomainError
from tiebreak.reading.words import question_about

REPLACED = (
    "Guidelines, consent, criteria, settings, screening, comprehension questions and the design of the"
    " selection come from the template. Their current content is lost."
)
KEPT = "Title, dataset, systems, members and channels stay as they are."


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_only
def new_from_template(request: HttpRequest) -> HttpResponse:
    """List the templates, and create a study from the chosen one."""
    if request.method != "POST":
        return _list(request)
    try:
        protocol = protocol_named(request.POST.get("template", ""))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return _list(request, status=refusal.status)
    study = create_from_protocol(protocol=protocol, owner=user_of(request))
    return _next(request, study, protocol)


@shows_and_changes_study
def use_template(request: HttpRequest, study: Study) -> HttpResponse:
    """List the templates for a draft, and fill in the chosen one after a confirmation."""
    slug = request.POST.get("template", "")
    if not slug:
        return _list(request, study=study)
    try:
        protocol = protocol_named(slug)
        question = _question(study, protocol)
        if not is_confirmed(request, question):
            back = reverse("studies:use-template", args=[study.pk])
            return ask(request, question, back=back, carry=[("template", slug)])
        fill_in(study=study, protocol=protocol, by=user_of(request))
    except DomainError as refusal:
        messages.error(request, refusal.message, extra_tags=refusal.code)
        return _list(request, study=study, status=refusal.status)
    return _next(request, study, protocol)


def _question(study: Study, protocol: Protocol) -> Question:
    return Question(
        title=question_about("Fill in the template", protocol.title),
        sentences=(REPLACED, KEPT),
        button="Fill in",
        facts=(study.pk, protocol.slug),
    )


def _next(request: HttpRequest, study: Study, protocol: Protocol) -> HttpResponse:
    """Lead to the study, with what the researcher still has to do."""
    messages.success(request, f"Filled in from the template “{protocol.title}”.")
    for sentence in protocol.steps_left:
        messages.info(request, sentence)
    return redirect("studies:data", study.pk)


def _list(request: HttpRequest, *, study: Study | None = None, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {"protocols": protocols(), "study": study}
    try:
        if study is not None:
            check_can_fill_in(study)
    except DomainError as refusal:
        context["refusal"] = refusal
    return render(request, "studies/protocols.html", context, status=status)

"""The welcome: what is asked and what is kept. Nothing is written before somebody agrees."""

import secrets

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.forms import ConsentForm
from annotation.services.participations import give_consent
from annotation.services.places import CLOSED_DOORS
from annotation.views.doors import (
    SeeOther,
    annotator_page,
    participation_in,
    remember,
    study_at,
)
from studies.errors import DomainError
from studies.markdown import render_markdown
from studies.models import Study

PROVIDER = "open-link"
CHOOSE = "Please choose whether you agree."
CHANGED = "This text was changed while you read it. Please read it again."


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def welcome(request: HttpRequest, study_id: str) -> HttpResponse:
    study = study_at(study_id)
    if participation_in(request, study_id) is not None:
        return redirect("annotation:rate", study_id)
    if study.status != Study.Status.OPEN:
        raise DomainError("study_not_open", CLOSED_DOORS[study.status])
    if request.method == "POST":
        return _decide(request, study)
    return _welcome(request, study)


def _decide(request: HttpRequest, study: Study) -> HttpResponse:
    form = ConsentForm(request.POST)
    if not form.is_valid():
        return _welcome(request, study, sentence=CHOOSE, status=400)
    if not form.agrees:
        return render(request, "annotation/declined.html", {"study": study})
    if form.cleaned_data["version"] != _version_number(study):
        return _welcome(request, study, sentence=CHANGED, status=409)
    token = secrets.token_urlsafe(16)
    participation = give_consent(
        study=study, provider=PROVIDER, external_id=token, submission_id=token
    )
    response = SeeOther(reverse("annotation:rate", args=[study.pk]))
    remember(response, participation)
    return response


def _welcome(
    request: HttpRequest, study: Study, *, sentence: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "study": study,
        "consent": render_markdown(study.consent),
        "version": _version_number(study),
        "sentence": sentence,
    }
    return render(request, "annotation/welcome.html", context, status=status)


def _version_number(study: Study) -> int:
    latest = study.versions.order_by("-number").values_list("number", flat=True).first()
    return latest or 0

"""The guidelines page, which is shown before the first HIT and can be reread at any time."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.models import Participation
from annotation.selectors import has_test, latest_assignment
from annotation.services.participations import mark_guidelines_read
from annotation.views.participation_cookie import SeeOther, annotator_page, current_participation
from studies.markdown import render_markdown


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def guidelines(request: HttpRequest, study_id: str) -> HttpResponse:
    participation = current_participation(request, study_id)
    if participation is None:
        return redirect(settings.ANNOTATOR_ENTRY_URL, study_id)
    if request.method == "POST":
        mark_guidelines_read(participation=participation)
        return SeeOther(reverse("annotation:rate", args=[study_id]))
    return guidelines_page(request, participation)


def guidelines_page(request: HttpRequest, participation: Participation) -> HttpResponse:
    context = {
        "study": participation.study,
        "participation": participation,
        "guidelines": render_markdown(_current_guidelines(participation)),
        "criteria": participation.study.criteria.all(),
        "test_follows": has_test(participation.study),
        "is_read": participation.guidelines_read_at is not None,
    }
    return render(request, "annotation/guidelines.html", context)


def _current_guidelines(participation: Participation) -> str:
    """Return the guidelines of the HIT in progress, because new ones apply from the next HIT on."""
    assignment = latest_assignment(participation)
    if assignment is None or assignment.completed_at is not None:
        return participation.study.guidelines
    version = assignment.study_version
    return version.guidelines if version else participation.study.guidelines

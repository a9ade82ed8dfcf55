"""The end: thanks, and the completion code of whoever completed something."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.models import Participation
from annotation.selectors import share_of
from annotation.services.participations import finish_participation, resume_participation
from annotation.views.doors import SeeOther, annotator_page, participation_in
from studies.models import Study


def end_page(
    request: HttpRequest, participation: Participation, sentence: str = ""
) -> HttpResponse:
    """Who completed no HIT stays welcome: a place that somebody left may become free again."""
    share = share_of(participation)
    if share.done:
        finish_participation(participation=participation)
    is_open = participation.study.status == Study.Status.OPEN
    context = {
        "study": participation.study,
        "done": share.done,
        "code": participation.completion_code if share.done else "",
        "sentence": sentence,
        "may_resume": is_open and share.done < share.of,
    }
    return render(request, "annotation/end.html", context)


@require_POST
@annotator_page
def look_again(request: HttpRequest, study_id: str) -> HttpResponse:
    participation = participation_in(request, study_id)
    if participation is None:
        return redirect("annotation:welcome", study_id)
    resume_participation(participation=participation)
    return SeeOther(reverse("annotation:rate", args=[study_id]))

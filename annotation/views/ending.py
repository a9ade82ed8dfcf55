"""The end: thanks, and the completion code of whoever completed something."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.models import Participation
from annotation.selectors import share_of
from annotation.services.participations import finish_participation


def end_page(
    request: HttpRequest, participation: Participation, sentence: str = ""
) -> HttpResponse:
    """Who completed no HIT stays welcome: a place that somebody left may become free again."""
    done = share_of(participation).done
    if done:
        finish_participation(participation=participation)
    context = {
        "study": participation.study,
        "done": done,
        "code": participation.completion_code if done else "",
        "sentence": sentence,
    }
    return render(request, "annotation/end.html", context)

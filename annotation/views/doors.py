"""Who is at the door: a participation is known from the server's session and from nothing else."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from annotation.models import Participation
from studies.errors import DomainError
from studies.models import Study

SESSION_KEY = "participations"
View = Callable[..., HttpResponse]


class SeeOther(HttpResponseRedirect):
    """After a post: the next page is fetched, and reloading it posts nothing."""

    status_code = 303


def annotator_page(view: View) -> View:
    """A page that no cache keeps, and that shows a refusal as the sentence it is."""

    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DomainError as refusal:
            return notice(request, refusal)

    return never_cache(shown)


def notice(request: HttpRequest, refusal: DomainError) -> HttpResponse:
    """A refusal as a page of its own, or as one line for a page that is already there."""
    template = "annotation/refused.html" if is_htmx(request) else "annotation/notice.html"
    return render(request, template, {"sentence": refusal.message}, status=refusal.status)


def is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def study_at(study_id: str) -> Study:
    """The study an annotator's link names. Its id is a secret only until it is given out."""
    study = Study.objects.filter(public_id=study_id).first()
    if study is None:
        raise Http404("No such study.")
    return study


def participation_in(request: HttpRequest, study_id: str) -> Participation | None:
    """This browser's part in the study, if it has one."""
    known = request.session.get(SESSION_KEY, {})
    if study_id not in known:
        return None
    return (
        Participation.objects.filter(public_id=known[study_id], study=study_id)
        .select_related("study")
        .first()
    )


def remember(request: HttpRequest, participation: Participation) -> None:
    known = request.session.get(SESSION_KEY, {})
    request.session[SESSION_KEY] = {**known, participation.study_id: participation.public_id}

"""Who is at the door: a participation is known from a signed cookie and from nothing else.

The participation itself is the server's session; the cookie only names it, under a signature.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from annotation.models import Participation
from studies.models import Study
from tiebreak.errors import DomainError

SALT = "annotation.participation"
MAX_AGE = timedelta(days=90)
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
    template = "refused.html" if is_htmx(request) else "notice.html"
    return render(
        request,
        template,
        {"refusal": refusal},
        status=refusal.status,
    )


def is_htmx(request: HttpRequest) -> bool:
    return bool(getattr(request, "htmx", False))


def study_at(study_id: str) -> Study:
    """The study an annotator's link names. Its id is a secret only until it is given out."""
    study = Study.objects.filter(public_id=study_id).first()
    if study is None:
        raise Http404("No such study.")
    return study


def participation_stub(request: HttpRequest, study_id: str) -> Participation | None:
    """Whom this browser's cookie names, not looked up yet: for services that do so anyway."""
    if hasattr(request, "arrival"):
        return _framed(request.arrival, study_id)
    public_id = request.get_signed_cookie(
        _cookie(study_id), default=None, salt=SALT, max_age=MAX_AGE
    )
    return Participation(public_id=public_id, study_id=study_id) if public_id else None


def _framed(arrival: dict[str, str], study_id: str) -> Participation | None:
    """Inside a platform's frame the signed address names somebody, and no cookie does."""
    return Participation.objects.filter(
        study=study_id if study_id == arrival["study"] else None,
        provider=arrival["provider"],
        submission_id=arrival["submission"],
    ).first()


def current_participation(request: HttpRequest, study_id: str) -> Participation | None:
    """This browser's part in the study, if it has one."""
    named = participation_stub(request, study_id)
    if named is None:
        return None
    own = Participation.objects.filter(public_id=named.public_id, study=study_id)
    return own.select_related("study", "rater").first()


def remember(response: HttpResponse, participation: Participation) -> None:
    """Let this browser be known again, by a name that only this server can write."""
    response.set_signed_cookie(
        _cookie(participation.study_id),
        participation.public_id,
        salt=SALT,
        max_age=MAX_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def forget(response: HttpResponse, study_id: str) -> None:
    """Another submission came in this browser: it begins anew."""
    response.delete_cookie(_cookie(study_id), samesite="Lax")


def _cookie(study_id: str) -> str:
    return f"part-{study_id}"

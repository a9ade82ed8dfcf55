"""Identifies the annotator's participation by a signed cookie.

All state is stored with the participation, and the cookie holds only its public id. Inside a
platform's frame, the signed address replaces the cookie.
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
    """A redirect with status 303 after a POST so that reloading the next page posts nothing."""

    status_code = 303


def annotator_page(view: View) -> View:
    """Decorate a view so that it is never cached and a `DomainError` becomes a page."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DomainError as refusal:
            return notice(request, refusal)

    return never_cache(page)


def notice(request: HttpRequest, refusal: DomainError) -> HttpResponse:
    """Show a refusal as a page, or as one line for an htmx request."""
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
    """Return the study with the id in an annotator's link, or raise 404."""
    study = Study.objects.filter(public_id=study_id).first()
    if study is None:
        raise Http404("No such study.")
    return study


def participation_stub(request: HttpRequest, study_id: str) -> Participation | None:
    """Return the participation with the id in the cookie, for services that load it themselves."""
    if hasattr(request, "arrival"):
        return _framed(request.arrival, study_id)
    public_id = request.get_signed_cookie(
        _cookie(study_id), default=None, salt=SALT, max_age=MAX_AGE
    )
    return Participation(public_id=public_id, study_id=study_id) if public_id else None


def _framed(arrival: dict[str, str], study_id: str) -> Participation | None:
    """Look up the participation by the signed address, because in a frame there is no cookie."""
    return Participation.objects.filter(
        study=study_id if study_id == arrival["study"] else None,
        provider=arrival["provider"],
        rater__external_id=arrival["person"],
        submission_id=arrival["submission"],
    ).first()


def current_participation(request: HttpRequest, study_id: str) -> Participation | None:
    """Return this browser's participation in the study, or None."""
    stub = participation_stub(request, study_id)
    if stub is None:
        return None
    participations = Participation.objects.filter(public_id=stub.public_id, study=study_id)
    return participations.select_related("study", "rater").first()


def remember(response: HttpResponse, participation: Participation) -> None:
    """Set the signed cookie by which this browser is recognised."""
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
    """Delete the cookie, because another submission starts in this browser."""
    response.delete_cookie(_cookie(study_id), samesite="Lax")


def _cookie(study_id: str) -> str:
    return f"part-{study_id}"

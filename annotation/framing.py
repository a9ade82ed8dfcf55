"""Pages inside a platform's frame: known by a signed word in their address, never by a cookie.

Browsers keep third-party cookies from frames, so the address carries who this is. Nothing else
gives such a request any standing: cookies are not read, so a forged request has none to borrow.
"""

from collections.abc import Callable, Sequence

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix

from annotation.crowd import provider_named
from annotation.models import Recruitment

PREFIX = "/f/"
SALT = "annotation.frame"
MOST_AGE = 90 * 24 * 60 * 60


def framed_address(arrival: dict[str, object], path: str) -> str:
    return f"{PREFIX}{signing.dumps(arrival, salt=SALT, compress=True)}{path}"


class FramingMiddleware:
    """Takes the signed word off the address, so that every other part sees the plain one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        word, _, rest = request.path_info.removeprefix(PREFIX).partition("/")
        try:
            arrival = signing.loads(word, salt=SALT, max_age=MOST_AGE)
        except signing.BadSignature as error:
            raise Http404("No such page.") from error
        origins = _origins(arrival)
        request.arrival = arrival  # type: ignore[attr-defined]
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        request.path_info = f"/{rest}"
        # Every address that is made from here on keeps the word.
        prefix = get_script_prefix()
        set_script_prefix(f"{PREFIX}{word}/")
        try:
            response = self.get_response(request)
        finally:
            set_script_prefix(prefix)
        return allow_frames(response, origins)


def allow_frames(response: HttpResponse, origins: Sequence[str]) -> HttpResponse:
    """Let these origins alone show a page in a frame, and be where its last form goes."""
    response._csp_replace = {"frame-ancestors": list(origins)}  # type: ignore[attr-defined]
    response._csp_update = {"form-action": list(origins)}  # type: ignore[attr-defined]
    response.xframe_options_exempt = True
    response.headers.pop("X-Frame-Options", None)
    return response


def _origins(arrival: dict[str, object]) -> list[str]:
    recruitment = Recruitment.objects.filter(
        study=str(arrival["study"]), provider=str(arrival["provider"])
    ).first()
    if recruitment is None:
        raise Http404("No such page.")
    return list(provider_named(recruitment.provider).frame_ancestors(recruitment))

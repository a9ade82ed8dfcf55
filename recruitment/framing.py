"""Pages inside a platform's frame: known by an encrypted token in their address, never by a cookie.

Browsers keep third-party cookies from frames, so the address carries who this is. The token is the
credential of that person's own pages in one study and of nothing else: every other path under it
does not exist, and cookies are taken off the request, so that a forged one has no session to
borrow. The ids travel inside the token because nothing may be stored of somebody who only arrived.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cryptography.fernet import InvalidToken
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix
from django.utils import timezone

from annotation.views.participation_cookie import notice
from recruitment.models import Channel
from recruitment.platforms import get_platform
from studies.ciphers import cipher
from tiebreak.errors import DomainError

PREFIX = "/f/"
PURPOSE = "tiebreak.frame"
# A page's token is good for two leases, so that a late answer still arrives, and at least so long.
MIN_AGE = timedelta(hours=1)
# However often it is renewed, the platform's own link is needed again after that.
MAX_AGE = timedelta(hours=24)


@dataclass(frozen=True)
class FrameToken:
    """Who arrived in a frame and when, and when the page was served that holds the token."""

    arrival: dict[str, Any]
    arrived_at: int
    served_at: int

    def has_expired(self, lease: timedelta, now: int) -> bool:
        idle = max(MIN_AGE, 2 * lease).total_seconds()
        return now - self.served_at > idle or now - self.arrived_at > MAX_AGE.total_seconds()


def framed_address(arrival: dict[str, Any], path: str) -> str:
    """The address of one's own page in a frame, for somebody who arrives now."""
    prefix = get_script_prefix()
    return f"{prefix}f/{_sealed(arrival, _now())}/{path.removeprefix(prefix)}"


class FramingMiddleware:
    """Takes the token off the address, so that every other part sees the plain one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        word, _, rest = request.path_info.removeprefix(PREFIX).partition("/")
        token = _opened(word)
        path = f"/{rest}"
        if not _is_own_page(path, str(token.arrival["study"])):
            raise Http404("No such page in a frame.")
        _forget_cookies(request)
        channel = _channel(token)
        if token.has_expired(timedelta(minutes=channel.study.lease_minutes), _now()):
            response = notice(request, DomainError("frame_expired", EXPIRED, status=403))
        else:
            response = self._served(request, token, path)
        response.cookies.clear()
        response["Referrer-Policy"] = "no-referrer"
        return allow_frames(response, _origins(channel))

    def _served(self, request: HttpRequest, token: FrameToken, path: str) -> HttpResponse:
        request.arrival = token.arrival  # type: ignore[attr-defined]
        # The token stands in no cookie: whoever can write it into a form is this person.
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        request.path_info = path
        # Every address that is made from here on holds a token that was renewed just now.
        prefix = get_script_prefix()
        set_script_prefix(f"{prefix}f/{_sealed(token.arrival, token.arrived_at)}/")
        try:
            return self.get_response(request)
        finally:
            set_script_prefix(prefix)


EXPIRED = (
    "This page was left open for too long. Everything you answered before is saved: please reload"
    " the platform's page, or open the HIT there once more, to go on."
)


def allow_frames(response: HttpResponse, origins: Sequence[str]) -> HttpResponse:
    """Let these origins alone show a page in a frame, and be where its last form goes."""
    response._csp_replace = {"frame-ancestors": list(origins)}  # type: ignore[attr-defined]
    response._csp_update = {"form-action": list(origins)}  # type: ignore[attr-defined]
    response.xframe_options_exempt = True
    response.headers.pop("X-Frame-Options", None)
    return response


def _is_own_page(path: str, study_id: str) -> bool:
    return path == f"/s/{study_id}/" or path.startswith(f"/rate/{study_id}/")


def _forget_cookies(request: HttpRequest) -> None:
    request.META.pop("HTTP_COOKIE", None)
    request.COOKIES = {}


def _sealed(arrival: dict[str, Any], arrived_at: int) -> str:
    data = zlib.compress(json.dumps([arrived_at, arrival]).encode())
    return cipher(PURPOSE).encrypt_at_time(data, _now()).decode()


def _opened(word: str) -> FrameToken:
    try:
        token = word.encode()
        data = cipher(PURPOSE).decrypt(token)
        served_at = cipher(PURPOSE).extract_timestamp(token)
    except InvalidToken:
        # Chained, the error would carry the token into a log.
        raise Http404("No such page in a frame.") from None
    arrived_at, arrival = json.loads(zlib.decompress(data))
    return FrameToken(arrival, arrived_at, served_at)


def _now() -> int:
    return int(timezone.now().timestamp())


def _channel(token: FrameToken) -> Channel:
    found = Channel.objects.filter(
        study=str(token.arrival["study"]), provider=str(token.arrival["provider"])
    )
    channel = found.select_related("study").first()
    if channel is None:
        raise Http404("No such page in a frame.")
    return channel


def _origins(channel: Channel) -> list[str]:
    return list(get_platform(channel.provider).frame_ancestors(channel))

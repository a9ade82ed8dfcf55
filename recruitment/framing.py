"""Pages inside a platform's frame, identified by an encrypted token in their address.

Browsers block third-party cookies in frames, so the address identifies the participant. The token
is the credential for that person's own pages in one study and for nothing else: every other path
under it is 404, and cookies are removed from the request so that it cannot use a session. The
token contains the IDs because nothing may be stored about a person before consent.
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

from annotation.views.participation_cookie import notice
from jobs.clock import database_now
from recruitment.messages import FRAME_EXPIRED
from recruitment.models import Channel
from recruitment.platforms import get_platform
from studies.ciphers import cipher
from tiebreak.errors import DomainError

PREFIX = "/f/"
PURPOSE = "tiebreak.frame"
# A page's token is valid for two leases so that late answers are accepted, and at least this long.
MIN_AGE = timedelta(hours=1)
# After this time the platform's own link is needed again, however often the token was renewed.
MAX_AGE = timedelta(hours=24)


@dataclass(frozen=True)
class FrameToken:
    """The platform entry, its time, and the time when the page with this token was served."""

    arrival: dict[str, Any]
    arrived_at: int
    served_at: int

    def has_expired(self, lease: timedelta, now: int) -> bool:
        idle = max(MIN_AGE, 2 * lease).total_seconds()
        return now - self.served_at > idle or now - self.arrived_at > MAX_AGE.total_seconds()


def framed_address(arrival: dict[str, Any], path: str) -> str:
    """Return the framed address of a participant's page, for someone who arrives now."""
    prefix = get_script_prefix()
    return f"{prefix}f/{_encrypted(arrival, _now())}/{path.removeprefix(prefix)}"


class FramingMiddleware:
    """Strips the token from the path so that all views see the plain address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        frame_token, _, rest = request.path_info.removeprefix(PREFIX).partition("/")
        token = _decrypted(frame_token)
        path = f"/{rest}"
        study_id = token.arrival["study"]
        if path != f"/s/{study_id}/" and not path.startswith(f"/rate/{study_id}/"):
            raise Http404("No such page in a frame.")
        request.META.pop("HTTP_COOKIE", None)
        request.COOKIES = {}
        channel = _channel(token)
        if token.has_expired(timedelta(minutes=channel.study.lease_minutes), _now()):
            response = notice(request, DomainError("frame_expired", FRAME_EXPIRED, status=403))
        else:
            response = self._served(request, token, path)
        response.cookies.clear()
        response["Referrer-Policy"] = "no-referrer"
        return allow_frames(response, [*get_platform(channel.provider).frame_ancestors(channel)])

    def _served(self, request: HttpRequest, token: FrameToken, path: str) -> HttpResponse:
        request.arrival = token.arrival  # type: ignore[attr-defined]
        # The token is in no cookie, so only this person can put it into a form.
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        request.path_info = path
        # Every address that is generated from here on contains a renewed token.
        prefix = get_script_prefix()
        set_script_prefix(f"{prefix}f/{_encrypted(token.arrival, token.arrived_at)}/")
        try:
            return self.get_response(request)
        finally:
            set_script_prefix(prefix)


def allow_frames(response: HttpResponse, origins: Sequence[str]) -> HttpResponse:
    """Allow only these origins to embed the page, and its last form to submit to them."""
    response._csp_replace = {"frame-ancestors": list(origins)}  # type: ignore[attr-defined]
    response._csp_update = {"form-action": list(origins)}  # type: ignore[attr-defined]
    response.xframe_options_exempt = True
    response.headers.pop("X-Frame-Options", None)
    return response


def _encrypted(arrival: dict[str, Any], arrived_at: int) -> str:
    data = zlib.compress(json.dumps([arrived_at, arrival]).encode())
    return cipher(PURPOSE).encrypt_at_time(data, _now()).decode()


def _decrypted(frame_token: str) -> FrameToken:
    try:
        token = frame_token.encode()
        data = cipher(PURPOSE).decrypt(token)
        served_at = cipher(PURPOSE).extract_timestamp(token)
    except InvalidToken:
        # A chained error would write the token to a log.
        raise Http404("No such page in a frame.") from None
    arrived_at, arrival = json.loads(zlib.decompress(data))
    return FrameToken(arrival, arrived_at, served_at)


def _now() -> int:
    return int(database_now().timestamp())


def _channel(token: FrameToken) -> Channel:
    channels = Channel.objects.filter(
        study=str(token.arrival["study"]), provider=str(token.arrival["provider"])
    )
    channel = channels.select_related("study").first()
    if channel is None:
        raise Http404("No such page in a frame.")
    return channel

"""Entry through a platform's link, which is exchanged for a token signed by this server."""

import secrets
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from annotation.views.participation_cookie import (
    SeeOther,
    annotator_page,
    current_participation,
    forget,
    study_at,
)
from jobs.clock import database_now
from recruitment.admission import OPEN_LINK
from recruitment.framing import allow_frames, framed_address
from recruitment.identities import UnusableId
from recruitment.messages import EVENT_TOO_LARGE
from recruitment.models import Channel
from recruitment.platforms import PlatformEntry, get_platform
from recruitment.platforms.errors import NotConfirmedYet
from recruitment.services.channels import channel_for, has_open_link, note_refused_link
from recruitment.services.platform_sync import (
    confirm_by_signature,
    enqueue_key_renewal,
    receive_event,
)
from recruitment.services.reentry import Browser, is_allowed_reentry
from studies.client_address import client_address
from studies.models import Study
from studies.models.lasting_key import lasting_keys
from tiebreak.errors import DomainError

SALT = "annotation.arrival"
MAX_AGE = 24 * 60 * 60
MAX_EVENT_BYTES = 64 * 1024


@require_safe
@annotator_page
def arrive(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """Exchange the platform's parameters for a signed entry token; this stores no person."""
    study = study_at(study_id)
    channel = channel_for(study, provider)
    platform = get_platform(provider)
    try:
        entry = platform.read_entry(request, channel)
    except DomainError as refusal:
        # An expired link that is reloaded in a browser that has already entered does no harm.
        if current_participation(request, study_id) or stored_entry(request, study):
            return SeeOther(reverse("recruitment:welcome", args=[study_id]))
        if isinstance(refusal, UnusableId):
            note_refused_link(channel=channel, refusal=refusal)
        if not isinstance(refusal, NotConfirmedYet):
            raise
        enqueue_key_renewal(channel=channel)
        return render(request, "recruitment/checking_link.html", {"study": study})
    if entry is None:
        response = render(request, "recruitment/platform_preview.html", {"study": study})
        return allow_frames(response, platform.frame_ancestors(channel))
    browser = _browser(request, channel, entry)
    is_allowed_reentry(channel=channel, entry=entry, browser=browser)
    confirm_by_signature(channel=channel, entry=entry)
    return _redirect_to_welcome(request, channel, entry, browser)


def _browser(request: HttpRequest, channel: Channel, entry: PlatformEntry) -> Browser:
    """Return what the cookies prove: the browser's token, and its participation under this ID."""
    known = browser_of(request, channel.study_id)
    participation = current_participation(request, channel.study_id)
    is_own = participation is not None and (
        (participation.provider, participation.rater.external_id)
        == (channel.provider, entry.external_id)
    )
    public_id = participation.public_id if participation and is_own else known.participation
    return Browser(known.token or secrets.token_urlsafe(16), public_id)


def browser_of(request: HttpRequest, study_id: str) -> Browser:
    """Return the browser as the entry cookie of this study describes it."""
    cookie = _read_cookie(request, study_id) or {}
    return Browser(cookie.get("browser", ""), cookie.get("participation", ""))


def _redirect_to_welcome(
    request: HttpRequest, channel: Channel, entry: PlatformEntry, browser: Browser
) -> HttpResponse:
    """Redirect to the welcome page, with the entry in a cookie or, in a frame, in the address."""
    study_id = channel.study_id
    content = {
        "study": study_id,
        "provider": channel.provider,
        "person": entry.external_id,
        "submission": entry.submission_id,
        "confirmed": entry.is_confirmed,
        "extra": entry.extra,
    }
    welcome = reverse("recruitment:welcome", args=[study_id])
    if get_platform(channel.provider).is_framed:
        return SeeOther(framed_address(content, welcome))
    response = SeeOther(welcome)
    _set_cookie(response, study_id, content, browser)
    participation = current_participation(request, study_id)
    if participation is not None and participation.submission_id != entry.submission_id:
        forget(response, study_id)
    return response


def _set_cookie(
    response: HttpResponse, study_id: str, content: dict[str, Any], browser: Browser
) -> None:
    proof = {"browser": browser.token, "participation": browser.participation}
    response.set_cookie(
        _cookie_name(study_id),
        signing.dumps(content | proof, salt=SALT, compress=True),
        max_age=MAX_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def stored_entry(request: HttpRequest, study: Study) -> tuple[Channel, PlatformEntry] | None:
    """Return the platform entry in this browser's cookie or framed address; None without one."""
    content: dict[str, Any] | None = getattr(request, "arrival", None) or _read_cookie(
        request, study.pk
    )
    if content is None or content["study"] != study.pk:
        return None
    try:
        channel = channel_for(study, content["provider"])
    except DomainError:  # the channel was removed in the meantime
        return None
    entry = PlatformEntry(
        content["person"], content["submission"], content["confirmed"], content["extra"]
    )
    return channel, entry


def entry_or_open_link(request: HttpRequest, study: Study) -> tuple[Channel, PlatformEntry]:
    """Return the stored entry, or a new one through the open link.

    The open link also serves a browser whose stored entry no longer admits anyone.
    """
    stored = stored_entry(request, study)
    if stored is not None:
        browser = browser_of(request, study.pk)
        if _is_admitted(*stored, browser) or not has_open_link(study):
            return stored
    channel = channel_for(study, OPEN_LINK)
    entry = get_platform(OPEN_LINK).read_entry(request, channel)
    assert entry is not None
    return channel, entry


def _is_admitted(channel: Channel, entry: PlatformEntry, browser: Browser) -> bool:
    try:
        is_allowed_reentry(channel=channel, entry=entry, browser=browser)
    except DomainError:
        return False
    return True


def address_of(request: HttpRequest) -> str:
    """Return an HMAC of the client's internet address, for the limits per address.

    Returns "" if the address is unknown, as behind a Unix socket without proxy settings; otherwise
    all such clients would share one address. IPv6 addresses count by their /64 network, because a
    household has 2**64 of them.
    """
    address = client_address(request)
    if not address:
        return ""
    network = str(ip_network(f"{address}/64", strict=False)) if ":" in address else address
    return salted_hmac("annotation.address", network, secret=lasting_keys()[0]).hexdigest()[:32]


def _read_cookie(request: HttpRequest, study_id: str) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = signing.loads(
            request.COOKIES.get(_cookie_name(study_id), ""), salt=SALT, max_age=MAX_AGE
        )
    except signing.BadSignature:
        return None
    return content


def _cookie_name(study_id: str) -> str:
    return f"from-{study_id}"


@csrf_exempt
@require_POST
def event(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """Receive a platform's webhook, which only its signature authenticates."""
    try:
        body = _bounded_body(request)
        channel = channel_for(study_at(study_id), provider)
        receive_event(
            channel=channel,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
            now=database_now(),
        )
    except DomainError as refusal:
        content = {"code": refusal.code, "message": refusal.message}
        return JsonResponse(content, status=refusal.status)
    return HttpResponse(status=204)


def _bounded_body(request: HttpRequest) -> bytes:
    """Return the body, whose size is limited because it is read before the signature is checked."""
    body: bytes = request.read(MAX_EVENT_BYTES + 1)
    if len(body) > MAX_EVENT_BYTES:
        message = EVENT_TOO_LARGE.format(MAX_EVENT_BYTES)
        raise DomainError("event_too_large", message, status=413)
    return body

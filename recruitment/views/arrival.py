"""The way in from a platform: its link says who comes, once; then a signed word of ours does."""

import secrets
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
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
from recruitment.framing import allow_frames, framed_address
from recruitment.models import Channel
from recruitment.platforms import PlatformEntry, get_platform
from recruitment.platforms.errors import NotConfirmedYet
from recruitment.services.channels import OPEN_LINK, channel_for, has_open_link
from recruitment.services.platform_sync import (
    confirm_by_signature,
    enqueue_key_renewal,
    receive_event,
)
from recruitment.services.reentry import Browser, check_reentry
from studies.client_address import client_address
from studies.models import Study
from tiebreak.errors import DomainError

SALT = "annotation.arrival"
MAX_AGE = 24 * 60 * 60
MAX_EVENT_BYTES = 64 * 1024


@require_safe
@annotator_page
def arrive(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """Exchange the platform's parameters for a word of ours; nothing is written by it."""
    study = study_at(study_id)
    channel = channel_for(study, provider)
    source = get_platform(provider)
    try:
        arrival = source.read_entry(request, channel)
    except DomainError as refusal:
        # An old link, reloaded where somebody is in already, is as good as none.
        if current_participation(request, study_id) or arrival_at(request, study):
            return SeeOther(reverse("recruitment:welcome", args=[study_id]))
        if not isinstance(refusal, NotConfirmedYet):
            raise
        enqueue_key_renewal(channel=channel)
        return render(request, "recruitment/checking_link.html", {"study": study})
    if arrival is None:
        response = render(request, "recruitment/platform_preview.html", {"study": study})
        return allow_frames(response, source.frame_ancestors(channel))
    browser = _browser(request, channel, arrival)
    check_reentry(
        channel=channel,
        external_id=arrival.external_id,
        submission_id=arrival.submission_id,
        browser=browser,
    )
    confirm_by_signature(channel=channel, arrival=arrival)
    return _welcomed(request, study, provider, arrival, browser, is_framed=source.is_framed)


def _browser(request: HttpRequest, channel: Channel, arrival: PlatformEntry) -> Browser:
    """What the cookies prove of this browser's part, if it is by this very id; else a new word."""
    known = browser_of(request, channel.study_id)
    present = current_participation(request, channel.study_id)
    is_theirs = present is not None and (
        (present.provider, present.rater.external_id) == (channel.provider, arrival.external_id)
    )
    own = present.public_id if present is not None and is_theirs else known.participation
    return Browser(known.word or secrets.token_urlsafe(16), own)


def browser_of(request: HttpRequest, study_id: str) -> Browser:
    """As the cookie of the last arrival in this study has it."""
    word = _from_cookie(request, study_id) or {}
    return Browser(word.get("browser", ""), word.get("participation", ""))


def _welcomed(
    request: HttpRequest,
    study: Study,
    provider: str,
    arrival: PlatformEntry,
    browser: Browser,
    *,
    is_framed: bool,
) -> HttpResponse:
    word = {
        "study": study.pk,
        "provider": provider,
        "person": arrival.external_id,
        "submission": arrival.submission_id,
        "confirmed": arrival.is_confirmed,
        "extra": arrival.extra,
    }
    welcome = reverse("recruitment:welcome", args=[study.pk])
    if is_framed:
        return SeeOther(framed_address(word, welcome))
    response = SeeOther(welcome)
    bound = {"browser": browser.word, "participation": browser.participation}
    response.set_cookie(
        _cookie(study.pk),
        signing.dumps(word | bound, salt=SALT, compress=True),
        max_age=MAX_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    present = current_participation(request, study.pk)
    if present is not None and present.submission_id != arrival.submission_id:
        forget(response, study.pk)
    return response


def arrival_at(request: HttpRequest, study: Study) -> tuple[Channel, PlatformEntry] | None:
    """Who followed a platform's link to this study in this browser, if anybody did."""
    word: dict[str, Any] | None = getattr(request, "arrival", None) or _from_cookie(
        request, study.pk
    )
    if word is None or word["study"] != study.pk:
        return None
    try:
        channel = channel_for(study, word["provider"])
    except DomainError:  # it was removed since
        return None
    arrival = PlatformEntry(word["person"], word["submission"], word["confirmed"], word["extra"])
    return channel, arrival


def newcomer(request: HttpRequest, study: Study) -> tuple[Channel, PlatformEntry]:
    """The same, or somebody new by the open link where the study has one.

    Who followed a link that leads in no more, and has the open one now, comes by that.
    """
    known = arrival_at(request, study)
    if known is not None:
        browser = browser_of(request, study.pk)
        if _leads_in(*known, browser) or not has_open_link(study):
            return known
    channel = channel_for(study, OPEN_LINK)
    arrival = get_platform(OPEN_LINK).read_entry(request, channel)
    assert arrival is not None
    return channel, arrival


def _leads_in(channel: Channel, arrival: PlatformEntry, browser: Browser) -> bool:
    try:
        check_reentry(
            channel=channel,
            external_id=arrival.external_id,
            submission_id=arrival.submission_id,
            browser=browser,
        )
    except DomainError:
        return False
    return True


def address_of(request: HttpRequest) -> str:
    """A keyed hash of where a request came from: enough to count by, nothing to look up.

    "" where that is not known, as behind a socket whose proxy is not named in the settings: all
    would be one. Of IPv6 the network counts, because every household has 2**64 addresses.
    """
    address = client_address(request)
    if not address:
        return ""
    place = str(ip_network(f"{address}/64", strict=False)) if ":" in address else address
    return salted_hmac("annotation.address", place).hexdigest()[:32]


def _from_cookie(request: HttpRequest, study_id: str) -> dict[str, Any] | None:
    try:
        word: dict[str, Any] = signing.loads(
            request.COOKIES.get(_cookie(study_id), ""), salt=SALT, max_age=MAX_AGE
        )
    except signing.BadSignature:
        return None
    return word


def _cookie(study_id: str) -> str:
    return f"from-{study_id}"


@csrf_exempt
@require_POST
def event(request: HttpRequest, study_id: str, provider: str) -> HttpResponse:
    """A platform's webhook. It is let in by its signature alone."""
    try:
        body = _bounded_body(request)
        channel = channel_for(study_at(study_id), provider)
        receive_event(
            channel=channel,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
            now=timezone.now(),
        )
    except DomainError as refusal:
        told = {"code": refusal.code, "message": refusal.message}
        return JsonResponse(told, status=refusal.status)
    return HttpResponse(status=204)


def _bounded_body(request: HttpRequest) -> bytes:
    """Read before anybody proved who sends it, so no more than an event ever has."""
    body: bytes = request.read(MAX_EVENT_BYTES + 1)
    if len(body) > MAX_EVENT_BYTES:
        raise DomainError("event_too_large", TOO_LARGE, status=413)
    return body


TOO_LARGE = f"An event has {MAX_EVENT_BYTES} bytes at most: this one was not read."

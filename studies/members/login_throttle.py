"""Throttles password guessing without locking out the owners of the accounts.

Failed logins within the cool-off time are counted in three ways. The count per user name and
address blocks one attacker. The count per address, over all names, blocks someone who tries one
password on many names. The count per name, over all addresses, slows distributed guessing: a new
address has two tries so that the right password opens the account. The last two do not affect
addresses from which this name recently logged in. A browser in which this name
recently logged in has a cookie and a separate count so that nobody else's failures at its address
keep the account's owner out. The counts use the names as typed, so responses never reveal whether a
name exists.
"""

import secrets
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from ipaddress import IPv6Network
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse

from studies.client_address import client_address

# How long an address or browser is trusted for a user after a successful login from it.
KNOWN_DAYS = 90
COOKIE = "known-browser"
# Wrong passwords that an attacked name still has at a new address so that the right one opens it.
TRIES_UNDER_ATTACK = 2


def login_address(request: HttpRequest) -> str | None:
    """Return the client's address or, for IPv6, its /64 network, which usually is one client's."""
    address = client_address(request)
    if ":" in address:
        return str(IPv6Network((address, 64), strict=False).network_address)
    return address or None


class LoginThrottle(AxesDatabaseHandler):  # type: ignore[misc]
    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """Return the failures in this browser if the name is known there, or else from its address.

        Returns the limit if another count is full.
        """
        name, address = get_client_username(request, credentials), request.axes_ip_address
        if browser := known_browser(request, name):
            # Failures are stored with it to distinguish them from others at this address.
            request.axes_user_agent = browser
            return _failures(request, username=name, user_agent=browser)
        here = _failures(request, username=name, ip_address=address)
        is_spraying = _failures(request, ip_address=address) >= settings.TIEBREAK_LOGIN_FAILURES
        is_attacked = _failures(request, username=name) >= settings.TIEBREAK_LOGIN_FAILURES_OF_NAME
        is_slowed = is_attacked and here >= TRIES_UNDER_ATTACK
        is_blocked = (is_spraying or is_slowed) and not _is_known(request, name, address)
        return max(here, settings.AXES_FAILURE_LIMIT) if is_blocked else here

    def user_logged_in(self, sender: Any, request: Any, user: Any, **kwargs: Any) -> None:
        """Store the address of a successful login, and delete old addresses."""
        super().user_logged_in(sender, request, user, **kwargs)
        self.reset_logs(age_days=KNOWN_DAYS)
        request.known_as = user.get_username()


class KnownBrowserMiddleware:
    """Marks a browser in which someone logged in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if name := getattr(request, "known_as", ""):
            response.set_cookie(
                COOKIE,
                signing.dumps([name, secrets.token_urlsafe(16)], salt=COOKIE),
                max_age=timedelta(days=KNOWN_DAYS),
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


def known_browser(request: HttpRequest, name: str | None) -> str:
    """Return what tells this browser from others, or "" if this name did not log in there."""
    cookie, max_age = request.COOKIES.get(COOKIE, ""), timedelta(days=KNOWN_DAYS)
    try:
        known, token = signing.loads(cookie, salt=COOKIE, max_age=max_age)
    except signing.BadSignature:
        return ""
    return f"known {sha256(token.encode()).hexdigest()}" if known == name else ""


def _is_known(request: Any, name: str | None, address: str | None) -> bool:
    since = request.axes_attempt_time - timedelta(days=KNOWN_DAYS)
    logins = AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gte=since)
    return bool(logins.exists())


def _failures(request: Any, **where: Any) -> int:
    recent = AccessAttempt.objects.filter(
        attempt_time__gte=get_cool_off_threshold(request), **where
    )
    return int(recent.aggregate(sum=Sum("failures_since_start"))["sum"] or 0)

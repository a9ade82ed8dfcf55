"""Throttles password guessing without locking out the owners of the accounts.

Failed logins within the cool-off time are counted in three ways. The count per user name and
address blocks one attacker. The count per address, over all names, blocks somebody who tries one
password on many names. The count per name, over all addresses, blocks distributed guessing. It does
not block addresses from which this name recently logged in, so that the account's owner still has
access. The counts use the names as typed, so responses never reveal whether a name exists.
"""

from datetime import timedelta
from ipaddress import IPv6Network
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import Sum
from django.http import HttpRequest

from studies.client_address import client_address

# How long an address is trusted for a user after a successful login from it.
KNOWN_DAYS = 90


def login_address(request: HttpRequest) -> str | None:
    """Return the client's address or, for IPv6, its /64 network, which usually is one client's."""
    address = client_address(request)
    if ":" in address:
        return str(IPv6Network((address, 64), strict=False).network_address)
    return address or None


class LoginThrottle(AxesDatabaseHandler):  # type: ignore[misc]
    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """Return this name's failures from this address, or the limit if another count is full."""
        name, address = get_client_username(request, credentials), request.axes_ip_address
        here = _failures(request, username=name, ip_address=address)
        is_spraying = _failures(request, ip_address=address) >= settings.TIEBREAK_LOGIN_FAILURES
        is_blocked = is_spraying or self._is_under_attack(request, name, address)
        return max(here, settings.AXES_FAILURE_LIMIT) if is_blocked else here

    def _is_under_attack(self, request: Any, name: str | None, address: str | None) -> bool:
        if _failures(request, username=name) < settings.TIEBREAK_LOGIN_FAILURES_OF_NAME:
            return False
        since = request.axes_attempt_time - timedelta(days=KNOWN_DAYS)
        known = AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gte=since)
        return not known.exists()

    def user_logged_in(self, sender: Any, request: Any, user: Any, **kwargs: Any) -> None:
        """Store the address of a successful login, and delete old addresses."""
        super().user_logged_in(sender, request, user, **kwargs)
        self.reset_logs(age_days=KNOWN_DAYS)


def _failures(request: Any, **where: Any) -> int:
    recent = AccessAttempt.objects.filter(
        attempt_time__gte=get_cool_off_threshold(request), **where
    )
    return int(recent.aggregate(sum=Sum("failures_since_start"))["sum"] or 0)

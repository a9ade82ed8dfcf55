"""How password guessing is slowed without locking out the people whose names are guessed at.

Three counts of wrong passwords run over the cool-off time. A name at one address: that guesser is
stopped, and nobody else. An address, whatever the names: trying one password on many names is
stopped. A name, whatever the addresses: guessing from many machines at once is stopped, except
for addresses from which this name logged in lately, so that its owner is let in meanwhile.
All of it counts what was typed, so that no answer says whether a name exists.
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

# So long an address counts as one of a person's own after they logged in there.
KNOWN_DAYS = 90


def login_address(request: HttpRequest) -> str | None:
    """The client's address; of IPv6 its network, of which one client has all 2**64 addresses."""
    address = client_address(request)
    if ":" in address:
        return str(IPv6Network((address, 64), strict=False).network_address)
    return address or None


class LoginThrottle(AxesDatabaseHandler):  # type: ignore[misc]
    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """The failures of this name at this address; the limit where another count is spent."""
        name, address = get_client_username(request, credentials), request.axes_ip_address
        here = _failures(request, username=name, ip_address=address)
        is_spraying = _failures(request, ip_address=address) >= settings.TIEBREAK_LOGIN_FAILURES
        is_spent = is_spraying or self._is_under_attack(request, name, address)
        return max(here, settings.AXES_FAILURE_LIMIT) if is_spent else here

    def _is_under_attack(self, request: Any, name: str | None, address: str | None) -> bool:
        if _failures(request, username=name) < settings.TIEBREAK_LOGIN_FAILURES_OF_NAME:
            return False
        since = request.axes_attempt_time - timedelta(days=KNOWN_DAYS)
        known = AccessLog.objects.filter(username=name, ip_address=address, attempt_time__gte=since)
        return not known.exists()

    def user_logged_in(self, sender: Any, request: Any, user: Any, **kwargs: Any) -> None:
        """Remember the address, and forget those from which nobody came for long."""
        super().user_logged_in(sender, request, user, **kwargs)
        self.reset_logs(age_days=KNOWN_DAYS)


def _failures(request: Any, **where: Any) -> int:
    recent = AccessAttempt.objects.filter(
        attempt_time__gte=get_cool_off_threshold(request), **where
    )
    return int(recent.aggregate(sum=Sum("failures_since_start"))["sum"] or 0)

"""Limits on how often a client may ask, and on wrong tokens from one address."""

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from api.models import ApiToken
from studies.members.login_throttle import login_address

if TYPE_CHECKING:
    # These modules are loaded while `rest_framework.views` is.
    from rest_framework.views import APIView


class ClientThrottle(SimpleRateThrottle):
    """Limits the requests of one token, or of one researcher who is logged in."""

    scope = "client"

    def get_cache_key(self, request: Request, view: "APIView") -> str:  # noqa: ARG002
        is_token = isinstance(request.auth, ApiToken)
        ident = f"token-{request.auth.pk}" if is_token else f"user-{request.user.pk}"
        return self.cache_format % {"scope": self.scope, "ident": ident}


class WrongTokenThrottle(SimpleRateThrottle):
    """Limits the wrong tokens from one address; requests with a valid token are not counted."""

    scope = "wrong_tokens"

    def get_cache_key(self, request: Request, view: "APIView | None") -> str:  # noqa: ARG002
        ident = login_address(request._request) or "unknown"
        return self.cache_format % {"scope": self.scope, "ident": ident}

    def is_exhausted(self, request: Request) -> bool:
        return not self.allow_request(request, None)  # type: ignore[arg-type]

    def throttle_success(self) -> bool:
        return True

    def count(self, request: Request) -> None:
        """Count a wrong token. `is_exhausted` must have been called for the request."""
        self.history.insert(0, self.now)
        key = self.get_cache_key(request, None)
        self.cache.set(key, self.history, self.parse_rate(self.get_rate())[1])

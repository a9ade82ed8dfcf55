"""Authentication by a token in the header `Authorization: Bearer tb_…`."""

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from api.models import ApiToken
from api.services.tokens import valid_token
from api.throttling import WrongTokenThrottle
from tiebreak.errors import DomainError

SCHEME = "bearer"


class TokenAuthentication(BaseAuthentication):
    """Identify the researcher by a token; without one, leave it to the browser's session.

    A valid token always passes, whatever others at its address send: nobody guesses a token, and
    the limit only keeps wrong ones from costing much.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        try:
            token = valid_token(text.strip())
        except DomainError as refusal:
            throttle = WrongTokenThrottle()
            if throttle.is_exhausted(request):
                raise Throttled(wait=throttle.wait(), code="too_many_wrong_tokens") from refusal
            throttle.count(request)
            raise AuthenticationFailed(refusal.message, code=refusal.code) from refusal
        return token.user, token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002  the signature is DRF's
        return "Bearer"

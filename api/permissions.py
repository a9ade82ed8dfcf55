"""Who may use the API, and who may change something through it."""

from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from api.messages import NOT_A_RESEARCHER, READ_ONLY
from api.models import ApiToken

if TYPE_CHECKING:
    # These modules are loaded while `rest_framework.views` is.
    from rest_framework.views import APIView


class IsResearcher(BasePermission):
    """Let in users who may log in to the admin, as the pages do."""

    code, message = "not_a_researcher", NOT_A_RESEARCHER

    def has_permission(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002
        return bool(request.user and request.user.is_active and request.user.is_staff)


class MayWrite(BasePermission):
    """Refuse every method that changes something to a token that may only read."""

    code, message = "read_only_token", READ_ONLY

    def has_permission(self, request: Request, view: "APIView") -> bool:  # noqa: ARG002
        token = request.auth
        return request.method in SAFE_METHODS or not isinstance(token, ApiToken) or token.can_write

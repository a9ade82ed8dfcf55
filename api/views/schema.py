"""The schema of the interface, and the answer to every other path under it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView


class Schema(SpectacularAPIView):
    """The OpenAPI description of this interface."""


@extend_schema(exclude=True)
class NothingHere(APIView):
    """Refuses paths that do not exist in the same format as everything else."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound

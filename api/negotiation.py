"""Content negotiation for endpoints that have one format each."""

from collections.abc import Iterable

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class OneFormat(DefaultContentNegotiation):
    """Answer in the endpoint's format whatever the Accept header asks for."""

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002  the signature is DRF's
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)

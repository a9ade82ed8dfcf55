"""Serves under a path such as /tiebreak/ if `TIEBREAK_PUBLIC_URL` has one.

Django then begins every address that it makes with the path (`FORCE_SCRIPT_NAME`). What remains is
here: a proxy may pass the path on or strip it, and every cookie is for the path alone, whoever sets it.
"""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse


class SubPathMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.path: str = settings.FORCE_SCRIPT_NAME or ""
        if not self.path:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if f"{request.path_info}/".startswith(f"{self.path}/"):
            request.path_info = request.path_info.removeprefix(self.path) or "/"
            request.path = f"{self.path}{request.path_info}"
        response = self.get_response(request)
        for cookie in response.cookies.values():
            cookie["path"] = f"{self.path}/"
        return response

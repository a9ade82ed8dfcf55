"""Pages for requests that no view can answer.

They are of an address that only takes a form, of a deleted study, or have a text that no database stores.
"""

from collections.abc import Callable

from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import Resolver404, get_script_prefix, resolve

from jobs.deletion import LOST
from studies.models import Study

OF_STUDY = {"study_id", "public_id"}


class StrayRequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Give whoever opens the address of a button a page with a link; programs have an answer."""
        response = self.get_response(request)
        is_empty = isinstance(response, HttpResponseNotAllowed) and not response.content
        if request.method != "GET" or not is_empty:
            return response
        context = {"above": page_above(request.path_info)}
        page = render(request, "405.html", context, status=405)
        page["Allow"] = response["Allow"]
        return page

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if is_lost(request, error):
            return render(request, "404.html", {"is_deleted": True}, status=404)
        if isinstance(error, DataError) and "NUL" in str(error):  # PostgreSQL looks up no such text
            return render(request, "400.html", status=400)
        return None


def page_above(path: str) -> str:
    """Return the nearest address above this one that names nothing but a study: the page with the button."""
    while path != "/":
        path = f"{path.rstrip('/').rpartition('/')[0]}/"
        try:
            if resolve(path).kwargs.keys() <= OF_STUDY:
                break
        except Resolver404:
            continue
    return get_script_prefix() + path.removeprefix("/")


def is_lost(request: HttpRequest, error: Exception) -> bool:
    """Whether a view failed because the study of its address was deleted after it was looked up."""
    if not isinstance(error, LOST) or request.resolver_match is None:
        return False
    named = [value for name, value in request.resolver_match.kwargs.items() if name in OF_STUDY]
    return bool(named) and not Study.objects.filter(pk__in=named).exists()

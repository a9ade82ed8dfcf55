"""Refusals as problem details (RFC 9457): `application/problem+json` with a code for programs."""

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from math import ceil
from typing import Any

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    PermissionDenied,
    RequestDataTooBig,
    ValidationError as ModelError,
)
from django.core.signals import got_request_exception
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.fields import get_error_detail
from rest_framework.settings import api_settings

from annotation.imports.uploads import DISK_FULL
from api.messages import (
    BODY_TOO_LARGE,
    CREDENTIALS_MISSING,
    INVALID_REQUEST,
    NOT_FOUND,
    SERVER_ERROR,
    TOO_LARGE_A_NUMBER,
    TOO_MANY_REQUESTS,
    TOO_MANY_WRONG,
    UNFORESEEN,
)
from recruitment.services.launch_checks import LaunchRefused
from studies.data.table_import import BadTable
from studies.stray_requests import is_lost
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError
from tiebreak.formats.confined import FULL

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
Json = dict[str, Any]
MAX_TOLD = 50
# Seconds after which to repeat a request that was refused for now.
RETRY_AFTER = {"report_pending": 5, "no_broker": 60}
# What Django and DRF call the problems of a whole object.
WHOLE = {NON_FIELD_ERRORS, api_settings.NON_FIELD_ERRORS_KEY}
# What DRF says in its own words, in words that say what to do.
_SENTENCES = {
    "not_authenticated": CREDENTIALS_MISSING,
    "not_found": NOT_FOUND,
    "overflow": TOO_LARGE_A_NUMBER,
    "throttled": TOO_MANY_REQUESTS,
    "too_many_wrong_tokens": TOO_MANY_WRONG,
}


def problem_response(error: Exception, context: Json) -> JsonResponse:
    """Return the response to an error. DRF calls it."""
    if isinstance(error, Http404) or is_lost(context["request"], error):
        error = DomainError("not_found", NOT_FOUND, status=404)
    if isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if isinstance(error, ModelError):
        error = exceptions.ValidationError(get_error_detail(error))
    if isinstance(error, InvalidInput):
        error = DomainError(error.code, error.message, status=400)
    if isinstance(error, DomainError):
        wait = RETRY_AFTER.get(error.code)
        headers = {"Retry-After": str(wait)} if wait else None
        return problem(error.status, error.code, error.message, headers=headers, **_more(error))
    if isinstance(error, RequestDataTooBig):
        return problem(413, "body_too_large", BODY_TOO_LARGE)
    if isinstance(error, exceptions.APIException):
        return _drf_problem(error)
    # As Django does for pages; a test's client raises the error then.
    got_request_exception.send(sender=None, request=context["request"])
    log.error("%s of an API request", type(error).__name__, exc_info=error)
    return unforeseen(error)


def unforeseen(error: BaseException | None) -> JsonResponse:
    """Return the response to an error that nobody foresaw, or to a full disk."""
    if isinstance(error, OSError) and error.errno in FULL:
        return problem(507, "disk_full", DISK_FULL)
    return problem(500, "server_error", SERVER_ERROR)


def problem(
    status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> JsonResponse:
    """Return a response with problem details."""
    body = problem_body(status, code, detail) | more
    return JsonResponse(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def problem_body(status: int, code: str, detail: str) -> Json:
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }


def _more(error: DomainError) -> Json:
    if isinstance(error, FormatError):
        problems = [vars(problem) for problem in error.problems]
        kinds = [kind.as_json() for kind in error.kinds]
        return {"problems": problems, "problems_total": error.total, "problem_kinds": kinds}
    if isinstance(error, BadTable):
        summary = error.summary.as_json()
        return {
            "problems": summary["problems"],
            "problems_total": summary["n_problems"],
            "problem_kinds": summary["problem_kinds"],
        }
    if isinstance(error, LaunchRefused):
        problems = [{"code": check.code, "reason": check.sentence} for check in error.checks]
        return {"problems": problems}
    return {}


def _drf_problem(error: exceptions.APIException) -> JsonResponse:
    headers = {}
    if getattr(error, "auth_header", ""):
        headers["WWW-Authenticate"] = error.auth_header  # type: ignore[attr-defined]
    if getattr(error, "wait", None):
        headers["Retry-After"] = str(ceil(error.wait))  # type: ignore[attr-defined]
    if isinstance(error, exceptions.ValidationError):
        problems = list(_field_problems(error.get_full_details()))
        told: Json = {"problems": problems[:MAX_TOLD], "problems_total": len(problems)}
        return problem(400, "invalid", INVALID_REQUEST, **told)
    code = str(error.get_codes())
    detail = _SENTENCES.get(code) or str(error.detail) or UNFORESEEN
    return problem(error.status_code, code, detail, headers=headers)


def _field_problems(details: Any, field: str = "") -> Iterator[Json]:
    """Yield the problems of a request, each with the path of its field."""
    if isinstance(details, list):
        for number, item in enumerate(details):
            is_leaf = isinstance(item, dict) and item.keys() == {"message", "code"}
            yield from _field_problems(item, field if is_leaf else f"{field}.{number}")
    elif details.keys() == {"message", "code"}:
        code = str(details["code"])
        yield {
            "field": field,
            "code": code,
            "reason": _SENTENCES.get(code, str(details["message"])),
        }
    else:
        for name, inner in details.items():
            step = "" if name in WHOLE else f".{name}"
            yield from _field_problems(inner, f"{field}{step}".strip("."))

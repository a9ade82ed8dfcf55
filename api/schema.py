"""How endpoints are described in the OpenAPI schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiResponse,
    extend_schema,
)
from rest_framework.request import Request
from rest_framework.views import APIView

from api.problems import CONTENT_TYPE, problem_body
from api.serializers.studies import Problem
from api.streaming import CONTENT_TYPE as JSONL
from api.validation import refuse_unknown_fields

# The ids in paths: what they are of.
IDS = {
    "study_id": "The study's id.",
    "dataset_id": "The dataset's id.",
    "job_id": "The job's id.",
    "rater_id": "The machine rater's id.",
    "licence_id": "The licence's id.",
    "payment_id": "The payment's id.",
    "provider": "The platform's name, such as open-link or prolific.",
    "webhook_id": "The webhook's id.",
    "delivery_id": "The delivery's id.",
    "participation_id": "The participant's id.",
}
Json = dict[str, Any]
# The response to a request after which there is nothing to say.
NOTHING = {204: OpenApiResponse(description="Done.")}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How drf-spectacular describes a token."""

    target_class = "api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Json:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": "A token of a researcher."}


def described(
    summary: str,
    *,
    tag: str,
    responses: Mapping[Any, Any],
    request: Any = None,
    query: type | None = None,
    refusals: Mapping[int, Sequence[str]] | None = None,
    description: str = "",
) -> Callable[[Any], Any]:
    """Decorator that describes an endpoint: one line, its parameters, its responses and refusals."""
    answers = dict(responses)
    for status, codes in (refusals or {}).items():
        answers[status, CONTENT_TYPE] = _refusal(status, codes)
    description_of = extend_schema(
        operation_id=re.sub(r"\W+", "_", summary.lower()),
        summary=summary,
        description=description,
        tags=[tag],
        request=request,
        parameters=[query] if query is not None else [],
        responses=answers,
    )
    body = next(iter(request.values())) if isinstance(request, dict) else request

    def endpoint(method: Any) -> Any:
        """Describe a method, which refuses what its description does not name."""

        @wraps(method)
        def checking(view: APIView, request: Request, *args: Any, **kwargs: Any) -> Any:
            refuse_unknown_fields(request, body, _query_names(view, query, request.method))
            return method(view, request, *args, **kwargs)

        return description_of(checking)

    return endpoint


def _query_names(view: APIView, query: Any, method: str | None) -> list[str]:
    """Return the parameters that an endpoint takes in its address."""
    pages = getattr(view, "pagination_class", None) if method == "GET" else None
    of_pages = pages().get_schema_operation_parameters(view) if pages else []
    return [*(query().fields if query else ()), *(one["name"] for one in of_pages)]


def jsonl(description: str) -> dict[Any, Any]:
    """Return the responses of an endpoint that streams rows."""
    return {(200, JSONL): OpenApiResponse(OpenApiTypes.STR, description=description)}


def _refusal(status: int, codes: Sequence[str]) -> OpenApiResponse:
    examples = [OpenApiExample(code, value=_example(status, code)) for code in codes]
    return OpenApiResponse(Problem, description=HTTPStatus(status).phrase, examples=examples)


def _example(status: int, code: str) -> Json:
    return problem_body(status, code, "A sentence that says what happened and what to do.")


# The refusals that any endpoint may give, those of endpoints with an id, and of those with a body.
ALL = {
    401: ("not_authenticated", "wrong_token"),
    403: ("not_a_researcher", "read_only_token", "permission_denied"),
    429: ("throttled", "too_many_wrong_tokens"),
}
WITH_VALUES = {400: ("invalid", "parse_error")}
WITH_STUDY = {403: (*ALL[403], "role_forbids"), 404: ("unknown_study",)}
WITH_BODY = {415: ("unsupported_media_type",)}


def add_common_problems(result: Json, **_: Any) -> Json:
    """Add to each endpoint the refusals that it shares with others. drf-spectacular calls it."""
    for path, methods in result["paths"].items():
        for operation in methods.values():
            _describe_ids(operation)
            shared = _common(path, operation)
            described_here = [int(status) for status in operation["responses"] if status >= "400"]
            for status in sorted({*described_here, *shared}):
                _add(operation["responses"], status, shared.get(status, ()))
    return result


def _describe_ids(operation: Json) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            parameter["description"] = IDS[parameter["name"]]


def _common(path: str, operation: Json) -> dict[int, Sequence[str]]:
    takes_values = "requestBody" in operation or any(
        parameter["in"] == "query" for parameter in operation.get("parameters", [])
    )
    return {
        **ALL,
        **(WITH_STUDY if "{study_id}" in path else {}),
        **(WITH_VALUES if takes_values else {}),
        **(WITH_BODY if "requestBody" in operation else {}),
    }


def _add(responses: Json, status: int, codes: Sequence[str]) -> None:
    """Add examples of codes to a status, beside those that the endpoint itself describes."""
    response = responses.setdefault(str(status), {"description": HTTPStatus(status).phrase})
    content = response.setdefault("content", {}).setdefault(
        CONTENT_TYPE, {"schema": {"$ref": "#/components/schemas/Problem"}}
    )
    # drf-spectacular changes the names of examples, which are codes here.
    named = [example["value"]["code"] for example in content.get("examples", {}).values()]
    names = dict.fromkeys((*named, *codes))
    content["examples"] = {code: {"value": _example(status, code)} for code in names}

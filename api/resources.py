"""What the resources of the interface share: an endpoint is a method whose docstring describes it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Literal, cast

from django.contrib.auth.models import User
from django.http.response import HttpResponseBase
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.pagination import BasePagination
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, ListSerializer, Serializer
from rest_framework.viewsets import ViewSet

from api.access import researcher, visible_study
from api.problems import CONTENT_TYPE
from api.validation import checked, refuse_unknown_fields
from studies.access import Right
from studies.models import Study


class ProblemItem(serializers.Serializer[Any]):
    """One reason why a file, a request or a launch was refused."""

    code = serializers.CharField()
    reason = serializers.CharField()
    file = serializers.CharField(required=False, help_text="The file, if one was refused.")
    line = serializers.IntegerField(
        required=False, allow_null=True, help_text="The line; null if it is about the whole file."
    )
    field = serializers.CharField(required=False, help_text="The field of the request.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457). `code` is for programs, `detail` for people."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    problems = ProblemItem(many=True, required=False)
    problems_total = serializers.IntegerField(
        required=False, help_text="The number of all problems; `problems` has the first 50."
    )


Made = type[BaseSerializer[Any]]
Taken = type[Serializer[Any]] | BaseSerializer[Any] | None
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class endpoint:  # noqa: N801  a decorator
    """Decorator of a resource's method that answers a request: what it may contain, and the answer.

    Unknown fields are refused before the method is called, so nothing is done by halves. The
    method finds the checked values in ``self.values`` and returns what the serializer `gives` shows,
    nothing if there is none, or a whole response.
    """

    takes: Taken = None
    query: type[Serializer[Any]] | None = None
    gives: Made | Mapping[Any, Any] | None = None
    many: bool = False
    status: int = 200
    is_upload: bool = False
    pages: type[BasePagination] | None = None
    # Of what is no list, retrieval, creation, change or removal: whether it is done to one thing.
    detail: bool | None = None
    method: Literal["get", "post", "patch"] = "post"
    url_path: str | None = None

    def __call__(self, method: Callable[[Any], Any]) -> Any:
        @wraps(method)
        def answered(view: "Resource", request: Request, **_ids: str) -> HttpResponseBase:
            refuse_unknown_fields(request, self.takes, view.query_names)
            result = method(view)
            return result if isinstance(result, HttpResponseBase) else self.answer(result)

        answered.endpoint = self  # type: ignore[attr-defined]
        if self.detail is None:
            return answered
        return action(detail=self.detail, methods=[self.method], url_path=self.url_path)(answered)

    def answer(self, result: Any) -> Response:
        if self.gives is None:
            return Response(status=204)
        assert not isinstance(self.gives, Mapping)  # these methods return a response
        return Response(self.gives(result, many=self.many).data, status=self.status)

    def responses(self) -> dict[Any, Any]:
        """Return the serializers of the answers, by status, and of refusals."""
        refused: dict[Any, Any] = {
            ("default", CONTENT_TYPE): OpenApiResponse(Problem, description="A refusal.")
        }
        if isinstance(self.gives, Mapping):
            return {**self.gives, **refused}
        if self.gives is None:
            return {204: OpenApiResponse(description="Done."), **refused}
        return {self.status: self.gives(many=True) if self.many else self.gives, **refused}


class Description(AutoSchema):
    """How drf-spectacular describes an endpoint: by its method's docstring and serializers."""

    @property
    def endpoint(self) -> "endpoint":
        assert isinstance(self.view, Resource)
        assert self.view.endpoint
        return self.view.endpoint

    def get_summary(self) -> str:
        return super().get_description().partition("\n")[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]
        return " ".join(super().get_description().partition("\n")[2].split())

    def get_operation_id(self) -> str:
        return re.sub(r"\W+", "_", self.get_summary().lower())

    def get_tags(self) -> list[str]:
        assert isinstance(self.view, Resource)
        return [self.view.tag]

    def get_request_serializer(self) -> Any:
        if self.endpoint.is_upload:
            return {"multipart/form-data": self.endpoint.takes}
        return self.endpoint.takes

    def get_response_serializers(self) -> Any:
        return self.endpoint.responses()

    def get_override_parameters(self) -> list[Any]:
        return [self.endpoint.query] if self.endpoint.query else []

    def _is_list_view(self, serializer: Any = None) -> bool:
        # What is called `list` may answer with an object, such as a page.
        return self.endpoint.many if serializer is None else isinstance(serializer, ListSerializer)

    def _get_paginator(self) -> BasePagination | None:
        return self.endpoint.pages() if self.endpoint.pages else None


class Resource(ViewSet):
    """Requests about things of one kind; `tag` is their heading in the description."""

    tag = ""
    schema = Description()
    action_map: dict[str, str]

    @property
    def endpoint(self) -> "endpoint | None":
        """The endpoint of this request, or None if its method is not allowed."""
        name = getattr(self, "action", None)  # unknown while the request is being parsed
        name = name or self.action_map.get(str(self.request.method).lower(), "")
        return getattr(getattr(self, name, None), "endpoint", None)

    def get_parsers(self) -> list[BaseParser]:
        if self.endpoint and self.endpoint.is_upload:
            return [MultiPartParser()]
        return super().get_parsers()

    @cached_property
    def values(self) -> Any:
        """The checked values of the request's content or parameters."""
        of = self.endpoint
        assert of
        if of.query:
            return checked(of.query, self.request.query_params)
        if isinstance(of.takes, ListSerializer):
            return checked(cast(Any, type(of.takes.child)), self.request.data, many=True)
        assert of.takes is not None
        assert isinstance(of.takes, type)
        return checked(of.takes, self.request.data)

    @property
    def query_names(self) -> list[str]:
        """The parameters that the endpoint takes in its address."""
        of = self.endpoint
        assert of
        paged = of.pages().get_schema_operation_parameters(self) if of.pages else []
        return [*(of.query().fields if of.query else ()), *(one["name"] for one in paged)]

    @property
    def by(self) -> User:
        return researcher(self.request)

    def study(self, may: Right | None = None) -> Study:
        return visible_study(self.request, self.kwargs["study_id"], may)


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How drf-spectacular describes a token."""

    target_class = "api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> Json:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": "A token of a researcher."}


def describe_ids(result: Json, **_: Any) -> Json:
    """Describe the ids in addresses. drf-spectacular calls it."""
    for methods in result["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    thing = parameter["name"].removesuffix("_id").replace("_", " ")
                    parameter["description"] = f"The {thing}'s id, or the name of a platform."
    return result

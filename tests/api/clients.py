"""Programs that use the API."""

import json
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from api.models import ApiToken
from api.services.tokens import create_token

WRITE = ApiToken.Access.WRITE


def program(user: User, **options: Any) -> Client:
    """A program with a token of its own, which may write unless ``access`` says otherwise."""
    _, text = create_token(user=user, name="a program", **{"access": WRITE, **options})
    return with_token(text)


def with_token(text: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {text}"})


def at(name: str, *arguments: object) -> str:
    return reverse(f"api:{name}", args=arguments)


def problem_of(response: Any) -> tuple[int, str]:
    """The status and the code of a refusal, which must be problem details."""
    assert response["Content-Type"] == "application/problem+json", response.content
    body = response.json()
    assert body["status"] == response.status_code
    assert {"type", "title", "detail"} <= body.keys()
    return response.status_code, body["code"]


def rows_of(response: Any) -> list[dict[str, Any]]:
    """The rows of a stream."""
    assert response.status_code == 200, response.content
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]

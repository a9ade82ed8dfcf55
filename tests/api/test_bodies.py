"""What programs send as a body, at every address, and errors that nobody foresaw."""

import json
import logging
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from api.throttling import ClientThrottle
from api.views import studies
from studies.models import Study
from tests.api.clients import program
from tests.api.description import OPERATIONS, SCHEMA
from tests.architecture.test_urls import address, patterns
from tests.studies.factories import make_open_study, make_study

BODIES = {
    "deep": b"[" * 3000 + b"]" * 3000,
    "deep objects": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "a long number": b'{"title":' + b"9" * 100_000 + b"}",
    "not a number": b'{"title": NaN}',
    "too large a number": b'{"title": 1e999}',
    "a lone surrogate": b'{"title": "\\ud800"}',
    "a NUL": b'{"title": "\\u0000"}',
    "many values": b"[" + b"1," * 200_001 + b"1]",
    "other bytes": b"\xff\xfe",
    "a large body": b'{"title": "' + b"x" * 2_700_000 + b'"}',
}
PROBLEM = "application/problem+json"
pytestmark = pytest.mark.django_db


@pytest.fixture
def client_of_ada():
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("ada", is_staff=True, is_superuser=True))
    return client


@pytest.mark.thorough
@pytest.mark.parametrize("body", BODIES)
def test_no_address_fails_because_of_a_body(body, client_of_ada, monkeypatch, caplog):
    monkeypatch.setattr(ClientThrottle, "allow_request", lambda *_: True)
    caplog.set_level(logging.CRITICAL, "django.request")  # each record would keep its request
    ada = User.objects.get()
    study, answers = make_open_study(instances=1, member=ada), {}
    by_program = program(ada)
    by_program.raise_request_exception = False
    for _, route, _ in patterns(get_resolver()):
        path = address(route, study.pk)
        client = by_program if path.startswith("/api/v1/") else client_of_ada
        for method in ("POST", "PATCH", "PUT"):
            answer = client.generic(method, path, BODIES[body], content_type="application/json")
            # An answer would keep its request, and all of them gigabytes.
            answers[method, path] = answer.status_code, answer.get("Content-Type")
    assert not [key for key, (status, _) in answers.items() if status >= 500]
    of_api = [answer for (_, path), answer in answers.items() if path.startswith("/api/v1/")]
    assert {kind for status, kind in of_api if status in {400, 413}} == {PROBLEM}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("deep", "nested_too_deep"),
        ("deep objects", "nested_too_deep"),
        ("a long number", "number_too_long"),
        ("not a number", "not_finite"),
        ("too large a number", "not_finite"),
        ("a lone surrogate", "unstorable_character"),
        ("a NUL", "unstorable_character"),
        ("many values", "too_many_values"),
        ("other bytes", "parse_error"),
        ("a large body", "body_too_large"),
    ],
)
def test_a_body_is_refused_by_name(body, code, client_of_ada):
    answer = client_of_ada.post(
        "/api/v1/studies/without-file/", BODIES[body], content_type="application/json"
    )
    assert (answer.json()["code"], answer["Content-Type"]) == (code, PROBLEM)


def test_an_unforeseen_error_is_a_problem_too(client_of_ada, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(studies, "visible_studies", broken)
    answer = client_of_ada.get("/api/v1/studies/")
    assert (answer.status_code, answer["Content-Type"]) == (500, PROBLEM)
    assert answer.json()["code"] == "server_error"


def bodies_of(operation):
    """Yield what the body of an operation may be."""
    for described in operation.get("requestBody", {}).get("content", {}).values():
        parts = described.get("schema", {})
        for part in (parts, *parts.get("oneOf", ())):
            name = part.get("$ref", "").split("/")[-1]
            of_name = SCHEMA["components"]["schemas"].get(name, part)
            yield from (
                of_name,
                *(
                    SCHEMA["components"]["schemas"][one["$ref"].split("/")[-1]]
                    for one in of_name.get("oneOf", ())
                ),
            )


NUMBERS = [
    pytest.param(method, path, name, id=f"{method} {path} {name}")
    for method, path, operation in (one.values for one in OPERATIONS)
    for schema in bodies_of(operation)
    for name, described in schema.get("properties", {}).items()
    if {"integer", "number", "decimal"} & set(re.findall(r"\w+", str(described)))
]


@pytest.mark.parametrize(("method", "path", "name"), NUMBERS)
def test_a_number_that_is_too_large_is_refused_in_a_sentence(client_of_ada, method, path, name):
    url = re.sub(r"\{\w+\}", make_study().pk, path.replace("{provider}", "open-link"))
    url = re.sub(r"(?<=studies/)\w+", Study.objects.get().pk, url)
    for number in (10**400, "1e400"):
        body = json.dumps({name: number})
        answer = client_of_ada.generic(method.upper(), url, body, content_type="application/json")
        if answer.status_code == 400:
            for problem in answer.json().get("problems", []):
                assert problem["reason"].endswith((".", "?")), problem

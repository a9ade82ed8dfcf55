"""What programs send as a body, at every address, and errors that nobody foresaw."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from api.throttling import ClientThrottle
from api.views import studies
from tests.architecture.test_urls import address, patterns
from tests.studies.factories import make_open_study

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
def test_no_address_fails_because_of_a_body(body, client_of_ada, monkeypatch):
    monkeypatch.setattr(ClientThrottle, "allow_request", lambda *_: True)
    study, answers = make_open_study(instances=1, member=User.objects.get()), {}
    for _, route, _ in patterns(get_resolver()):
        path = address(route, study.pk)
        for method in ("POST", "PATCH", "PUT"):
            answers[method, path] = client_of_ada.generic(
                method, path, BODIES[body], content_type="application/json"
            )
    assert not [key for key, answer in answers.items() if answer.status_code >= 500]
    of_api = {key: a for key, a in answers.items() if key[1].startswith("/api/v1/")}
    refused = [a for a in of_api.values() if a.status_code == 400]
    assert all(answer["Content-Type"] == PROBLEM for answer in refused)


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

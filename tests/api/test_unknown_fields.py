"""A field that an endpoint does not know is refused with the nearest name, wherever it stands."""

import json
import re

import pytest

from api import validation
from tests.api.clients import problem_of, program
from tests.api.description import OPERATIONS, SCHEMA
from tests.studies.factories import make_study
from tiebreak.identifiers import new_public_id

pytestmark = pytest.mark.django_db


def bodies(schema):
    """Yield a name that each object in a body knows, and functions that put a row at its place."""
    if "$ref" in schema:
        schema = SCHEMA["components"]["schemas"][schema["$ref"].split("/")[-1]]
    for inner in schema.get("allOf", schema.get("oneOf", [])):
        yield from bodies(inner)
    if schema.get("type") == "array":
        yield from (
            (name, lambda row, put=put: [put(row)]) for name, put in bodies(schema["items"])
        )
    if "properties" in schema:
        yield next(iter(schema["properties"])), lambda row: row
    for field, inner in schema.get("properties", {}).items():
        yield from (
            (name, lambda row, put=put, field=field: {field: put(row)})
            for name, put in bodies(inner)
        )


def sent(client, method, path, body=None, *, query="", kind="application/json"):
    """Ids of nothing will do, because unknown fields are refused before anything is looked up."""
    url = re.sub(r"\{\w+\}", new_public_id(), path.replace("{provider}", "open-link")) + query
    if "form" in kind:
        return client.post(url, body)
    return client.generic(method.upper(), url, json.dumps(body or {}), kind)


def unknown(answer):
    assert problem_of(answer) == (400, "invalid")
    assert {problem["code"] for problem in answer.json()["problems"]} == {"unknown_field"}
    return [(problem["field"], problem["reason"]) for problem in answer.json()["problems"]]


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_unknown_field_is_refused(ruth, method, path, operation):
    client = program(ruth)
    content = operation.get("requestBody", {}).get("content", {"application/json": {}})
    ((kind, described),) = content.items()
    answer = sent(client, method, path, query="?nonsense=1", kind=kind)
    assert unknown(answer)[0][0] == "nonsense"
    if method in {"post", "put", "patch"}:
        places = [*bodies(described.get("schema", {}))] or [("", lambda row: row)]
        for known, put in places:
            ((field, reason),) = unknown(
                sent(client, method, path, put({f"{known}x": 1}), kind=kind)
            )
            assert field.split(".")[-1] == f"{known}x"
            assert not known or f"'{known}'" in reason


def test_the_nearest_name_is_sought_only_of_what_is_told(ruth, monkeypatch):
    sought = []
    monkeypatch.setattr(
        validation, "get_close_matches", lambda name, *_, **__: sought.append(name) or []
    )
    path = f"/api/v1/studies/{make_study(instances=1, member=ruth).pk}/"
    body = {"criteria": [{"nonsense": n} for n in range(100)]}
    assert len(unknown(sent(program(ruth), "patch", path, body))) == len(sought) == 50


def lists(schema):
    """Yield each list in a body, and functions that put rows at its place."""
    if "$ref" in schema:
        schema = SCHEMA["components"]["schemas"][schema["$ref"].split("/")[-1]]
    for inner in schema.get("allOf", schema.get("oneOf", [])):
        yield from lists(inner)
    if schema.get("type") == "array":
        yield lambda rows: rows
    for field, inner in schema.get("properties", {}).items():
        yield from ((lambda rows, put=put, field=field: {field: put(rows)}) for put in lists(inner))


JSON_BODIES = [
    pytest.param(method, path, body["schema"], id=f"{method} {path}")
    for method, path, operation in (one.values for one in OPERATIONS)
    if (body := operation.get("requestBody", {}).get("content", {}).get("application/json"))
    and next(lists(body["schema"]), None)
]


@pytest.mark.parametrize(("method", "path", "schema"), JSON_BODIES)
def test_a_list_that_is_too_long_is_told_once(ruth, method, path, schema):
    for put in lists(schema):
        answer = sent(program(ruth), method, path, put([{}] * 10_001))
        assert problem_of(answer) == (400, "invalid")
        assert [problem["code"] for problem in answer.json()["problems"]] == ["max_length"]


def test_of_many_problems_the_first_are_told(ruth):
    path = f"/api/v1/studies/{make_study(instances=1, member=ruth).pk}/"
    answer = sent(program(ruth), "patch", path, {"systems": [None] * 1000}).json()
    assert (len(answer["problems"]), answer["problems_total"]) == (50, 1000)


def test_a_setting_that_a_platform_lacks_is_refused(ruth):
    study = make_study(instances=1, member=ruth)
    answer = sent(
        program(ruth),
        "put",
        f"/api/v1/studies/{study.pk}/channels/panel/",
        {"settings": {"nonsense": 1}},
    )
    assert unknown(answer)[0][0] == "settings.nonsense"
    assert not study.channels.exists()

"""A field that an endpoint does not know is refused with the nearest name, wherever it stands."""

import json
import re

import pytest

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

"""The OpenAPI description: it is stored as it is served, complete, and true."""

import io
import re
from typing import Any

import pytest
from django.core.management import call_command

from tests.api.clients import at, program
from tests.api.description import OPERATIONS, SCHEMA, STORED, parsed
from tests.conftest import is_postgresql

ON_SQLITE = pytest.mark.skipif(
    is_postgresql(), reason="Its integer columns have other ends than SQLite's."
)
pytestmark = [ON_SQLITE, pytest.mark.both_databases]


@pytest.mark.thorough
def test_the_stored_description_is_what_the_code_says():
    """Else: `manage.py spectacular --file docs/reference/openapi.yaml`."""
    made = io.StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    assert made.getvalue() == STORED.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_served_description_is_the_stored_one(ruth):
    answer = program(ruth).get(at("schema"))
    assert parsed(answer.content) == SCHEMA


def test_every_endpoint_is_described():
    for method, path, operation in (one.values for one in OPERATIONS):
        assert is_described(operation), f"{method} {path}"


def is_described(operation: dict[str, Any]) -> bool:
    refusals = {code: one for code, one in operation["responses"].items() if code >= "400"}
    return (
        re.fullmatch(r"[A-Z][^.]+", operation["summary"]) is not None
        and all(parameter["description"] for parameter in operation.get("parameters", []))
        and {"401", "403", "429"} <= refusals.keys()
        and all(has_examples(status, one) for status, one in refusals.items())
    )


def has_examples(status: str, response: dict[str, Any]) -> bool:
    examples = response["content"]["application/problem+json"]["examples"]
    told = {(e["value"]["code"], str(e["value"]["status"])) for e in examples.values()}
    return bool(examples) and told == {(code, status) for code in examples}

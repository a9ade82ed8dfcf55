"""The OpenAPI description: it is stored as it is served, complete, and true."""

import io
import re

import pytest
import yaml
from django.core.management import call_command

from tests.api.clients import at, program
from tests.conftest import is_postgresql
from tests.paths import ROOT

STORED = ROOT / "docs" / "reference" / "openapi.yaml"
SCHEMA = yaml.safe_load(STORED.read_text(encoding="utf-8"))
OPERATIONS = [
    pytest.param(operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]


def test_the_stored_description_is_what_the_code_says():
    """Else: `manage.py spectacular --file docs/reference/openapi.yaml`."""
    made = io.StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    assert made.getvalue() == STORED.read_text(encoding="utf-8")


@pytest.mark.skipif(is_postgresql(), reason="Its integer columns have other ends than SQLite's.")
def test_the_served_description_is_the_stored_one(ruth):
    answer = program(ruth).get(at("schema"))
    assert yaml.safe_load(answer.content) == SCHEMA


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_endpoint_is_described(operation):
    assert re.fullmatch(r"[A-Z][^.]+", operation["summary"])
    assert all(parameter["description"] for parameter in operation.get("parameters", []))
    refusals = {
        status: response for status, response in operation["responses"].items() if status >= "400"
    }
    assert {"401", "403", "429"} <= refusals.keys()
    for status, response in refusals.items():
        content = response["content"]["application/problem+json"]
        assert content["examples"], status
        for code, example in content["examples"].items():
            assert (example["value"]["code"], str(example["value"]["status"])) == (code, status)

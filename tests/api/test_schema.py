"""The OpenAPI description is valid, complete, and what the server serves."""

import io
import re

import pytest
import yaml
from django.core.management import call_command

from tests.api.clients import at, program
from tests.api.description import OPERATIONS


@pytest.mark.django_db
@pytest.mark.thorough
def test_the_served_description_is_valid_and_that_of_the_code(ruth):
    made = io.StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    described = yaml.load(made.getvalue(), Loader=yaml.CSafeLoader)
    served = program(ruth).get(at("schema")).content
    assert yaml.load(served, Loader=yaml.CSafeLoader) == described


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_endpoint_has_a_summary_and_describes_parameters_and_refusals(method, path, operation):
    assert re.fullmatch(r"[A-Z][^.]+", operation["summary"])
    assert all(parameter["description"] for parameter in operation.get("parameters", []))
    assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_operations_have_names_of_their_own():
    names = [one.values[2]["operationId"] for one in OPERATIONS]
    assert len(set(names)) == len(names) > 50

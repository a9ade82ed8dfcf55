"""The OpenAPI description: it is stored as it is served, complete, and true."""

import io
import re

import pytest
import schemathesis
import yaml
from django.conf import settings as django_settings
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.models import ApiToken
from api.services.tokens import create_token
from api.throttling import ClientThrottle
from tests.api.clients import at, program
from tests.jobs.factories import make_job
from tests.paths import ROOT
from tests.studies.factories import make_open_study

STORED = ROOT / "docs" / "reference" / "openapi.yaml"
SCHEMA = yaml.safe_load(STORED.read_text(encoding="utf-8"))
OPERATIONS = [
    pytest.param(operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 20


def test_the_stored_description_is_what_the_code_says():
    """Else: `manage.py spectacular --file docs/reference/openapi.yaml`."""
    made = io.StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", stdout=made)
    assert made.getvalue() == STORED.read_text(encoding="utf-8")


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


@pytest.fixture
def researcher_token(ruth, monkeypatch, tmp_path) -> str:
    monkeypatch.setattr(ClientThrottle, "THROTTLE_RATES", {"client": "100000/min"})
    monkeypatch.setattr(django_settings, "TIEBREAK_EXPORT_FOLDER", str(tmp_path))
    _, text = create_token(user=ruth, name="examples", access=ApiToken.Access.WRITE)
    return text


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_request_gives_an_error_or_an_undescribed_answer(
    ruth, researcher_token, wsgi_app, operation, monkeypatch
):
    """Requests that follow the description and requests that break it, on existing objects too."""
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    study = make_open_study(instances=1, member=ruth)
    known = {"study_id": study.pk, "job_id": make_job(study).public_id}
    headers = {"Authorization": f"Bearer {researcher_token}"}
    schema = schemathesis.openapi.from_wsgi(at("schema"), wsgi_app, headers=headers)
    described = schema.find_operation_by_id(operation["operationId"])

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def explore(data):
        mode = data.draw(st.sampled_from(GenerationMode))
        case = data.draw(described.as_strategy(generation_mode=mode))
        if data.draw(st.booleans()):
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
        case.call_and_validate(headers=headers, checks=CHECKS)

    explore()

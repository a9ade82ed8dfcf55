"""Requests of all kinds to the interface, as schemathesis derives them from its description.

They run in a process of their own (`make test-interface`), because schemathesis wraps the standard
streams, which pytest captures for all other tests.
"""

import pytest
import schemathesis
from django.conf import settings as django_settings
from hypothesis import HealthCheck, given, settings, strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
)

from api.models import ApiToken
from api.services.tokens import create_token
from api.throttling import ClientThrottle
from machine_raters.services.machine_raters import create_machine_rater
from tests.api.description import OPERATIONS, SCHEMA
from tests.jobs.factories import make_job
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 20


@pytest.fixture
def researcher_token(ruth, monkeypatch, tmp_path) -> str:
    monkeypatch.setattr(ClientThrottle, "THROTTLE_RATES", {"client": "100000/min"})
    monkeypatch.setattr(django_settings, "TIEBREAK_EXPORT_FOLDER", str(tmp_path))
    _, text = create_token(user=ruth, name="examples", access=ApiToken.Access.WRITE)
    return text


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_no_request_gives_an_error_or_an_undescribed_answer(  # noqa: PLR0917
    ruth, researcher_token, wsgi_app, method, path, operation, monkeypatch
):
    """Requests that follow the description and requests that break it, on existing objects too."""
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    study = make_open_study(instances=1, member=ruth)
    judge = create_machine_rater(
        kind="judge",
        study=study,
        name="judge",
        criteria=[study.criteria.get()],
        server="here",
        language_model="tiny",
        instructions="?",
    )
    known = {
        "study_id": study.pk,
        "rater_id": judge.public_id,
        "job_id": make_job(study).public_id,
        "provider": "open-link",
        "participation_id": study.pk,
        "invitation_id": study.pk,
        "webhook_id": study.pk,
    }
    headers = {"Authorization": f"Bearer {researcher_token}"}
    schema = schemathesis.openapi.from_dict(SCHEMA)
    schema.app = wsgi_app
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

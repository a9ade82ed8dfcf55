"""Every refusal is told as problem details with a code."""

import pytest

from tests.api.clients import at, problem_of, program
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.mark.parametrize(
    "path", ["/api/v1/", "/api/v1/nothing/", "/api/v1/studies/%0A/", "/api/v1/a"]
)
def test_a_path_that_does_not_exist(client, path):
    assert problem_of(client.get(path)) == (404, "not_found")


def test_a_method_that_does_not_exist(client):
    assert problem_of(client.put(at("study-list"))) == (405, "method_not_allowed")


def test_a_body_that_is_not_json(client, ruth):
    study = make_study(instances=1, member=ruth)
    url = at("study-open", study.pk)
    answer = client.post(url, "{", content_type="application/json")
    assert problem_of(answer) == (400, "parse_error")
    answer = client.post(url, "<x/>", content_type="application/xml")
    assert problem_of(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize("body", ["[]", '"x"', "3", "null", '{"confirmed_warnings": [{"a": []}]}'])
def test_a_body_of_another_shape_is_told_with_its_fields(client, ruth, body):
    study = make_study(instances=1, member=ruth)
    answer = client.post(at("study-open", study.pk), body, content_type="application/json")
    assert answer.status_code in {400, 409}
    problem_of(answer)


def test_a_value_out_of_bounds_names_its_field(client, ruth):
    study = make_study(instances=1, member=ruth)
    answer = client.get(at("rating-list", study.pk), {"after": "-1", "limit": "many"})
    assert problem_of(answer) == (400, "invalid")
    problems = {problem["field"]: problem["code"] for problem in answer.json()["problems"]}
    assert problems == {"after": "min_value", "limit": "invalid"}


@pytest.mark.parametrize(
    "cursor", ["x", "cD1ub3Q=", "cD0yMDI2LTk5LTk5", "bz05OTk5OTk5OTk5OTk5OTk="]
)
def test_a_malformed_cursor_is_refused_and_not_an_error(client, ruth, cursor):
    make_study(instances=1, member=ruth)
    answer = client.get(at("study-list"), {"cursor": cursor})
    assert answer.status_code == 200 or problem_of(answer) == (400, "invalid")


def test_an_html_page_is_not_what_a_program_gets(client):
    answer = client.get(at("study-list"), headers={"Accept": "text/html"})
    assert answer["Content-Type"] == "application/json"

"""What a browser is shown where no view has a page: derived from all addresses of the server."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import DataError
from django.test import Client
from django.urls import get_resolver, reverse

from studies.models import Study
from tests.api.clients import at, program
from tests.architecture.test_urls import address, patterns
from tests.pages import page_of
from tests.studies.factories import make_open_study, make_study

ROUTES = [(name, route) for name, route, _ in patterns(get_resolver())]
PAGES = [(name, route) for name, route in ROUTES if not address(route, "x").startswith("/api/")]
OF_STUDY = [(name, route) for name, route in ROUTES if re.search("(study_id|public_id)>", route)]


@pytest.fixture
def root(client: Client) -> User:
    user = User.objects.create_superuser("root")
    client.force_login(user)
    return user


@pytest.mark.django_db
def test_an_address_that_only_takes_a_form_opens_as_a_page_that_leads_back(client, root):
    study, seen = make_open_study(instances=1), set()
    for name, route in PAGES:
        page = client.get(address(route, study.pk))
        if page.status_code != 405:
            continue
        seen.add(name)
        assert page_of(page) == "405", name
        assert "GET" not in page["Allow"], name
        assert client.get(page.context["above"]).status_code in {200, 302}, name
    assert len(seen) > 30
    assert {"recruitment:launch-action", "recruitment:platform-action", "metrics:try-demo"} < seen
    launch = client.get(reverse("recruitment:launch-action", args=[study.pk, "open"]))
    assert launch.context["above"] == reverse("recruitment:launch", args=[study.pk])


@pytest.mark.django_db
def test_programs_and_other_methods_get_no_page(client, root):
    study = make_open_study(instances=1)
    api = program(root).get(at("study-open", study.pk))
    assert (api.status_code, api["Content-Type"]) == (405, "application/problem+json")
    assert not client.put(reverse("recruitment:clone", args=[study.pk])).content


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_page_whose_study_is_deleted_while_it_is_made_is_not_found(
    client, root, method, monkeypatch
):
    """It is deleted once it has been looked up and the right to see it has been checked."""

    def delete(*_: object) -> None:
        Study.objects.all().delete()

    programs = program(root)
    client.raise_request_exception = programs.raise_request_exception = False
    statuses = {}
    for name, route in OF_STUDY:
        study = make_study(instances=1, systems=2, samples=1)
        with monkeypatch.context() as patch:
            patch.setattr("studies.access._check", delete)
            url = address(route, study.pk)
            answer = getattr(programs if url.startswith("/api/") else client, method)(url)
        if not Study.objects.exists():  # not rolled back with all that the page did
            statuses[name] = answer.status_code
    assert {name: status for name, status in statuses.items() if status >= 500} == {}
    assert list(statuses.values()).count(404) > 10


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["annotation:data", "recruitment:reference-by-hand"])
def test_a_text_that_postgresql_cannot_look_up_is_a_bad_request(client, root, page, monkeypatch):
    """SQLite can, so it is told what PostgreSQL says."""
    study = make_study(instances=2)

    def look_up(*_: object, **__: object) -> None:
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")

    monkeypatch.setattr("annotation.views.data.items_of", look_up)
    monkeypatch.setattr("recruitment.views.reference_items.candidates", look_up)
    answer = client.get(reverse(page, args=[study.pk]), {"q": "a\0b"})
    assert (answer.status_code, page_of(answer)) == (400, "400")

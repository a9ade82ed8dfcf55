"""Every address is either on the list of anonymous pages, or refuses strangers."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

ANONYMOUS = {
    "home",
    "studies",
    "favicon",
    "health",
    "live",
    "ready",
    "admin:login",
    "studies:second-factor",
    "studies:accept-invitation",
    "admin:logout",
    "admin:jsi18n",
    "recruitment:welcome",
    "recruitment:end",
    "annotation:rate",
    "annotation:rate-position",
    "annotation:rate-task",
    "annotation:rate-task-position",
    "annotation:answer",
    "annotation:comment",
    "annotation:guidelines",
    "recruitment:arrive",
    "recruitment:event",
    "recruitment:look-again",
    "recruitment:leave",
    "annotation:comprehension",
    "annotation:try-again",
}


def patterns(
    resolver: URLResolver, prefix: str = "", namespace: str = ""
) -> Iterator[tuple[str, str, URLPattern]]:
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from patterns(entry, route, inner)
        else:
            yield f"{namespace}{entry.name}", route, entry


def address(route: str, study_id: str) -> str:
    """A concrete address of a route, every parameter filled with something that exists."""
    import re

    route = re.sub(r"<path:[^>]+>", study_id, route)
    route = re.sub(r"<int:[^>]+>", "1", route)
    route = re.sub(r"<[^>]+>", study_id, route)
    route = re.sub(r"\(\?P<[^>]+>[^)]*\)", "auth", route)
    return "/" + route.replace("^", "").replace("$", "").replace("\\Z", "")


def test_a_stranger_is_refused_everywhere_else(client: Client):
    study = make_open_study(instances=1)
    answers = {
        name: client.get(address(route, study.pk), REMOTE_ADDR="203.0.113.7").status_code
        for name, route, _ in patterns(get_resolver())
        if name not in ANONYMOUS
    }
    assert len(answers) > 20
    assert {
        n: status for n, status in answers.items() if status not in {302, 401, 403, 404, 405}
    } == {}


@pytest.mark.thorough
def test_a_redirected_stranger_is_sent_to_log_in(client: Client):
    study = make_open_study(instances=1)
    for name, route, _ in patterns(get_resolver()):
        response = client.get(address(route, study.pk))
        if name not in ANONYMOUS and response.status_code == 302:
            assert "/admin/login/" in response["Location"], name


def test_the_anonymous_pages_exist():
    assert {name for name, _, _ in patterns(get_resolver())} >= ANONYMOUS


def test_no_address_takes_a_row_number():
    numbered = {
        name
        for name, route, _ in patterns(get_resolver())
        if "<int:" in route
        and name not in {"annotation:rate-position", "annotation:rate-task-position"}
    }
    assert numbered == {n for n in numbered if n.startswith("admin:auth_")}

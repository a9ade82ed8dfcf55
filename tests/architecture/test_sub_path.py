"""Under a path such as /tiebreak/, no address of a page, answer, script or cookie leads out of it."""

import json
import re
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import (
    Resolver404,
    get_resolver,
    get_script_prefix,
    resolve,
    reverse,
    set_script_prefix,
)
from lxml import html

from metrics.results.services import refresh_report
from recruitment.framing import framed_address
from recruitment.models import Channel
from studies.models import Membership
from studies.public_address import public_url
from tests.annotation.annotators import Annotator
from tests.architecture.test_urls import address, patterns
from tests.paths import ROOT
from tests.studies.factories import make_open_study

PATH = "/tiebreak"


@pytest.fixture
def under_path(settings):
    settings.FORCE_SCRIPT_NAME = PATH
    settings.STATIC_URL = f"{PATH}/static/"
    settings.TIEBREAK_PUBLIC_URL = f"https://example.org{PATH}"
    cache.clear()
    before = get_script_prefix()
    set_script_prefix(f"{PATH}/")
    yield
    set_script_prefix(before)


def addresses_in(answer) -> Iterator[str]:
    """All that looks like an address on this server: in headers, attributes, and JSON's strings."""
    if answer.has_header("Location"):
        yield answer["Location"]
    kind = answer.get("Content-Type", "")
    if answer.streaming or not answer.content:
        return
    if kind.startswith("text/html"):
        tree = html.document_fromstring(answer.content)
        for element in tree.iter():
            yield from map(str, element.attrib.values())
    elif "json" in kind and "openapi" not in kind:
        yield from strings_in(json.loads(answer.content))


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings_in(one)
    elif isinstance(value, str):
        yield value


def leaves(text: str) -> bool:
    parts = urlsplit(text)
    is_ours = parts.netloc in {"", "testserver", "example.org"}
    is_absolute = bool(re.match(r"/(?!/)[\w.~%-]", parts.path)) or text == "/"
    return is_ours and is_absolute and not f"{parts.path}/".startswith(f"{PATH}/")


class Crawl:
    """Opens all that is linked and, of addresses that lead to the same view, the first two."""

    def __init__(self, client: Client) -> None:
        self.client, self.seen, self.visits = client, set(), {}
        self.outside: list[tuple[str, str]] = []
        self.shown = 0

    def open(self, *starts: str) -> None:
        waiting = list(starts)
        while waiting:
            page = waiting.pop()
            if page in self.seen or not self._is_wanted(page):
                continue
            self.seen.add(page)
            answer = self.client.get(page)
            self.shown += answer.status_code == 200
            found = [one for one in addresses_in(answer) if "\n" not in one and len(one) < 500]
            self.outside += [(page, one) for one in found if leaves(one)]
            bad = [c.output() for c in answer.cookies.values() if c["path"] != f"{PATH}/"]
            self.outside += [(page, one) for one in bad]
            waiting += [urljoin(page, one).partition("#")[0] for one in found if PATH in one]

    def _is_wanted(self, page: str) -> bool:
        path = urlsplit(page).path.removeprefix(PATH)
        try:
            name = resolve(path).view_name
        except Resolver404:
            return False
        self.visits[name] = self.visits.get(name, 0) + 1
        return self.visits[name] <= 2 and "logout" not in name


@pytest.mark.django_db
@pytest.mark.thorough
def test_no_page_leads_out_of_the_path(under_path):
    ruth = User.objects.create_superuser("ruth", password="pw")
    study = make_open_study(instances=2, comparisons_per_hit=2, member=ruth)
    Membership.objects.filter(study=study).update(role="owner")
    person = Annotator(study)
    crawl = Crawl(person.client)
    welcome = reverse("recruitment:welcome", args=[study.pk])
    crawl.open(welcome)
    person.at = lambda *parts: PATH + Annotator.at(person, *parts)
    person.client.post(welcome, {"choice": "agree", "version": study.versions.count()})
    person.client.post(person.at("guidelines"))
    person.choose()
    crawl.open(person.at(), person.at("guidelines"))
    refresh_report(study=study)
    Channel.objects.create(study=study, provider="panel", settings={"person_parameter": "pid"})
    researcher = Client()
    asked = Crawl(researcher)
    asked.open(f"{PATH}/studies/{study.pk}/results/")  # leads to the log-in
    researcher.force_login(ruth)
    every = [address(route, study.pk) for _, route, _ in patterns(get_resolver())]
    asked.open(f"{PATH}/", *(f"{PATH}{one}" for one in every))
    assert min(crawl.shown - 3, asked.shown - 90) > 0
    assert (crawl.outside, asked.outside) == ([], [])


@pytest.mark.django_db
@pytest.mark.parametrize("prefix", ["", PATH])
def test_a_proxy_may_pass_the_path_on_or_strip_it(under_path, prefix):
    client = Client()
    page = client.get(f"{prefix}/admin/login/")
    assert (page.status_code, page.wsgi_request.path) == (200, f"{PATH}/admin/login/")
    assert client.cookies["csrftoken"]["path"] == f"{PATH}/"
    assert client.get(f"{prefix}/").headers["Location"] == f"{PATH}/admin/"
    assert client.get(f"{prefix}/health/live").status_code == 200
    assert client.get(f"{PATH}s/health/live").status_code == 404
    assert client.get(f"{prefix}/static/js/annotate.js").status_code == 200


@pytest.mark.django_db
def test_links_for_people_and_programs_have_the_path(under_path, rf, client):
    page = reverse("recruitment:welcome", args=["23456789abcd"])
    assert public_url(rf.get("/"), page) == f"https://example.org{PATH}/s/23456789abcd/"
    client.force_login(User.objects.create_superuser("ruth"))
    schema = yaml.safe_load(client.get(f"{PATH}/api/v1/schema/").content)
    assert all(
        path.startswith("/api/v1/") for path in schema["paths"]
    )  # and `servers` has the path


@pytest.mark.django_db
def test_framed_pages_stay_under_the_path(under_path):
    study = make_open_study(instances=2)
    Channel.objects.create(study=study, provider="mturk")
    arrival = {"study": study.pk, "provider": "mturk", "person": "W1", "submission": "A1"}
    framed = framed_address(arrival | {"extra": {}, "confirmed": True}, f"{PATH}/s/{study.pk}/")
    assert framed.startswith(f"{PATH}/f/")
    page = Client().get(framed)
    assert page.status_code == 200
    assert [one for one in addresses_in(page) if leaves(one)] == []


LITERAL = re.compile(
    r"""(?:["'`]|url\(|=)/(?:static|api|admin|studies|s|f|rate|docs|account|datasets|health)\b"""
)
SOURCES = [
    path
    for folder, kinds in (("static", (".js", ".css")), ("templates", (".html", ".svg")))
    for path in (ROOT / folder).rglob("*")
    if path.suffix in kinds
]


def test_no_script_style_or_template_has_an_address_of_its_own():
    assert len(SOURCES) > 50
    found = [(path.name, one) for path in SOURCES for one in LITERAL.findall(path.read_text())]
    assert found == []
    assert LITERAL.search('fetch("/api/v1/studies/")')
    assert LITERAL.search('<link href="/static/css/a.css">')

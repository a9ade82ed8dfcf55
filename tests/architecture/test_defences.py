"""Defences that stand in a header, a setting or an absence, where no other test would miss them."""

import ast
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse
from kombu.exceptions import ContentDisallowed
from kombu.serialization import loads

from annotation.models import Participation, Place, Rating
from config.celery import app
from metrics.results.services import refresh_report
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.architecture.test_imports import PACKAGES
from tests.architecture.test_urls import address, patterns
from tests.paths import ROOT
from tests.studies.factories import make_open_study

OWN = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]


@pytest.fixture
def rated(ruth: User) -> Study:
    study = make_open_study(instances=2, comparisons_per_hit=2, member=ruth)
    study.criteria.update(question="<script>alert(1)</script>")
    annotator(study).choose()
    refresh_report(study=study)
    return study


# Clocks of hosts differ; all that is stored or compared is by the database's.

HOST_CLOCK = re.compile(
    r"\b(timezone|datetime|date)\.(now|utcnow|today|local\w+)$|\btime\.(time|time_ns)$|^auto_now"
)


def names_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        elif isinstance(node, ast.keyword):
            yield str(node.arg)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)


def host_clocks(source: str) -> list[str]:
    """Return what reads the host's clock, or has Django read it when a row is stored."""
    return list(filter(HOST_CLOCK.search, names_in(source)))


@pytest.mark.thorough
def test_what_is_stored_or_compared_is_by_the_databases_clock():
    # The library has no database.
    ours = [path for path in OWN if "tiebreak" not in path.relative_to(ROOT).parts]
    assert [(path, read) for path in ours for read in host_clocks(path.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        *("timezone.now()", "datetime.now(UTC)", "datetime.datetime.utcnow()", "date.today()"),
        *("DateTimeField(default=timezone.now)", "DateTimeField(auto_now_add=True)"),
        *("time.time()", "from time import time", "from django.utils.timezone import now as n"),
    ],
)
def test_a_hosts_clock_is_found(source):
    assert host_clocks(source)
    assert not host_clocks("time.monotonic(); datetime.combine(day, time.max); database_now()")


# What a browser is told with every page.


@pytest.mark.django_db
def test_no_browser_guesses_what_a_file_is_or_frames_a_page(client, rated):
    pages = [
        reverse("admin:login"),
        reverse("admin:index"),
        reverse("recruitment:welcome", args=[rated.pk]),
        reverse("recruitment:preview", args=[rated.pk]),
        reverse("metrics:dashboard", args=[rated.pk]),
        reverse("metrics:report", args=[rated.pk]),
        reverse("api:study-report", args=[rated.pk]),
        reverse("health"),
        "/nothing/here/",
    ]
    for page in pages:
        headers = client.get(page).headers
        assert headers["X-Content-Type-Options"] == "nosniff", page
        assert headers["X-Frame-Options"] == "DENY", page
        assert headers["Referrer-Policy"] == "same-origin", page
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy, page
        assert "unsafe" not in policy, page
        assert "Content-Security-Policy-Report-Only" not in headers, page


def test_every_part_of_the_policy_is_enforced_and_allows_only_ourselves():
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert not getattr(settings, "CONTENT_SECURITY_POLICY_REPORT_ONLY", None)
    allowed = {source for sources in directives.values() for source in sources}
    assert allowed == {"'self'", "'none'", "data:"}
    assert [name for name, sources in directives.items() if "data:" in sources] == ["img-src"]


@pytest.mark.django_db
def test_a_report_is_a_file_and_never_a_page(client, rated):
    answer = client.get(reverse("metrics:report", args=[rated.pk]))
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    json.loads(answer.content, parse_constant=pytest.fail)  # no NaN, which is no JSON


@pytest.mark.django_db
def test_a_figure_is_a_file_and_never_a_page(client, rated):
    download = client.get(
        reverse("metrics:figure", args=[rated.pk, "preference", "perception", "svg"])
    )
    assert download.status_code == 200
    assert download.headers["Content-Type"] == "image/svg+xml"
    assert download.headers["Content-Disposition"].startswith("attachment;")


@pytest.mark.django_db
def test_a_report_needs_a_researcher_of_the_study(rated):
    addresses = [reverse(name, args=[rated.pk]) for name in ("metrics:report", "api:study-report")]
    stranger = Client()
    assert {stranger.get(address).status_code for address in addresses} <= {302, 401}
    stranger.force_login(User.objects.create_user("annotator"))
    assert {stranger.get(address).status_code for address in addresses} <= {302, 403, 404}
    stranger.force_login(User.objects.create_user("other", is_staff=True))
    assert {stranger.get(address).status_code for address in addresses} == {404}


# Another researcher's objects, at every address and by every method.


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
def test_at_no_address_is_another_researchers_study_there(rated, method):
    other = Client()
    other.force_login(User.objects.create_user("other", is_staff=True))
    before = _state(rated)
    for name, route, _ in patterns(get_resolver()):
        is_for_annotators = route.startswith(("s/", "rate/"))
        if is_for_annotators or "<" not in route or "auth" in name or name == "admin:app_list":
            continue
        answer = getattr(other, method)(address(route, rated.pk))
        assert answer.status_code in {302, 403, 404, 405}, name
        if answer.status_code == 302:  # the admin's way to say that there is no such thing
            assert answer["Location"].startswith(("/admin/", "/")), name
            assert rated.title not in other.get(answer["Location"], follow=True).content.decode()
    assert _state(rated) == before


def _state(study: Study) -> list[object]:
    return [
        list(rows.order_by("pk").values())
        for rows in (
            Study.objects.filter(pk=study.pk),
            Membership.objects.filter(study=study),
            Participation.objects.filter(study=study),
            Place.objects.filter(study=study),
            Rating.objects.all(),
        )
    ]


# What no code does.


def test_a_message_on_the_queue_cannot_be_a_pickle():
    sent = pickle.dumps({"id": 1})
    with pytest.raises(ContentDisallowed):
        loads(sent, "application/x-python-serialize", "binary", accept=app.conf.accept_content)
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == app.conf.result_serializer == "json"
    assert all(task.serializer == "json" for task in app.tasks.values())


def test_sessions_and_signed_cookies_are_json():
    assert settings.SESSION_SERIALIZER.endswith("JSONSerializer")
    assert {cache["BACKEND"].rpartition(".")[2] for cache in settings.CACHES.values()} == {
        "LocMemCache"  # which pickles, within the process alone
    }


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.thorough
def test_no_code_unpickles_evaluates_or_waits_without_an_end():
    for path in OWN:
        _check(path)


def _check(path: Path) -> None:
    tree = _parsed(path)
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    roots = {name.partition(".")[0] for name in imported}
    assert not roots & {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "yaml"}
    assert not roots & {"requests", "urllib3"}
    for call in _calls(tree):
        name = ast.unparse(call.func)
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        assert name not in {"eval", "exec", "compile"}, name
        trusted = keywords.get("trust_remote_code")
        assert trusted is None or ast.unparse(trusted) == "False"
        asks = name in {
            f"httpx.{name}" for name in ("get", "post", "request", "Client", "AsyncClient")
        }
        is_in_process = "transport" in keywords
        assert not asks or is_in_process or "timeout" in keywords, f"{path}: {name}"

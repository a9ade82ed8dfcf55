"""Webhooks: only signed content counts, and every request gets an answer with a code."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from recruitment.models import Channel, PlatformEvent, encrypted
from recruitment.tasks import sync_submission_task
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

SECRET = "s3cret"


@pytest.fixture
def channel():
    return Channel.objects.create(
        study=make_open_study(instances=1),
        provider="prolific",
        external_id="S1",
        webhook_secret=encrypted(SECRET),
    )


@pytest.fixture
def looked_at(monkeypatch):
    """The submissions that a worker was told to read again."""
    seen: list[str] = []
    monkeypatch.setattr(
        sync_submission_task, "apply_async", lambda args, queue: seen.append(args[1])
    )
    return seen


def event(submission: object = "X1", kind: object = "submission.status.change") -> bytes:
    return json.dumps({"event_type": kind, "resource_id": submission}).encode()


def post(channel: Channel, body: bytes, *, secret: str = SECRET, age_s: int = 0, **headers: str):
    timestamp = str(int((timezone.now() - timedelta(seconds=age_s)).timestamp()))
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    headers = {
        "x-prolific-request-timestamp": timestamp,
        "x-prolific-request-signature": base64.b64encode(digest).decode(),
        **headers,
    }
    address = reverse("recruitment:event", args=[channel.study_id, "prolific"])
    browser = Client(raise_request_exception=False)
    return browser.post(address, body, content_type="application/json", headers=headers)


def refusal(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_it_works(channel, looked_at):
    assert post(channel, event()).status_code == 204
    assert looked_at == ["X1"]


def test_a_replay_under_another_event_id_is_the_same_event(channel, looked_at, monkeypatch):
    now = timezone.now()
    monkeypatch.setattr("tests.recruitment.views.test_webhooks.timezone.now", lambda: now)
    for name in ("one", "two", "three"):
        assert post(channel, event(), **{"x-event-id": name}).status_code == 204
    assert looked_at == ["X1"]
    assert PlatformEvent.objects.count() == 1


def test_an_event_id_of_a_former_event_hides_no_other(channel, looked_at):
    for submission in ("X1", "X2"):
        post(channel, event(submission), **{"x-event-id": "same"})
    assert looked_at == ["X1", "X2"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"1" * 5000,
        b"[" * 30_000,
        b'{"a":' * 10_000,
        b'{"event_type": NaN}',
        event("x" * 5000),
        event(""),
        event("../studies"),
        event({"id": "X1"}),
        event(None),
        event(7),
        event("X1", kind=["submission.status.change"]),
        event("X1", kind=None),
        b'{"event_type": "submission.status.change"}',
        b'{"event_type": "submission.status.change", "resource_id": "\\ud800"}',
    ],
)
def test_a_signed_body_of_any_other_shape_is_refused_by_name(channel, looked_at, body):
    assert refusal(post(channel, body)) == (400, "unknown_event")
    assert looked_at == []
    assert not PlatformEvent.objects.exists()


def test_an_event_of_something_else_is_heard_and_leads_nowhere(channel, looked_at):
    assert post(channel, event("S1", kind="study.status.change")).status_code == 204
    assert looked_at == []


@pytest.mark.parametrize("name", ["x-event-id", "x-prolific-request-timestamp"])
def test_a_header_of_any_length_breaks_nothing(channel, looked_at, name):
    assert post(channel, event(), **{name: "9" * 5000}).status_code in {204, 403}


def test_a_body_is_not_read_beyond_its_bound(channel, looked_at):
    assert refusal(post(channel, b" " * 65_536)) == (400, "unknown_event")
    assert refusal(post(channel, b" " * 65_537)) == (413, "event_too_large")
    assert refusal(post(channel, b"x" * 5_000_000, secret="guessed")) == (413, "event_too_large")


def test_what_is_not_signed_is_refused_before_it_is_parsed(channel, looked_at):
    assert refusal(post(channel, b"[" * 30_000, secret="guessed")) == (403, "event_forged")
    assert refusal(post(channel, event(), age_s=400)) == (403, "event_stale")
    unicode = post(channel, event(), **{"x-prolific-request-signature": "é"})
    assert refusal(unicode) == (403, "event_forged")


def test_an_event_that_no_worker_could_be_told_of_is_heard_when_it_comes_again(
    channel, monkeypatch
):
    heard: list[str] = []

    def no_broker(**_):
        raise OperationalError

    monkeypatch.setattr(sync_submission_task, "apply_async", no_broker)
    assert refusal(post(channel, event())) == (503, "no_broker")
    monkeypatch.setattr(
        sync_submission_task, "apply_async", lambda args, queue: heard.append(args[1])
    )
    assert post(channel, event()).status_code == 204
    assert heard == ["X1"]

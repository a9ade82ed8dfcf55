"""Webhooks: where they may send, what they tell, how it is signed, and that it arrives."""

import hashlib
import hmac
import json
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse

from annotation.models import Participation
from annotation.services.exclusion import exclude_work
from api.models import Webhook, WebhookDelivery
from api.services.webhook_events import OVERLAP, record_events
from api.services.webhook_sending import DELAYS, TIMEOUT_S, send_due
from api.services.webhooks import create_webhook
from api.tasks import webhooks_task
from jobs.clock import database_now
from jobs.models import Job
from recruitment.services.lifecycle import close_study, pause_study, reopen_study
from studies.models import Study
from tests.annotation.annotators import annotator
from tests.refusals import refused
from tests.studies.factories import make_open_study, open_knowingly

pytestmark = pytest.mark.django_db
HOST = "hooks.example.org"
URL = f"https://{HOST}/tiebreak"


@pytest.fixture(autouse=True)
def _allowed(settings) -> None:
    settings.TIEBREAK_WEBHOOK_HOSTS = [HOST, "other.example.org:8443"]


class Receiver:
    """The server at the other end: keeps what it gets, and answers in turn."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.answers: list[Any] = []
        self.options: dict[str, Any] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else 204
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, httpx.Response) else httpx.Response(answer)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.content) for request in self.requests]


@pytest.fixture
def receiver(monkeypatch) -> Receiver:
    made, client = Receiver(), httpx.Client

    def connected(**options):
        made.options = options
        return client(transport=httpx.MockTransport(made), **options)

    monkeypatch.setattr("api.services.webhook_sending.httpx.Client", connected)
    return made


@pytest.fixture
def study(ruth) -> Study:
    return make_open_study(
        instances=2, comparisons_per_hit=1, samples=1, ratings_per_hit=1, member=ruth
    )


@pytest.fixture
def hook(study) -> Webhook:
    return create_webhook(study=study, url=URL)[0]


def told(webhook: Webhook) -> list[str]:
    record_events()
    return list(webhook.deliveries.order_by("pk").values_list("event", flat=True))


# Where.

TRICKS = [
    "http://hooks.example.org/",
    "ftp://hooks.example.org/",
    "https://evil.example.org/",
    "https://hooks.example.org.evil.example.org/",
    "https://evil-hooks.example.org/",
    "https://user@hooks.example.org/",
    "https://hooks.example.org@evil.example.org/",
    "https://hooks.example.org:x@evil.example.org/",
    "https://evil.example.org#@hooks.example.org/",
    "https://evil.example.org?@hooks.example.org/",
    "https://evil.example.org\\@hooks.example.org/",
    "https://hooks.example.org\\.evil.example.org/",
    "https://hooks.example.org:8080/",
    "https://hooks.example.org:443/",
    "https://other.example.org/",
    "https://hooks.example.org./",
    "https://hooks%2eexample.org/",
    "https://hooks.example.org%00.evil.example.org/",
    "https://hooks.example。org/",
    "https://ｈooks.example.org/",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://[::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[hooks.example.org]/",
    "https://localhost/",
    "https:///hooks.example.org/",
    "https:hooks.example.org",
    "//hooks.example.org/",
    "https://hooks.example.org/#fragment",
    " https://hooks.example.org/",
    "https://hooks.example.org/a b",
    "https://hooks.example.org/\n",
    "ht\ttps://hooks.example.org/",
    "https://hooks.example.org/" + "x" * 500,
    "https://",
    "",
]


@pytest.mark.parametrize("url", TRICKS)
def test_another_address_is_refused(study, url):
    with refused("url_not_allowed"):
        create_webhook(study=study, url=url)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("url", [url for url in TRICKS if len(url) <= 500])
def test_nothing_is_sent_to_another_address_however_it_came_there(hook, receiver, study, url):
    pause_study(study=study)
    record_events()
    Webhook.objects.update(url=url)
    assert [delivery.outcome for delivery in send_due()] == ["url_not_allowed"]
    assert receiver.requests == []


@pytest.mark.parametrize(
    "url", [URL, "HTTPS://HOOKS.EXAMPLE.ORG/", "https://other.example.org:8443/?token=1&b=%2e"]
)
def test_a_listed_host_is_allowed_and_is_the_one_that_is_asked(study, receiver, url):
    create_webhook(study=study, url=url)
    pause_study(study=study)
    webhooks_task()
    [request] = receiver.requests
    assert request.url.netloc.decode() in {HOST, "other.example.org:8443"}


def test_without_the_setting_nothing_is_allowed(study, settings):
    settings.TIEBREAK_WEBHOOK_HOSTS = []
    with refused("url_not_allowed"):
        create_webhook(study=study, url=URL)


def test_no_redirect_is_followed_and_no_proxy_asked(hook, receiver, study):
    pause_study(study=study)
    record_events()
    moved = httpx.Response(307, headers={"Location": "http://169.254.169.254/"})
    receiver.answers = [moved]
    [delivery] = send_due()
    assert delivery.outcome == "307"
    assert delivery.status == "waiting"
    assert [str(request.url) for request in receiver.requests] == [URL]
    assert receiver.options == {
        "timeout": TIMEOUT_S,
        "follow_redirects": False,
        "trust_env": False,
    }


# What.


def test_changes_of_state_are_told(hook, study):
    pause_study(study=study)
    open_knowingly(study)
    close_study(study=study)
    reopen_study(study=study)
    states = ["paused", "opened", "closed", "opened"]
    assert told(hook) == [f"study.{state}" for state in states]


def test_completed_work_is_told_once(hook, study):
    ann = annotator(study)
    ann.choose()
    assert told(hook) == ["place.completed", "hit.completed"]
    ann.choose()
    expected = ["place.completed", "hit.completed"] * 2 + ["study.completed"]
    assert sorted(told(hook)) == sorted(expected)
    assert sorted(told(hook)) == sorted(expected)


def test_a_hit_is_complete_when_all_its_places_are(ruth):
    study = make_open_study(instances=1, comparisons_per_hit=1, samples=1, ratings_per_hit=2)
    hook, _ = create_webhook(study=study, url=URL)
    annotator(study).choose()
    assert told(hook) == ["place.completed"]
    annotator(study).choose()
    assert told(hook)[1:] == ["place.completed", "hit.completed", "study.completed"]


def test_work_that_is_done_again_is_told_again(hook, study):
    annotator(study).choose()
    assert told(hook).count("place.completed") == 1
    exclude_work(participation=Participation.objects.get(), status="excluded")
    annotator(study).choose()
    assert told(hook).count("place.completed") == 2


def test_an_ended_job_is_told(hook, study):
    job = Job.objects.create(
        kind="scoring", owner=study.pk, status="done", finished_at=database_now()
    )
    assert told(hook) == ["job.ended"]
    assert hook.deliveries.get().data == {"job": job.public_id, "kind": "scoring", "status": "done"}


def test_what_was_before_the_webhook_or_in_another_study_is_not_told(study):
    pause_study(study=study)
    other = make_open_study(instances=1)
    hook, _ = create_webhook(study=study, url=URL)
    pause_study(study=other)
    assert told(hook) == []


def test_an_event_that_became_visible_late_is_told(hook, study):
    """Its transaction began before the last round and ended after it."""
    record_events(now=database_now() + OVERLAP / 2)
    pause_study(study=study)
    assert told(hook) == ["study.paused"]


def test_the_message_names_nobody(hook, study, receiver):
    annotator(study).choose()
    webhooks_task()
    rater = Participation.objects.get().rater
    place = next(body for body in receiver.bodies if body["event"] == "place.completed")
    assert place.keys() == {"id", "event", "study", "time", "data"}
    assert place["study"] == study.pk
    assert place["data"].keys() == {"hit", "instance", "place", "annotator"}
    assert place["data"]["annotator"] == rater.pseudonym
    sent = b"".join(request.content for request in receiver.requests).decode()
    assert rater.external_id not in sent
    assert Participation.objects.get().submission_id not in sent


# How.


def test_the_signature_is_over_time_and_body(study, receiver):
    _, secret = create_webhook(study=study, url=URL)
    pause_study(study=study)
    webhooks_task()
    [request] = receiver.requests
    time, signature = re.fullmatch(
        r"t=(\d+),v1=([0-9a-f]{64})", request.headers["Tiebreak-Signature"]
    ).groups()
    expected = hmac.new(secret.encode(), f"{time}.".encode() + request.content, hashlib.sha256)
    assert signature == expected.hexdigest()
    assert abs(int(time) - database_now().timestamp()) < 60


def test_the_secret_is_stored_encrypted(study):
    webhook, secret = create_webhook(study=study, url=URL)
    assert secret not in webhook.secret
    assert len(secret) >= 32


def test_a_refused_event_is_sent_again_with_the_same_id_and_growing_delays(hook, study, receiver):
    pause_study(study=study)
    record_events()
    now = database_now()
    receiver.answers = [500] * len(DELAYS) + [200]
    for delay in DELAYS:
        assert len(list(send_due(now))) == 1
        assert list(send_due(now + delay - timedelta(seconds=1))) == []
        now += delay
    list(send_due(now))
    assert WebhookDelivery.objects.get().status == "delivered"
    assert len({body["id"] for body in receiver.bodies}) == 1
    assert len({request.content for request in receiver.requests}) == 1
    assert list(DELAYS) == sorted(DELAYS)


def test_after_the_last_attempt_an_event_has_failed_and_can_be_sent_again(
    hook, study, receiver, client, ruth
):
    pause_study(study=study)
    record_events()
    now = database_now()
    receiver.answers = [500] * (len(DELAYS) + 1)
    for _ in range(len(DELAYS) + 3):
        list(send_due(now))
        now += timedelta(days=2)
    delivery = WebhookDelivery.objects.get()
    assert (delivery.status, delivery.attempts) == ("failed", len(DELAYS) + 1)
    client.force_login(ruth)
    client.post(reverse("api:resend", args=[study.pk, delivery.public_id]))
    webhooks_task()
    delivery.refresh_from_db()
    assert delivery.status == "delivered"
    assert {body["id"] for body in receiver.bodies} == {delivery.public_id}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(httpx.ReadTimeout("slow"), "timeout"), (httpx.ConnectError("no"), "no_connection")],
)
def test_a_server_that_does_not_answer_is_tried_later(hook, study, receiver, error, outcome):
    pause_study(study=study)
    record_events()
    receiver.answers = [error]
    [delivery] = send_due()
    assert (delivery.status, delivery.outcome) == ("waiting", outcome)


def test_a_worker_that_dies_in_the_middle_leaves_the_event_to_another(hook, study, receiver):
    pause_study(study=study)
    record_events()
    receiver.answers = [KeyboardInterrupt()]
    now = database_now()
    with pytest.raises(KeyboardInterrupt):
        list(send_due(now))
    assert [delivery.status for delivery in send_due(now + DELAYS[0])] == ["delivered"]
    assert len({body["id"] for body in receiver.bodies}) == 1


def test_after_a_failure_the_other_events_of_the_webhook_wait(hook, study, receiver):
    pause_study(study=study)
    close_study(study=study)
    record_events()
    receiver.answers = [500]
    assert len(list(send_due())) == 1
    assert len(receiver.requests) == 1


def test_the_periodic_task_sends_what_is_due_once(hook, study, receiver):
    pause_study(study=study)
    webhooks_task()
    webhooks_task()
    assert [body["event"] for body in receiver.bodies] == ["study.paused"]
    job = Job.objects.get(kind="webhooks")
    assert (job.status, job.owner, job.done) == ("done", "", 1)


def test_without_webhooks_a_round_asks_little(db, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        webhooks_task()


# The page.


def test_the_page_creates_shows_and_deletes(client, ruth, study, receiver):
    client.force_login(ruth)
    page_url = reverse("api:webhooks", args=[study.pk])
    page = client.post(page_url, {"url": URL})
    secret = page.context["new_secret"]
    assert secret in page.content.decode()
    pause_study(study=study)
    webhooks_task()
    again = client.get(page_url).content.decode()
    assert secret not in again
    assert "study.paused" in again
    hook = Webhook.objects.get()
    client.post(reverse("api:delete-webhook", args=[study.pk, hook.public_id]))
    assert not WebhookDelivery.objects.exists()


def test_the_page_refuses_an_address_with_its_code(client, ruth, study):
    client.force_login(ruth)
    page = client.post(reverse("api:webhooks", args=[study.pk]), {"url": "https://evil/"})
    assert page.status_code == 400
    errors = page.context["form"].errors.as_data()["url"]
    assert [error.code for error in errors] == ["url_not_allowed"]


def test_the_same_address_twice_is_refused(study, hook):
    with refused("webhook_known"):
        create_webhook(study=study, url=URL)


def test_another_researcher_does_nothing_with_a_webhook(client, omar, study, hook):
    pause_study(study=study)
    record_events()
    delivery = hook.deliveries.get()
    client.force_login(omar)
    mine = make_open_study(instances=1, member=omar)
    for owner in (study, mine):
        for name, row in (("delete-webhook", hook), ("resend", delivery)):
            assert (
                client.post(reverse(f"api:{name}", args=[owner.pk, row.public_id])).status_code
                == 404
            )
    assert client.get(reverse("api:webhooks", args=[study.pk])).status_code == 404
    assert Webhook.objects.exists()


@pytest.mark.parametrize("hosts", ["https://x.org", "*", "x.org/path", "u@x.org", "-x.org"])
def test_a_malformed_setting_stops_the_start(hosts, monkeypatch):
    from config.settings import _hosts

    monkeypatch.setenv("TIEBREAK_WEBHOOK_HOSTS", hosts)
    with pytest.raises(ImproperlyConfigured):
        _hosts("TIEBREAK_WEBHOOK_HOSTS")

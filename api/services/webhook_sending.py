"""Sends what is due to webhooks, signed, and tries again later what was not accepted."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import httpx
from cryptography.fernet import InvalidToken
from django.db.models import QuerySet

from api.models import WebhookDelivery
from api.services.webhooks import is_allowed, secret_of
from jobs.clock import database_now
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from tiebreak.errors import DomainError

SIGNATURE = "Tiebreak-Signature"
TIMEOUT_S = 10.0
# The waiting times after the first attempts; after one more attempt a delivery has failed.
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480, 1440))
MAX_PER_JOB = 500
# Ended jobs are of no interest, because each delivery is in the log of its study.
KEPT_FOR = timedelta(days=1)
Status = WebhookDelivery.Status


class WebhookJob(JobKind):
    """Sends all deliveries that are due."""

    name = "webhooks"
    label = "send webhooks"

    def plan(self, job: Job) -> list[ChunkPlan]:  # noqa: ARG002  as every kind
        return [ChunkPlan(min(MAX_PER_JOB, due_deliveries().count()))]

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        for done, _ in enumerate(send_due(), start=1):
            yield Progress(done)


def start_sending() -> Job | None:
    """Queue a job if something is due and no such job is unfinished."""
    ended = Job.objects.filter(kind=WebhookJob.name, finished_at__lt=database_now() - KEPT_FOR)
    ended.delete()
    if not due_deliveries().exists():
        return None
    try:
        return start_job(kind=WebhookJob.name, exclusive_key=WebhookJob.name)
    except DomainError as refusal:
        if refusal.code not in {"job_unfinished", "dataset_busy"}:
            raise
        return None


def due_deliveries(now: datetime | None = None) -> QuerySet[WebhookDelivery]:
    """Return the deliveries to send now, oldest first."""
    waiting = WebhookDelivery.objects.filter(status=Status.WAITING)
    due = waiting.filter(due_at__lte=now or database_now())
    return due.select_related("webhook").order_by("pk")


def send_due(now: datetime | None = None) -> Iterator[WebhookDelivery]:
    """Send what is due, and yield each delivery that was attempted.

    After a failure, the others of the same webhook wait for the next job: its server may be down.
    """
    failed: set[int] = set()
    for delivery in list(due_deliveries(now)[:MAX_PER_JOB]):
        if delivery.webhook_id in failed or not _claim(delivery, now):
            continue
        if not _attempt(delivery):
            failed.add(delivery.webhook_id)
        yield delivery


def _claim(delivery: WebhookDelivery, now: datetime | None) -> bool:
    """Count the attempt before it is made. If its worker dies, it is made again after the delay."""
    number = delivery.attempts
    as_read = WebhookDelivery.objects.filter(pk=delivery.pk, attempts=number, status=Status.WAITING)
    delivery.attempts, now = number + 1, now or database_now()
    due_at = now + DELAYS[min(number, len(DELAYS) - 1)]
    return bool(as_read.update(attempts=number + 1, sent_at=now, due_at=due_at))


def _attempt(delivery: WebhookDelivery) -> bool:
    """Send a delivery once, and store what became of it."""
    outcome = _send(delivery)
    is_accepted = outcome.startswith("2")
    delivery.outcome = outcome
    if is_accepted:
        delivery.status = Status.DELIVERED
    elif delivery.attempts > len(DELAYS):
        delivery.status = Status.FAILED
    delivery.save(update_fields=["status", "outcome"])
    return is_accepted


def _send(delivery: WebhookDelivery) -> str:
    """Return the HTTP status of the answer, or a code if there was none.

    No redirect is followed and the answer's body is not read. Neither proxies nor credentials of
    the process's environment are used.
    """
    webhook = delivery.webhook
    if not is_allowed(webhook.url):  # the server's setting may have changed
        return "url_not_allowed"
    try:
        headers = _headers(delivery, body := body_of(delivery))
        with (
            httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", webhook.url, content=body, headers=headers) as response,
        ):
            return str(response.status_code)
    except httpx.TimeoutException:
        return "timeout"
    except (httpx.HTTPError, httpx.InvalidURL):
        return "no_connection"
    except InvalidToken:
        return "unreadable_secret"


def body_of(delivery: WebhookDelivery) -> bytes:
    """Return what is sent, the same in every attempt."""
    body = {
        "id": delivery.public_id,
        "event": delivery.event,
        "study": delivery.webhook.study_id,
        "time": delivery.time.isoformat(),
        "data": delivery.data,
    }
    return json.dumps(body, ensure_ascii=False, sort_keys=True).encode()


def _headers(delivery: WebhookDelivery, body: bytes) -> dict[str, str]:
    time = int(database_now().timestamp())
    return {
        "Content-Type": "application/json",
        "User-Agent": "Tiebreak",
        SIGNATURE: f"t={time},v1={signature(secret_of(delivery.webhook), time, body)}",
    }


def signature(secret: bytes, time: int, body: bytes) -> str:
    """Return the HMAC-SHA256 of the time in seconds, a dot and the body."""
    return hmac.new(secret, b"%d.%s" % (time, body), hashlib.sha256).hexdigest()

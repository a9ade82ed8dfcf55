"""Finds what happened in studies with webhooks, and stores a delivery of each event.

Events are found by their times in the rows that record them anyway, so saving an answer costs
nothing more and no other package knows of webhooks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation.models import HIT, Place
from api.models import Webhook, WebhookDelivery
from jobs.clock import database_now
from studies.data.dataset_jobs import jobs_of
from studies.models import StudyEvent

# Rows become visible when their transaction ends, later than their times, and the hosts' clocks may
# differ. So each round looks back this long; what it finds again is known by its key.
OVERLAP = timedelta(minutes=10)
Verb = StudyEvent.Verb
EVENTS = {
    Verb.OPEN: "study.opened",
    Verb.REOPEN: "study.opened",
    Verb.PAUSE: "study.paused",
    Verb.CLOSE: "study.closed",
}


@dataclass(frozen=True)
class Event:
    """What happened, and a key by which it is known."""

    key: str
    name: str
    time: datetime
    data: dict[str, Any]


def record_events(now: datetime | None = None) -> None:
    """Store a delivery of each new event for each webhook. May run twice, even at the same time."""
    now = now or database_now()
    for webhook in Webhook.objects.select_related("study"):
        deliveries = [_delivery(webhook, event, now) for event in _events(webhook)]
        with transaction.atomic():
            WebhookDelivery.objects.bulk_create(deliveries, batch_size=500, ignore_conflicts=True)
            Webhook.objects.filter(pk=webhook.pk).update(looked_until=now)


def _delivery(webhook: Webhook, event: Event, now: datetime) -> WebhookDelivery:
    return WebhookDelivery(
        webhook=webhook,
        key=event.key,
        event=event.name,
        time=event.time,
        data=event.data,
        due_at=now,
    )


def _events(webhook: Webhook) -> list[Event]:
    earliest = webhook.looked_until - OVERLAP
    since = max(webhook.created_at, earliest)
    events = [*_states(webhook, earliest), *_completions(webhook, since), *_jobs(webhook, since)]
    return sorted(events, key=lambda event: event.time)


def _states(webhook: Webhook, since: datetime) -> Iterator[Event]:
    entries = webhook.study.events.filter(pk__gt=webhook.after_event, at__gte=since)
    for row in entries.filter(verb__in=EVENTS):
        name = EVENTS[Verb(row.verb)]
        yield Event(f"log:{row.pk}", name, row.at, {"status": name.partition(".")[2]})


def _completions(webhook: Webhook, since: datetime) -> Iterator[Event]:
    """Yield completed places, HITs of which all places are, and the study if all of them are.

    The time is part of the key, because work that is excluded is done again by someone else.
    """
    places = webhook.study.places.filter(completed_at__gte=since)
    rows = list(places.select_related("assignment__rater", "hit__instance"))
    for place in rows:
        yield _of_place(place)
    if rows:
        yield from _of_hits(webhook, {place.hit_id for place in rows})
        yield from _of_study(webhook)


def _of_place(place: Place) -> Event:
    assert place.assignment is not None
    assert place.completed_at is not None
    data = _of_hit(place.hit) | {
        "place": place.number,
        "annotator": place.assignment.rater.pseudonym,
    }
    key = f"place:{place.pk}:{place.completed_at.isoformat()}"
    return Event(key, "place.completed", place.completed_at, data)


def _of_hits(webhook: Webhook, hits: set[int]) -> Iterator[Event]:
    open_places = Place.objects.filter(hit__in=hits, completed_at__isnull=True)
    complete = hits - set(open_places.values_list("hit", flat=True))
    places = Place.objects.filter(study=webhook.study_id, hit__in=complete).order_by()
    last = dict(places.values_list("hit").annotate(last=Max("completed_at")))
    for hit in HIT.objects.filter(pk__in=last).select_related("instance"):
        time = last[hit.pk]
        yield Event(f"hit:{hit.pk}:{time.isoformat()}", "hit.completed", time, _of_hit(hit))


def _of_hit(hit: HIT) -> dict[str, Any]:
    return {"hit": hit.number, "instance": hit.instance.key if hit.instance else None}


def _of_study(webhook: Webhook) -> Iterator[Event]:
    places = webhook.study.places
    if not places.filter(completed_at__isnull=True).exists():
        last = places.aggregate(last=Max("completed_at"))["last"]
        key = f"study:{last.isoformat()}"
        yield Event(key, "study.completed", last, {"places": places.count()})


def _jobs(webhook: Webhook, since: datetime) -> Iterator[Event]:
    for job in jobs_of(webhook.study).filter(finished_at__gte=since):
        assert job.finished_at is not None
        key = f"job:{job.public_id}:{job.finished_at.isoformat()}"
        data = {"job": job.public_id, "kind": job.kind, "status": job.status}
        yield Event(key, "job.ended", job.finished_at, data)

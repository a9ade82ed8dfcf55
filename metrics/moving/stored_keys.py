"""Keys of rows that stand in JSON and texts, where no relation says so: all such places."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.apps import apps

from annotation.models import HIT, Place
from metrics.moving.belonging import Kind, belongings
from studies.models import ComprehensionQuestion, Criterion, Instance, StudyEvent, System, Unit

# The keys that rows have here, by those that they had.
Keys = Mapping[Kind, Mapping[Any, Any]]
LOT = 1000
IN_PAYLOADS: dict[str, Kind] = {
    **dict.fromkeys(("units", "orders"), Unit),
    **dict.fromkeys(("system", "original"), System),
    "instances": Instance,
    "criterion": Criterion,
}
IN_EVENTS: dict[str, Kind] = {"log": StudyEvent, "place": Place, "hit": HIT}


def _in_payload(keys: Keys, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _renewed(value, keys[IN_PAYLOADS[name]]) if name in IN_PAYLOADS else value
        for name, value in payload.items()
    }


def _renewed(value: Any, keys: Mapping[Any, Any]) -> Any:
    if isinstance(value, list):
        return [_renewed(one, keys) for one in value]
    return keys.get(value) if isinstance(value, int) else value


def _in_answers(keys: Keys, answers: dict[str, Any]) -> dict[str, Any]:
    here = {key: keys[ComprehensionQuestion].get(int(key)) for key in answers}
    return {str(here[key]): answer for key, answer in answers.items() if here[key] is not None}


def _in_event(keys: Keys, event: str) -> str:
    kind, colon, rest = event.partition(":")
    if kind not in IN_EVENTS:
        return event
    key, time_colon, time = rest.partition(":")
    return f"{kind}{colon}{keys[IN_EVENTS[kind]].get(int(key))}{time_colon}{time}"


def _in_plan(keys: Keys, plan: dict[str, Any] | None) -> dict[str, Any] | None:
    return plan and plan | {"newest_place": keys[Place].get(plan.get("newest_place"))}


def _counted_anew(keys: Keys, value: int) -> int:  # noqa: ARG001  as the others
    return 0


STORED: dict[tuple[str, str], Callable[[Keys, Any], Any]] = {
    ("jobs.JobChunk", "payload"): _in_payload,
    ("annotation.ScreeningAttempt", "answers"): _in_answers,
    ("metrics.ReportSnapshot", "plan"): _in_plan,
    # The number of ratings up to the one with a key, so that few must be counted.
    ("metrics.ReportSnapshot", "settled_key"): _counted_anew,
    ("metrics.ReportSnapshot", "settled_rows"): _counted_anew,
    ("api.Webhook", "after_event"): lambda keys, key: keys[StudyEvent].get(key, 0),
    ("api.WebhookDelivery", "key"): _in_event,
}


def renew_stored_keys(keys: Keys, studies: Collection[str]) -> None:
    """Put the keys of this server into the places of these studies' rows that have others."""
    for (name, field), renewed in STORED.items():
        model = apps.get_model(name)
        for row in belongings().rows(model, studies).iterator(chunk_size=LOT):
            value = renewed(keys, getattr(row, field))
            if value != getattr(row, field):
                model._base_manager.filter(pk=row.pk).update(**{field: value})

"""Who may take part through a platform: the filters it offers, those chosen, how many they leave."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import transaction

from jobs.clock import database_now
from recruitment.messages import BAD_RANGE, UNKNOWN_CHOICE, UNKNOWN_FILTER
from recruitment.models import Channel, Eligibility
from recruitment.platforms import get_platform
from recruitment.platforms.base import OfferedFilter
from tiebreak.errors import DomainError

# A filter as it is sent: its ID with selected values or with a range.
Chosen = dict[str, Any]


def ask_about_eligibility(*, channel: Channel) -> Eligibility:
    """Ask the platform which filters it offers and how many people pass those chosen. Slow."""
    platform = get_platform(channel.provider)
    offered = platform.offered_filters(channel)
    people = platform.count_eligible(channel)
    values = {
        "offered": [asdict(one) for one in offered],
        "people": people,
        "counted_for": chosen_filters(channel),
        "asked_at": database_now(),
    }
    return Eligibility.objects.update_or_create(channel=channel, defaults=values)[0]


def offered_filters(channel: Channel) -> list[OfferedFilter]:
    """Return the filters that the platform offered when it was last asked."""
    stored = Eligibility.objects.filter(channel=channel).first()
    return [OfferedFilter(**one) for one in stored.offered] if stored else []


def chosen_filters(channel: Channel) -> list[Chosen]:
    filters: list[Chosen] = channel.settings.get("filters", [])
    return filters


def filters_in_words(channel: Channel) -> list[tuple[str, str]]:
    """Return the title of each chosen filter and what was chosen, for people to read."""
    chosen = chosen_filters(channel)
    offered = {one.id: one for one in offered_filters(channel)} if chosen else {}
    return [_in_words(one, offered.get(one["filter_id"])) for one in chosen]


def _in_words(chosen: Chosen, offered: OfferedFilter | None) -> tuple[str, str]:
    title = offered.title if offered else chosen["filter_id"]
    if "selected_range" in chosen:
        ends = chosen["selected_range"]
        return title, f"{ends.get('lower', 'any')} to {ends.get('upper', 'any')}"
    choices = offered.choices if offered else {}
    return title, ", ".join(choices.get(value, value) for value in chosen["selected_values"])


def eligible_people(channel: Channel) -> int | None:
    """Return how many people pass the chosen filters; None if the platform was not asked since."""
    stored = Eligibility.objects.filter(channel=channel).defer("offered").first()
    is_current = stored is not None and stored.counted_for == chosen_filters(channel)
    return stored.people if stored and is_current else None


@transaction.atomic
def choose_filters(*, channel: Channel, chosen: Iterable[Chosen]) -> list[Chosen]:
    """Store the filters for the channel's study, or refuse those that the platform does not offer.

    They reach the platform with the draft, and an existing draft by the action `update-draft`.
    """
    offered = {one.id: one for one in offered_filters(channel)}
    filters = [_checked(one, offered) for one in chosen]
    stored = Channel.objects.select_for_update().get(pk=channel.pk)
    stored.settings |= {"filters": filters}
    stored.save(update_fields=["settings"])
    channel.settings = stored.settings
    return filters


def _checked(chosen: Chosen, offered: Mapping[str, OfferedFilter]) -> Chosen:
    filter_id = str(chosen.get("filter_id", ""))
    if filter_id not in offered:
        raise DomainError("unknown_filter", UNKNOWN_FILTER.format(filter_id), status=400)
    one = offered[filter_id]
    if one.is_range:
        return {"filter_id": filter_id, "selected_range": _range(one, chosen)}
    values = [str(value) for value in chosen.get("selected_values") or []]
    for value in values:
        if value not in one.choices:
            sentence = UNKNOWN_CHOICE.format(one.title, value)
            raise DomainError("unknown_choice", sentence, status=400)
    return {"filter_id": filter_id, "selected_values": values}


def _range(one: OfferedFilter, chosen: Chosen) -> dict[str, Any]:
    typed = chosen.get("selected_range") or {}
    texts = {end: str(typed.get(end) or "").strip() for end in ("lower", "upper")}
    try:
        values = {end: _value(one, text) for end, text in texts.items() if text}
    except (ValueError, InvalidOperation):
        values = {}
    low, high = values.get("lower"), values.get("upper")
    is_valid = len(values) == sum(map(bool, texts.values())) > 0 and all(
        (not one.low or value >= _value(one, one.low))
        and (not one.high or value <= _value(one, one.high))
        for value in values.values()
    )
    if not is_valid or (low is not None and high is not None and low > high):
        kind = "dates" if one.is_date else "numbers"
        sentence = BAD_RANGE.format(one.title, kind, one.low or "any", one.high or "any")
        raise DomainError("bad_range", sentence, status=400)
    return {end: _sent(value) for end, value in values.items()}


def _sent(value: Any) -> int | float | str:
    if isinstance(value, date):
        return value.isoformat()
    return int(value) if value == int(value) else float(value)


def _value(one: OfferedFilter, text: str) -> Any:
    """Return a typed bound as a number or a date; raises if it is none."""
    if one.is_date:
        return date.fromisoformat(text)
    value = Decimal(text)
    if not value.is_finite() or (one.is_whole and value != int(value)):
        raise InvalidOperation
    return value

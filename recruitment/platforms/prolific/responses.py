"""Readers of Prolific's responses: each raises `Unreadable` if a required field is missing."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

Data = dict[str, object]


@dataclass(frozen=True)
class ProlificSubmission:
    """One participant's submission; `status` is Prolific's own term, which may be unknown to us."""

    id: str
    participant: str
    study: str
    status: str
    entered_code: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    time_taken_s: float | None = None


@dataclass(frozen=True)
class StudyState:
    """The state of a study on Prolific; `places_taken` is None if the response lacks it."""

    id: str
    status: str
    total_places: int
    places_taken: int | None = None


@dataclass(frozen=True)
class Subscription:
    """A webhook subscription, and the secret that confirms it."""

    id: str
    hook_secret: str = field(repr=False)


Bound = float | str


@dataclass(frozen=True)
class Filter:
    """A filter by which participants can be chosen.

    A range has bounds `low` and `high`, numbers or ISO dates, and no choices.
    """

    id: str
    title: str
    question: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    low: Bound | None = None
    high: Bound | None = None
    data_type: str = ""


LARGEST = sys.float_info.max


class Unreadable(ValueError):
    """A response without a required field."""


def read_object(data: object) -> Data:
    if not isinstance(data, dict):
        raise Unreadable
    return data


def read_rows(data: Data) -> list[Data]:
    rows = data.get("results")
    if not isinstance(rows, list):
        raise Unreadable
    return [read_object(row) for row in rows]


def read_text(data: Data, *names: str) -> str:
    value = next((data[name] for name in names if data.get(name) is not None), None)
    if not isinstance(value, str) or not value:
        raise Unreadable
    return value


def read_id(data: Data) -> str:
    return read_text(data, "id")


def _optional_text(data: Data, *names: str) -> str | None:
    is_present = any(data.get(name) not in (None, "") for name in names)
    return read_text(data, *names) if is_present else None


def _moment(data: Data, name: str) -> datetime | None:
    text = _optional_text(data, name)
    moment = datetime.fromisoformat(text) if text else None
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None


def _number(data: Data, name: str) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    # Compared instead of converted, because JSON may hold whole numbers that no float can.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise Unreadable
    return value


def read_study(data: Data) -> StudyState:
    total, taken = _number(data, "total_available_places"), _number(data, "places_taken")
    if total is None:
        raise Unreadable
    return StudyState(
        id=read_id(data),
        status=read_text(data, "status"),
        total_places=int(total),
        places_taken=None if taken is None else int(taken),
    )


def read_submission(data: Data, study_id: str = "") -> ProlificSubmission:
    """Read a submission; in a list, some of its fields have other names than in a single one."""
    started, completed = _moment(data, "started_at"), _moment(data, "completed_at")
    taken = _number(data, "time_taken")
    if taken is None and started and completed:
        taken = (completed - started).total_seconds()
    return ProlificSubmission(
        id=read_id(data),
        participant=_optional_text(data, "participant", "participant_id") or "",
        study=_optional_text(data, "study_id") or study_id,
        status=read_text(data, "status"),
        entered_code=_optional_text(data, "entered_code", "study_code"),
        started_at=started,
        completed_at=completed,
        time_taken_s=taken,
    )


def read_filter(data: Data) -> Filter:
    """Read one filter that Prolific offers: choices to select from, or a range of numbers."""
    choices = data.get("choices")
    is_range = data.get("type") == "range"
    return Filter(
        id=read_text(data, "filter_id"),
        title=read_text(data, "title"),
        question=_optional_text(data, "question", "description") or "",
        choices={} if is_range else _texts(choices),
        low=_bound(data, "min") if is_range else None,
        high=_bound(data, "max") if is_range else None,
        data_type=_optional_text(data, "data_type") or "",
    )


def _texts(choices: object) -> dict[str, str]:
    if not isinstance(choices, dict):
        raise Unreadable
    return {str(key): str(text) for key, text in choices.items()}


def _bound(data: Data, name: str) -> Bound | None:
    value = data.get(name)
    return value if isinstance(value, str) else _number(data, name)


def read_count(data: Data) -> int:
    count = _number(data, "count")
    if count is None:
        raise Unreadable
    return int(count)


def read_subscription_id(data: Data, request: Data) -> str:
    """Read the ID from a list, as in the API reference, or from one object, as in the guide."""
    if "results" not in data:
        return read_id(data)
    matching = [row for row in read_rows(data) if request.items() <= row.items()]
    if not matching:
        raise Unreadable
    return read_id(matching[-1])

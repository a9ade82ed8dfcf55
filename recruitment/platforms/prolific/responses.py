"""Readers of Prolific's responses: each raises `Unreadable` if a required field is missing."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime

from recruitment.platforms.base import OfferedFilter, PlatformReport, SubmissionStatus

Data = dict[str, object]
STATUSES = {
    "RESERVED": SubmissionStatus.EXPECTED,
    "ACTIVE": SubmissionStatus.WORKING,
    "AWAITING REVIEW": SubmissionStatus.SUBMITTED,
    "APPROVED": SubmissionStatus.APPROVED,
    "PARTIALLY APPROVED": SubmissionStatus.APPROVED,
    "REJECTED": SubmissionStatus.REJECTED,
    "RETURNED": SubmissionStatus.RETURNED,
    "TIMED-OUT": SubmissionStatus.TIMED_OUT,
    "SCREENED OUT": SubmissionStatus.SCREENED_OUT,
}


@dataclass(frozen=True)
class ProlificSubmission(PlatformReport):
    """The report on a submission, with the ID of its study on Prolific."""

    study: str = ""


@dataclass(frozen=True)
class StudyState:
    """The state of a study on Prolific."""

    id: str
    status: str
    total_places: int


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
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC) if moment else None


def _number(data: Data, name: str) -> float | None:
    value = data.get(name)
    if value is None:
        return None
    # Compared instead of converted, because JSON may hold whole numbers that no float can.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise Unreadable
    return value


def read_study(data: Data) -> StudyState:
    places = _whole_number(data, "total_available_places")
    return StudyState(id=read_id(data), status=read_text(data, "status"), total_places=places)


def read_submission(data: Data, study_id: str = "") -> ProlificSubmission:
    """Read a submission; in a list, some of its fields have other names than in a single one."""
    status = read_text(data, "status")
    return ProlificSubmission(
        submission_id=read_id(data),
        external_id=_optional_text(data, "participant", "participant_id") or "",
        study=_optional_text(data, "study_id") or study_id,
        status=status,
        submission_status=STATUSES.get(status, SubmissionStatus.UNKNOWN),
        entered_code=_optional_text(data, "entered_code", "study_code") or "",
        started_at=_moment(data, "started_at"),
        completed_at=_moment(data, "completed_at"),
    )


def read_filter(data: Data) -> OfferedFilter:
    """Read one filter that Prolific offers: choices to select from, or a range of numbers."""
    is_range, data_type = data.get("type") == "range", _optional_text(data, "data_type")
    return OfferedFilter(
        id=read_text(data, "filter_id"),
        title=read_text(data, "title"),
        question=_optional_text(data, "question", "description") or "",
        choices={} if is_range else _texts(data.get("choices")),
        low=_bound(data, "min") if is_range else "",
        high=_bound(data, "max") if is_range else "",
        is_date=data_type == "date",
        is_whole=data_type == "integer",
    )


def _texts(choices: object) -> dict[str, str]:
    if not isinstance(choices, dict):
        raise Unreadable
    return {str(key): str(text) for key, text in choices.items()}


def _bound(data: Data, name: str) -> str:
    """Return a number or an ISO date as it would be typed; "" if there is no bound."""
    value = data.get(name)
    number = value if isinstance(value, str) else _number(data, name)
    if isinstance(number, float):
        return f"{number:g}"
    return "" if number is None else str(number)


def read_count(data: Data) -> int:
    return _whole_number(data, "count")


def _whole_number(data: Data, name: str) -> int:
    number = _number(data, name)
    if number is None:
        raise Unreadable
    return int(number)


def read_subscription_id(data: Data, request: Data) -> str:
    """Read the ID from a list, as in the API reference, or from one object, as in the guide."""
    if "results" not in data:
        return read_id(data)
    matching = [row for row in read_rows(data) if request.items() <= row.items()]
    if not matching:
        raise Unreadable
    return read_id(matching[-1])

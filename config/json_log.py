"""Lines of a log as JSON, with `TIEBREAK_LOG_FORMAT=json`.

Whatever a library logs, no line has what somebody typed. A message's arguments are left out unless
they are numbers or ids of ours, and of an exception the type and the lines of code are told, but not
its message. `config.redaction` applies to the result, as to plain lines.
"""

import logging
import traceback
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import orjson

from jobs.log_context import log_context
from tiebreak.identifiers import looks_like_public_id

HIDDEN = "…"
# What Celery tells of a task besides its arguments and results.
OF_TASKS = {"id", "name", "runtime"}
FRAMES = 20


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            **log_context(),
            **getattr(record, "fields", {}),
            **_exception(record),
        }
        return orjson.dumps(line, default=str).decode()


def _message(record: logging.LogRecord) -> str:
    """Return the message without what might be of a person."""
    status = getattr(record, "status_code", None)
    if isinstance(status, int):  # of Django, with the path or the header in it
        return HTTPStatus(status).phrase
    message = str(record.msg)
    if not record.args:
        return message
    try:
        shown: str = message % _shown(record.args)
    except (TypeError, ValueError):  # a directive such as %d for what is hidden
        return message
    return shown


def _shown(args: Any) -> Any:
    if isinstance(args, dict):
        return {key: value if key in OF_TASKS else HIDDEN for key, value in args.items()}
    return tuple(value if _is_ours(value) else HIDDEN for value in args)


def _is_ours(value: object) -> bool:
    is_number = isinstance(value, int | float)
    return is_number or (isinstance(value, str) and looks_like_public_id(value))


def _exception(record: logging.LogRecord) -> dict[str, Any]:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return {
        "exception": type(error).__name__,
        "frames": [f"{one.filename}:{one.lineno} {one.name}" for one in frames],
    }

"""Redaction of frame tokens, links that reset passwords or invite, query strings and the values of rows in all logs.

Platforms put worker ids into query strings, a framed URL is a participant's credential, and
PostgreSQL prints the values of refused rows. Formatters therefore redact every line, including
tracebacks and the lines of other libraries.
"""

import logging
import os
import re

from config.json_log import JsonFormatter

RULES = (
    (re.compile(r"/f/[^/\s\"'?]+"), "/f/…"),
    (re.compile(r"/admin/reset/[^\s\"'?]+"), "/admin/reset/…"),
    (re.compile(r"/invitation/[^\s\"'?]+"), "/invitation/…"),
    (re.compile(r"\?[^\s\"<>]+"), "?…"),
    (re.compile(r"(Key \([^)]*\)=)\(.*\)"), r"\1(…)"),
    (re.compile(r"(Failing row contains )\(.*\)"), r"\1(…)"),
)


def redacted(text: str) -> str:
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Redacts the result of another formatter: the given one, the plain one, or JSON if it is set."""

    def __init__(
        self,
        format: str | None = None,
        datefmt: str | None = None,
        style: str = "%",
        *,
        inner: logging.Formatter | None = None,
    ) -> None:
        super().__init__()
        plain = inner or logging.Formatter(format, datefmt, style)  # type: ignore[arg-type]
        # Read here, because gunicorn logs before there are settings, which check the value.
        is_json = os.environ.get("TIEBREAK_LOG_FORMAT") == "json"
        self.inner = JsonFormatter() if is_json else plain

    def format(self, record: logging.LogRecord) -> str:
        return redacted(self.inner.format(record))


def redact_handlers(logger: logging.Logger) -> None:
    """Redact the output of handlers that a server or a worker added to its own logger."""
    for handler in logger.handlers:
        if not isinstance(handler.formatter, RedactingFormatter):
            handler.setFormatter(RedactingFormatter(inner=handler.formatter))

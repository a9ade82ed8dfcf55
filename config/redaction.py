"""What no log may hold: framed tokens, query strings and the values of rows.

Platforms put worker ids into query strings, a framed address is the credential of whoever works
there, and PostgreSQL names the values of a refused row. So every line is cleaned as it is written,
tracebacks included, whoever wrote it.
"""

import logging
import re

RULES = (
    (re.compile(r"/f/[^/\s\"'?]+"), "/f/…"),
    (re.compile(r"\?[^\s\"<>]+"), "?…"),
    (re.compile(r"(Key \([^)]*\)=)\(.*\)"), r"\1(…)"),
    (re.compile(r"(Failing row contains )\(.*\)"), r"\1(…)"),
)


def redacted(text: str) -> str:
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


class RedactingFormatter(logging.Formatter):
    """Any other formatter, or the plain one, with its whole text redacted."""

    def __init__(
        self,
        format: str | None = None,
        datefmt: str | None = None,
        style: str = "%",
        *,
        inner: logging.Formatter | None = None,
    ) -> None:
        super().__init__()
        self.inner = inner or logging.Formatter(format, datefmt, style)  # type: ignore[arg-type]

    def format(self, record: logging.LogRecord) -> str:
        return redacted(self.inner.format(record))


def redact_handlers(logger: logging.Logger) -> None:
    """Clean what the handlers write that a server or a worker gave to its own logger."""
    for handler in logger.handlers:
        if not isinstance(handler.formatter, RedactingFormatter):
            handler.setFormatter(RedactingFormatter(inner=handler.formatter))

"""A logger for gunicorn that redacts frame tokens and query strings; see `gunicorn.conf.py`."""

from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from config.redaction import redact_handlers


class RedactingLogger(Logger):  # type: ignore[misc]
    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        redact_handlers(self.error_log)
        redact_handlers(self.access_log)

    def atoms(self, *args: Any) -> dict[str, Any]:
        """Redact %(q)s, a query that lacks the question mark by which other rules recognise it."""
        atoms: dict[str, Any] = super().atoms(*args)
        return atoms | {"q": "…" if atoms.get("q") else ""}

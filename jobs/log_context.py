"""What every line of a log is about: the request or task, and the study and job, by their ids."""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})
_context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default=_NOTHING)


def log_context() -> Mapping[str, str]:
    return _context.get()


def begin_log(**ids: str) -> None:
    """Forget what this thread did before, and note what it does now."""
    _context.set(ids)


def note_in_log(**ids: str) -> None:
    """Add to what is known: names and ids from the code, and nothing that somebody typed."""
    _context.set({**_context.get(), **ids})

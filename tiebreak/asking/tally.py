"""Answers in lots as they come, and what failed: when it is no use to go on."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from tiebreak.gateway import Failed, GatewayError, LabelLogprobs, Sampled
from tiebreak.gateway.transport import FATAL_CODES

# Answers are stored in lots of this size, or after this many seconds if that is earlier.
LOT_SIZE, LOT_SECONDS = 50, 10.0
# After so many consecutive failures nothing more is asked.
MAX_FAILURES = 20
# Errors after which all other requests would fail too.
HOPELESS = FATAL_CODES | {"bad_settings", "engine_failed", "host_not_allowed", "no_choices"}
Answer = TypeVar("Answer")
Asked = TypeVar("Asked")
T = TypeVar("T", bound="Tally")


@dataclass
class Tally:
    """Successes and failures of requests so far."""

    done: int
    failed: int = 0
    in_a_row: int = 0
    problem: str = ""
    is_hopeless: bool = False

    @property
    def must_stop(self) -> bool:
        return self.is_hopeless or self.in_a_row >= MAX_FAILURES

    def note(self, failure: GatewayError) -> None:
        """Record a failure. Faults of a single request do not count towards stopping."""
        self.failed += 1
        if self.must_stop:  # keep the message of the error that stopped the requests
            return
        self.problem = failure.message
        self.is_hopeless = failure.code in HOPELESS
        self.in_a_row += not failure.is_request_fault


def store_in_lots(
    responses: Iterable[Sampled | LabelLogprobs | Failed],
    pending: MutableMapping[str, Asked],
    store: Callable[[list[tuple[Asked, Any]]], int],
    tally: T,
    note: Callable[[list[tuple[Asked, GatewayError]]], None] | None = None,
) -> Iterator[T]:
    """Store the answers in lots as they come, and yield the tally after each lot that is stored.

    ``responses`` sends the requests while it is read. ``pending`` has what each request on its way
    was for, by the request's id. ``store`` commits a lot and returns how many rows it stored;
    ``note`` is told what failed in it.
    """
    for lot in in_lots(iter(responses)):
        answers = [(pending.pop(r.id), r) for r in lot if not isinstance(r, Failed)]
        tally.done += store(answers)
        tally.in_a_row = 0 if answers else tally.in_a_row
        failures = [(pending.pop(r.id), r.error) for r in lot if isinstance(r, Failed)]
        for _, error in failures:
            tally.note(error)
        if note is not None and failures:
            note(failures)
        if tally.must_stop:
            return
        yield tally


def in_lots(answers: Iterator[Answer]) -> Iterator[Sequence[Answer]]:
    """Group answers into lots by number and time."""
    lot: list[Answer] = []
    since = monotonic()
    for answer in answers:
        lot.append(answer)
        if len(lot) == LOT_SIZE or monotonic() - since > LOT_SECONDS:
            yield lot
            lot, since = [], monotonic()
    if lot:
        yield lot

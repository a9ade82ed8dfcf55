"""Model servers of this installation: opening them, counting failures, storing answers in lots."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, TypeVar

from django.conf import settings

from jobs.kinds import Progress
from studies.instance_selection.resident import RESIDENT
from tiebreak.errors import DomainError
from tiebreak.gateway import (
    Failed,
    GatewayError,
    LabelLogprobs,
    Message,
    Models,
    ModelSettings,
    Sampled,
    open_models,
)
from tiebreak.gateway.transport import FATAL_CODES

# Answers are stored in lots of this size, or after this many seconds if that is earlier.
LOT_SIZE, LOT_SECONDS = 50, 10.0
# A job stops after this many consecutive failures.
MAX_FAILURES = 20
# Errors after which all other requests would fail too.
HOPELESS = FATAL_CODES | {"bad_settings", "engine_failed", "host_not_allowed", "no_choices"}
# The name that selects dummy texts instead of a model server.
FAKE = "fake"
NO_SERVER = (
    "No model server was chosen. Please choose one of this installation's servers, or dummy texts."
)
# So long a form waits for the names of a server's models.
LISTING_SECONDS = 5.0
NOT_LISTED = "{} Please enter the model's name as the server knows it, or try again later."
# Reasons for which a text ended that was not cut off.
COMPLETE = frozenset({"stop", ""})
Answer = TypeVar("Answer")
Asked = TypeVar("Asked")


@contextmanager
def open_server(name: str, model: str, *, advice: str, dummy: str = "") -> Iterator[Models]:
    """Open the server with this name, or wait for the model that runs in this process.

    ``advice`` says where to enter the model's name, should it be missing. Dummy texts are those of
    the model ``dummy`` if no model is named.
    """
    spec = server_settings(name, model, advice=advice, dummy=dummy)
    try:
        if spec.provider == "vllm":
            with RESIDENT.use(spec, lambda: open_models(spec)) as models:
                yield models
        else:
            with closing(open_models(spec)) as models:
                yield models
    except GatewayError as error:
        raise DomainError("model_server", error.message) from error


def server_settings(name: str, model: str, *, advice: str, dummy: str = "") -> ModelSettings:
    """Return the settings of the server with this name, which must exist and know its model."""
    if name == FAKE:
        return ModelSettings(provider="fake", model=model or dummy)
    servers = settings.TIEBREAK_MODEL_SERVERS
    if not name:
        raise DomainError("no_server", NO_SERVER, status=400)
    if name not in servers:
        remedy = (
            f"The available servers are: {', '.join(sorted(servers))}."
            if servers
            else "Define model servers in TIEBREAK_MODEL_SERVERS."
        )
        raise DomainError("no_such_server", f"There is no model server {name!r}. {remedy}")
    # If the model runs inside the worker, the server's settings say which model it is.
    server = {"model": model} | servers[name]
    if not server["model"]:
        raise DomainError("no_model", advice)
    return ModelSettings(**server)


def check_model(server: str, model: str, *, advice: str) -> None:
    """Raise `DomainError` if a model has no name and its server, which runs elsewhere, needs one."""
    runs_here = settings.TIEBREAK_MODEL_SERVERS.get(server, {}).get("model")
    if not model and not runs_here and server != FAKE:
        raise DomainError("no_model", advice, status=400)


def model_names(server: str) -> list[str]:
    """Return the names of the models that a server lists; none if its own settings name the model.

    A form asks while somebody fills it in, so the server is given `LISTING_SECONDS`, and one attempt.
    """
    if server == FAKE or settings.TIEBREAK_MODEL_SERVERS.get(server, {}).get("model"):
        return []
    spec = server_settings(server, "any", advice="")
    seconds = LISTING_SECONDS
    limits = {"timeout_s": seconds, "connect_timeout_s": seconds, "max_attempts": 1}
    spec = replace(spec, options={**spec.options, **limits})
    try:
        with closing(open_models(spec)) as models:
            return sorted(models.model_names())
    except GatewayError as error:
        raise DomainError("model_server", NOT_LISTED.format(error.message)) from error


def prompt_sha256(prompt: Sequence[Message]) -> str:
    """Return the hash by which a stored answer says what was asked."""
    turns = [[message.role, message.content] for message in prompt]
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()


@dataclass
class RequestTally:
    """Successes and failures of a chunk's requests so far."""

    done: int
    failed: int = 0
    in_a_row: int = 0
    problem: str = ""
    is_hopeless: bool = False

    @property
    def must_stop(self) -> bool:
        return self.is_hopeless or self.in_a_row >= MAX_FAILURES

    def note(self, failure: GatewayError) -> None:
        """Record a failure. Faults of a single request do not count towards stopping the job."""
        self.failed += 1
        if self.must_stop:  # keep the message of the error that stopped the job
            return
        self.problem = failure.message
        self.is_hopeless = failure.code in HOPELESS
        self.in_a_row += not failure.is_request_fault

    def progress(self) -> Progress:
        return Progress(self.done, self.failed, problem=self.problem, must_stop=self.must_stop)


def ask_and_store(
    responses: Iterable[Sampled | LabelLogprobs | Failed],
    pending: MutableMapping[str, Asked],
    store: Callable[[list[tuple[Asked, Any]]], int],
    tally: RequestTally,
    note: Callable[[list[tuple[Asked, GatewayError]]], None] | None = None,
) -> Iterator[Progress]:
    """Store the answers in lots as they come, and yield after each lot that is stored.

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
        yield tally.progress()


def in_lots(answers: Iterator[Answer]) -> Iterator[list[Answer]]:
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

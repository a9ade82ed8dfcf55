"""Model servers of this installation: opening them, and the progress of asking them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TypeVar

from django.conf import settings

from jobs.kinds import Progress
from studies.instance_selection.resident import RESIDENT
from tiebreak.asking.tally import Tally
from tiebreak.errors import DomainError
from tiebreak.gateway import (
    GatewayError,
    Models,
    ModelSettings,
    open_models,
)

# The name that selects dummy texts instead of a model server.
FAKE = "fake"
NO_SERVER = (
    "No model server was chosen. Please choose one of this installation's servers, or dummy texts."
)
# So long a form waits for the names of a server's models.
LISTING_SECONDS = 5.0
NOT_LISTED = "{} Please enter the model's name as the server knows it, or try again later."
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


def server_names() -> list[str]:
    return sorted(settings.TIEBREAK_MODEL_SERVERS)


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


class RequestTally(Tally):
    """Successes and failures of a chunk's requests so far."""

    def progress(self) -> Progress:
        return Progress(self.done, self.failed, problem=self.problem, must_stop=self.must_stop)

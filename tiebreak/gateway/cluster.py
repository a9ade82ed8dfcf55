"""Models and other work on a Ray cluster, or as several processes of this machine."""

import logging
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

from tiebreak import optional
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Models,
    Sampled,
    SampleRequest,
    ScoreRequest,
    ServedBy,
    TextScore,
)

# Requests that an actor takes together, and lots that it has or waits for.
LOT, AHEAD = 32, 2
# After so many deaths of actors a lot is given up, and after so many without an answer everything.
TRIES, DEATHS = 2, 6
CONNECT_SECONDS = 5.0
NOT_THERE = (
    "No Ray cluster answers at {}. Start one there with `ray start --head`, or correct the address."
)
NOT_ENOUGH = "The Ray cluster has no {}, which each actor needs. Add a host that has one."
ANOTHER = (
    "This process works on the Ray cluster {} already, and can have only one. Name the same one for all"
    " models, or stop the process first."
)
DIED = "The engine died {} times while it worked on this request alone."
ALL_DIED = "The engine died {} times without an answer. Look at the logs of Ray and at the memory."
Work = Callable[[Any], Any]
# The address by which this process joined its cluster; empty for one of this machine.
_joined: dict[str, str] = {}


@dataclass
class _Lot:
    """What an actor works on at once, and how many actors died with it."""

    content: Any
    tries: int = 0


class Cluster:
    """Actors of a Ray cluster, each of which opens what it works with once.

    A lot whose actor died is given to one other; if that one dies, too, the lot has no result. So of
    an actor that is killed only what it had in hand is computed again.

    Parameters
    ----------
    make : callable
        Called in each actor; returns the function that works on a lot. Can be pickled.
    address : str, optional
        Address of a cluster such as ``head.example.org:6379``, by default this machine alone. All
        its hosts need the same version of Tiebreak.
    actors : int, optional
        Number of actors, by default one for each GPU, or for each core if no GPU is needed.
    needs_gpu : bool, default False
        Whether each actor needs a GPU.
    """

    def __init__(
        self,
        make: Callable[[], Work],
        *,
        address: str = "",
        actors: int = 0,
        needs_gpu: bool = False,
    ) -> None:
        self._make, self._address, self._n, self._needs_gpu = make, address, actors, needs_gpu
        self._actors: list[Any] = []

    @cached_property
    def _ray(self) -> Any:
        return _connected(self._address)

    def _start(self) -> Any:
        """Start an actor, which opens what it works with when it gets its first lot."""
        kind = self._ray.remote(_Actor).options(
            num_cpus=0, num_gpus=int(self._needs_gpu), scheduling_strategy="SPREAD"
        )
        return kind.remote(self._make)

    def _start_all(self) -> None:
        resource = "GPU" if self._needs_gpu else "CPU"
        present = int(self._ray.cluster_resources().get(resource, 0))
        if not present:
            raise GatewayError("bad_settings", NOT_ENOUGH.format(resource))
        while len(self._actors) < (self._n or present):
            self._actors.append(self._start())

    def run(self, lots: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each lot with its result, in the order in which they finish.

        A lot that no actor survives has the result None. At most two lots for each actor are taken in
        advance. An error that the work raises is raised here.
        """
        self._start_all()
        waiting, remaining = deque[_Lot](), map(_Lot, lots)
        busy: dict[Any, tuple[Any, _Lot]] = {}
        deaths = 0
        while self._give(waiting, remaining, busy):
            [done], _ = self._ray.wait([*busy], num_returns=1)
            actor, lot = busy[done]
            try:
                result = self._ray.get(done)
            except self._ray.exceptions.RayActorError as death:
                deaths += 1
                if deaths == DEATHS:
                    raise GatewayError("engine_failed", ALL_DIED.format(deaths)) from death
                self._actors[self._actors.index(actor)] = self._start()
                # It died with the first, or with the next before the answer to the first had left.
                first, *others = [busy.pop(ref)[1] for ref in _of(actor, busy)]
                first.tries += 1
                waiting += [*others, first] if first.tries < TRIES else others
                if first.tries == TRIES:
                    yield first.content, None
            except self._ray.exceptions.RayTaskError as error:
                raise (error.cause or error) from None
            else:
                deaths = 0
                del busy[done]
                yield lot.content, result

    def _give(
        self, waiting: deque[_Lot], remaining: Iterator[_Lot], busy: dict[Any, tuple[Any, _Lot]]
    ) -> bool:
        """Give each actor what it can take, and return whether any has something to do.

        A lot with which an actor died has the next one to itself, so that a second death is its own.
        """
        for actor in self._actors * AHEAD:
            in_hand = [busy[ref][1] for ref in _of(actor, busy)]
            again = any(lot.tries for lot in [*in_hand, *islice(waiting, 1)])
            if len(in_hand) < (1 if again else AHEAD):
                lot = waiting.popleft() if waiting else next(remaining, None)
                if lot is not None:
                    busy[actor.work.remote(lot.content)] = actor, lot
        return bool(busy)

    def close(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []


class _Actor:
    """What Ray runs in a process of its own."""

    def __init__(self, make: Callable[[], Work]) -> None:
        self._make = make
        self._work: Work | None = None

    def work(self, lot: Any) -> Any:
        if self._work is None:  # an error in a constructor would be the actor's death
            self._work = self._make()
        return self._work(lot)


def _of(actor: Any, busy: dict[Any, tuple[Any, _Lot]]) -> list[Any]:
    return [ref for ref, (other, _) in busy.items() if other is actor]


def _connected(address: str) -> Any:
    """Return Ray, connected to a cluster or to one that is started here. A process has only one."""
    ray = optional.load("ray")
    if ray.is_initialized() and _joined.get("address", address) != address:
        raise GatewayError("bad_settings", ANOTHER.format(_joined["address"] or "of this machine"))
    if not ray.is_initialized():
        if address:
            _check_answers(address)
        where = {"address": address} if address else {"include_dashboard": False}
        try:
            ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise GatewayError("unreachable", f"{NOT_THERE.format(address)} ({error})") from error
        _joined["address"] = address
    return ray


def _check_answers(address: str) -> None:
    """Raise `GatewayError` at once where Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with closing(socket.create_connection((host, int(port)), CONNECT_SECONDS)):
            return
    except (OSError, ValueError) as error:
        raise GatewayError("unreachable", NOT_THERE.format(address)) from error


class ClusterModels(Models):
    """A model provider of which each actor of a Ray cluster opens one.

    Parameters
    ----------
    open_one : callable
        Opens the provider. Can be pickled.
    model : str
        Name of the model.
    needs_gpu : bool
        Whether the provider runs the model itself, on a GPU.
    address, actors
        See `Cluster`.

    Raises
    ------
    MissingPackageError
        With the first request, if Ray is not installed.
    GatewayError
        With the first request, ``unreachable`` if no cluster answers.
    """

    def __init__(
        self,
        open_one: Callable[[], Models],
        model: str,
        *,
        needs_gpu: bool,
        address: str = "",
        actors: int = 0,
    ) -> None:
        self.model, self._open, self._needs_gpu = model, open_one, needs_gpu
        make = partial(_answering, open_one)
        self._cluster = Cluster(make, address=address, actors=actors, needs_gpu=needs_gpu)

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        return self._send("sample", requests)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        return self._send("label_logprobs", requests)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        return self._send("answer_logprobs", requests)

    def scores(self, requests: Iterable[ScoreRequest]) -> Iterator[TextScore | Failed]:
        return self._send("scores", requests)

    def _send(self, verb: str, requests: Iterable[Any]) -> Iterator[Any]:
        """Send requests in lots, and those of a lot that no engine survived one by one."""
        suspects: list[Any] = []
        remaining = iter(requests)
        lots = iter(lambda: (verb, list(islice(remaining, LOT))), (verb, []))
        for (_, lot), results in self._cluster.run(lots):
            suspects += lot if results is None else []
            yield from results or ()
        for (_, [request]), results in self._cluster.run((verb, [one]) for one in suspects):
            died = GatewayError("engine_died", DIED.format(TRIES))
            yield from results or [Failed(request.id, died)]

    def model_names(self) -> list[str]:
        if self._needs_gpu:
            return [self.model]
        with closing(self._open()) as models:
            return models.model_names()

    def served_by(self) -> ServedBy:
        """Return what an HTTP server tells; of engines on several machines nothing is said for all."""
        if self._needs_gpu:
            return ServedBy()
        with closing(self._open()) as models:
            return models.served_by()

    def close(self) -> None:
        self._cluster.close()


def _answering(open_one: Callable[[], Models]) -> Work:
    models = open_one()
    return lambda lot: list(getattr(models, lot[0])(lot[1]))

"""What actors of the tests do: texts of no model, engines that die, and work that only waits."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tiebreak.gateway import Failed, FakeModels, GatewayError, Sampled, SampleRequest
from tiebreak.similarity import Similarity
from tiebreak.similarity.spec import SimilaritySpec

POISON, TOO_LONG = "this kills the engine", "this is too long"


class FragileModels(FakeModels):
    """Dies with a prompt, and refuses another one."""

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        for request in requests:
            if request.prompt == POISON:
                os.kill(os.getpid(), signal.SIGKILL)
            if request.prompt == TOO_LONG:
                error = GatewayError("too_long", "The prompt has too many tokens. Shorten it.")
                yield Failed(request.id, error)
            else:
                yield from super().sample([request])


class BrokenModels(FakeModels):
    """Never starts."""

    def __init__(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def noting(folder: str, seconds: float) -> Callable[[Any], Any]:
    """Return work that waits, and that notes each lot it begins and by which process."""

    def work(lot: Any) -> Any:
        with (Path(folder) / "begun").open("a") as file:
            file.write(f"{lot} {os.getpid()}\n")
        time.sleep(seconds)
        return lot * 2

    return work


@dataclass(frozen=True)
class NotedSpec(SimilaritySpec):
    """A similarity of which each process that opens it notes its id."""

    file: str = ""

    def open(self) -> Similarity:
        with Path(self.file).open("a") as file:
            file.write(f"{os.getpid()}\n")
        return super().open()


class LossyRay:
    """Stands for Ray where the answers that an actor has not sent yet are lost with it."""

    class Death(Exception):
        pass

    exceptions = SimpleNamespace(RayActorError=Death, RayTaskError=ZeroDivisionError)

    def __init__(self) -> None:
        self.queues: dict[object, list[object]] = {}

    def start(self) -> SimpleNamespace:
        queue: list[object] = []
        return SimpleNamespace(work=SimpleNamespace(remote=partial(self._take, queue)))

    def _take(self, queue: list[object], lot: object) -> object:
        ref = object()
        self.queues[ref] = queue
        queue.append((ref, lot))
        return ref

    def wait(self, refs: list[object], num_returns: int) -> tuple[list[object], list[object]]:
        return refs[:num_returns], refs[num_returns:]

    def get(self, ref: object) -> object:
        lots = dict(self.queues[ref])
        if POISON in lots.values():
            raise self.Death
        self.queues[ref].remove((ref, lots[ref]))
        return lots[ref]

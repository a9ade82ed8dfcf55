"""What actors of the tests do: texts of no model, engines that die, and work that only waits."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
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

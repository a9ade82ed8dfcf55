"""What a kind of job does. Each app defines its kinds in a module `job_kinds`."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from jobs.models import Job
from tiebreak.errors import DomainError

Json = dict[str, Any]


@dataclass(frozen=True)
class ChunkPlan:
    """A chunk to create: what its worker needs to know, and how many items it has."""

    size: int
    payload: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """How far a chunk is: items done and failed, and the problem if the whole job must stop.

    ``size`` replaces the planned number of items, if it became known only now.
    """

    done: int
    failed: int = 0
    truncated: int = 0
    problem: str = ""
    must_stop: bool = False
    size: int | None = None


class JobKind(ABC):
    """A kind of job.

    `run` may be interrupted at any moment and called again for the same chunk, also on another
    machine. It must therefore store its results as it goes and skip what is stored already.
    """

    name: ClassVar[str]
    # What the job does, as pages say it: "score separability".
    label: ClassVar[str]
    queue: ClassVar[str] = "default"
    # How many workers may share a job.
    lanes: ClassVar[int] = 1
    # How often a chunk may be started, before it counts as failed.
    max_attempts: ClassVar[int] = 3

    def queue_for(self, options: Json) -> str:  # noqa: ARG002  for subclasses
        """Return the name of the Celery queue for a job with these options."""
        return self.queue

    def lanes_for(self, options: Json) -> int:  # noqa: ARG002  for subclasses
        """Return how many workers may share a job with these options."""
        return self.lanes

    def summary(self, job: Job) -> str:  # noqa: ARG002  for subclasses
        """Return the options that tell a job apart from others of its kind, for its list."""
        return ""

    def page_of(self, job: Job) -> str:  # noqa: ARG002  for subclasses
        """Return the URL of the page with the job's results, or "" if there is none."""
        return ""

    def plan(self, job: Job) -> Iterable[ChunkPlan]:  # noqa: ARG002  for subclasses
        """Divide the job into chunks, by default into one. Called once, by the first worker."""
        return [ChunkPlan(1)]

    @abstractmethod
    def run(self, job: Job, payload: Json) -> Iterator[Progress]:
        """Do a chunk, and yield after each part whose results are committed.

        Raises `DomainError` if the whole job cannot go on.
        """

    def finish(self, job: Job) -> str:  # noqa: ARG002  for subclasses
        """Do what remains once all chunks are done; return a note for the researcher, or "".

        Two workers may call it at the same time, so calling it twice must do no harm.
        """
        return ""


_KINDS: dict[str, JobKind] = {}


def register_kind(kind: type[JobKind]) -> type[JobKind]:
    """Class decorator that makes a kind known under its name."""
    _KINDS[kind.name] = kind()
    return kind


class _OfAnotherVersion(JobKind):
    """Stands for a kind that only servers of another version know, while an update goes on."""

    label = "do work of another version of Tiebreak"
    max_attempts = sys.maxsize

    def run(self, job: Job, payload: Json) -> Iterator[Progress]:
        raise NotImplementedError


OF_ANOTHER_VERSION = _OfAnotherVersion()


def kind_of(job: Job) -> JobKind:
    return _KINDS.get(job.kind, OF_ANOTHER_VERSION)


def kind_named(name: str) -> JobKind:
    kind = _KINDS.get(name)
    if kind is None:
        raise DomainError(
            "no_such_job_kind", f"There are no jobs of the kind {name!r}.", status=404
        )
    return kind

"""The kind of job in which a jury decides what its members have answered."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.judging.passes import Pass
from machine_raters.juries.verdicts import JuryVerdict, undecided_units, verdicts_of
from machine_raters.kind import MachineJob
from machine_raters.models import Jury
from machine_raters.services.raters import lock_in_use, machine_of, store_ratings

# The items of a chunk. Dawid and Skene's method needs all items together.
CHUNK = 5_000
NO_MAJORITY, NO_ANSWER = "no majority", "no readable answer that counts"


class JuryJob(MachineJob):
    """Decides the items that all members have answered. Decided items are never decided again."""

    name = "jury"
    label = "let a jury decide"
    page = "juries"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        jury = machine_of(job, Jury)
        units = list(undecided_units(jury).values_list("pk", flat=True))
        size = len(units) if jury.rule == Jury.Rule.DAWID_SKENE else CHUNK
        for start in range(0, len(units), size):
            chunk = units[start : start + size]
            yield ChunkPlan(len(chunk), {"units": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        jury, units = machine_of(job, Jury), payload["units"]
        store_verdicts(jury, verdicts_of(jury, units))
        yield Progress(len(units))


@transaction.atomic
def store_verdicts(jury: Jury, verdicts: Mapping[int, JuryVerdict]) -> None:
    """Store verdicts as ratings. The jury is locked so that no item is decided twice."""
    lock_in_use(jury)
    undecided = undecided_units(jury).filter(pk__in=verdicts).values_list("pk", flat=True)
    answers = {Pass(unit, "", "1"): _fields(verdicts[unit]) for unit in undecided}
    store_ratings(jury, jury.criterion, answers)


def _fields(verdict: JuryVerdict) -> dict[str, Any]:
    return {
        "label": None if verdict.label is None else str(verdict.label),
        "raw": "" if verdict.label is not None else NO_MAJORITY if verdict.shares else NO_ANSWER,
        "probabilities": verdict.shares or None,
    }

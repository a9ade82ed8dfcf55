"""The kind of job in which a jury decides what its members have answered."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.models import Assignment, Rating
from annotation.services.tallies import apply_tally_deltas, tally_key
from jobs.clock import database_now
from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.judging.passes import Pass
from machine_raters.juries.verdicts import JuryVerdict, undecided_units, verdicts_of
from machine_raters.machine_job import MachineJob
from machine_raters.models import Jury
from machine_raters.services.raters import lock_in_use, machine_assignments, machine_of

# The items of a chunk. Dawid and Skene's method needs all items at once.
CHUNK = 5_000
NO_MAJORITY, NO_ANSWER = "no majority", "no readable answer that counts"


class JuryJob(MachineJob):
    """Decides the items that all members have answered. What is decided is never decided again."""

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
    """Store verdicts as ratings. The jury is locked, so that no item is decided twice."""
    lock_in_use(jury)
    undecided = undecided_units(jury).filter(pk__in=verdicts).values_list("pk", flat=True)
    asked = {unit: Pass(unit, "", "1") for unit in undecided}
    assignments = machine_assignments(jury, asked.values())
    now = database_now()
    ratings = [
        _rating(jury, unit, verdicts[unit], assignments[one], now) for unit, one in asked.items()
    ]
    Rating.objects.bulk_create(ratings)
    apply_tally_deltas(Counter(map(tally_key, ratings)))


def _rating(
    jury: Jury, unit: int, verdict: JuryVerdict, assignment: Assignment, now: datetime
) -> Rating:
    return Rating(
        assignment=assignment,
        rater=jury.rater,
        unit_id=unit,
        criterion=jury.criterion,
        study_version_id=assignment.study_version_id,
        label=None if verdict.label is None else str(verdict.label),
        raw="" if verdict.label is not None else NO_MAJORITY if verdict.shares else NO_ANSWER,
        probabilities=verdict.shares or None,
        client_key=f"jury-{jury.public_id}",
        created_at=now,
    )

"""The kind of job in which a baseline rates what it has not rated yet."""

from collections.abc import Iterator
from typing import Any

from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.baselines.rules import PERPLEXITIES, open_measure, scored
from machine_raters.baselines.storing import missing_units, store_preferences
from machine_raters.kind import MachineJob
from machine_raters.models import Baseline
from machine_raters.services.raters import machine_of
from studies.models import texts_of
from tiebreak.similarity import ENCODED

# The items of a chunk, and those that are stored at a time.
CHUNK, PART = 1_000, 100
WITH_MODELS = {*ENCODED, *PERPLEXITIES, Baseline.Method.REWARD}


class BaselineJob(MachineJob):
    """Rates the items that a baseline has not rated yet. Stored items are never rated again."""

    name = "baseline"
    label = "let a simple rater rate"

    def queue_for(self, options: dict[str, Any]) -> str:
        return "gpu" if options.get("method") in WITH_MODELS else "default"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        keys = list(missing_units(machine_of(job, Baseline)).values_list("pk", flat=True))
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            yield ChunkPlan(len(chunk), {"units": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        baseline = machine_of(job, Baseline)
        keys = missing_units(baseline).filter(pk__in=payload["units"])
        texts = texts_of("texts", "generation__system", "generation__instance")
        units = list(keys.select_related("instance").prefetch_related(texts).order_by("pk"))
        done = len(payload["units"]) - len(units)
        yield Progress(done)
        if not units:
            return
        failed = 0
        with open_measure(baseline.method) as measure:
            for start in range(0, len(units), PART):
                part = units[start : start + PART]
                results = list(scored(baseline, part, measure))
                store_preferences(baseline, results)
                settled = len({result.unit for result in results})
                done, failed = done + settled, failed + len(part) - settled
                yield Progress(done, failed)

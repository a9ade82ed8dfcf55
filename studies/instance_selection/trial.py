"""A trial of a system: three texts before all of them, which are shown and not stored as texts."""

from collections.abc import Iterator
from time import monotonic
from typing import Any

from django.contrib.auth.models import User

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from studies.instance_selection.sampling import (
    check_can_sample,
    check_some_own,
    open_system,
    request_for,
    samples_of,
    server_of,
    wanted_of,
)
from studies.instance_selection.temperatures import some_instances
from studies.model_servers import RequestTally, server_settings
from studies.models import Instance, Study, System
from studies.services import systems_named
from tiebreak.errors import DomainError
from tiebreak.gateway import Failed, GatewayError, Message, Prompt, Sampled

TRIED = 3
MAX_CHARACTERS = 20_000
GONE = "The system was removed. Reload the page to see the others."


class SystemTrialJob(JobKind):
    """Asks a system for a text of a few instances. The job's result has them, and no row is stored."""

    name = "system-trial"
    label = "try out a system"
    queue = "gpu"

    def summary(self, job: Job) -> str:
        return str(job.options.get("system", ""))

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        system = _tried(job)
        ids = some_instances(system.dataset, TRIED, seed=0)
        yield ChunkPlan(len(ids), {"instances": ids})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        system = _tried(job)
        tally, rows = RequestTally(done=0), []
        with open_system(job, system) as models:
            for instance in Instance.objects.filter(pk__in=payload["instances"]).order_by("pk"):
                started = monotonic()
                try:
                    request = request_for(wanted_of(job, system, instance), system, instance)
                    response = next(iter(models.sample([request])))
                except GatewayError as error:
                    response = Failed("", error)
                if isinstance(response, Failed):
                    tally.note(response.error)
                else:
                    seconds = monotonic() - started
                    rows.append(_row(instance, request.prompt, response, seconds))
                    tally.done += 1
                yield tally.progress()
        each = samples_of(job, system)
        total = system.dataset.instances.count() * each
        asked = {
            "each": each,
            "server": server_of(job, system),
            "language_model": system.language_model,
        }
        Job.objects.filter(pk=job.pk).update(result={"texts": rows, "total": total, **asked})


def start_trial(
    *, study: Study, system: str, options: dict[str, Any], by: User | None = None
) -> Job:
    """Queue a job that tries a system with the options with which its texts would be sampled.

    Raises `DomainError` where these would be refused.
    """
    systems = systems_named(study, [system])
    check_can_sample(study, systems, options)
    check_some_own(systems)
    server_settings(systems[0].server or options["server"], "any", advice="")  # it must exist
    key = f"{SystemTrialJob.name}:{study.pk}"
    kept = {
        name: options[name] for name in ("server", "seed", "samples", "prompt") if name in options
    }
    return start_job(
        kind=SystemTrialJob.name,
        owner=study.pk,
        exclusive_key=key,
        options=kept | {"system": system},
        by=by,
    )


def _tried(job: Job) -> System:
    of_study = System.objects.filter(studies=job.owner).select_related("dataset")
    system = of_study.filter(name=job.options["system"]).first()
    if system is None:
        raise DomainError("unknown_system", GONE, status=404)
    return system


def _row(instance: Instance, prompt: Prompt, response: Sampled, seconds: float) -> dict[str, Any]:
    turns = [Message("user", prompt)] if isinstance(prompt, str) else prompt
    sample = response.samples[0]
    return {
        "instance": instance.key,
        "prompt": [[turn.role, turn.content] for turn in turns],
        "text": sample.text.replace("\0", "")[:MAX_CHARACTERS],
        "is_cut": sample.finish_reason == "length",
        "seconds": seconds,
        "prompt_tokens": response.prompt_tokens,
        "tokens": sample.tokens,
    }

"""Samples the missing generations of a dataset from the systems' language models."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import send
from studies.data.dataset_jobs import create_dataset_job
from studies.instance_selection.temperatures import at_temperatures, some_instances
from studies.model_servers import FAKE, NO_SERVER, RequestTally, open_server
from studies.models import Generation, Instance, Study, System
from studies.services import check_is_draft
from studies.systems.prompts import check_template, template_of
from studies.systems.services import imported
from tiebreak.asking.samples import SAMPLES, Wanted, runs, stored_samples
from tiebreak.asking.tally import store_in_lots
from tiebreak.errors import DomainError
from tiebreak.gateway import GatewayError, Models, Sampled, SampleRequest

# The requests of a chunk, which one worker sends.
REQUESTS = 1_000
CHUNK = 200
IMPORTED_TEXTS = (
    "Texts of {names} were imported, and generated ones must not mix with them under one name. Add systems"
    " with other names on the step Data, and generate their texts."
)


class SamplingJob(JobKind):
    """Samples missing generations, system by system.

    Seeds are derived from the job's seed, the instance and the system, so a repeated job requests
    the same texts. Existing generations are never requested again, so a job may run twice.
    """

    name = "sampling"
    label = "sample generations"
    queue = "gpu"
    lanes = 4

    def summary(self, job: Job) -> str:
        options = job.options
        temperatures = ", ".join(f"{number:g}" for number in options.get("temperatures") or [])
        return ", ".join(
            [
                "dummy texts" if is_dummy_job(options) else f"server {options.get('server', '')}",
                f"K = {job.options.get('samples', SAMPLES)}",
                f"τ = {temperatures} on {options.get('instances')} instances"
                if temperatures
                else "each system's own τ",
                f"seed {options.get('seed', 0)}",
            ]
        )

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        """Divide the instances of each system; chunks with the same model are adjacent."""
        study = _study_of(job)
        _check_unmixed(study.ordered_systems(), is_dummy=is_dummy_job(job.options))
        systems, instances = _scope(job, study)
        ids = list(instances.order_by("pk").values_list("pk", flat=True))
        for system in systems:
            for start in range(0, len(ids), REQUESTS):
                chunk = ids[start : start + REQUESTS]
                payload = {"system": system.pk, "instances": chunk}
                yield ChunkPlan(len(chunk) * samples_of(job, system), payload)

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        """Sample what is missing of one system, and yield after each lot that is stored."""
        _check_unmixed(_study_of(job).ordered_systems(), is_dummy=is_dummy_job(job.options))
        system = System.objects.get(pk=payload["system"])
        instances = Instance.objects.filter(pk__in=payload["instances"])
        samples = samples_of(job, system)
        present = Generation.objects.filter(
            instance__in=instances, system=system, sample_index__lt=samples
        )
        tally = RequestTally(done=present.count())
        yield tally.progress()
        with open_system(job, system) as models:
            missing = _missing(system, instances, samples)
            yield from _sample_system(job, system, models, missing, tally)
        # Texts that were imported in the meantime were not counted above.
        tally.done = present.count()
        yield tally.progress()


def start_sampling(*, study: Study, options: dict[str, Any], by: User | None = None) -> Job:
    """Queue a sampling job for a draft. Raises `DomainError` if dummy and real texts would mix.

    Locks the study.
    """
    job = _create_job(study, options, by)
    send(job)
    return job


@transaction.atomic
def _create_job(study: Study, options: dict[str, Any], by: User | None) -> Job:
    study = Study.objects.select_for_update().get(pk=study.pk)
    systems = study.ordered_systems()
    check_can_sample(study, systems, options)
    if not options.get("temperatures"):
        check_some_own(systems)
    return create_dataset_job(study=study, kind=SamplingJob.name, options=options, by=by)


def check_can_sample(study: Study, systems: list[System], options: dict[str, Any]) -> None:
    """Raise `DomainError` if a study's systems cannot be sampled with these options."""
    check_is_draft(
        study,
        f"The study is {study.status}, so texts are no longer generated for it. Clone the study to"
        " generate others.",
    )
    if not options.get("server"):
        raise DomainError("no_server", NO_SERVER, status=400)
    _check_unmixed(systems, is_dummy=is_dummy_job(options))
    if study.dataset is not None:
        check_template(str(options.get("prompt", "")), study.dataset)


def sampled_systems(systems: list[System]) -> list[System]:
    """Return the systems of which texts are sampled under their names.

    Perturbed copies are made from texts. A system with imported texts gets no others, which another
    prompt or model may have made.
    """
    own = [system for system in systems if system.perturbed_from_id is None]
    texts = imported(Generation.objects.filter(system__in=own))
    foreign = set(texts.order_by().values_list("system", flat=True).distinct())
    return [system for system in own if system.pk not in foreign]


def check_some_own(systems: list[System]) -> None:
    if systems and not sampled_systems(systems):
        names = ", ".join(system.name for system in systems)
        raise DomainError("imported_texts", IMPORTED_TEXTS.format(names=names))


def _study_of(job: Job) -> Study:
    return Study.objects.select_related("dataset").get(pk=job.owner)


def samples_of(job: Job, system: System) -> int:
    """Return how many texts of an instance a system makes: its own number, or the job's."""
    return int(system.decoding.get("samples", job.options.get("samples", SAMPLES)))


def is_dummy_job(options: dict[str, Any]) -> bool:
    """Whether the job's options explicitly ask for dummy texts."""
    return options.get("server") == FAKE


def _check_unmixed(systems: list[System], *, is_dummy: bool) -> None:
    """Raise `DomainError` if a system and its variants would have both real and dummy texts."""
    families = {system.variant_of_id or system.pk for system in systems}
    texts = Generation.objects.filter(
        Q(system__in=families) | Q(system__variant_of__in=families), is_dummy=not is_dummy
    )
    names = sorted(texts.order_by().values_list("system__name", flat=True).distinct())
    if names and is_dummy:
        raise DomainError(
            "dummy_into_real",
            f"There are real texts of {', '.join(names)}, which cannot be mixed with dummy texts."
            " Please try dummy texts on a separate dataset.",
        )
    if names:
        raise DomainError(
            "real_into_dummy",
            f"There are dummy texts of {', '.join(names)}, which cannot be mixed with real texts."
            " Please remove the dummy texts first.",
        )


def _scope(job: Job, study: Study) -> tuple[list[System], QuerySet[Instance]]:
    """Return the systems and instances to sample.

    They are the study's systems on all instances or, if the job has temperatures, the systems'
    variants on some instances.
    """
    dataset = study.dataset
    assert dataset is not None
    temperatures = job.options.get("temperatures")
    if not temperatures:
        return sampled_systems(study.ordered_systems()), dataset.instances.all()
    systems = [system for system in study.ordered_systems() if system.perturbed_from_id is None]
    ids = some_instances(
        dataset, int(job.options["instances"]), seed=int(job.options.get("seed", 0))
    )
    return at_temperatures(systems, temperatures), dataset.instances.filter(pk__in=ids)


def _sample_system(
    job: Job, system: System, models: Models, missing: Iterable["_Missing"], tally: RequestTally
) -> Iterator[Progress]:
    pending: dict[str, _PendingRequest] = {}
    requests, server = _requests(job, system, missing, pending, tally), server_of(job, system)

    def store(answers: list[tuple[_PendingRequest, Sampled]]) -> int:
        rows = [
            row for asked, response in answers for row in _rows(asked, response, system, server)
        ]
        with transaction.atomic():
            Generation.objects.bulk_create(rows, ignore_conflicts=True)
        return len(rows)

    for counted in store_in_lots(models.sample(requests), pending, store, tally):
        yield counted.progress()


@dataclass(frozen=True)
class _Missing:
    """An instance and the indices of its missing samples."""

    instance: Instance
    indices: tuple[int, ...]


@dataclass(frozen=True)
class _PendingRequest:
    """A request in progress: the missing samples, and the request."""

    instance: Instance
    wanted: Wanted
    request: SampleRequest


def _requests(
    job: Job,
    system: System,
    lacking: Iterable[_Missing],
    pending: dict[str, _PendingRequest],
    tally: RequestTally,
) -> Iterator[SampleRequest]:
    """Yield requests lazily so that a large dataset is never in memory as a whole.

    An instance whose text cannot be sent is counted as a failure and skipped.
    """
    for missing in lacking:
        instance = missing.instance
        wanted = wanted_of(job, system, instance, missing.indices)
        try:
            request = request_for(wanted, system, instance)
        except GatewayError as error:
            tally.note(error)
            continue
        pending[request.id] = _PendingRequest(instance, wanted, request)
        yield request


def wanted_of(
    job: Job, system: System, instance: Instance, indices: Sequence[int] = (0,)
) -> Wanted:
    """Return these samples of an instance, by default the first, with the system's settings or the job's."""
    template = template_of(system, str(job.options.get("prompt", "")))
    seed = int(system.decoding.get("seed", job.options.get("seed", 0)))
    return Wanted(instance.key, system.name, indices, template, system.decoding, seed)


def request_for(wanted: Wanted, system: System, instance: Instance) -> SampleRequest:
    """Return the request. Raises `DomainError` if the settings are invalid, and `GatewayError` if the text is."""
    return wanted.request(f"{system.pk}:{instance.pk}:{wanted.indices[0]}", instance)


def _missing(system: System, instances: QuerySet[Instance], samples: int) -> Iterator[_Missing]:
    last = 0
    while True:
        following = instances.filter(pk__gt=last).order_by("pk")
        chunk = list(following[:CHUNK])
        if not chunk:
            return
        last = chunk[-1].pk
        present: dict[int, set[int]] = defaultdict(set)
        rows = Generation.objects.filter(instance__in=chunk, system=system)
        for instance_id, index in rows.values_list("instance", "sample_index"):
            present[instance_id].add(index)
        for instance in chunk:
            for indices in runs(i for i in range(samples) if i not in present[instance.pk]):
                yield _Missing(instance, indices)


def server_of(job: Job, system: System) -> str:
    """Return the name of the model server. A job for dummy texts ignores the systems' servers."""
    if is_dummy_job(job.options):
        return FAKE
    return system.server or str(job.options.get("server", ""))


def _rows(
    asked: _PendingRequest, response: Sampled, system: System, server: str
) -> Iterator[Generation]:
    is_dummy = server == FAKE
    for row in stored_samples(asked.wanted, asked.request, response, server):
        yield Generation(instance=asked.instance, system=system, is_dummy=is_dummy, **row)


def open_system(job: Job, system: System) -> AbstractContextManager[Models]:
    """Open the model server that the system or the job names."""
    model = system.language_model or str(job.options.get("model", ""))
    return open_server(
        server_of(job, system),
        model,
        dummy=system.name,
        advice=f"Please enter the language model of {system.name} on the step Data.",
    )

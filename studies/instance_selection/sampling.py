"""Filling a dataset's missing generations from the systems' language models."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from time import monotonic
from typing import Any

from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from studies.instance_selection.temperatures import at_temperatures, some_instances
from studies.jobs import Progress, register_handler, start_job
from studies.models import Generation, Instance, Job, Study, System
from tiebreak.errors import DomainError
from tiebreak.gateway import (
    Failed,
    GatewayError,
    Message,
    Models,
    ModelSettings,
    Prompt,
    Sampled,
    SampleRequest,
    open_models,
)
from tiebreak.gateway.transport import FATAL_CODES

CHUNK = 200
# So many answers, or what comes in so many seconds, are written at once.
WRITTEN, SECONDS = 50, 10.0
# After so many requests in a row that came to nothing, going on is a waste.
MAX_FAILURES = 20
# After one of these every other request would come to nothing too.
HOPELESS = FATAL_CODES | {"bad_settings", "engine_failed", "host_not_allowed"}
TEMPERATURE, SAMPLES, MAX_TOKENS = 0.5, 5, 512
DEFAULT_PROMPT = "{source}"
# Asked for by this name, texts are invented and marked as dummies; no server has it.
FAKE = "fake"
NO_SERVER = (
    "No model server was chosen. Choose one of this installation's, or ask for dummy texts by name."
)


@register_handler(Job.Kind.SAMPLING)
def sample_generations(job: Job) -> Iterator[Progress]:
    """Sample what is missing, system by system; yields after each lot that is stored.

    A sample's seed comes from the job's, the instance and the system, so the same job asks for the
    same texts again. What is there is never asked for again: run twice, it makes nothing twice.
    """
    samples = int(job.options.get("samples", SAMPLES))
    _check_unmixed(job.study.ordered_systems(), is_dummy=is_dummy_job(job.options))
    systems, instances = _scope(job)
    there = Generation.objects.filter(
        instance__in=instances, system__in=systems, sample_index__lt=samples
    )
    tally = _Tally(done=there.count(), total=instances.count() * len(systems) * samples)
    yield tally.progress()
    for system in systems:
        with closing(_open(job, system)) as models:
            lacking = _missing(system, instances, samples)
            yield from _of_system(job, system, models, lacking, tally)
        if tally.must_stop:
            break
    # Somebody may have imported texts meanwhile, which were not asked for and not counted.
    tally.done = there.count()
    yield tally.progress()


def start_sampling(*, study: Study, options: dict[str, Any], by: User | None = None) -> Job:
    """Queue a job that samples. Raises `DomainError` where dummy and real texts would mix."""
    if not options.get("server"):
        raise DomainError("no_server", NO_SERVER, status=400)
    _check_unmixed(study.ordered_systems(), is_dummy=is_dummy_job(options))
    return start_job(study=study, kind=Job.Kind.SAMPLING, options=options, by=by)


def is_dummy_job(options: dict[str, Any]) -> bool:
    """Whether invented texts were asked for, in so many words."""
    return options.get("server") == FAKE


def _check_unmixed(systems: list[System], *, is_dummy: bool) -> None:
    """A system and its variants have real texts or dummy texts, never both."""
    families = {system.variant_of_id or system.pk for system in systems}
    texts = Generation.objects.filter(
        Q(system__in=families) | Q(system__variant_of__in=families), is_dummy=not is_dummy
    )
    names = sorted(texts.order_by().values_list("system__name", flat=True).distinct())
    if names and is_dummy:
        raise DomainError(
            "dummy_into_real",
            f"{', '.join(names)} has real texts, and dummy texts never mix with them. Try this out"
            " on a dataset of its own.",
        )
    if names:
        raise DomainError(
            "real_into_dummy",
            f"{', '.join(names)} has dummy texts. Remove the dummy texts first: real ones never mix"
            " with them.",
        )


def _scope(job: Job) -> tuple[list[System], QuerySet[Instance]]:
    """A study's systems on all instances; or these at other temperatures, on some."""
    systems = job.study.ordered_systems()
    temperatures = job.options.get("temperatures")
    if not temperatures:
        return systems, job.dataset.instances.all()
    drawn = some_instances(
        job.dataset, int(job.options["instances"]), seed=int(job.options.get("seed", 0))
    )
    return at_temperatures(systems, temperatures), job.dataset.instances.filter(pk__in=drawn)


@dataclass
class _Tally:
    """What was done and what came to nothing, over all systems."""

    done: int
    total: int
    failed: int = 0
    in_a_row: int = 0
    problem: str = ""
    is_hopeless: bool = False

    @property
    def must_stop(self) -> bool:
        return self.is_hopeless or self.in_a_row >= MAX_FAILURES

    def note(self, failure: GatewayError) -> None:
        """Count a failure. One that a request has to itself says nothing of the others."""
        self.failed += 1
        if self.must_stop:  # what stopped it is what is said
            return
        self.problem = failure.message
        self.is_hopeless = failure.code in HOPELESS
        self.in_a_row += not failure.is_request_fault

    def progress(self) -> Progress:
        return Progress(
            self.done, self.total, self.failed, problem=self.problem, must_stop=self.must_stop
        )


def _of_system(
    job: Job, system: System, models: Models, lacking: Iterable["_Missing"], tally: _Tally
) -> Iterator[Progress]:
    wanted: dict[str, _Asked] = {}
    answers = models.sample(_requests(job, system, lacking, wanted, tally))
    for lot in _lots(answers):
        good = [each for each in lot if isinstance(each, Sampled)]
        server = _server_of(job, system)
        rows = [row for each in good for row in _rows(wanted.pop(each.id), each, system, server)]
        with transaction.atomic():
            Generation.objects.bulk_create(rows, ignore_conflicts=True)
        tally.done += len(rows)
        tally.in_a_row = 0 if good else tally.in_a_row
        for each in lot:
            if isinstance(each, Failed):
                wanted.pop(each.id, None)
                tally.note(each.error)
        if tally.must_stop:
            return
        yield tally.progress()


def _lots(answers: Iterator[Sampled | Failed]) -> Iterator[list[Sampled | Failed]]:
    """So many, or what came in so many seconds."""
    lot: list[Sampled | Failed] = []
    since = monotonic()
    for answer in answers:
        lot.append(answer)
        if len(lot) == WRITTEN or monotonic() - since > SECONDS:
            yield lot
            lot, since = [], monotonic()
    if lot:
        yield lot


@dataclass(frozen=True)
class _Missing:
    """An instance and which of its K samples are not there."""

    instance: Instance
    indices: tuple[int, ...]


@dataclass(frozen=True)
class _Asked:
    """What is missing, the request for it as it was sent, and the template of its prompt."""

    missing: _Missing
    request: SampleRequest
    template: str

    @property
    def decoding(self) -> dict[str, Any]:
        request = self.request
        return {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_tokens": request.max_tokens,
            "stop": list(request.stop),
        }


def _requests(
    job: Job,
    system: System,
    lacking: Iterable[_Missing],
    wanted: dict[str, _Asked],
    tally: _Tally,
) -> Iterator[SampleRequest]:
    """Made as they are taken, so that a large dataset is never held whole.

    An instance whose text cannot be sent is noted as a failure and left out.
    """
    decoding = {"temperature": TEMPERATURE, "max_tokens": MAX_TOKENS} | system.decoding
    template = _template_of(system, str(job.options.get("prompt", "")))
    for missing in lacking:
        try:
            request = _request(job, system, missing, decoding)
        except GatewayError as error:
            tally.note(error)
            continue
        wanted[request.id] = _Asked(missing, request, template)
        yield request


def _request(
    job: Job, system: System, missing: "_Missing", decoding: dict[str, Any]
) -> SampleRequest:
    """Raises `DomainError` where the system's settings are wrong, `GatewayError` for the text."""
    where = f"{system.name} on {missing.instance.key} cannot be sampled"
    try:
        # With a text that can be sent for sure, so that only the settings can be wrong.
        plain = SampleRequest(
            id=f"{system.pk}:{missing.instance.pk}:{missing.indices[0]}",
            prompt="?",
            n=len(missing.indices),
            seed=seed_for(job, missing.instance, system) + missing.indices[0],
            temperature=float(decoding["temperature"]),
            top_p=float(decoding.get("top_p", 1.0)),
            max_tokens=int(decoding["max_tokens"]),
            stop=tuple(decoding.get("stop", ())),
        )
    except (GatewayError, ValueError, TypeError) as error:
        raise DomainError("bad_request", f"{where}: {error}") from error
    try:
        prompt = prompt_for(missing.instance, system, str(job.options.get("prompt", "")))
        return replace(plain, prompt=prompt)
    except GatewayError as error:
        raise GatewayError("bad_request", f"{where}: {error}") from error


def _missing(system: System, instances: QuerySet[Instance], samples: int) -> Iterator[_Missing]:
    last = 0
    while True:
        following = instances.filter(pk__gt=last).order_by("pk")
        chunk = list(following[:CHUNK])
        if not chunk:
            return
        last = chunk[-1].pk
        there: dict[int, set[int]] = defaultdict(set)
        rows = Generation.objects.filter(instance__in=chunk, system=system)
        for instance, index in rows.values_list("instance", "sample_index"):
            there[instance].add(index)
        for each in chunk:
            for indices in _runs(i for i in range(samples) if i not in there[each.pk]):
                yield _Missing(each, indices)


def _runs(indices: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Without gaps, because the seeds of one request count up: sample i has the seed s + i."""
    for _, run in groupby(enumerate(indices), key=lambda pair: pair[1] - pair[0]):
        yield tuple(index for _, index in run)


def _server_of(job: Job, system: System) -> str:
    """Dummy texts are made for every system, whichever server it names: none is asked."""
    if is_dummy_job(job.options):
        return FAKE
    return system.server or str(job.options.get("server", ""))


def _rows(asked: _Asked, answer: Sampled, system: System, server: str) -> Iterable[Generation]:
    """With each text what made it, as it was really asked for: defaults filled in."""
    made = {"model": answer.model, "server": server, "prompt": asked.template, **asked.decoding}
    for index, sample in zip(asked.missing.indices, answer.samples, strict=False):
        yield Generation(
            instance=asked.missing.instance,
            system=system,
            sample_index=index,
            text=sample.text.replace("\0", ""),  # PostgreSQL keeps none
            seed=sample.seed,
            params={**made, "finish_reason": sample.finish_reason},
            is_dummy=server == FAKE,
        )


def seed_for(job: Job, instance: Instance, system: System) -> int:
    """The same for the same job seed, instance and system, whatever else is in the dataset."""
    text = f"{job.options.get('seed', 0)}:{instance.key}:{system.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def prompt_for(instance: Instance, system: System, default: str = "") -> Prompt:
    """The system's prompt with the instance in it: three words are filled in, nothing is run.

    An instance that is a conversation is sent as its turns, after the template as a system turn.
    """
    template = _template_of(system, default)
    # In one pass, so that braces in a text stay as they are.
    filled = re.sub(r"\{(source|reference|category)\}", lambda m: getattr(instance, m[1]), template)
    if not instance.messages:
        return filled
    turns = [_turn(message) for message in instance.messages]
    return turns if template == DEFAULT_PROMPT else [Message("system", filled), *turns]


def _template_of(system: System, default: str) -> str:
    return system.prompt_template or default or DEFAULT_PROMPT


def _turn(message: dict[str, Any]) -> Message:
    """Who is neither the system nor the assistant is the user."""
    content = str(message.get("content") or "")
    role = message.get("role")
    if role == "system":
        return Message("system", content)
    return Message("assistant" if role == "assistant" else "user", content)


def _open(job: Job, system: System) -> Models:
    """The model server that the system names; its address is the server owner's word alone."""
    name = _server_of(job, system)
    model = system.language_model or str(job.options.get("model", ""))
    if name == FAKE:
        return open_models(ModelSettings(provider="fake", model=model or system.name))
    servers = django_settings.TIEBREAK_MODEL_SERVERS
    if not name:
        raise DomainError("no_server", NO_SERVER, status=400)
    if name not in servers:
        known = ", ".join(sorted(servers)) or "none yet: set TIEBREAK_MODEL_SERVERS"
        raise DomainError("no_such_server", f"No model server {name!r}; there are: {known}.")
    # A model that runs in the worker is named by who owns the machine.
    server = {"model": model} | servers[name]
    if not server["model"]:
        raise DomainError("no_model", f"Say in the dataset which language model {system.name} is.")
    try:
        return open_models(ModelSettings(**server))
    except GatewayError as error:
        raise DomainError("model_server", error.message) from error

"""Further texts of instances, such as references, that a language model writes.

They are values of the instances' metadata, as an uploaded table's columns are, but with how they were
written, so that both are shown and exported alike and cannot be mistaken for each other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from jobs.clock import database_now
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import send
from studies.data.dataset_jobs import create_dataset_job, dataset_of, jobs_of
from studies.instance_selection.sampling import REQUESTS, request_for, wanted_of
from studies.model_servers import RequestTally, open_server, server_names, server_settings
from studies.models import Dataset, Instance, Study, StudyEvent, System
from studies.services import record_event
from studies.systems.prompts import check_template, template_of
from tiebreak.asking.samples import Wanted, stored_samples
from tiebreak.asking.tally import store_in_lots
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.cells import check_field_name
from tiebreak.formats.shown_fields import known_fields, metadata_text, origin_of, written_value
from tiebreak.gateway import GatewayError, Sampled, SampleRequest
from tiebreak.gateway.protocol import COMPLETE

# Enough instances to know who wrote a field, at the cost of a page.
READ = 200
NO_MODEL = "Name the language model that writes the texts."
NO_SUCH_SERVER = "{server} is no model server of this installation. Choose one of these: {known}."
IMPORTED = (
    "The uploaded instances have {name} already, and a model's texts must not be mistaken for it. Choose"
    " another name."
)
OTHERWISE = (
    "Texts of {name} were written otherwise ({known}). Choose another name, or the same model, prompt and"
    " decoding for the texts that are missing."
)
SHOWN = (
    "{study} is no longer a draft and shows {name} to its raters, who must all read the same. Choose another"
    " name."
)
PROMPTED = "The prompt contains {name}, which is what the model is to write. Take it out."
ASK_AGAIN = "Ask again with a greater length or another seed."


class WrittenFieldJob(JobKind):
    """Asks a model for what the instances lack of a field. What is there is never asked for again."""

    name = "written-field"
    label = "write a field"
    queue = "gpu"
    lanes = 4

    def summary(self, job: Job) -> str:
        return f"{job.options['name']} by {job.options['language_model'] or job.options['server']}"

    def page_of(self, job: Job) -> str:
        return reverse("studies:written-fields", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        dataset = Dataset.objects.get(studies=job.owner)
        ids = list(dataset.instances.order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(ids), REQUESTS):
            chunk = ids[start : start + REQUESTS]
            yield ChunkPlan(len(chunk), {"instances": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        work = _Work(job, _writer(job.options))
        instances = Instance.objects.filter(pk__in=payload["instances"])
        missing = instances.exclude(metadata__has_key=work.writer.name).order_by("pk")
        tally = RequestTally(done=instances.count() - missing.count())
        yield tally.progress()
        with open_server(work.writer.server, work.writer.language_model, advice=NO_MODEL) as models:
            pending: dict[str, _Asked] = {}
            answers = models.sample(work.requests(missing, pending, tally))

            def store(lot: list[tuple[_Asked, Sampled]]) -> int:
                return work.store(lot, tally)

            for counted in store_in_lots(answers, pending, store, tally):
                yield counted.progress()
        yield tally.progress()


def write_field(*, study: Study, by: User | None = None, **options: Any) -> Job:
    """Queue a job in which a language model writes a further text of each instance of a study's dataset.

    ``options`` are the field's ``name`` and, as of a system, ``server``, ``language_model``,
    ``prompt_template`` and ``decoding``. Nobody is shown the field until a study's design or a judge names it.
    Raises `DomainError` if the name cannot be a field's, is that of an uploaded column or of texts that were
    written otherwise, or if a study shows it that was opened. Locks the dataset.
    """
    job = _create_job(study, options, by)
    send(job)
    return job


@transaction.atomic
def _create_job(study: Study, options: dict[str, Any], by: User | None) -> Job:
    dataset = Dataset.objects.select_for_update(no_key=True).get(pk=dataset_of(study).pk)
    writer = _writer(options)
    _check_name(dataset, writer)
    _check_asked(dataset, writer)
    details = {"field": writer.name, "model": _model_of(writer)}
    record_event(study=study, verb=StudyEvent.Verb.WRITE_FIELD, by=by, details=details)
    return create_dataset_job(study=study, kind=WrittenFieldJob.name, options=options, by=by)


def _writer(options: Mapping[str, Any]) -> System:
    """Return what writes a field: a system that is not stored and no study compares."""
    names = ("name", "server", "language_model", "prompt_template", "decoding")
    return System(**{name: options[name] for name in names if name in options})


def _check_name(dataset: Dataset, writer: System) -> None:
    try:
        check_field_name(writer.name)
    except InvalidInput as problem:
        raise DomainError(problem.code, f"{problem.message.capitalize()}.", status=400) from problem
    first = _with_field(dataset, writer.name).first()
    if first is not None:
        origin = origin_of(first.metadata[writer.name])
        if origin is None:
            raise DomainError("field_imported", IMPORTED.format(name=writer.name))
        if any(origin.get(name) != planned for name, planned in _planned(writer).items()):
            known = _in_words(origin)
            raise DomainError("written_otherwise", OTHERWISE.format(name=writer.name, known=known))
    for study in dataset.studies.exclude(status=Study.Status.DRAFT):
        if any(field.name == writer.name for field in known_fields(study.fields)):
            raise DomainError("field_is_shown", SHOWN.format(study=study, name=writer.name))


def _check_asked(dataset: Dataset, writer: System) -> None:
    """Raise `DomainError` if the model cannot be asked, or if its prompt asks for the answer itself."""
    if writer.server and writer.server not in server_names():
        known = ", ".join(server_names()) or "none"
        sentence = NO_SUCH_SERVER.format(server=writer.server, known=known)
        raise DomainError("no_such_server", sentence, status=400)
    server_settings(writer.server, writer.language_model, advice=NO_MODEL)
    placeholder = f"{{field {writer.name}}}"
    if placeholder in writer.prompt_template:
        raise DomainError("field_in_prompt", PROMPTED.format(name=placeholder), status=400)
    check_template(writer.prompt_template, dataset)


def _with_field(dataset: Dataset, name: str) -> QuerySet[Instance]:
    return dataset.instances.filter(metadata__has_key=name).order_by("pk")


def _wanted(writer: System, instance: Instance) -> Wanted:
    return wanted_of(Job(options={}), writer, instance)


def _planned(writer: System) -> dict[str, Any]:
    """Return in what all texts of a field must be alike; with another seed or length, what failed is asked again."""
    request = _wanted(writer, Instance()).request("", Instance(source="?"))
    return {
        "language_model": _model_of(writer),
        "prompt": template_of(writer, ""),
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop),
    }


def _model_of(writer: System) -> str:
    return writer.language_model or writer.server


@dataclass(frozen=True)
class _Asked:
    """A request on its way, with the instance that it is about."""

    instance: Instance
    wanted: Wanted
    request: SampleRequest


@dataclass(frozen=True)
class _Work:
    """The texts that one model writes of a field."""

    job: Job
    writer: System

    def requests(
        self, missing: Iterable[Instance], pending: dict[str, _Asked], tally: RequestTally
    ) -> Iterator[SampleRequest]:
        """Yield requests lazily. An instance whose text cannot be sent is counted as a failure."""
        for instance in missing:
            wanted = _wanted(self.writer, instance)
            try:
                request = request_for(wanted, self.writer, instance)
            except GatewayError as error:
                tally.note(error)
                continue
            pending[request.id] = _Asked(instance, wanted, request)
            yield request

    @transaction.atomic
    def store(self, answers: list[tuple[_Asked, Sampled]], tally: RequestTally) -> int:
        """Store whole texts, count the others as failures, and return how many were stored."""
        texts = {}
        for asked, response in answers:
            try:
                texts[asked.instance.pk] = self._text(asked, response)
            except GatewayError as error:
                tally.note(error)
        rows = Instance.objects.select_for_update().filter(pk__in=texts).order_by("pk")
        changed = [row for row in rows if self.writer.name not in row.metadata]
        for row in changed:
            row.metadata[self.writer.name] = texts[row.pk]
        Instance.objects.bulk_update(changed, ["metadata"])
        return len(texts)

    def _text(self, asked: _Asked, response: Sampled) -> dict[str, Any]:
        [row] = stored_samples(asked.wanted, asked.request, response, self.writer.server)
        how = row["params"]
        if not row["text"].strip() or how.pop("finish_reason") not in COMPLETE:
            kind = "cut off" if row["text"].strip() else "empty"
            sentence = f"The text for {asked.instance.key} was {kind} and is not used. {ASK_AGAIN}"
            raise GatewayError("incomplete_text", sentence)
        asked_for = {"language_model": _model_of(self.writer), "seed": row["seed"]}
        del how["server"]  # which says something about the installation, and nothing about the text
        at = database_now().date().isoformat()
        return written_value(row["text"], how | asked_for | {"at": at})


def last_job_of(study: Study) -> Job | None:
    return jobs_of(study).filter(kind=WrittenFieldJob.name).order_by("-created_at").first()


@dataclass(frozen=True)
class WrittenField:
    """A field that models wrote, with the text of the first instance that has one."""

    name: str
    written_by: str
    texts: int
    example: str


def written_fields(dataset: Dataset) -> list[WrittenField]:
    found = []
    for name, words in writers_of(dataset.pk).items():
        rows = _with_field(dataset, name)
        example = metadata_text(rows.values_list("metadata", flat=True)[0][name])
        found.append(WrittenField(name, words, rows.count(), example))
    return found


def writers_of(dataset: str | None) -> dict[str, str]:
    """Return how models wrote fields of a dataset, by the fields' names, as far as its first instances tell."""
    rows = Instance.objects.filter(dataset=dataset).exclude(metadata={}).order_by("pk")
    found: dict[str, dict[str, None]] = {}
    for metadata in rows.values_list("metadata", flat=True)[:READ]:
        for name, value in metadata.items():
            if origin := origin_of(value):
                found.setdefault(name, {})[_in_words(origin)] = None
    return {name: "; ".join(how) for name, how in sorted(found.items())}


def _in_words(origin: Mapping[str, Any]) -> str:
    """Return how a text was written, such as `m, temperature 0.5, 2026-11-28`."""
    asked, model = (str(origin.get(name) or "") for name in ("language_model", "model"))
    named = f"{asked} ({model})" if asked and model not in ("", asked) else asked or model
    known = f"temperature {origin.get('temperature', 'unknown')}, {origin.get('at', 'undated')}"
    return f"{named or 'a language model'}, {known}"

"""Perturbed copies that a language model writes: having them made, and what became of its answers."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet
from django.urls import reverse

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from jobs.services import send
from studies.data.dataset_jobs import create_dataset_job, jobs_of
from studies.data.perturbed_copies import (
    MAX_COPIES,
    TOO_MANY,
    add_to_study,
    check_can_copy,
    generation_of_copy,
    originals_of,
    system_of_copies,
)
from studies.model_servers import (
    RequestTally,
    open_server,
    server_settings,
)
from studies.models import Generation, RefusedCopy, Study, StudyEvent, System
from studies.services import check_is_draft, record_event, use_dataset_systems
from tiebreak.asking.tally import store_in_lots
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import Message, Sampled, SampleRequest
from tiebreak.gateway.protocol import COMPLETE, prompt_sha256
from tiebreak.perturbations import (
    MODEL_PERTURBATIONS,
    check_model_can_perturb,
    copy_by_model,
    instruction_of,
    model_perturbation_named,
)

TEMPERATURE, COPY_TOKENS, MAX_PROMPT = 0.7, 1024, 5_000
NO_MODEL = "Name the language model that writes the copies."
FROZEN = "The study is no longer a draft, so no more copies are added."
OTHER_MODEL = (
    "This study has copies of this kind ({name}) by {other}. Results could not tell the copies of two"
    " models apart. Ask the same model for the missing copies, or clone the study for another."
)
OTHER_PROMPT = (
    "This study has copies of this kind ({name}) that were asked for in other words. Results could not"
    " tell the copies of two prompts apart. Use the same prompt for the missing copies, or clone the"
    " study for another."
)
PROMPT_OF_NOTHING = (
    "There is a prompt for {names}, which {are} not among the changes. Choose these changes as well, or"
    " leave their prompts out."
)
CUT_OFF = "cut_off"
REASONS = {
    "empty_answer": "the model wrote nothing",
    CUT_OFF: "the text was cut off",
    "unchanged": "it is the original again",
    "remark": "it begins with a remark",
    "too_long": "it is much longer than the original",
    "another_text": "it keeps too few words of the original",
    "text_too_short": "the original is too short",
    "too_few_sentences": "the original has too few sentences",
    "no_spaces": "a script without spaces between words",
}


class ModelCopiesJob(JobKind):
    """Asks a model for the missing copies. Stored or refused copies are not asked for again."""

    name = "model-copies"
    label = "write perturbed copies"
    queue = "gpu"

    def summary(self, job: Job) -> str:
        return f"{', '.join(job.options['names'])} by {_model_of(job.options)}"

    def page_of(self, job: Job) -> str:
        return reverse("studies:perturbed-copies", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        study = Study.objects.get(pk=job.owner)
        for name in job.options["names"]:
            for original in originals_of(study):
                payload = {"name": name, "original": original.pk}
                yield ChunkPlan(_texts_of([original]).count(), payload)

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        work = _Work.of(job, payload)
        missing = list(work.missing())
        tally = RequestTally(done=_texts_of([work.original]).count() - len(missing))
        yield tally.progress()
        if missing:
            options = job.options
            pending: dict[str, _Asked] = {}
            requests = work.requests(missing, pending, tally)
            with open_server(
                options["server"], options["language_model"], advice=NO_MODEL
            ) as models:
                answers = models.sample(requests)
                for counted in store_in_lots(answers, pending, work.store, tally):
                    yield counted.progress()
        yield tally.progress()


def start_model_copies(*, study: Study, by: User | None = None, **options: Any) -> Job:
    """Queue a job in which a language model writes perturbed copies of a scoring study's texts.

    ``options`` are ``names`` of perturbations, ``server``, ``language_model``, ``temperature``,
    ``max_tokens`` and ``seed``, and maybe ``prompts`` that replace what the model is told, by the
    names. Raises `DomainError` unless the study is a draft that scores single texts, the server is
    known, and no other model and no other prompt has made copies of these kinds. Locks the study.
    """
    job = _create_job(study, options | {"prompts": _prompts_of(options)}, by)
    send(job)
    return job


@transaction.atomic
def _create_job(study: Study, options: dict[str, Any], by: User | None) -> Job:
    study = Study.objects.select_for_update().get(pk=study.pk)
    names = options["names"]
    check_can_copy(study, names, model_perturbation_named)
    server_settings(options["server"], options["language_model"], advice=NO_MODEL)
    use_dataset_systems(study=study)
    originals = originals_of(study)
    if _texts_of(originals).count() * len(names) > MAX_COPIES:
        raise DomainError("too_many_copies", TOO_MANY.format(MAX_COPIES))
    _check_one_model(originals, names, options)
    _check_one_prompt(originals, options["prompts"])
    for name in names:
        for original in originals:
            _system_of(original, name, options)
    details = {"perturbations": list(names), "model": _model_of(options)}
    if edited := [n for n, prompt in options["prompts"].items() if prompt != instruction_of(n)]:
        details["edited prompts"] = edited
    record_event(study=study, verb=StudyEvent.Verb.PERTURB_BY_MODEL, by=by, details=details)
    return create_dataset_job(study=study, kind=ModelCopiesJob.name, options=options, by=by)


def _prompts_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the model is told for each perturbation: what was entered, or else the published."""
    names, given = options["names"], options.get("prompts", {})
    if others := [name for name in given if name not in names]:
        sentence = PROMPT_OF_NOTHING.format(
            names=", ".join(others), are="is" if len(others) == 1 else "are"
        )
        raise DomainError("prompt_of_nothing", sentence, status=400)
    known = [name for name in names if name in MODEL_PERTURBATIONS]
    return {name: given.get(name) or instruction_of(name) for name in known}


def last_job_of(study: Study) -> Job | None:
    """Return the last job that wrote copies for a study."""
    return jobs_of(study).filter(kind=ModelCopiesJob.name).order_by("-created_at").first()


def refusals_of(study: Study) -> list[dict[str, Any]]:
    """Return how many answers were not copies, by perturbation and reason, each with an example."""
    refused = RefusedCopy.objects.filter(
        system__perturbed_from__dataset=study.dataset_id, system__perturbed_from__studies=study
    )
    rows = refused.values("system__perturbation", "code").annotate(number=Count("pk"))
    rows = rows.order_by("system__perturbation", "code")
    examples = {
        (row.system.perturbation, row.code): row.raw
        for row in refused.select_related("system").order_by("-pk")[:MAX_COPIES]
    }
    return [
        {
            "perturbation": row["system__perturbation"],
            "code": row["code"],
            "reason": REASONS.get(row["code"], row["code"]),
            "number": row["number"],
            "example": examples.get((row["system__perturbation"], row["code"]), ""),
        }
        for row in rows
    ]


def _model_of(options: Mapping[str, Any]) -> str:
    return str(options["language_model"] or options["server"])


def _system_of(original: System, name: str, options: Mapping[str, Any]) -> System:
    system = system_of_copies(original, name, f"perturbed by {_model_of(options)}: {name}")
    if not system.language_model:
        system.language_model = _model_of(options)
        system.save(update_fields=["language_model"])
    return system


def _check_one_model(
    originals: Iterable[System], names: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Raise `DomainError` if another model has written copies of these kinds."""
    known = System.objects.filter(perturbed_from__in=originals, perturbation__in=names)
    others = known.exclude(language_model=_model_of(options)).filter(generations__isnull=False)
    other = others.first()
    if other is not None:
        sentence = OTHER_MODEL.format(name=other.perturbation, other=other.language_model)
        raise DomainError("other_model", sentence)


def _check_one_prompt(originals: Iterable[System], prompts: Mapping[str, str]) -> None:
    """Raise `DomainError` if copies of these kinds were asked for in other words."""
    copies = Generation.objects.filter(system__perturbed_from__in=originals)
    for name, prompt in prompts.items():
        one = copies.filter(system__perturbation=name).first()
        if one and one.params["perturbation"].get("prompt", instruction_of(name)) != prompt:
            raise DomainError("other_prompt", OTHER_PROMPT.format(name=name))


def _texts_of(systems: Iterable[System]) -> QuerySet[Generation]:
    return Generation.objects.filter(system__in=systems, is_dummy=False)


@dataclass(frozen=True)
class _Asked:
    """A request on its way, with the original that it is about."""

    original: Generation
    request: SampleRequest


@dataclass(frozen=True)
class _Work:
    """The copies of one kind of one system's texts."""

    job: Job
    name: str
    original: System
    system: System

    @classmethod
    def of(cls, job: Job, payload: Mapping[str, Any]) -> "_Work":
        original = System.objects.get(pk=payload["original"])
        name = payload["name"]
        return cls(job, name, original, _system_of(original, name, job.options))

    def missing(self) -> Iterator[Generation]:
        """Yield the originals without a copy or a refusal with this seed."""
        present = set(self.system.generations.values_list("instance", "sample_index"))
        refused = set(self.system.refused_copies.values_list("original", "seed"))
        for text in _texts_of([self.original]).select_related("system").order_by("pk"):
            is_copied = (text.instance_id, text.sample_index) in present
            if not is_copied and (text.pk, self._seed(text)) not in refused:
                yield text

    def requests(
        self, missing: Iterable[Generation], pending: dict[str, _Asked], tally: RequestTally
    ) -> Iterator[SampleRequest]:
        """Yield requests lazily. A text that is too short for a change is refused without one."""
        options = self.job.options
        for text in missing:
            mark = self._mark(text)
            shown = f"[text {mark}]\n{text.text}\n[end {mark}]"
            prompt = (Message("system", self._told), Message("user", shown))
            request = SampleRequest(
                id=str(text.pk),
                prompt=prompt,
                n=1,
                seed=self._seed(text),
                temperature=options["temperature"],
                max_tokens=options["max_tokens"],
            )
            try:
                check_model_can_perturb(text.text, self.name)
            except InvalidInput as error:
                self._refused(_Asked(text, request), error.code, "", "").save()
                tally.done += 1
                continue
            pending[request.id] = _Asked(text, request)
            yield request

    @transaction.atomic
    def store(self, answers: list[tuple[_Asked, Sampled]]) -> int:
        """Store copies, and answers that are none; return how many. Locks the study."""
        study = Study.objects.select_for_update().get(pk=self.job.owner)
        check_is_draft(study, FROZEN)
        made = [self._made(asked, response) for asked, response in answers]
        copies = [one for one in made if isinstance(one, Generation)]
        refused = [one for one in made if isinstance(one, RefusedCopy)]
        Generation.objects.bulk_create(copies, ignore_conflicts=True)
        RefusedCopy.objects.bulk_create(refused, ignore_conflicts=True)
        list(add_to_study(study, System.objects.filter(pk=self.system.pk)))
        return len(made)

    def _made(self, asked: _Asked, response: Sampled) -> Generation | RefusedCopy:
        sample, seed = response.samples[0], self._seed(asked.original)
        answer = self._without_marks(sample.text.replace("\0", ""), asked.original)
        if sample.finish_reason not in COMPLETE:
            return self._refused(asked, CUT_OFF, answer, response.model)
        try:
            copy = copy_by_model(asked.original.text, answer, self.name, seed=seed)
        except InvalidInput as error:
            return self._refused(asked, error.code, answer, response.model)
        made_by = {
            "language_model": response.model,
            "prompt": self._told,
            "prompt_sha256": self._prompt_sha256(asked),
            "temperature": self.job.options["temperature"],
            "tokens": sample.tokens,
        }
        index = asked.original.sample_index
        return generation_of_copy(copy, asked.original, self.system, index, made_by)

    def _refused(self, asked: _Asked, code: str, raw: str, model: str) -> RefusedCopy:
        return RefusedCopy(
            system=self.system,
            original=asked.original,
            code=code,
            raw=raw[:20_000],
            language_model=model[:200],
            prompt_sha256=self._prompt_sha256(asked),
            seed=self._seed(asked.original),
        )

    @property
    def _told(self) -> str:
        """What the model is told to do with a text. Jobs of earlier releases have no prompts."""
        return self.job.options.get("prompts", {}).get(self.name) or instruction_of(self.name)

    def _prompt_sha256(self, asked: _Asked) -> str:
        assert not isinstance(asked.request.prompt, str)
        return prompt_sha256(asked.request.prompt)

    def _without_marks(self, answer: str, text: Generation) -> str:
        """Return an answer without the marks around the text, which models like to repeat."""
        mark = self._mark(text)
        return answer.strip().removeprefix(f"[text {mark}]").removesuffix(f"[end {mark}]")

    def _mark(self, text: Generation) -> str:
        return hashlib.sha256(f"{self.job.owner}:{text.pk}".encode()).hexdigest()[:12]

    def _seed(self, text: Generation) -> int:
        digest = hashlib.sha256(f"{self.job.options['seed']}:{self.name}:{text.pk}".encode())
        return int.from_bytes(digest.digest()[:4], "big") >> 1

"""The kind of job in which a judge rates: it asks for what is missing, and stores as it goes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.urls import reverse

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from machine_raters.judging.answers import allowed_answers, signs
from machine_raters.judging.costs import forecast
from machine_raters.judging.evaluation_steps import ensure_steps
from machine_raters.judging.example_sets import examples_of
from machine_raters.judging.passes import (
    Items,
    Pass,
    answered,
    comparisons_of,
    passes,
    seed_of,
    tried_items,
)
from machine_raters.judging.prompts import B_FIRST, prompt_of
from machine_raters.judging.replies import Response, reply_of
from machine_raters.judging.storing import MAX_CHARACTERS, Answered, note_failures, store_answers
from machine_raters.messages import JUDGE_NO_MODEL, NO_PROBABILITIES, NO_SUCH_JUDGE
from machine_raters.models import Judge
from studies.model_servers import RequestTally, ask_and_store, open_server, prompt_sha256
from studies.models import Unit
from tiebreak.errors import DomainError
from tiebreak.gateway import (
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Message,
    Models,
    SampleRequest,
)
from tiebreak.scales import Label, Scale

# The requests of a chunk, which one worker sends.
REQUESTS = 1_000
# A trial asks about so many items.
TRIED = 5
# Errors of servers that do not give log-probabilities.
WITHOUT_PROBABILITIES = frozenset({"refused", "unsupported"})
Request = SampleRequest | LabelLogprobsRequest


class JudgingJob(JobKind):
    """Asks a judge for the ratings that it has not made yet.

    Seeds depend on the judge's seed and the item, so a repeated job asks the same questions. What
    is stored is never asked again, so a job may run twice.
    """

    name = "judging"
    label = "judge"
    queue = "gpu"
    lanes = 4

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse("machine_raters:judges", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        judge = judge_of(job)
        comparisons = list(comparisons_of(judge).items())
        asked = judge.runs * sum(len(orders) for _, orders in comparisons)
        size = max(1, REQUESTS * len(comparisons) // max(1, asked))
        for start in range(0, len(comparisons), size):
            chunk = comparisons[start : start + size]
            number = judge.runs * sum(len(orders) for _, orders in chunk)
            yield ChunkPlan(number, {"orders": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge = judge_of(job)
        orders = {unit: tuple(shown) for unit, shown in payload["orders"]}
        known = answered(judge, orders)
        tally = RequestTally(done=len(known))
        yield tally.progress()
        units = Unit.objects.filter(pk__in=orders).with_texts().order_by("pk")
        missing = [(u, p) for u, p in passes(judge, units, orders) if p not in known]
        if missing:
            with open_judge(judge) as models:
                yield from _ask(judge, models, missing, tally)
        # Another worker may have stored answers in the meantime, if this one was thought dead.
        tally.done = len(answered(judge, orders))
        yield tally.progress()


class JudgeDryRunJob(JobKind):
    """Asks a judge about a few items, and stores nothing but what the page shows.

    The job's result has each prompt with its answer, and how much the whole would take.
    """

    name = "judge-dry-run"
    label = "try out a judge"
    queue = "gpu"

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse("machine_raters:judges", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        units = tried_items(judge_of(job), TRIED)
        yield ChunkPlan(len(units), {"units": units})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge, tally = judge_of(job), RequestTally(done=0)
        units = Unit.objects.filter(pk__in=payload["units"]).with_texts()
        # One order and one answer each are enough to see whether the judge understands.
        orders = comparisons_of(judge)
        asked = [next(passes(judge, [unit], orders)) for unit in units.order_by("pk")]
        pending: dict[str, _Asked] = {}
        started, rows = monotonic(), []
        with open_judge(judge) as models:
            for response in responses(judge, models, _requests(judge, asked, pending, tally)):
                if isinstance(response, Failed):
                    tally.note(response.error)
                else:
                    rows.append(_tried(judge, pending[response.id], response))
                    tally.done += 1
                yield tally.progress()
        seconds, total = monotonic() - started, Items.of(judge.study).passes(judge)
        result = {"answers": rows, "seconds": seconds, "total": total}
        if rows:
            result["whole"] = forecast(judge, rows, seconds=seconds, total=total)
        Job.objects.filter(pk=job.pk).update(result=result)


def _tried(judge: Judge, made: "_Asked", response: Response) -> dict[str, Any]:
    reply, scale = reply_of(judge, made.asked, response), judge.criterion.parsed_scale
    shares = reply.probabilities or {}
    return {
        "unit": made.unit.key,
        "shown_first": _shown_first(made),
        "prompt": [[message.role, message.content] for message in made.prompt],
        "answer": reply.text[:MAX_CHARACTERS],
        "label": "" if reply.label is None else _reading(scale, made.unit, reply.label),
        "probabilities": {_reading(scale, made.unit, name): p for name, p in shares.items()},
        "prompt_tokens": reply.prompt_tokens,
        "tokens": reply.tokens,
        "is_constrained": reply.is_constrained,
        "model": response.model,
        "revision": response.revision,
    }


def _shown_first(made: "_Asked") -> str:
    """Return the system whose text the prompt shows first, or "" for a single text."""
    unit = made.unit
    if not made.asked.order:
        return ""
    return unit.system_names[made.asked.order == B_FIRST]


def _reading(scale: Scale, unit: Unit, label: Label) -> str:
    """Return what an answer was understood to say. A and B name sides, so systems are named."""
    side = scale.side_of(label)
    system = unit.system_names[side > 0]
    return f"{system} {scale.words_for(label)}" if side else scale.words_for(label)


def judge_of(job: Job) -> Judge:
    judge = (
        Judge.objects.select_related("study", "criterion", "rater", "example_set")
        .filter(public_id=job.options["judge"], study=job.owner)
        .first()
    )
    if judge is None:
        raise DomainError("no_such_judge", NO_SUCH_JUDGE, status=404)
    return judge


@contextmanager
def open_judge(judge: Judge) -> Iterator[Models]:
    """Open the judge's model, which writes its evaluation steps first if it has to."""
    with open_server(judge.server, judge.language_model, advice=JUDGE_NO_MODEL) as models:
        ensure_steps(judge, models)
        yield models


@dataclass(frozen=True)
class _Asked:
    """A request on its way: the pass that it is for, and the prompt."""

    unit: Unit
    asked: Pass
    request: Request
    prompt: tuple[Message, ...]

    def answered(self, judge: Judge, response: Response) -> Answered:
        reply, digest = reply_of(judge, self.asked, response), prompt_sha256(self.prompt)
        seed = self.request.seed if isinstance(self.request, SampleRequest) else None
        made_by = (response.model, response.revision)
        return Answered(self.unit, self.asked, digest, seed, reply, *made_by)


def _ask(
    judge: Judge, models: Models, missing: Iterable[tuple[Unit, Pass]], tally: RequestTally
) -> Iterator[Progress]:
    pending: dict[str, _Asked] = {}
    requests = _requests(
        judge, missing, pending, tally, lambda *failure: note_failures(judge, [failure])
    )

    def store(answers: list[tuple[_Asked, Response]]) -> int:
        return store_answers(judge, [asked.answered(judge, one) for asked, one in answers])

    def note(failures: list[tuple[_Asked, GatewayError]]) -> None:
        note_failures(judge, [(asked.asked, error) for asked, error in failures])

    yield from ask_and_store(responses(judge, models, requests), pending, store, tally, note)


def responses(judge: Judge, models: Models, requests: Iterator[Any]) -> Iterator[Response | Failed]:
    if judge.is_by_probability:
        return map(_with_advice, models.label_logprobs(requests))
    return models.sample(requests)


def _with_advice(response: LabelLogprobs | Failed) -> LabelLogprobs | Failed:
    """Say what to do if a server gives no log-probabilities, which some refuse and some leave out."""
    if not isinstance(response, Failed) or response.error.code not in WITHOUT_PROBABILITIES:
        return response
    # No longer a fault of one request, so that a server that refuses all of them is not asked on.
    message = response.error.message + NO_PROBABILITIES
    return Failed(response.id, GatewayError("unsupported", message))


def _requests(
    judge: Judge,
    missing: Iterable[tuple[Unit, Pass]],
    pending: dict[str, _Asked],
    tally: RequestTally,
    note: Callable[[Pass, GatewayError], None] = lambda *_: None,
) -> Iterator[Request]:
    """Yield requests lazily. An item whose text cannot be sent is counted as failed, and noted."""
    examples = examples_of(judge)
    for unit, asked in missing:
        try:
            made = asked_of(judge, unit, asked, examples)
        except GatewayError as error:
            tally.note(error)
            note(asked, error)
            continue
        pending[made.request.id] = made
        yield made.request


def asked_of(judge: Judge, unit: Unit, asked: Pass, examples: list[Unit]) -> _Asked:
    """Return the request for a pass. Raises `GatewayError` if a text cannot be sent."""
    prompt = prompt_of(judge, unit, asked.order, examples)
    return _Asked(unit, asked, _request(judge, unit, asked, prompt), prompt)


def _request(judge: Judge, unit: Unit, asked: Pass, prompt: tuple[Message, ...]) -> Request:
    name = f"{asked.unit}:{asked.order}:{asked.run}"
    if judge.is_by_probability:
        labels = tuple(signs(judge.criterion.parsed_scale).values())
        return LabelLogprobsRequest(name, prompt, labels)
    return SampleRequest(
        id=name,
        prompt=prompt,
        n=1,
        seed=seed_of(judge, unit, asked.order, asked.run),
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        choices=allowed_answers(judge.criterion.parsed_scale) if judge.is_constrained else (),
        must_choose=judge.constraint == Judge.Constraint.ALWAYS,
    )

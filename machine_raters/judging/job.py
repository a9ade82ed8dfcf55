"""The kind of job in which a judge rates: it asks for what is missing, and stores as it goes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

from django.db.models import prefetch_related_objects

from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.judging.costs import forecast
from machine_raters.judging.example_sets import examples_of
from machine_raters.judging.passes import (
    Items,
    Pass,
    answered,
    comparisons_of,
    passes,
    tried_items,
)
from machine_raters.judging.storing import UNKNOWN, Answered, note_failures, store_answers
from machine_raters.kind import MachineJob
from machine_raters.messages import JUDGE_WITHOUT_STEPS, NO_MODEL
from machine_raters.models import Judge, JudgeCriterion
from machine_raters.services.raters import machine_of
from studies.model_servers import RequestTally, open_server
from studies.models import Unit
from tiebreak.asking.prompts import B_FIRST, prompter_of
from tiebreak.asking.replies import MAX_CHARACTERS, Response, reply_of
from tiebreak.asking.requests import Request, request_of, responses
from tiebreak.asking.tally import store_in_lots
from tiebreak.errors import DomainError
from tiebreak.gateway import (
    Failed,
    GatewayError,
    Message,
    Models,
    SampleRequest,
    ServedBy,
)
from tiebreak.gateway.protocol import prompt_sha256
from tiebreak.nonresponse import NONRESPONSES
from tiebreak.scales import Label, Scale

ASKED = """\
You will rate many texts for a study. These are the guidelines, which people read as well:

{guidelines}

The question about each text is: {question}

Write the evaluation steps that you will follow for each text, as a short numbered list. Write nothing \
else, and rate nothing yet."""


def ensure_steps(question: JudgeCriterion, models: Models) -> None:
    """Let a judge that writes steps do so once, before its first question by a criterion.

    The steps are stored with what was asked, and are in every prompt from then on. Of two workers
    that ask at the same time, both use the steps that were stored first. Raises `DomainError` if the
    model writes none.
    """
    judge = question.judge
    if not judge.writes_steps or question.steps:
        return
    prompt = ASKED.replace("{question}", question.criterion.question).replace(
        "{guidelines}", judge.study.guidelines
    )
    steps = _written(judge, models, prompt)
    unwritten = JudgeCriterion.objects.filter(pk=question.pk, steps="")
    unwritten.update(steps=steps, steps_prompt=prompt)
    question.refresh_from_db(fields=["steps", "steps_prompt"])


def _written(judge: Judge, models: Models, prompt: str) -> str:
    request = SampleRequest(
        id="steps",
        prompt=(Message("user", prompt),),
        n=1,
        seed=judge.seed,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
    )
    response = next(iter(models.sample([request])))
    if isinstance(response, Failed):
        raise DomainError("no_steps", JUDGE_WITHOUT_STEPS.format(response.error.message))
    steps = (
        response.samples[0].text.replace("\0", "").strip()
    )  # PostgreSQL stores no such character
    if not steps:
        raise DomainError("no_steps", JUDGE_WITHOUT_STEPS.format("Its answer was empty."))
    return steps


# The requests of a chunk, which one worker sends.
REQUESTS = 1_000
# A trial asks about so many items.
TRIED = 5


class JudgingJob(MachineJob):
    """Asks a judge for the ratings that it has not made yet.

    Seeds depend on the judge's seed and the item, so a repeated job asks the same questions. What
    is stored is never asked again, so a job may run twice.
    """

    name = "judging"
    label = "judge"
    queue = "gpu"
    lanes = 4

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        judge = machine_of(job, Judge)
        comparisons = list(comparisons_of(judge).items())
        asked = judge.runs * sum(len(orders) for _, orders in comparisons)
        size = max(1, REQUESTS * len(comparisons) // max(1, asked))
        for question, *_ in prompts_of(judge):
            for start in range(0, len(comparisons), size):
                chunk = comparisons[start : start + size]
                number = judge.runs * sum(len(orders) for _, orders in chunk)
                yield ChunkPlan(number, {"criterion": question.criterion_id, "orders": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge = machine_of(job, Judge)
        [question] = [q for q in questions_of(judge) if q.criterion_id == payload["criterion"]]
        orders = {unit: tuple(shown) for unit, shown in payload["orders"]}
        known = answered(question, orders)  # of criteria asked about together, by all or none
        tally = RequestTally(done=len(known))
        yield tally.progress()
        units = Unit.objects.filter(pk__in=orders).with_texts().order_by("pk")
        missing = [(u, p) for u, p in passes(judge, units, orders) if p not in known]
        if missing:
            with open_judge(question.together) as models:
                yield from _ask(question, models, missing, tally)
        # Another worker may have stored answers in the meantime, if this one was thought dead.
        tally.done = len(answered(question, orders))
        yield tally.progress()


class JudgeDryRunJob(MachineJob):
    """Asks a judge about a few items, and stores nothing but what the page shows.

    The job's result has each prompt with its answer, and how much the whole would take.
    """

    name = "judge-dry-run"
    label = "try out a judge"
    queue = "gpu"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        judge = machine_of(job, Judge)
        units = tried_items(judge, TRIED)
        yield ChunkPlan(len(units) * len(prompts_of(judge)), {"units": units})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge, tally = machine_of(job, Judge), RequestTally(done=0)
        units = Unit.objects.filter(pk__in=payload["units"]).with_texts()
        # One order and one answer each are enough to see whether the judge understands.
        orders = comparisons_of(judge)
        asked = [next(passes(judge, [unit], orders)) for unit in units.order_by("pk")]
        started, rows = monotonic(), []
        with open_judge(questions_of(judge)) as models:
            for question, *_ in prompts_of(judge):
                pending: dict[str, Asked] = {}
                requests = requests_of(question, asked, pending, tally)
                for response in responses(judge, models, requests):
                    if isinstance(response, Failed):
                        tally.note(response.error)
                    else:
                        made = pending[response.id]
                        rows += [_tried(one, made, response) for one in question.together]
                        tally.done += 1
                    yield tally.progress()
        seconds, total = monotonic() - started, Items.of(judge.study).passes(judge)
        result = {"answers": rows, "seconds": seconds, "total": total}
        if rows:
            result["whole"] = forecast(judge, rows, seconds=seconds, total=total)
        Job.objects.filter(pk=job.pk).update(result=result)


def _tried(question: JudgeCriterion, made: "Asked", response: Response) -> dict[str, Any]:
    reply, scale = reply_of(question, made.asked.order, response), question.scale
    shares = reply.probabilities or {}
    return {
        "unit": made.unit.key,
        "criterion": question.criterion.name,
        "shown_first": _shown_first(made),
        "prompt": [[message.role, message.content] for message in made.prompt],
        "answer": reply.text[:MAX_CHARACTERS],
        "label": NONRESPONSES.get(reply.nonresponse, "")
        if reply.label is None
        else _reading(scale, made.unit, reply.label),
        "probabilities": {_reading(scale, made.unit, name): p for name, p in shares.items()},
        "prompt_tokens": reply.prompt_tokens,
        "tokens": reply.tokens,
        "is_constrained": reply.is_constrained,
        "model": response.model,
        "revision": response.revision,
    }


def _shown_first(made: "Asked") -> str:
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


def questions_of(judge: Judge) -> list[JudgeCriterion]:
    """Return the judge's criteria, which it reads once."""
    prefetch_related_objects([judge], "questions__criterion")
    return list(judge.questions.all())


def prompts_of(judge: Judge) -> list[list[JudgeCriterion]]:
    """Return the criteria of each prompt about an item: one, or all of them together."""
    questions = questions_of(judge)
    return [questions] if judge.asks_together and questions else [[one] for one in questions]


@contextmanager
def open_judge(questions: Sequence[JudgeCriterion]) -> Iterator[Models]:
    """Open the judge's model, which writes its evaluation steps first if it has to."""
    judge = questions[0].judge
    with open_server(judge.server, judge.language_model, advice=NO_MODEL) as models:
        for question in questions:
            ensure_steps(question, models)
        yield models


@dataclass(frozen=True)
class Asked:
    """A request on its way: the pass that it is for, and the prompt."""

    unit: Unit
    asked: Pass
    request: Request
    prompt: tuple[Message, ...]

    @cached_property
    def digest(self) -> str:
        return prompt_sha256(self.prompt)

    def answered(
        self, question: JudgeCriterion, response: Response, served_by: ServedBy = UNKNOWN
    ) -> Answered:
        reply = reply_of(question, self.asked.order, response)
        seed = self.request.seed if isinstance(self.request, SampleRequest) else None
        made_by = (response.model, response.revision, served_by)
        return Answered(self.unit, self.asked, self.digest, seed, reply, *made_by)


def _ask(
    question: JudgeCriterion,
    models: Models,
    missing: Iterable[tuple[Unit, Pass]],
    tally: RequestTally,
) -> Iterator[Progress]:
    pending: dict[str, Asked] = {}
    requests = requests_of(question, missing, pending, tally, lambda *failure: note_all([failure]))
    served_by = models.served_by()

    def store(answers: list[tuple[Asked, Response]]) -> int:
        given = {
            one: [asked.answered(one, response, served_by) for asked, response in answers]
            for one in question.together
        }
        return store_answers(given) if answers else 0

    def note(failures: list[tuple[Asked, GatewayError]]) -> None:
        note_all([(asked.asked, error) for asked, error in failures])

    def note_all(failures: list[tuple[Pass, GatewayError]]) -> None:
        for one in question.together:
            note_failures(one, failures)

    answers = responses(question.judge, models, requests)
    for counted in store_in_lots(answers, pending, store, tally, note):
        yield counted.progress()


def requests_of(
    question: JudgeCriterion,
    missing: Iterable[tuple[Unit, Pass]],
    pending: dict[str, Asked],
    tally: RequestTally,
    note: Callable[[Pass, GatewayError], None] = lambda *_: None,
) -> Iterator[Request]:
    """Yield requests lazily. An item whose text cannot be sent is counted as failed, and noted."""
    prompt_of = prompter_of(question, examples_of(question))
    for unit, asked in missing:
        name = f"{asked.unit}:{asked.order}:{asked.run}"
        try:
            prompt = prompt_of(unit, asked.order)
            request = request_of(question, name, prompt, unit.key, asked.order, asked.run)
        except GatewayError as error:
            tally.note(error)
            note(asked, error)
            continue
        pending[request.id] = Asked(unit, asked, request, prompt)
        yield request

"""The kind of job in which a judge is tested on the items of a synthetic set."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.urls import reverse

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from machine_raters.judging.example_sets import examples_of
from machine_raters.judging.job import Request, asked_of, judge_of, open_judge, responses
from machine_raters.judging.passes import Pass
from machine_raters.judging.prompts import A_FIRST, B_FIRST
from machine_raters.judging.replies import Response, reply_of
from machine_raters.judging.storing import MAX_CHARACTERS
from machine_raters.models import Judge, SyntheticItem, SyntheticSet, SyntheticVerdict
from machine_raters.synthetic.passages import passages_of, turns
from machine_raters.synthetic.sets import lock_set, set_of
from studies.model_servers import RequestTally, ask_and_store, prompt_sha256
from studies.models import Generation, Instance, Unit, UnitText
from tiebreak.gateway import GatewayError, Message, SampleRequest


class SyntheticCheckJob(JobKind):
    """Asks a judge about the items of a synthetic set that it has not answered yet.

    The judge reads what it reads of the study's own items, and is not told that these are synthetic.
    """

    name = "synthetic-check"
    label = "test a judge on synthetic items"
    queue = "gpu"

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse("machine_raters:synthetic", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        yield ChunkPlan(len(_items(set_of(job), judge_of(job))))

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        judge, made = judge_of(job), set_of(job)
        items = _items(made, judge)
        stored = set(judge.synthetic_verdicts.values_list("item", "order"))
        missing = [one for one in items if (one[0].pk, one[1]) not in stored]
        tally = RequestTally(done=len(items) - len(missing))
        yield tally.progress()
        if missing:
            yield from _ask(judge, made, missing, tally)
        yield tally.progress()


# Items with the orders in which a judge reads their answers.
_Questions = list[tuple[SyntheticItem, str]]


@dataclass(frozen=True)
class _Asked:
    """A request on its way, with the item that it is about."""

    item: SyntheticItem
    asked: Pass
    request: Request
    prompt: tuple[Message, ...]


def _items(made: SyntheticSet, judge: Judge) -> _Questions:
    """Return the items for a judge; a comparison is asked about in both orders of its answers."""
    items = made.items.filter(labels__has_key=judge.criterion.name)
    items = items.select_related("question", "answer", "other_answer").order_by("pk")
    return [
        (item, order)
        for item in items
        for order in ((A_FIRST, B_FIRST) if item.other_answer_id else ("",))
    ]


def _ask(
    judge: Judge, made: SyntheticSet, missing: _Questions, tally: RequestTally
) -> Iterator[Progress]:
    pending: dict[str, _Asked] = {}

    def store(answers: list[tuple[_Asked, Response]]) -> int:
        rows = [_verdict(judge, asked, response) for asked, response in answers]
        with transaction.atomic():
            lock_set(made)
            SyntheticVerdict.objects.bulk_create(rows, ignore_conflicts=True)
        return len(rows)

    with open_judge(judge) as models:
        requests = _requests(judge, missing, pending, tally)
        yield from ask_and_store(responses(judge, models, requests), pending, store, tally)


def _requests(
    judge: Judge, missing: _Questions, pending: dict[str, _Asked], tally: RequestTally
) -> Iterator[Request]:
    examples = examples_of(judge)
    passages = {passage.instance: passage.text for passage in passages_of(judge.study)}
    for item, order in missing:
        unit = as_unit(item, passages[item.passage_id])
        asked = Pass(item.pk, order, "1")
        try:
            made = asked_of(judge, unit, asked, examples)
        except GatewayError as error:
            tally.note(error)
            continue
        pending[made.request.id] = _Asked(item, asked, made.request, made.prompt)
        yield made.request


def as_unit(item: SyntheticItem, passage: str) -> Unit:
    """Return an item as a judge reads it: a unit of one text or two, which is never stored."""
    instance = Instance(messages=turns(item.question.text, passage))
    answers = [item.answer, item.other_answer] if item.other_answer else [item.answer]
    generations = [Generation(text=answer.text, sample_index=0) for answer in answers]
    return Unit.of(
        map(UnitText.showing, generations), key=f"synthetic-{item.pk}", instance=instance
    )


def _verdict(judge: Judge, asked: _Asked, response: Response) -> SyntheticVerdict:
    reply = reply_of(judge, asked.asked, response)
    return SyntheticVerdict(
        judge=judge,
        item=asked.item,
        order=asked.asked.order,
        label=None if reply.label is None else str(reply.label),
        raw=reply.text.replace("\0", "")[:MAX_CHARACTERS],
        language_model=response.model[:200],
        prompt_sha256=prompt_sha256(asked.prompt),
        seed=asked.request.seed if isinstance(asked.request, SampleRequest) else None,
        tokens=reply.tokens,
    )

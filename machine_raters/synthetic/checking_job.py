"""The kind of job in which a judge is tested on the items of a synthetic set."""

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.judging.job import (
    Asked,
    open_judge,
    questions_of,
    requests_of,
)
from machine_raters.judging.passes import Pass
from machine_raters.judging.storing import Answered
from machine_raters.kind import MachineJob
from machine_raters.models import (
    Judge,
    JudgeCriterion,
    SyntheticItem,
    SyntheticSet,
    SyntheticVerdict,
)
from machine_raters.services.raters import in_use, lock_in_use, machine_of
from machine_raters.synthetic.passages import Passage, passages_of
from studies.model_servers import RequestTally
from studies.models import Generation, Unit, UnitText
from tiebreak.asking.prompts import A_FIRST, B_FIRST
from tiebreak.asking.replies import MAX_CHARACTERS, Response
from tiebreak.asking.requests import responses
from tiebreak.asking.tally import store_in_lots


class SyntheticCheckJob(MachineJob):
    """Asks a judge about the items of a synthetic set that it has not answered yet.

    The judge reads what it reads of the study's own items, and is not told that these are synthetic.
    """

    name = "synthetic-check"
    label = "test a judge on synthetic items"
    page, also_about = "synthetic", ("synthetic_set",)
    queue = "gpu"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        judge, made = machine_of(job, Judge), _set_of(job)
        for question in questions_of(judge):
            yield ChunkPlan(len(_items(made, question)), {"criterion": question.criterion_id})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge, made = machine_of(job, Judge), _set_of(job)
        [question] = [q for q in questions_of(judge) if q.criterion_id == payload["criterion"]]
        items = _items(made, question)
        verdicts = judge.synthetic_verdicts.filter(criterion=question.criterion)
        stored = set(verdicts.values_list("item", "order"))
        missing = [one for one in items if (one[1].unit, one[1].order) not in stored]
        tally = RequestTally(done=len(items) - len(missing))
        yield tally.progress()
        if missing:
            yield from _ask(question, made, missing, tally)
        yield tally.progress()


def _set_of(job: Job) -> SyntheticSet:
    sets = SyntheticSet.objects.filter(public_id=job.options["synthetic_set"], study=job.owner)
    return in_use(sets.select_related("study").first())


def _items(made: SyntheticSet, question: JudgeCriterion) -> list[tuple[Unit, Pass]]:
    """Return the items for a judge; a comparison is asked about in both orders of its answers."""
    items = made.items.filter(labels__has_key=question.criterion.name)
    items = items.select_related("question", "answer", "other_answer").order_by("pk")
    passages = {passage.instance: passage for passage in passages_of(question.judge.study)}
    return [
        (as_unit(item, passages[item.passage_id]), Pass(item.pk, order, "1"))
        for item in items
        for order in ((A_FIRST, B_FIRST) if item.other_answer_id else ("",))
    ]


def _ask(
    question: JudgeCriterion,
    made: SyntheticSet,
    missing: list[tuple[Unit, Pass]],
    tally: RequestTally,
) -> Iterator[Progress]:
    pending: dict[str, Asked] = {}

    def store(answers: list[tuple[Asked, Response]]) -> int:
        rows = [_verdict(question, asked.answered(question, one)) for asked, one in answers]
        with transaction.atomic():
            lock_in_use(made)
            lock_in_use(question.judge)
            SyntheticVerdict.objects.bulk_create(rows, ignore_conflicts=True)
        return len(rows)

    with open_judge(question.together) as models:
        requests = requests_of(question, missing, pending, tally)
        answers = responses(question.judge, models, requests)
        for counted in store_in_lots(answers, pending, store, tally):
            yield counted.progress()


def as_unit(item: SyntheticItem, passage: Passage) -> Unit:
    """Return an item as a judge reads it: a unit of one text or two, which is never stored."""
    instance = passage.asked(item.question.text)
    answers = [item.answer, item.other_answer] if item.other_answer else [item.answer]
    generations = [Generation(text=answer.text, sample_index=0) for answer in answers]
    return Unit.of(
        map(UnitText.showing, generations), key=f"synthetic-{item.pk}", instance=instance
    )


def _verdict(question: JudgeCriterion, answer: Answered) -> SyntheticVerdict:
    reply = answer.reply
    return SyntheticVerdict(
        judge=question.judge,
        criterion=question.criterion,
        item_id=answer.asked.unit,
        order=answer.asked.order,
        label=None if reply.label is None else str(reply.label),
        raw=reply.text.replace("\0", "")[:MAX_CHARACTERS],
        language_model=answer.language_model[:200],
        prompt_sha256=answer.prompt_sha256,
        seed=answer.seed,
        tokens=reply.tokens,
    )

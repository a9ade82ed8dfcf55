"""The kind of job that sends a judge prompts that it has answered, to see whether it answers the same."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet

from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.judging.job import Asked, open_judge, prompts_of, questions_of, requests_of
from machine_raters.judging.passes import Pass, seed_of
from machine_raters.judging.storing import Answered
from machine_raters.kind import MachineJob
from machine_raters.messages import PROMPT_CHANGED
from machine_raters.models import Judge, JudgeCriterion, SecondAnswer, Verdict
from machine_raters.services.raters import lock_in_use, machine_of
from studies.model_servers import RequestTally
from studies.models import Unit
from tiebreak.asking.replies import Response
from tiebreak.asking.requests import Request, responses
from tiebreak.asking.tally import store_in_lots
from tiebreak.gateway import GatewayError, Models, ServedBy
from tiebreak.gateway.protocol import prompt_sha256

# So many prompts of each criterion are sent again.
SENT_AGAIN = 100
Verdicts = Mapping[Pass, Verdict]


class AskAgainJob(MachineJob):
    """Sends a sample of a judge's answered prompts again, with the same settings and seeds.

    The sample depends on the judge's seed only, so tests of one server can be compared. Second answers
    are stored beside the first, and are never ratings. What is stored is not asked for again.
    """

    name = "judge-again"
    label = "ask a judge again"
    queue = "gpu"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        judge = machine_of(job, Judge)
        last = SecondAnswer.objects.filter(verdict__judge=judge).aggregate(last=Max("test"))["last"]
        for question, *_ in prompts_of(judge):
            drawn = sample_of(question)
            about = {"criterion": question.criterion_id, "test": (last or 0) + 1, "verdicts": drawn}
            yield ChunkPlan(len(drawn), about)

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge, test = machine_of(job, Judge), int(payload["test"])
        [question] = [q for q in questions_of(judge) if q.criterion_id == payload["criterion"]]
        drawn = Verdict.objects.filter(pk__in=payload["verdicts"])
        first = _by_pass(drawn.exclude(second_answers__test=test))
        tally = RequestTally(done=len(payload["verdicts"]) - len(first))
        yield tally.progress()
        if first:
            with open_judge(question.together) as models:
                yield from _ask_again(question, models, first, test, tally)


def sample_of(question: JudgeCriterion) -> list[int]:
    """Return the keys of the verdicts whose prompts are sent again, drawn with the judge's seed."""

    def rank(verdict: Verdict) -> int:
        rating = verdict.rating
        order, run = rating.assignment.order, rating.assignment.run
        return seed_of(question.judge, rating.unit, "again", order, run)

    return [verdict.pk for verdict in sorted(_verdicts_of(question), key=rank)[:SENT_AGAIN]]


def _verdicts_of(question: JudgeCriterion) -> QuerySet[Verdict]:
    verdicts = question.judge.verdicts.filter(
        rating__criterion=question.criterion, rating__superseded=False
    )
    return verdicts.select_related("rating__assignment", "rating__unit").order_by("pk")


def _by_pass(verdicts: QuerySet[Verdict]) -> dict[Pass, Verdict]:
    known = verdicts.select_related("rating__assignment").order_by("pk")
    return {
        Pass(v.rating.unit_id, v.rating.assignment.order, v.rating.assignment.run): v for v in known
    }


def _ask_again(
    question: JudgeCriterion, models: Models, first: Verdicts, test: int, tally: RequestTally
) -> Iterator[Progress]:
    units = Unit.objects.filter(pk__in={one.unit for one in first}).with_texts().in_bulk()
    pending: dict[str, Asked] = {}
    passes = ((units[one.unit], one) for one in first)
    requests = _unchanged(requests_of(question, passes, pending, tally), pending, first, tally)
    served_by = models.served_by()

    def store(answers: list[tuple[Asked, Response]]) -> int:
        return _store(question, test, answers, served_by)

    answers = responses(question.judge, models, requests)
    for counted in store_in_lots(answers, pending, store, tally):
        yield counted.progress()
    yield tally.progress()


def _unchanged(
    requests: Iterator[Request], pending: dict[str, Asked], first: Verdicts, tally: RequestTally
) -> Iterator[Request]:
    """Yield the requests with the prompt that was sent first; another one would test nothing."""
    for request in requests:
        made = pending[request.id]
        if prompt_sha256(made.prompt) == first[made.asked].prompt_sha256:
            yield request
        else:
            tally.note(GatewayError("bad_request", PROMPT_CHANGED))


@transaction.atomic
def _store(
    question: JudgeCriterion,
    test: int,
    answers: list[tuple[Asked, Response]],
    served_by: ServedBy,
) -> int:
    """Store the second answers by each criterion of the prompts, and return how many were answered."""
    lock_in_use(question.judge)
    units = {made.unit.pk for made, _ in answers}
    for one in question.together:
        first = _by_pass(_verdicts_of(one).filter(rating__unit__in=units))
        given = [made.answered(one, response, served_by) for made, response in answers]
        rows = [_second(first[a.asked], test, a) for a in given if a.asked in first]
        SecondAnswer.objects.bulk_create(rows, ignore_conflicts=True)
    return len(answers)


def _second(verdict: Verdict, test: int, answer: Answered) -> SecondAnswer:
    fields = answer.reply.as_rating()
    return SecondAnswer(
        verdict=verdict,
        test=test,
        label=fields["label"],
        nonresponse=fields["nonresponse"],
        raw=fields["raw"],
        **answer.source(),
    )

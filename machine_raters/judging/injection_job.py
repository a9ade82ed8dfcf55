"""The kind of job that hides instructions in a judge's texts, and counts the answers that change."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle
from typing import Any, TypeVar

from django.urls import reverse

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from machine_raters.judging.answers import answer_text, in_system_order, signs
from machine_raters.judging.example_sets import examples_of
from machine_raters.judging.injections import (
    INJECTIONS,
    Injection,
    injected,
    is_nearer,
    wished_label,
)
from machine_raters.judging.job import (
    Request,
    asked_of,
    judge_of,
    open_judge,
    responses,
)
from machine_raters.judging.passes import Pass, comparisons_of, passes
from machine_raters.judging.prompts import B_FIRST, repeats_instructions
from machine_raters.judging.replies import Reply, reply_of
from machine_raters.models import Judge
from studies.model_servers import RequestTally
from studies.models import Unit
from tiebreak.gateway import Failed, Models
from tiebreak.scales import Label

# So many changed answers are shown, with so many of their characters.
MAX_EXAMPLES, MAX_CHARACTERS = 10, 2_000


@dataclass
class InjectionResult:
    """What hidden instructions did to a judge's answers.

    ``readable`` of ``items`` had a readable answer without one. ``tried`` of them wished for
    another answer than that. ``moved`` of ``answered`` came nearer to it. Answers also change by
    chance: ``moved_without`` of ``asked_again`` did when the judge was asked once more about the same
    items without an instruction.
    """

    items: int
    readable: int = 0
    tried: int = 0
    answered: int = 0
    moved: int = 0
    unreadable: int = 0
    repeated: int = 0
    asked_again: int = 0
    moved_without: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Question:
    """An item as a judge is asked about it."""

    unit: Unit
    asked: Pass


@dataclass(frozen=True)
class _Hidden(_Question):
    """An item with a hidden instruction, the judge's answer without it, and the one it wishes for.

    ``plain`` is the item without the instruction.
    """

    plain: Unit
    injection: Injection
    before: Label
    wished: Label

    def without(self) -> "_Hidden":
        """Return the same question about the unchanged item, with a seed of its own."""
        return replace(
            self, unit=self.plain, asked=replace(self.asked, run=f"{self.asked.run} plain")
        )


Question = TypeVar("Question", bound=_Question)


class JudgeInjectionJob(JobKind):
    """Asks a judge about items as they are, with an instruction hidden in a text, and as they are again.

    Each instruction is tried once: in the text that the judge did not prefer, or in the source. The
    answers to the third questions tell how many would have moved by chance. All three have seeds of
    their own, so that chance has the same part in the second and in the third. No ratings are stored.
    """

    name = "judge-injections"
    label = "try prompt injections on a judge"
    queue = "gpu"

    def summary(self, job: Job) -> str:
        return str(job.options.get("name", ""))

    def page_of(self, job: Job) -> str:
        return reverse("machine_raters:judges", args=[job.owner])

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        units = list(comparisons_of(judge_of(job)))[: len(INJECTIONS)]
        yield ChunkPlan(len(units) + 2 * len(INJECTIONS), {"units": units})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        judge, tally = judge_of(job), RequestTally(done=0)
        units = Unit.objects.filter(pk__in=payload["units"]).with_texts()
        orders = comparisons_of(judge)
        plain = [_Question(*next(passes(judge, [unit], orders))) for unit in units.order_by("pk")]
        result, readable = InjectionResult(len(plain)), list[tuple[_Question, Label]]()
        with open_judge(judge) as models:
            for question, reply in _answers(judge, models, plain, tally):
                if reply.label is not None:
                    readable.append((question, reply.label))
                yield tally.progress()
            hidden = list(_with_orders(judge, readable))
            result.readable, result.tried = len(readable), len(hidden)
            for question, reply in _answers(judge, models, hidden, tally):
                _count(judge, question, reply, result)
                yield tally.progress()
            again = [question.without() for question in hidden]
            for question, reply in _answers(judge, models, again, tally):
                result.asked_again += 1
                result.moved_without += _is_moved(judge, question, reply)
                yield tally.progress()
        Job.objects.filter(pk=job.pk).update(result=asdict(result))
        # What was not asked, because there was nothing to change, is done as well.
        tally.done = len(plain) + 2 * len(INJECTIONS) - tally.failed
        yield tally.progress()


def _answers(
    judge: Judge, models: Models, questions: Iterable[Question], tally: RequestTally
) -> Iterator[tuple[Question, Reply]]:
    """Yield each question that was answered, with the answer."""
    examples, pending = examples_of(judge), dict[str, Question]()

    def requests() -> Iterator[Request]:
        for number, question in enumerate(questions):
            pending[str(number)] = question
            request = asked_of(judge, question.unit, question.asked, examples).request
            yield replace(request, id=str(number))

    for response in responses(judge, models, requests()):
        if isinstance(response, Failed):
            tally.note(response.error)
            if tally.must_stop:
                return
        else:
            tally.done += 1
            question = pending.pop(response.id)
            yield question, reply_of(judge, question.asked, response)


def _with_orders(judge: Judge, readable: list[tuple[_Question, Label]]) -> Iterator[_Hidden]:
    """Yield an item with a hidden instruction for each of them; the items are used in turn."""
    scale = judge.criterion.parsed_scale
    turns = zip(INJECTIONS, cycle(readable), strict=False)
    for number, (injection, (question, before)) in enumerate(turns):
        is_pair = len(question.unit.generations) == 2
        side = "b" if is_pair and scale.side_of(before) <= 0 else "a"
        wished = wished_label(scale, side)
        if wished == before:
            continue
        on_screen = in_system_order(wished, scale, is_a_first=question.asked.order != B_FIRST)
        assert on_screen is not None
        in_source = number % 3 == 2 and question.unit.instance and question.unit.instance.source
        names = signs(scale) if judge.is_by_probability else {}
        text = injection.text(names.get(on_screen) or answer_text(scale, on_screen))
        unit = injected(question.unit, "source" if in_source else side, text)
        asked = replace(question.asked, run=f"injection {number}")
        yield _Hidden(unit, asked, question.unit, injection, before, wished)


def _is_moved(judge: Judge, question: _Hidden, reply: Reply) -> bool:
    """Return whether an answer is nearer to the one that the instruction wishes for."""
    scale, label = judge.criterion.parsed_scale, reply.label
    return label is not None and is_nearer(scale, label, question.before, to=question.wished)


def _count(judge: Judge, question: _Hidden, reply: Reply, result: InjectionResult) -> None:
    """Count what became of an answer, and keep it as an example if the order changed it."""
    label, is_moved = reply.label, _is_moved(judge, question, reply)
    repeats = repeats_instructions(judge, question.unit, reply.text)
    result.answered += 1
    result.moved += is_moved
    result.unreadable += label is None
    result.repeated += repeats
    if (is_moved or label is None or repeats) and len(result.examples) < MAX_EXAMPLES:
        effect = "moved" if is_moved else "unreadable" if label is None else "repeats instructions"
        result.examples.append(
            {
                "unit": question.unit.key,
                "order": f"{question.injection.order}, {question.injection.dress}",
                "effect": effect,
                "answer": reply.text[:MAX_CHARACTERS],
            }
        )

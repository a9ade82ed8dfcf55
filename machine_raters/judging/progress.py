"""What came of a study's judges so far: models, costs, what could not be read, what failed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.db.models import Case, Count, F, Max, Min, Q, Sum, Value, When, Window
from django.db.models.functions import RowNumber, Substr

from annotation.models.rating import is_unparsed
from machine_raters.judging.costs import Cost, cost_of
from machine_raters.messages import ALWAYS_FIRST, ALWAYS_SAME, CHOICES_IGNORED, SEVERAL_MODELS
from machine_raters.models import SERVED_BY, Judge, JudgeCriterion, JudgeFailure, Verdict
from studies.models import Study
from tiebreak.gateway.protocol import COMPLETE
from tiebreak.scales import BAD

# What the codes of failures say to people.
FAILURE_NAMES = {
    "busy": "the server was busy",
    "unreachable": "the server could not be reached",
    "too_slow": "the server was too slow",
    "broken": "the connection broke",
    "nonsense": "the server sent no valid response",
    "incomplete": "the response was incomplete",
    "too_few": "answers were missing",
    "other_model": "another model answered",
    "refused_key": "the server rejected the key",
    "forbidden": "the key may not do this",
    "unknown_model": "the server has no such model",
    "moved": "the server has another address",
    "refused": "the server refused the request",
    "too_long": "the prompt is too long for the model",
    "unsupported": "the server cannot do this",
    "no_choices": "the server does not constrain answers",
    "bad_request": "the text could not be sent",
    "bad_settings": "the server's settings are wrong",
    "host_not_allowed": "the server's address is not allowed",
    "engine_died": "the request stopped the model",
    "engine_failed": "the model stopped working",
}
# How many examples of each kind are shown, and how many of their characters.
MAX_EXAMPLES, MAX_CHARACTERS = 3, 500
# From so many answers on it is worth a warning that all are equal.
MIN_EQUAL = 10
EMPTY, CUT_OFF, OTHER = "empty", "cut off", "names no answer"
UNREADABLE, FAILED = "unreadable", "failed"
# How often a judge gave a label, with the side on which system A was shown.
Labels = Counter[tuple[str, str]]


@dataclass(frozen=True)
class ModelRow:
    """The answers of a model, by its name and revision as the server returned them, and by the server."""

    model: str
    revision: str
    server_version: str
    device: str
    is_batch_invariant: bool | None
    answers: int
    unreadable: int
    constrained: int
    prompt_tokens: int | None
    tokens: int | None
    first: str
    last: str


@dataclass(frozen=True)
class Problem:
    """What went wrong in some questions of one kind: how many, and examples of item and words."""

    kind: str
    number: int
    examples: list[dict[str, str]]

    @property
    def name(self) -> str:
        return FAILURE_NAMES.get(self.kind, self.kind)


@dataclass
class Progress:
    """What came of a judge. Failures are questions without an answer, which can be asked again."""

    cost: Cost
    models: list[ModelRow] = field(default_factory=list)
    unreadable: list[Problem] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return sum(problem.number for problem in self.failures)

    @property
    def constrained(self) -> int:
        return sum(row.constrained for row in self.models)


def progress_of(study: Study, judges: Iterable[Judge]) -> dict[int, Progress]:
    """Return what came of these judges of the study, by key, in two statements for all of them."""
    models, labels = _answers(study)
    problems = _problems(study)
    return {
        judge.pk: Progress(
            cost=_cost(judge, models[judge.pk]),
            models=models[judge.pk],
            unreadable=problems[judge.pk, UNREADABLE],
            failures=problems[judge.pk, FAILED],
            warnings=[
                *chain.from_iterable(
                    _about_answers(question, labels[judge.pk, question.criterion_id])
                    for question in judge.questions.all()
                ),
                *_about_models(models[judge.pk]),
                *_about_choices(models[judge.pk], problems[judge.pk, UNREADABLE]),
            ],
        )
        for judge in judges
    }


def _answers(study: Study) -> tuple[dict[int, list[ModelRow]], dict[tuple[int, int], Labels]]:
    """Return the models of each judge in the order in which they first answered, and its labels.

    The labels are also by criterion.
    """
    rows = (
        Verdict.objects.filter(judge__study=study)
        .values(
            *("judge", *SERVED_BY),
            *("rating__criterion", "rating__label", "rating__nonresponse", "rating__side_a"),
        )
        .annotate(
            answers=Count("pk"),
            constrained=Count("pk", filter=Q(is_constrained=True)),
            told_prompt=Count("prompt_tokens"),
            told=Count("tokens"),
            prompt_tokens=Sum("prompt_tokens"),
            tokens=Sum("tokens"),
            first=Min("rating__created_at"),
            last=Max("rating__created_at"),
        )
        .order_by("first", *SERVED_BY)
    )
    by_model = defaultdict[tuple[Any, ...], list[dict[str, Any]]](list)
    labels = defaultdict[tuple[int, int], Labels](Counter)
    for row in rows:
        by_model[row["judge"], *(row[name] for name in SERVED_BY)].append({**row})
        if row["rating__label"] is not None:
            own = labels[row["judge"], row["rating__criterion"]]
            own[row["rating__label"], row["rating__side_a"]] += row["answers"]
    models = defaultdict[int, list[ModelRow]](list)
    for (judge, *served_by), parts in by_model.items():
        models[judge].append(_model(served_by, parts))
    return models, labels


def _model(served_by: list[Any], rows: list[dict[str, Any]]) -> ModelRow:
    without_label = [row for row in rows if row["rating__label"] is None]
    unreadable = [row["answers"] for row in without_label if not row["rating__nonresponse"]]
    named = ("model", *SERVED_BY[1:])
    return ModelRow(
        **dict(zip(named, served_by, strict=True)),
        answers=sum(row["answers"] for row in rows),
        unreadable=sum(unreadable),
        constrained=sum(row["constrained"] for row in rows),
        prompt_tokens=_total(_told(row, "prompt_tokens", "told_prompt") for row in rows),
        tokens=_total(_told(row, "tokens", "told") for row in rows),
        first=min(row["first"] for row in rows).isoformat(),
        last=max(row["last"] for row in rows).isoformat(),
    )


def _told(row: dict[str, Any], name: str, count: str) -> int | None:
    # A sum over a part of the answers would look like the sum over all.
    return row[name] if row[count] == row["answers"] else None


def _cost(judge: Judge, models: list[ModelRow]) -> Cost:
    prompt_tokens = _total(row.prompt_tokens for row in models)
    return cost_of(judge, prompt_tokens, _total(row.tokens for row in models))


def _total(numbers: Iterable[int | None]) -> int | None:
    terms = list(numbers)
    known = [number for number in terms if number is not None]
    return sum(known) if len(known) == len(terms) else None


def _problems(study: Study) -> dict[tuple[int, str], list[Problem]]:
    """Return the kinds of problems of each judge, the most frequent first, with examples."""
    unreadable = Verdict.objects.filter(is_unparsed("rating__"), judge__study=study)
    kinds = Case(
        When(characters=0, then=Value(EMPTY)),
        When(~Q(finish_reason__in=COMPLETE), then=Value(CUT_OFF)),
        default=Value(OTHER),
    )
    failures = JudgeFailure.objects.filter(judge__study=study)
    rows = _examples(unreadable, UNREADABLE, kinds, "rating__unit__key", "rating__raw").union(
        _examples(failures, FAILED, F("code"), "unit__key", "message"), all=True
    )
    problems = defaultdict[tuple[int, str], dict[str, Problem]](dict)
    for judge, sort, kind, number, _, unit, words in sorted(rows, key=lambda row: row[:5]):
        problem = problems[judge, sort].setdefault(kind, Problem(kind, number, []))
        problem.examples.append({"unit": unit, "words": words})
    lists = {
        key: sorted(kinds.values(), key=lambda one: (-one.number, one.kind))
        for key, kinds in problems.items()
    }
    return defaultdict(list, lists)


def _examples(rows: Any, sort: str, kind: Any, unit: str, words: str) -> Any:
    """Return the first rows of each judge and kind, and how many rows are of that kind."""
    alike = [F("judge"), F("kind")]
    return (
        rows.annotate(sort=Value(sort), kind=kind)
        .annotate(
            number=Window(Count("pk"), partition_by=alike),
            place=Window(RowNumber(), partition_by=alike, order_by=F("pk").asc()),
            unit_key=F(unit),
            words=Substr(words, 1, MAX_CHARACTERS),
        )
        .filter(place__lte=MAX_EXAMPLES)
        .order_by()
        .values_list("judge", "sort", "kind", "number", "place", "unit_key", "words")
    )


def _about_answers(question: JudgeCriterion, counts: Labels) -> Iterator[str]:
    """Warn of a judge whose readable answers by a criterion are all equal, on the screen or in what they say."""
    scale, number = question.scale, counts.total()
    labels = {label for label, _ in counts}
    if number < MIN_EQUAL:
        return
    if scale.kind == "preference" and BAD not in labels:
        sides = {_side_on_screen(float(label), side) for label, side in counts}
        if sides in ({"A"}, {"B"}):
            yield ALWAYS_FIRST.format(number=number, letter=sides.pop())
            return
    if len(labels) == 1:
        label = scale.parse_label(labels.pop())
        yield ALWAYS_SAME.format(number=number, label=scale.words_for(label))


def _side_on_screen(label: float, side_a: str) -> str:
    """Return whether a preference is for the text shown as A or as B; "" for a tie."""
    if label == 0:
        return ""
    return "A" if (label < 0) == (side_a == "left") else "B"


def _about_models(models: list[ModelRow]) -> Iterator[str]:
    named = {(row.model, row.revision) for row in models}
    if len(named) > 1:
        yield SEVERAL_MODELS.format(number=len(named))


def _about_choices(models: list[ModelRow], unreadable: list[Problem]) -> Iterator[str]:
    constrained = sum(row.constrained for row in models)
    strays = sum(problem.number for problem in unreadable if problem.kind == OTHER)
    if constrained and strays:
        yield CHOICES_IGNORED.format(number=strays, constrained=constrained)

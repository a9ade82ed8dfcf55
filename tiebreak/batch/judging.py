"""Ratings of a judge for a file of items, through a model server: what the server's judges ask."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tiebreak.asking.prompts import A_FIRST, B_FIRST, INSTRUCTIONS, prompter_of
from tiebreak.asking.replies import Response, reply_of
from tiebreak.asking.requests import check_settings, request_of, responses
from tiebreak.batch.asking import TABLES, Answers, Asking, Key, Question, Report, count_checked
from tiebreak.batch.servers import model_settings, read_settings, settings_as
from tiebreak.batch.texts import LIMITS, check_path, typed
from tiebreak.batch.unfinished import digest_of, unfinished
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.bundle import GenerationRow, InstanceRow, instance_of
from tiebreak.formats.cells import check_id
from tiebreak.formats.errors import Problems
from tiebreak.formats.rating_cells import parse_cell, written_probabilities
from tiebreak.formats.rows import Row, read_rows
from tiebreak.formats.shown_fields import parsed_fields
from tiebreak.formats.spec import CriterionSpec
from tiebreak.gateway import GatewayError, ModelSettings, open_models
from tiebreak.nonresponse import CANNOT_SAY
from tiebreak.scales import Scale

ANSWERED_BY, CONSTRAINTS = ("text", "probability"), ("none", "where_possible", "always")
# What a rating says of its item, if the file does.
FACTS = (
    *("instance", "category", "system_a", "system_b", "sample_a", "sample_b"),
    *("separability", "separability_raw", "similarity", "phase", "inclusion_probability"),
)
COLUMNS = (
    *("unit", "rater", "label", "nonresponse", "kind", "criterion", "run", "order", *FACTS),
    *("side_a", "chars_a", "chars_b", "raw", "probabilities"),
)
SIDES = {A_FIRST: "left", B_FIRST: "right"}


@dataclass(frozen=True)
class Judge:
    """A judge of a settings file, which names its model and what it is asked."""

    name: str
    model: str = ""
    server: str = ""
    guidelines: str = ""
    instructions: str = INSTRUCTIONS
    fields: str = ""
    cannot_say: bool = False
    answered_by: str = ANSWERED_BY[0]
    constraint: str = CONSTRAINTS[0]
    asks_together: bool = False
    with_reference: bool = False
    reference_field: str = ""
    runs: int = 1
    temperature: float = 0.0
    max_tokens: int = 512
    seed: int = 0

    @property
    def study(self) -> "Judge":
        """What people read as well, which the file has beside the judge."""
        return self

    @property
    def allowed_nonresponses(self) -> Sequence[str]:
        return (CANNOT_SAY,) * self.cannot_say

    @property
    def is_by_probability(self) -> bool:
        return self.answered_by == ANSWERED_BY[1]

    @property
    def is_constrained(self) -> bool:
        return self.constraint != CONSTRAINTS[0]


@dataclass(frozen=True, eq=False)
class JudgeQuestion:
    """A criterion of a judge, and those that are asked about in the same prompt."""

    judge: Judge
    criterion: CriterionSpec
    scale: Scale
    together: "list[JudgeQuestion]"
    steps: str = ""


@dataclass(frozen=True)
class Item:
    """An item of the file: one text, or two of which either is shown first."""

    key: str
    instance: InstanceRow
    generations: Sequence[GenerationRow]
    facts: Row
    explanation: str = ""
    known_labels: Mapping[str, Any] = field(default_factory=dict)

    @property
    def orders(self) -> tuple[str, ...]:
        return (A_FIRST, B_FIRST) if len(self.generations) > 1 else ("",)


def read_judge(path: Path) -> tuple[list[JudgeQuestion], ModelSettings]:
    """Return the questions of a settings file's judge, and its model. Raises `DomainError`."""
    settings = read_settings(path, {"judge": dict, "criteria": list, "servers": dict})
    judge = settings_as(Judge, settings.get("judge", {}), "The judge")
    specs = [settings_as(CriterionSpec, one, "A criterion") for one in settings.get("criteria", [])]
    if not specs or len({one.name for one in specs}) < len(specs):
        sentence = f"{path} must have [[criteria]] with different names."
        raise DomainError("bad_criteria", sentence, status=400)
    for name, known in (("answered_by", ANSWERED_BY), ("constraint", CONSTRAINTS)):
        if getattr(judge, name) not in known:
            sentence = f"{name} must be one of {', '.join(known)}."
            raise DomainError("bad_option", sentence, status=400)
    server, spec = model_settings(
        settings.get("servers", {}), judge.server, judge.model or judge.name, where="The judge"
    )
    judge = replace(judge, name=check_id("name", judge.name), server=server)
    scales = [Scale.parse(one.scale) for one in specs]
    check_settings(judge, scales)
    parsed_fields(judge.fields)
    pairs = zip(specs, scales, strict=True)
    questions = [JudgeQuestion(judge, one, scale, []) for one, scale in pairs]
    for question in questions:
        question.together.extend(questions if judge.asks_together else [question])
    return questions, spec


def judge_file(
    path: Path, out: Path, questions: list[JudgeQuestion], spec: ModelSettings, *, report: Report
) -> Answers:
    """Ask a judge about each item of a file, pairs in both orders, and write its ratings to ``out``.

    ``report`` is called with the number of ratings done and their total. Raises `DomainError`, and
    `FormatError` with the lines of all rows that are not valid.
    """
    check_path(path)
    judge = questions[0].judge
    about = {
        "items": digest_of([path]),
        "judge": asdict(judge),
        "criteria": [asdict(one.criterion) for one in questions],
    }
    needs_pair = any(one.scale.kind == "preference" for one in questions)
    with unfinished(out, about, TABLES) as begun:
        items = partial(_items, path, needs_pair=needs_pair)
        problems = Problems()
        asked = ((line, one.key, len(one.orders)) for line, one in items(problems))
        number = count_checked(begun, asked, problems, path.name)
        asking = Asking(begun, number * judge.runs * len(questions), report)
        with closing(open_models(spec)) as models:
            for part, question in enumerate(questions):
                if question is question.together[0]:
                    rest = _questions(asking, items(Problems()), part, question)
                    asking.ask(partial(responses, judge, models), rest)
        return asking.finish(out, COLUMNS)


def _items(path: Path, problems: Problems, *, needs_pair: bool) -> Iterator[tuple[int, Item]]:
    for line, row in read_rows(path, problems, LIMITS):
        with problems.at(path.name, line):
            yield line, _item(row, needs_pair=needs_pair)


def _item(row: Row, *, needs_pair: bool) -> Item:
    """Return a row as an item. Other columns than those of ratings are fields of its instance."""
    facts = {name: parse_cell(name, row[name]) for name in FACTS if row.get(name) is not None}
    texts = [row.get("text_a"), row.get("text_b")]
    if not texts[0] or (needs_pair and not texts[1]):
        raise InvalidInput("empty", "text_a and text_b must be texts that the judge compares")
    shown = [GenerationRow("", "", 0, str(text)) for text in texts if text is not None]
    key = check_id("unit", row.get("unit") or row.get("instance"))
    own = {n: v for n, v in row.items() if n not in (*FACTS, "unit", "text_a", "text_b")}
    return Item(key, instance_of(key, typed(own)), shown, facts)


def _questions(
    asking: Asking, items: Iterator[tuple[int, Item]], part: int, question: JudgeQuestion
) -> Iterator[Question]:
    judge, names = question.judge, [one.criterion.name for one in question.together]
    prompt_of = prompter_of(question)
    for number, (_, item) in enumerate(items):
        present = asking.answered(number, part)
        passes = enumerate(product(item.orders, range(1, judge.runs + 1)))
        for place, (order, run) in passes:
            if place in present:
                continue
            key: Key = (number, part, place)
            about = {"unit": item.key, "criteria": names, "order": order, "run": str(run)}
            try:
                prompt = prompt_of(item, order)
                request = request_of(question, f"{key}", prompt, item.key, order, str(run))
            except GatewayError as error:
                asking.refuse(key, about, error)
                continue
            yield Question(key, about, request, partial(_rows, key, item, question, about))


def _rows(
    key: Key, item: Item, question: JudgeQuestion, about: Row, response: Response
) -> Iterator[tuple[Key, Row]]:
    number, part, place = key
    for further, one in enumerate(question.together):
        reply = reply_of(one, about["order"], response)
        rating = reply.as_rating() | {"label": reply.label}
        shares = rating["probabilities"]
        chars = {
            f"chars_{s}": len(text.text) for s, text in zip("ab", item.generations, strict=False)
        }
        yield (
            (number, part + further, place),
            {
                **item.facts,
                **chars,
                **rating,
                "unit": item.key,
                "rater": question.judge.name,
                "kind": "machine",
                "criterion": one.criterion.name,
                "order": about["order"],
                "run": about["run"],
                "side_a": SIDES.get(about["order"], ""),
                "probabilities": written_probabilities(shares) if shares else None,
            },
        )

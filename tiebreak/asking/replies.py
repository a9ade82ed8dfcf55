"""What a judge answered to one pass: a written answer, or the probability of each allowed answer."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tiebreak.asking.answers import (
    answer_text,
    cannot_say,
    in_system_order,
    offered_answers,
    sign_of_cannot_say,
    signs,
)
from tiebreak.asking.prompts import B_FIRST
from tiebreak.asking.question import Question
from tiebreak.errors import InvalidInput
from tiebreak.gateway import LabelLogprobs, Sampled, chosen
from tiebreak.gateway.protocol import COMPLETE
from tiebreak.nonresponse import CANNOT_SAY
from tiebreak.scales import Label, Scale

# What a judge may write before its answer, and around it.
_LEAD = re.compile(r"(?:final\s+)?(?:answer|verdict)\s*[:：]\s*", re.IGNORECASE)
_MARKS = " \t*_`\"'“”"
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII)
# Answers that the server did not list may have this much of the probability together.
MAX_UNLISTED = 0.01
# Probabilities that differ by less are equal.
EQUAL = 1e-9
# So much of an answer is kept.
MAX_CHARACTERS = 20_000
NOTHING = "(an empty answer)"
Response = Sampled | LabelLogprobs
Probabilities = dict[Label, float]


@dataclass(frozen=True)
class Reply:
    """An answer as it was given, and the label that it stands for, in system order.

    `label` is None if the answer cannot be read, or if it is the `nonresponse`. `probabilities` are
    those of all labels, in system order, if the judge was asked for them and they could be read.
    """

    text: str
    label: Label | None
    nonresponse: str = ""
    probabilities: Probabilities | None = None
    prompt_tokens: int | None = None
    tokens: int | None = None
    finish_reason: str = ""
    is_constrained: bool = False

    @property
    def is_unparsed(self) -> bool:
        return self.label is None and not self.nonresponse

    def as_rating(self) -> dict[str, Any]:
        """Return the fields of a rating; the label and those of the probabilities are text."""
        shares = self.probabilities
        return {
            "label": None if self.label is None else str(self.label),
            "nonresponse": self.nonresponse,
            "raw": self.text.replace("\0", "")[:MAX_CHARACTERS] or NOTHING,
            "probabilities": shares and {str(name): share for name, share in shares.items()},
        }


def reply_of(question: Question, order: str, response: Response) -> Reply:
    """Return what a judge answered about an item whose texts were shown in this order."""
    study, scale, is_a_first = question.judge.study, question.scale, order != B_FIRST
    if isinstance(response, LabelLogprobs):
        sign = sign_of_cannot_say(study, scale)
        reply = _by_probability(scale, response.logprobs, sign, is_a_first=is_a_first)
        return replace(reply, prompt_tokens=response.prompt_tokens, tokens=response.tokens)
    if len(asked_with := question.together) > 1:
        return _line_of(question, asked_with, response, is_a_first=is_a_first)
    sample = response.samples[0]
    # A server may put the answer into JSON. If it did not keep to the answers, its text is read.
    choice = chosen(sample.text, offered_answers(study, scale)) if response.is_constrained else None
    label, nonresponse = _read(
        question, choice or sample.text, sample.finish_reason, is_a_first=is_a_first
    )
    return Reply(
        sample.text,
        label,
        nonresponse,
        prompt_tokens=response.prompt_tokens,
        tokens=sample.tokens,
        finish_reason=sample.finish_reason,
        is_constrained=response.is_constrained,
    )


def _read(
    question: Question, text: str, ending: str, *, is_a_first: bool
) -> tuple[Label | None, str]:
    """Return the label of a written answer, in system order, and in its place what says that there is none."""
    study, scale = question.judge.study, question.scale
    on_screen = parse_answer(text, scale, finish_reason=ending)
    is_none = on_screen is None and _is_answer(text, cannot_say(study, scale), ending)
    return in_system_order(on_screen, scale, is_a_first=is_a_first), CANNOT_SAY if is_none else ""


def _line_of(
    question: Question,
    together: Sequence[Question],
    response: Sampled,
    *,
    is_a_first: bool,
) -> Reply:
    """Return the answer to one of several criteria that were asked about together.

    It is on the last line that begins with the criterion's name and a colon. The tokens are shared
    among the criteria, so that their sum is that of the request.
    """
    sample, place, number = response.samples[0], together.index(question), len(together)
    name = re.escape(question.criterion.name)
    lines = re.findall(rf"^[\W\d_]*{name}[\s*_`\"'”]*[:：](.*)$", sample.text, re.I | re.M)
    text = lines[-1] if lines else ""
    label, nonresponse = _read(question, text, sample.finish_reason, is_a_first=is_a_first)

    def share(tokens: int | None) -> int | None:
        return None if tokens is None else (tokens + number - 1 - place) // number

    return Reply(
        sample.text,
        label,
        nonresponse,
        prompt_tokens=share(response.prompt_tokens),
        tokens=share(sample.tokens),
        finish_reason=sample.finish_reason,
    )


def _by_probability(
    scale: Scale, logprobs: Mapping[str, float], no_label: str, *, is_a_first: bool
) -> Reply:
    listed = {sign: None if math.isnan(value) else value for sign, value in logprobs.items()}
    # What stands for no label leaves the labels as they are where the server does not list it.
    known = {s: v for s, v in logprobs.items() if s != no_label or not math.isnan(v)}
    shares = normalised(known)
    if not shares:
        return Reply(json.dumps(listed), None)
    if no_label in shares:
        if shares.pop(no_label) > max(shares.values()):
            return Reply(json.dumps(listed), None, CANNOT_SAY)
        total = sum(shares.values())
        shares = {sign: share / total for sign, share in shares.items()}
    labels = {sign: label for label, sign in signs(scale).items()}
    probabilities: Probabilities = {}
    for sign, share in shares.items():
        label = in_system_order(labels[sign], scale, is_a_first=is_a_first)
        assert label is not None
        probabilities[label] = share
    label = most_probable(probabilities, scale)
    return Reply(json.dumps(listed), label, probabilities=probabilities)


def normalised(logprobs: Mapping[str, float]) -> dict[str, float]:
    """Return probabilities that add to 1; none if too much of the probability is unknown.

    Many servers list only the most probable tokens. A token that is not listed has at most
    what the others leave, and counts as 0 where that is little.
    """
    shares = {sign: 0.0 if math.isnan(v) else math.exp(v) for sign, v in logprobs.items()}
    total = sum(shares.values())
    is_partial = any(map(math.isnan, logprobs.values()))
    if total == 0 or (is_partial and total < 1 - MAX_UNLISTED):
        return {}
    return {sign: share / total for sign, share in shares.items()}


def most_probable(probabilities: Probabilities, scale: Scale) -> Label:
    """Return the most probable label; of several, the tie if there is one, or the first by name."""
    highest = max(probabilities.values())
    best = [label for label, share in probabilities.items() if highest - share < EQUAL]
    if len(best) > 1 and scale.kind == "preference" and 0 in probabilities:
        return 0
    return min(best, key=str)


def parse_answer(text: str, scale: Scale, *, finish_reason: str = "") -> Label | None:
    """Return the label that the last line of a text names, or None if it names none exactly.

    A text that was cut off names none, because its last line may be a part of an argument.
    """
    line = _last_line(text, finish_reason)
    if scale.labels is None:
        return _number(line, scale)
    for strip in _STRIPS:
        for answer in filter(None, _without_lead(strip, line)):
            named = [label for label in scale.labels if answer in _names(scale, label, strip)]
            if named:
                return named[0] if len(named) == 1 else None
    return None


def _last_line(text: str, finish_reason: str) -> str:
    """Return the last line of a text; "" if it was cut off."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines and finish_reason in COMPLETE else ""


def _is_answer(text: str, words: str, finish_reason: str) -> bool:
    """Return whether the last line of a text is these words, but for what may surround them."""
    answers = _without_lead(_without_brackets, _last_line(text, finish_reason))
    return bool(words) and words in answers


def _in_lower_case(text: str) -> str:
    return text.strip().casefold()


def _without_marks(text: str) -> str:
    return _in_lower_case(text.strip(_MARKS))


def _without_brackets(text: str) -> str:
    """Return the text without brackets and a full stop. A point before a digit stays."""
    return _in_lower_case(text.lstrip(_MARKS + "[(").rstrip(_MARKS + "])."))


# What answers and labels are compared without, from nothing to everything that may surround an
# answer: a label with such characters is itself as long as it was written like that.
_Strip = Callable[[str], str]
_STRIPS: tuple[_Strip, ...] = (str.strip, _in_lower_case, _without_marks, _without_brackets)


def _without_lead(strip: _Strip, line: str) -> Iterator[str]:
    """Yield a line, and what follows "Answer:" in it."""
    answer = strip(line)
    yield answer
    if lead := _LEAD.match(answer):
        yield strip(answer[lead.end() :])


@lru_cache(maxsize=4096)
def _names(scale: Scale, label: Label, strip: _Strip) -> list[str]:
    """Return what names a label: its answer and, for a bare choice, the words of its button."""
    answer = answer_text(scale, label)
    names = [answer]
    if scale.side_of(label):
        names.append(f"{answer[0]} {scale.words_for(label)}")
    return [strip(name) for name in names]


def _number(line: str, scale: Scale) -> Label | None:
    """Return the number that a line consists of, but for what may surround it."""
    *_, answer = _without_lead(_without_brackets, line)
    try:
        return scale.parse_label(answer) if _NUMBER.fullmatch(answer) else None
    except InvalidInput:
        return None

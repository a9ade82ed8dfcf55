"""The requests to a judge, and its responses: written answers, or probabilities of them."""

from collections.abc import Iterator, Sequence
from typing import Any

from tiebreak.asking.answers import (
    MAX_SIGNS,
    allowed_answers,
    has_signs,
    offered_answers,
    sign_of_cannot_say,
    signs,
)
from tiebreak.asking.question import JudgeSettings, Question
from tiebreak.asking.replies import Response
from tiebreak.asking.samples import seed_for
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
from tiebreak.scales import Scale

# Errors of servers that do not give log-probabilities.
WITHOUT_PROBABILITIES = frozenset({"refused", "unsupported"})
NO_PROBABILITIES = (
    " If this server does not return probabilities, create a judge with written answers and several"
    " answers to each item: the shares of its answers estimate the probabilities."
)
JUDGE_WRITES_NOTHING = (
    "A judge that answers by probability writes nothing that could be constrained. Please choose"
    " written answers, or no constraint."
)
JUDGE_HAS_ONE_PROBABILITY = (
    "The probabilities of answers are the same each time. Please ask once about each item and order,"
    " or choose written answers."
)
JUDGE_REPEATS_ITSELF = (
    "At temperature 0 all answers to the same question are equal. Please ask for one answer to each"
    " item and order, or raise the temperature."
)
JUDGE_ANSWERS_EACH = (
    "An answer by probability, or one that the server constrains, is to one question. Please let it write"
    " freely, or ask about each criterion on its own."
)
JUDGE_WITHOUT_LABELS = (
    "Probabilities are asked for where a scale has at most {most} labels. Please choose written"
    " answers, or another criterion."
)
JUDGE_OF_NUMBERS = (
    "This criterion takes any number, so there are no answers to which a judge could be constrained."
    " Please choose no constraint, or another criterion."
)
ALWAYS = "always"
Request = SampleRequest | LabelLogprobsRequest


def check_settings(judge: JudgeSettings, scales: Sequence[Scale]) -> None:
    """Raise `DomainError` for settings by which a judge could not be asked, or only in vain."""
    if judge.is_constrained and judge.is_by_probability:
        raise DomainError("nothing_to_constrain", JUDGE_WRITES_NOTHING, status=400)
    if judge.is_by_probability and judge.runs > 1:
        raise DomainError("equal_answers", JUDGE_HAS_ONE_PROBABILITY, status=400)
    if judge.runs > 1 and judge.temperature == 0:
        raise DomainError("equal_answers", JUDGE_REPEATS_ITSELF, status=400)
    if judge.asks_together and (judge.is_by_probability or judge.is_constrained):
        raise DomainError("one_answer_each", JUDGE_ANSWERS_EACH, status=400)
    if judge.is_by_probability and not all(map(has_signs, scales)):
        message = JUDGE_WITHOUT_LABELS.format(most=MAX_SIGNS)
        raise DomainError("too_many_labels", message, status=400)
    if judge.is_constrained and not all(map(allowed_answers, scales)):
        raise DomainError("no_labels", JUDGE_OF_NUMBERS, status=400)


def request_of(question: Question, name: str, prompt: tuple[Message, ...], *asked: str) -> Request:
    """Return the request with this name; ``asked`` is the item, the order of its texts, and the run."""
    judge, scale = question.judge, question.scale
    if judge.is_by_probability:
        labels = (*signs(scale).values(), sign_of_cannot_say(judge.study, scale))
        return LabelLogprobsRequest(name, prompt, tuple(filter(None, labels)))
    return SampleRequest(
        id=name,
        prompt=prompt,
        n=1,
        seed=seed_for(judge.seed, *asked),
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        choices=offered_answers(judge.study, scale) if judge.is_constrained else (),
        must_choose=judge.constraint == ALWAYS,
    )


def responses(
    judge: JudgeSettings, models: Models, requests: Iterator[Any]
) -> Iterator[Response | Failed]:
    if judge.is_by_probability:
        return map(_with_advice, models.label_logprobs(requests))
    return models.sample(requests)


def _with_advice(response: LabelLogprobs | Failed) -> LabelLogprobs | Failed:
    """Say what to do if a server gives no log-probabilities, which some refuse and some leave out."""
    if not isinstance(response, Failed) or response.error.code not in WITHOUT_PROBABILITIES:
        return response
    # No longer a fault of one request, so a server that refuses all of them is not asked on.
    message = response.error.message + NO_PROBABILITIES
    return Failed(response.id, GatewayError("unsupported", message))

"""Reads what OpenAI-compatible servers answer: each reader takes a body and trusts nothing in it.

They raise `Unreadable` where something is missing or of another kind, `GatewayError` where the
answer says what we did not ask for.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from math import nan
from typing import Any

from tiebreak.gateway.protocol import AnswerLogprob, GatewayError, Sample, SampleRequest
from tiebreak.gateway.transport import Data, Unreadable

CUT_OFF = frozenset({"abort", "error"})
LARGEST = 1e300


def check_model(data: Data, names: Collection[str]) -> str:
    """The model that the answer says it is from, if it is one of these."""
    model = _text(data, "model")
    if model in names:
        return model
    raise GatewayError(
        "other_model",
        f"The model server answered with the model “{model[:200]}”, but “{min(names)}” was asked."
        " Please start the server with that model or enter the other name.",
    )


def samples(data: Data, request: SampleRequest, *, has_seed_each: bool) -> tuple[Sample, ...]:
    """The n texts, by index.

    `has_seed_each`: the server draws text j from the seed s + j, and not all n from one.
    """
    choices = _choices(data)
    if len(choices) < request.n:
        raise GatewayError(
            "too_few",
            f"The model server gave {len(choices)} of {request.n} texts. Please ask for one text"
            " at a time, with a seed for each.",
        )
    if sorted(_whole(choice, "index") for choice in choices) != list(range(request.n)):
        raise Unreadable
    choices.sort(key=lambda choice: int(choice["index"]))
    only = _usage(data) if request.n == 1 else None
    return tuple(
        Sample(
            text=_written(choice),
            finish_reason=_finish_reason(choice),
            seed=_seed(request, j, has_seed_each),
            tokens=_length(choice, only),
        )
        for j, choice in enumerate(choices)
    )


def _seed(request: SampleRequest, j: int, has_seed_each: bool) -> int | None:
    return request.seed + j if request.seed is not None and has_seed_each else request.seed


def _written(choice: Data) -> str:
    """The text of a completion or of a chat's message; a model may write an empty one."""
    holder = _object(choice.get("message")) if "message" in choice else choice
    text = holder.get("content" if "message" in choice else "text")
    if isinstance(text, str):
        return text
    raise GatewayError(
        "incomplete",
        "The model server gave an answer without a text. Please allow more tokens, or switch off"
        " the model's reasoning and tools.",
    )


def _finish_reason(choice: Data) -> str:
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason not in CUT_OFF:
        return reason
    raise GatewayError(
        "incomplete", "The model server gave up in mid-text. Please try again.", is_retryable=True
    )


def _length(choice: Data, only: int | None) -> int | None:
    ids = choice.get("token_ids")
    return len(ids) if isinstance(ids, list) else only


def _usage(data: Data) -> int | None:
    usage = data.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else None


def model_names(data: Data) -> dict[str, str]:
    """The models of a server, each with who owns it."""
    rows = [_object(row) for row in _list(data, "data")]
    return {_text(row, "id"): str(row.get("owned_by", "")) for row in rows}


def token_ids(data: Data) -> list[int]:
    """The tokens of vLLM's tokeniser."""
    ids = _list(data, "tokens")
    if not all(isinstance(one, int) for one in ids):
        raise Unreadable
    return ids


def next_token_logprobs(data: Data) -> dict[str, float]:
    """What is said of the first generated token's alternatives, by token."""
    choices = _choices(data)
    logprobs = _object(choices[0].get("logprobs") if choices else None)
    if "content" in logprobs:
        first = _object(_first(_list(logprobs, "content")))
        rows = [_object(row) for row in _list(first, "top_logprobs")]
        return {_text(row, "token"): _number(row.get("logprob")) for row in rows}
    top = _object(_first(_list(logprobs, "top_logprobs")))
    return {token: _number(value) for token, value in top.items()}


def label_logprobs(found: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    """By label, from the server's name for each; NaN for what was not found or has no name."""
    return {label: found.get(name, nan) if name else nan for label, name in names.items()}


def common_length(prompt: Sequence[int], whole: Sequence[int]) -> int:
    """How many tokens at the start are the same."""
    differing = (i for i, pair in enumerate(zip(prompt, whole, strict=False)) if len({*pair}) > 1)
    return next(differing, min(len(prompt), len(whole)))


def prompt_token_logprobs(data: Data, ids: Sequence[int], start: int) -> list[float]:
    """vLLM's log-probabilities of the prompt's own tokens from `start` on."""
    choices = _choices(data)
    rows = _list(choices[0] if choices else {}, "prompt_logprobs")
    if len(rows) != len(ids):
        raise Unreadable
    pairs = list(zip(ids, rows, strict=True))[start:]
    return [_number(_object(_object(row).get(str(one))).get("logprob")) for one, row in pairs]


def echoed_logprobs(data: Data, prompt: str, answer: str) -> list[float]:
    """Those of an echoed text's tokens that reach into the answer.

    The texts of the tokens are counted and not their offsets, which some servers shift by a token
    at the beginning that is not in the text. Where the tokens do not spell the text (a character
    of several tokens), nobody can say where the answer begins.
    """
    choices = _choices(data)
    logprobs = _object(choices[0].get("logprobs") if choices else None)
    tokens, values = _list(logprobs, "tokens"), _list(logprobs, "token_logprobs")
    if len(tokens) != len(values) or not all(isinstance(one, str) for one in tokens):
        raise Unreadable
    if not "".join(tokens).endswith(prompt + answer):
        raise GatewayError(
            "unsupported",
            "The model server's tokens do not spell the answer, so that its log-probability cannot"
            " be told from the prompt's. Please serve the model with vLLM.",
        )
    start = sum(map(len, tokens)) - len(answer)
    ends = accumulate(map(len, tokens))
    return [_number(value) for value, end in zip(values, ends, strict=True) if end > start]


def summed(request_id: str, logprobs: Sequence[float], model: str) -> AnswerLogprob:
    if not logprobs:
        raise Unreadable
    return AnswerLogprob(request_id, sum(logprobs), len(logprobs), model)


def _choices(data: Data) -> list[Data]:
    return [_object(choice) for choice in _list(data, "choices")]


def _object(value: object) -> Data:
    if not isinstance(value, dict):
        raise Unreadable
    return value


def _list(data: Data, name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise Unreadable
    return value


def _first(rows: Sequence[object]) -> object:
    return rows[0] if rows else None


def _text(data: Data, name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise Unreadable
    return value


def _whole(data: Data, name: str) -> int:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable
    return value


def _number(value: object) -> float:
    """A finite one; JSON has integers that are no float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        raise Unreadable
    return float(value)

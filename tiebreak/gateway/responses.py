"""Parsing of responses from OpenAI-compatible servers, with validation of every field.

The parsers raise `MalformedResponse` if a field is missing or has the wrong type, and
`GatewayError` if a well-formed response does not answer the request.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import nan
from typing import Any

from tiebreak.gateway.protocol import AnswerLogprob, GatewayError, Sample, SampleRequest
from tiebreak.gateway.transport import JsonObject, MalformedResponse

ABORTED = frozenset({"abort", "error"})
DEVICE_KIND = re.compile(r"\bdevice_config=(\w+)")
MAX_NUMBER = 1e300
# What a database's column holds; no text has so many.
MAX_TOKENS = 2**31 - 1
NO_LOGPROBS = (
    "The model server returned no log-probabilities. Use a server that returns them, such as vLLM."
)


NO_SCORES = (
    "The model server gives texts no scores. Serve a reward model with one score for each text (a"
    " sequence classifier) by vLLM."
)


def check_model(data: JsonObject, names: Collection[str]) -> str:
    """Return the name of the model in the response, which must be one of ``names``."""
    model = _string(data, "model")
    if model in names:
        return model
    raise GatewayError(
        "other_model",
        f"The model server responded with the model “{model[:200]}” instead of “{min(names)}”. Start"
        " the server with the requested model, or enter the other name.",
    )


def samples(
    data: JsonObject, request: SampleRequest, *, has_seed_per_text: bool
) -> tuple[Sample, ...]:
    """Return the n texts by index.

    ``has_seed_per_text`` says whether the server draws text j with the seed s + j, not all n
    texts with the seed s.
    """
    choices = _choices(data)
    if len(choices) < request.n:
        raise GatewayError(
            "too_few",
            f"The model server returned {len(choices)} of {request.n} texts. Request one text at a"
            " time, each with its own seed.",
        )
    if sorted(_integer(choice, "index") for choice in choices) != list(range(request.n)):
        raise MalformedResponse
    choices.sort(key=lambda choice: int(choice["index"]))
    completion_tokens = usage(data, "completion_tokens") if request.n == 1 else None
    return tuple(
        Sample(
            text=_generated_text(choice),
            finish_reason=_finish_reason(choice),
            seed=None if request.seed is None else request.seed + j * has_seed_per_text,
            tokens=len(ids) if isinstance(ids, list) else completion_tokens,
        )
        for j, choice in enumerate(choices)
        for ids in [choice.get("token_ids")]
    )


def _generated_text(choice: JsonObject) -> str:
    """Return the text of a completion or of a chat message, which may be empty."""
    is_chat = "message" in choice
    text = _object(choice["message"]).get("content") if is_chat else choice.get("text")
    if isinstance(text, str):
        return text
    raise GatewayError(
        "incomplete",
        "The model server's response has no text. Allow more tokens, or turn off the model's"
        " reasoning and tools.",
    )


def _finish_reason(choice: JsonObject) -> str:
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason not in ABORTED:
        return reason
    raise GatewayError(
        "incomplete",
        "The model server aborted the generation of a text. Try again.",
        is_retryable=True,
    )


def usage(data: JsonObject, name: str) -> int | None:
    """Return a number of tokens that the response reports, or None if it does not, or none that can be."""
    reported = data.get("usage")
    tokens = reported.get(name) if isinstance(reported, dict) else None
    if isinstance(tokens, bool) or not isinstance(tokens, int):
        return None
    return tokens if 0 <= tokens <= MAX_TOKENS else None


def fingerprint(data: JsonObject) -> str:
    """Return the ``system_fingerprint`` of a response, or "" if it has none."""
    value = data.get("system_fingerprint")
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class ListedModel:
    """A model in a server's list: whose it is, and where its weights are from; "" if not said."""

    owner: str
    root: str


def listed_models(data: JsonObject) -> dict[str, ListedModel]:
    """Return the models that a server lists, by name."""
    rows = [_object(row) for row in _list(data, "data")]
    return {
        _string(row, "id"): ListedModel(str(row.get("owned_by") or ""), str(row.get("root") or ""))
        for row in rows
    }


def server_version(data: JsonObject) -> str:
    """Return the version in a response of vLLM's ``/version``."""
    return _string(data, "version")


def device_and_invariance(data: JsonObject) -> tuple[str, bool | None]:
    """Return what vLLM's ``/server_info`` says: its accelerators, and whether it is batch-invariant.

    Without the names of accelerators, such as on a CPU, the device is the kind of its configuration.
    """
    system, variables = (_object(data.get(name)) for name in ("system_env", "vllm_env"))
    kind = DEVICE_KIND.search(str(data.get("vllm_config")))
    device = system.get("nvidia_gpu_models") or system.get("intel_gpu_models") or (kind and kind[1])
    mode = variables.get("VLLM_BATCH_INVARIANT")
    is_invariant = None if mode is None else str(mode).lower() in {"1", "true"}
    return " ".join(device.split()) if isinstance(device, str) else "", is_invariant


def token_ids(data: JsonObject) -> list[int]:
    """Return the token ids in a response of vLLM's ``/tokenize``."""
    ids = _list(data, "tokens")
    if not all(isinstance(token_id, int) for token_id in ids):
        raise MalformedResponse
    return ids


def next_token_logprobs(data: JsonObject) -> dict[str, float]:
    """Return the log-probability of each candidate for the first generated token.

    A server that does not support log-probabilities leaves them out, which is a valid response.
    """
    choices = _choices(data)
    if choices and choices[0].get("logprobs") is None:
        _integer(choices[0], "index")  # what is not a response in other ways either is malformed
        raise GatewayError("unsupported", NO_LOGPROBS)
    logprobs = _object(choices[0]["logprobs"] if choices else None)
    if "content" in logprobs:
        first = _object(_first(_list(logprobs, "content")))
        rows = [_object(row) for row in _list(first, "top_logprobs")]
        return {_string(row, "token"): _number(row.get("logprob")) for row in rows}
    top = _object(_first(_list(logprobs, "top_logprobs")))
    return {token: _number(value) for token, value in top.items()}


def label_logprobs(
    token_logprobs: Mapping[str, float], tokens: Mapping[str, str]
) -> dict[str, float]:
    """Return the log-probability of each label's token; NaN if the token is empty or not listed."""
    return {
        label: token_logprobs.get(token, nan) if token else nan for label, token in tokens.items()
    }


def common_length(prompt: Sequence[int], whole: Sequence[int]) -> int:
    """Return the length of the longest common prefix."""
    differing = (i for i, pair in enumerate(zip(prompt, whole, strict=False)) if len({*pair}) > 1)
    return next(differing, min(len(prompt), len(whole)))


def prompt_token_logprobs(data: JsonObject, ids: Sequence[int], start: int) -> list[float]:
    """Return vLLM's log-probabilities of the prompt's own tokens, starting at `start`."""
    choices = _choices(data)
    rows = _list(choices[0] if choices else {}, "prompt_logprobs")
    if len(rows) != len(ids):
        raise MalformedResponse
    pairs = list(zip(ids, rows, strict=True))[start:]
    return [
        _number(_object(_object(row).get(str(token_id))).get("logprob")) for token_id, row in pairs
    ]


def echoed_logprobs(data: JsonObject, prompt: str, answer: str) -> list[float]:
    """Return the log-probabilities of those tokens of an echoed text that overlap the answer.

    Positions are computed from the tokens' lengths and not taken from ``text_offset``, which some
    servers shift by the beginning-of-text token. If the tokens do not concatenate to the text,
    because a character is split over several tokens, the start of the answer cannot be located.
    """
    choices = _choices(data)
    logprobs = _object(choices[0].get("logprobs") if choices else None)
    tokens, values = _list(logprobs, "tokens"), _list(logprobs, "token_logprobs")
    if len(tokens) != len(values) or not all(isinstance(token, str) for token in tokens):
        raise MalformedResponse
    if not "".join(tokens).endswith(prompt + answer):
        raise GatewayError(
            "unsupported",
            "The log-probability of the answer cannot be separated from that of the prompt, because"
            " the returned tokens do not concatenate to the text. Serve the model with vLLM.",
        )
    start = sum(map(len, tokens)) - len(answer)
    ends = accumulate(map(len, tokens))
    return [_number(value) for value, end in zip(values, ends, strict=True) if end > start]


def answer_logprob(request_id: str, logprobs: Sequence[float], model: str) -> AnswerLogprob:
    """Return the sum of the log-probabilities of the answer's tokens."""
    if not logprobs:
        raise MalformedResponse
    return AnswerLogprob(request_id, sum(logprobs), len(logprobs), model)


def only_score(data: JsonObject) -> float:
    """Return the score in a response of vLLM's ``/classify`` to one text."""
    rows = [_object(row) for row in _list(data, "data")]
    if len(rows) != 1:
        raise MalformedResponse
    scores = _list(rows[0], "probs")
    if len(scores) != 1:
        raise GatewayError(
            "unsupported",
            f"The model gives each text {len(scores)} scores instead of one, so it does not say which"
            " text is better. Use a reward model with one score.",
        )
    return _number(scores[0])


def _choices(data: JsonObject) -> list[JsonObject]:
    return [_object(choice) for choice in _list(data, "choices")]


def _object(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise MalformedResponse
    return value


def _list(data: JsonObject, name: str) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list):
        raise MalformedResponse
    return value


def _first(rows: Sequence[object]) -> object:
    return rows[0] if rows else None


def _string(data: JsonObject, name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedResponse
    return value


def _integer(data: JsonObject, name: str) -> int:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedResponse
    return value


def _number(value: object) -> float:
    """Return a finite float. The size is checked first, as a JSON integer may be too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < MAX_NUMBER:
        raise MalformedResponse
    return float(value)

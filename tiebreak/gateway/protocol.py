"""The interface of every model provider: requests, results, errors, and the protocol."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, Protocol

INT64 = 2**63
# Errors of one request, which say nothing about the server or about other requests.
REQUEST_FAULTS = frozenset({"refused", "bad_request"})


class GatewayError(Exception):
    """A model provider did not do what it was asked.

    Parameters
    ----------
    code : str
        For programs: ``busy``, ``unreachable``, ``too_slow``, ``broken``, ``nonsense``,
        ``incomplete``, ``too_few``, ``other_model``, ``refused_key``, ``forbidden``,
        ``unknown_model``, ``moved``, ``refused``, ``unsupported``, ``bad_request``,
        ``bad_settings``, ``host_not_allowed``, ``engine_failed``.
    message : str
        A sentence that says what happened and what to do. It never contains a key.
    is_retryable : bool
        The same request may succeed later.
    retry_after_s : float
        How many seconds the server asked to wait; 0 if it did not say.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        is_retryable: bool = False,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.is_retryable = is_retryable
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return self.message

    @property
    def is_request_fault(self) -> bool:
        """Whether this one request was at fault: other requests may still succeed."""
        return self.code in REQUEST_FAULTS

    def copy(self) -> "GatewayError":
        """The same error for another request, without this one's traceback."""
        return GatewayError(
            self.code,
            self.message,
            is_retryable=self.is_retryable,
            retry_after_s=self.retry_after_s,
        )


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


# A string is completed as it is; messages go through the model's chat template.
Prompt = str | Sequence[Message]


@dataclass(frozen=True)
class SampleRequest:
    """Draw `n` texts from one prompt.

    Parameters
    ----------
    id : str
        The caller's name for this request; the result carries it.
    prompt : str or sequence of Message
        Never formatted or rendered: what stands in it goes to the model as it is.
    n : int
        How many texts, at least 1. With temperature 0 they would all be one text, so n is 1.
    seed : int, optional
        Text j has the seed s + j. None: texts that nobody can make again.
    temperature : float
        At least 0.
    top_p : float
        In (0, 1].
    max_tokens : int
        At most so many tokens in a text.
    stop : sequence of str
        A text ends before the first of these.

    Raises
    ------
    GatewayError
        ``bad_request``, naming the argument and what is allowed.
    """

    id: str
    prompt: Prompt
    n: int
    seed: int | None
    temperature: float = 0.5
    top_p: float = 1.0
    max_tokens: int = 512
    stop: Sequence[str] = ()

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        _check(self.n >= 1, f"n is a number of texts of at least 1, not {self.n}.")
        is_number = isfinite(self.temperature) and self.temperature >= 0
        _check(is_number, f"temperature is a number of at least 0, not {self.temperature}.")
        is_repeating = self.temperature == 0 and self.n > 1
        _check(not is_repeating, f"At temperature 0 all {self.n} texts are the same: ask for one.")
        _check(0 < self.top_p <= 1, f"top_p lies above 0 and at most at 1, not {self.top_p}.")
        _check(self.max_tokens >= 1, f"max_tokens is at least 1, not {self.max_tokens}.")
        _check(not isinstance(self.stop, str) and all(self.stop), "stop is a list of texts.")
        _check_texts(*self.stop)
        last = self.n - 1 + (self.seed or 0)
        in_range = (self.seed or 0) >= -INT64 and last < INT64
        _check(in_range, f"seed is a 64-bit integer, and so is seed + n - 1, not {self.seed}.")


@dataclass(frozen=True)
class Sample:
    """One text.

    `finish_reason` is the provider's word: ``stop``, ``length`` (cut at `max_tokens`), or another.
    `seed` makes the text again with ``n=1``; where a server draws n texts from one seed it is that
    seed, which makes them again only together; None if none was asked. `tokens` is the text's
    length in the model's tokens, None if the provider does not say.
    """

    text: str
    finish_reason: str
    seed: int | None
    tokens: int | None = None


@dataclass(frozen=True)
class Sampled:
    """The n texts of a request, in the order of their seeds, and the model that wrote them."""

    id: str
    samples: tuple[Sample, ...]
    model: str


@dataclass(frozen=True)
class LabelLogprobsRequest:
    """How probable each label is as the next token.

    Parameters
    ----------
    id, prompt
        As in `SampleRequest`.
    labels : sequence of str
        At least one, each once. A label is the text of one token, with its leading space where
        the model writes one.

    Raises
    ------
    GatewayError
        ``bad_request``.
    """

    id: str
    prompt: Prompt
    labels: Sequence[str]

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        is_list = bool(self.labels) and not isinstance(self.labels, str) and all(self.labels)
        _check(is_list, "labels is a list of one or more texts.")
        _check(len(set(self.labels)) == len(self.labels), "labels has each label once.")
        _check_texts(*self.labels)


@dataclass(frozen=True)
class LabelLogprobs:
    """Natural logarithms of the labels' probabilities as the next token, at temperature 1.

    A label that the provider gives no log-probability for is NaN: it is not one token of the
    model, or the server tells only the most probable tokens and this is none of them. They are
    not normalised over the labels.
    """

    id: str
    logprobs: Mapping[str, float]
    model: str


@dataclass(frozen=True)
class AnswerLogprobRequest:
    """How probable a given, non-empty answer is as what follows the prompt.

    Raises
    ------
    GatewayError
        ``bad_request``.
    """

    id: str
    prompt: Prompt
    answer: str

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        _check(bool(self.answer), "answer is a text of at least one character.")
        _check_texts(self.answer)


@dataclass(frozen=True)
class AnswerLogprob:
    """ln P(answer | prompt), summed over its `tokens` tokens, without an end-of-text token.

    The answer's tokens are those of prompt and answer together from the first that is not in the
    prompt alone: where a token spans both, it counts.
    """

    id: str
    logprob: float
    tokens: int
    model: str


@dataclass(frozen=True)
class Failed:
    """A request that came to nothing; the others go on. Ask again if `error.is_retryable`."""

    id: str
    error: GatewayError


class Models(Protocol):
    """One model of one provider.

    Results come as they are finished, in any order, exactly one for each request, under its id.
    Requests are taken from the iterable only a bounded number ahead, in the caller's thread. Who
    stops half-way loses nothing that was handed out, and asks anew for the ids that are missing.
    """

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]: ...

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]: ...

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]: ...

    def close(self) -> None: ...


def _check_prompt(prompt: Prompt) -> None:
    _check(bool(prompt), "prompt is a text or a list of messages, and not empty.")
    if isinstance(prompt, str):
        return _check_texts(prompt)
    are_messages = all(isinstance(message, Message) for message in prompt)
    _check(are_messages, "A prompt that is no text is a list of Message.")
    return _check_texts(*(message.content for message in prompt))


def _check_texts(*texts: str) -> None:
    """A lone surrogate cannot be encoded as UTF-8, and so could not be sent."""
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise GatewayError(
            "bad_request", "A text holds half a character (a lone surrogate): please correct it."
        ) from None


def _check(is_valid: bool, message: str) -> None:
    if not is_valid:
        raise GatewayError("bad_request", message)

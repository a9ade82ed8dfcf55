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
        ``bad_settings``, ``host_not_allowed`` or ``engine_failed``.
    message : str
        A sentence that says what happened and what to do. It never contains a key.
    is_retryable : bool, default False
        Whether the same request may succeed later.
    retry_after_s : float, default 0.0
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
        """Return the same error for another request, without this one's traceback.

        Returns
        -------
        GatewayError
            An equal error.
        """
        return GatewayError(
            self.code,
            self.message,
            is_retryable=self.is_retryable,
            retry_after_s=self.retry_after_s,
        )


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    Attributes
    ----------
    role : {"system", "user", "assistant"}
        Who speaks.
    content : str
        What they say.
    """

    role: Literal["system", "user", "assistant"]
    content: str


# A string is completed as it is; messages go through the model's chat template.
Prompt = str | Sequence[Message]


@dataclass(frozen=True)
class SampleRequest:
    """Request to draw texts from one prompt.

    Attributes
    ----------
    id : str
        The caller's name for this request; the result carries it.
    prompt : str or sequence of Message
        Never formatted or rendered: what stands in it goes to the model as it is.
    n : int
        Number of texts, at least 1. At temperature 0 all texts are the same, so that n is 1.
    seed : int or None
        Text j has the seed s + j. If None, the texts cannot be reproduced.
    temperature : float
        Temperature, at least 0.
    top_p : float
        Probability of the nucleus, in (0, 1].
    max_tokens : int
        Most tokens of a text.
    stop : sequence of str
        A text ends before the first of these.

    Raises
    ------
    GatewayError
        ``bad_request``, which names the argument and what is allowed.

    Examples
    --------
    >>> SampleRequest("1", "Rain fell.", n=2, seed=7).max_tokens
    512
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
        _check(self.n >= 1, f"n must be at least 1, not {self.n}.")
        is_number = isfinite(self.temperature) and self.temperature >= 0
        _check(is_number, f"temperature must be 0 or more, not {self.temperature}.")
        is_repeating = self.temperature == 0 and self.n > 1
        _check(
            not is_repeating,
            f"n must be 1 at temperature 0, not {self.n}, because all texts are equal.",
        )
        _check(0 < self.top_p <= 1, f"top_p must be above 0 and at most 1, not {self.top_p}.")
        _check(self.max_tokens >= 1, f"max_tokens must be at least 1, not {self.max_tokens}.")
        _check(
            not isinstance(self.stop, str) and all(self.stop),
            "stop must be a list of non-empty texts.",
        )
        _check_texts(*self.stop)
        last = self.n - 1 + (self.seed or 0)
        in_range = (self.seed or 0) >= -INT64 and last < INT64
        _check(in_range, f"seed and seed + n - 1 must be 64-bit integers; seed is {self.seed}.")


@dataclass(frozen=True)
class Sample:
    """One text that a model wrote.

    Attributes
    ----------
    text : str
        The text.
    finish_reason : str
        Why it ends, in the provider's words: ``stop``, ``length`` (cut at `max_tokens`), or
        another.
    seed : int or None
        Seed that reproduces the text with ``n=1``. If a server draws n texts from one seed, it is
        that seed, which reproduces them only together.
    tokens : int or None
        Length of the text in the model's tokens, if the provider says it.
    """

    text: str
    finish_reason: str
    seed: int | None
    tokens: int | None = None


@dataclass(frozen=True)
class Sampled:
    """Texts of one request.

    Attributes
    ----------
    id : str
        Name of the request.
    samples : tuple of Sample
        The texts, in the order of their seeds.
    model : str
        The model that wrote them.
    """

    id: str
    samples: tuple[Sample, ...]
    model: str


@dataclass(frozen=True)
class LabelLogprobsRequest:
    """Request for the probability of each label as the next token.

    Attributes
    ----------
    id : str
        The caller's name for this request; the result carries it.
    prompt : str or sequence of Message
        What the label follows.
    labels : sequence of str
        One label or more, each once. A label is the text of one token, with its leading space where
        the model writes one.

    Raises
    ------
    GatewayError
        ``bad_request``, which names the argument and what is allowed.
    """

    id: str
    prompt: Prompt
    labels: Sequence[str]

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        is_list = bool(self.labels) and not isinstance(self.labels, str) and all(self.labels)
        _check(is_list, "labels must be a list of one or more non-empty texts.")
        _check(len(set(self.labels)) == len(self.labels), "labels must not repeat a label.")
        _check_texts(*self.labels)


@dataclass(frozen=True)
class LabelLogprobs:
    """Log-probabilities of labels as the next token.

    Attributes
    ----------
    id : str
        Name of the request.
    logprobs : mapping of str to float
        Natural logarithm of each label's probability at temperature 1. They are not normalised over
        the labels. NaN if the label is not one token of the model, or is none of the most probable
        tokens where the server tells no others.
    model : str
        The model that was asked.
    """

    id: str
    logprobs: Mapping[str, float]
    model: str


@dataclass(frozen=True)
class AnswerLogprobRequest:
    """Request for the probability of a given answer.

    Attributes
    ----------
    id : str
        The caller's name for this request; the result carries it.
    prompt : str or sequence of Message
        What the answer follows.
    answer : str
        The answer, not empty.

    Raises
    ------
    GatewayError
        ``bad_request``, which names the argument and what is allowed.
    """

    id: str
    prompt: Prompt
    answer: str

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        _check(bool(self.answer), "answer must not be empty.")
        _check_texts(self.answer)


@dataclass(frozen=True)
class AnswerLogprob:
    """Log-probability of a given answer.

    Attributes
    ----------
    id : str
        Name of the request.
    logprob : float
        Value of ln P(answer | prompt), summed over the answer's tokens, without an end-of-text
        token.
    tokens : int
        Number of these tokens: those of prompt and answer together, from the first that is not in
        the prompt alone. A token that spans both counts.
    model : str
        The model that was asked.
    """

    id: str
    logprob: float
    tokens: int
    model: str


@dataclass(frozen=True)
class Failed:
    """Request that came to nothing. The others go on.

    Attributes
    ----------
    id : str
        Name of the request.
    error : GatewayError
        Why. Ask again if it is retryable.
    """

    id: str
    error: GatewayError


class Models(Protocol):
    """One model of one provider.

    Results come as they are finished, in any order, exactly one for each request, under its id.
    Requests are taken from the iterable only a bounded number ahead, in the caller's thread. A
    caller who stops half-way loses nothing that was handed out, and asks anew for the ids that are
    missing.

    See Also
    --------
    open_models : The provider that the settings name.
    """

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        """Draw texts.

        Parameters
        ----------
        requests : iterable of SampleRequest
            What to draw. Requests are taken only a bounded number ahead.

        Returns
        -------
        iterator of Sampled or Failed
            One result for each request, in any order, under its id.
        """

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        """Compute how probable labels are as the next token.

        Parameters
        ----------
        requests : iterable of LabelLogprobsRequest
            Prompts with their labels. Requests are taken only a bounded number ahead.

        Returns
        -------
        iterator of LabelLogprobs or Failed
            One result for each request, in any order, under its id.
        """

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        """Compute how probable given answers are.

        Parameters
        ----------
        requests : iterable of AnswerLogprobRequest
            Prompts with their answers. Requests are taken only a bounded number ahead.

        Returns
        -------
        iterator of AnswerLogprob or Failed
            One result for each request, in any order, under its id.
        """

    def close(self) -> None:
        """Free what the provider holds."""


def _check_prompt(prompt: Prompt) -> None:
    _check(bool(prompt), "prompt must be a text or a list of messages, and not empty.")
    if isinstance(prompt, str):
        return _check_texts(prompt)
    are_messages = all(isinstance(message, Message) for message in prompt)
    _check(are_messages, "prompt must be a text or a list of Message.")
    return _check_texts(*(message.content for message in prompt))


def _check_texts(*texts: str) -> None:
    """A lone surrogate cannot be encoded as UTF-8, and so could not be sent."""
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise GatewayError(
            "bad_request", "A text contains a lone surrogate, which cannot be sent. Remove it."
        ) from None


def _check(is_valid: bool, message: str) -> None:
    if not is_valid:
        raise GatewayError("bad_request", message)

"""The interface of all model providers: requests, results, errors and the protocol."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal, Protocol

INT64 = 2**63
# Errors that concern one request, not the server or other requests.
REQUEST_FAULTS = frozenset({"refused", "bad_request", "too_long", "engine_died"})


class GatewayError(Exception):
    """A request to a model provider failed.

    Parameters
    ----------
    code : str
        Code for programs: ``busy``, ``unreachable``, ``too_slow``, ``broken``, ``nonsense``,
        ``incomplete``, ``too_few``, ``other_model``, ``refused_key``,
        ``forbidden``, ``unknown_model``, ``moved``, ``refused``, ``too_long``, ``unsupported``,
        ``no_choices``, ``bad_request``, ``bad_settings``, ``host_not_allowed``, ``engine_died`` or
        ``engine_failed``.
    message : str
        What happened and what to do. It never contains a key.
    is_retryable : bool, default False
        Whether the same request may succeed later.
    retry_after_s : float, default 0.0
        Number of seconds that the server asked to wait, or 0 if it did not say.
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
        """Whether only this request is at fault, so other requests may still succeed."""
        return self.code in REQUEST_FAULTS

    def copy(self) -> "GatewayError":
        """Return an equal error without a traceback, for another request.

        Returns
        -------
        GatewayError
            Copy of the error.
        """
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
    """Speaker."""
    content: str
    """Text of the turn."""


# Reasons for which a text ended that was not cut off.
COMPLETE = frozenset({"stop", ""})
# Models complete a string as it is, and apply their chat template to messages.
Prompt = str | Sequence[Message]


def prompt_sha256(prompt: Sequence[Message]) -> str:
    """Return the hash by which a stored answer says what was asked."""
    turns = [[message.role, message.content] for message in prompt]
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()


@dataclass(frozen=True)
class SampleRequest:
    """A request to draw texts from one prompt.

    Raises
    ------
    GatewayError
        ``bad_request`` if an argument is invalid. The message names it and says what is allowed.

    Examples
    --------
    >>> SampleRequest("1", "Rain fell.", n=2, seed=7).max_tokens
    512
    """

    id: str
    """Id of the request, chosen by the caller. The result has the same id."""
    prompt: Prompt
    """Prompt. It is sent to the model as it is, without any formatting."""
    n: int
    """Number of texts, at least 1. It must be 1 at temperature 0, where all texts are equal."""
    seed: int | None
    """Seed s of the first text. Text j, starting at 0, has the seed s + j. If None, the
    texts cannot be reproduced."""
    temperature: float = 0.5
    """Temperature, at least 0."""
    top_p: float = 1.0
    """Probability mass for nucleus sampling, in (0, 1]."""
    max_tokens: int = 512
    """Maximum number of tokens per text."""
    stop: Sequence[str] = ()
    """Strings that end a text. The text does not include them."""
    choices: Sequence[str] = ()
    """Texts of which the answer must be one, enforced while it is decoded; none for any text.
    Servers other than vLLM write the choice into a JSON object; `chosen` reads both."""
    must_choose: bool = True
    """Whether the request fails (``no_choices``) if the server refuses to enforce the choices.
    Otherwise the text is then drawn freely, which `Sampled.is_constrained` tells."""

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
            "stop must be a list of non-empty strings.",
        )
        is_list = not isinstance(self.choices, str) and all(self.choices)
        _check(is_list, "choices must be a list of non-empty strings.")
        _check(len(set(self.choices)) == len(self.choices), "choices must not repeat a text.")
        _check_texts(*self.stop, *self.choices)
        last = self.n - 1 + (self.seed or 0)
        in_range = (self.seed or 0) >= -INT64 and last < INT64
        _check(in_range, f"seed and seed + n - 1 must be 64-bit integers; seed is {self.seed}.")


@dataclass(frozen=True)
class Sample:
    """A text that a model generated."""

    text: str
    """Text of the sample."""
    finish_reason: str
    """Why the text ends, in the provider's words: ``stop``, ``length`` (cut at
    `max_tokens`), or another reason."""
    seed: int | None
    """Seed that reproduces the text with ``n=1``. If the server draws all n texts from one seed,
    this is that seed, and it reproduces only all texts together."""
    tokens: int | None = None
    """Length of the text in tokens of the model, or None if the provider does not return it."""


@dataclass(frozen=True)
class Sampled:
    """The texts drawn for one request."""

    id: str
    """Id of the request."""
    samples: tuple[Sample, ...]
    """Texts, in the order of their seeds."""
    model: str
    """Name of the model that generated the texts."""
    prompt_tokens: int | None = None
    """Length of the prompt in tokens of the model, or None if the provider does not return it."""
    revision: str = ""
    """What the provider says about the model in addition to its name, such as a fingerprint;
    empty if it says nothing."""
    is_constrained: bool = False
    """Whether the request's choices were enforced."""


@dataclass(frozen=True)
class LabelLogprobsRequest:
    """A request for the log-probability of each label as the next token.

    Raises
    ------
    GatewayError
        ``bad_request`` if an argument is invalid. The message names it and says what is allowed.
    """

    id: str
    """Id of the request, chosen by the caller. The result has the same id."""
    prompt: Prompt
    """Prompt that the label follows."""
    labels: Sequence[str]
    """One or more different labels. Each is the text of one token, with a leading
    space if the model writes one."""

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        is_list = bool(self.labels) and not isinstance(self.labels, str) and all(self.labels)
        _check(is_list, "labels must be a list of one or more non-empty strings.")
        _check(len(set(self.labels)) == len(self.labels), "labels must not repeat a label.")
        _check_texts(*self.labels)


@dataclass(frozen=True)
class LabelLogprobs:
    """Log-probabilities of labels as the next token."""

    id: str
    """Id of the request."""
    logprobs: Mapping[str, float]
    """Natural logarithm of each label's probability at temperature 1, not normalised over the
    labels. It is NaN if the label is not a single token of the model, or if the server returns only
    the most probable tokens and the label is not one of them."""
    model: str
    """Name of the model."""
    prompt_tokens: int | None = None
    tokens: int | None = None
    """Length of the prompt and of what was generated, in tokens of the model, or None if the
    provider does not return them."""
    revision: str = ""
    """What the provider says about the model in addition to its name; empty if it says nothing."""


@dataclass(frozen=True)
class AnswerLogprobRequest:
    """A request for the log-probability of a given answer.

    Raises
    ------
    GatewayError
        ``bad_request`` if an argument is invalid. The message names it and says what is allowed.
    """

    id: str
    """Id of the request, chosen by the caller. The result has the same id."""
    prompt: Prompt
    """Prompt that the answer follows."""
    answer: str
    """Answer, which must not be empty."""

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)
        _check(bool(self.answer), "answer must not be empty.")
        _check_texts(self.answer)


@dataclass(frozen=True)
class AnswerLogprob:
    """Log-probability of a given answer."""

    id: str
    """Id of the request."""
    logprob: float
    """Value of ln P(answer | prompt), summed over the answer's tokens,
    without an end-of-text token."""
    tokens: int
    """Number of the answer's tokens. They are the tokens of prompt and answer together, without the
    tokens at the beginning that the prompt alone has as well. A token that spans both prompt and
    answer is therefore counted."""
    model: str
    """Name of the model."""


@dataclass(frozen=True)
class ScoreRequest:
    """A request for a reward model's score of a text.

    Raises
    ------
    GatewayError
        ``bad_request`` if the prompt is empty or cannot be sent.
    """

    id: str
    """Id of the request, chosen by the caller. The result has the same id."""
    prompt: Prompt
    """Text to score: a conversation whose last turn is the answer to score, or a string."""

    def __post_init__(self) -> None:
        _check_prompt(self.prompt)


@dataclass(frozen=True)
class TextScore:
    """The score that a reward model gives a text."""

    id: str
    """Id of the request."""
    score: float
    """Output of the model's only head, without an activation. A higher score is better; its unit is
    the model's own, so scores of different models do not compare."""
    model: str
    """Name of the model."""


@dataclass(frozen=True)
class ServedBy:
    """What runs a model, as far as it is known: the same prompt may get another answer from another."""

    version: str = ""
    """Name and version of the program that runs the model; empty if unknown."""
    device: str = ""
    """Accelerators on which it runs; empty if unknown."""
    is_batch_invariant: bool | None = None
    """Whether an answer does not depend on which other requests are computed with it, as in vLLM with
    ``VLLM_BATCH_INVARIANT=1``; None if unknown."""


@dataclass(frozen=True)
class Failed:
    """A failed request, which does not affect other requests."""

    id: str
    """Id of the request."""
    error: GatewayError
    """Reason for the failure. If it is retryable, the same request may succeed later."""


class Models(Protocol):
    """One model of one provider.

    Each request has exactly one result, with the id of the request. Results are returned as they
    finish, in any order. Requests are taken from the iterable in the caller's thread, only a
    limited number in advance. A caller who stops early keeps all results received so far, and can
    repeat the requests whose ids are missing.

    See Also
    --------
    open_models : Create the model provider that is named in settings.
    """

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        """Draw texts.

        Parameters
        ----------
        requests : iterable of SampleRequest
            Prompts and settings. Only a limited number of requests is taken in advance.

        Returns
        -------
        iterator of Sampled or Failed
            One result per request, in any order, with the id of the request.
        """

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        """Compute the log-probability of each label as the next token.

        Parameters
        ----------
        requests : iterable of LabelLogprobsRequest
            Prompts with labels. Only a limited number of requests is taken in advance.

        Returns
        -------
        iterator of LabelLogprobs or Failed
            One result per request, in any order, with the id of the request.
        """

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        """Compute the log-probabilities of given answers.

        Parameters
        ----------
        requests : iterable of AnswerLogprobRequest
            Prompts with answers. Only a limited number of requests is taken in advance.

        Returns
        -------
        iterator of AnswerLogprob or Failed
            One result per request, in any order, with the id of the request.
        """

    def scores(self, requests: Iterable[ScoreRequest]) -> Iterator[TextScore | Failed]:
        """Score texts with a reward model.

        Parameters
        ----------
        requests : iterable of ScoreRequest
            Texts. Only a limited number of requests is taken in advance.

        Returns
        -------
        iterator of TextScore or Failed
            One result per request, in any order, with the id of the request. It fails with
            ``unsupported`` if the model is no reward model with one score.
        """

    def model_names(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Returns
        -------
        list of str
            Names, in the provider's order; only `model` where it offers no other.

        Raises
        ------
        GatewayError
            If the server does not answer, or does not list its models.
        """

    def served_by(self) -> ServedBy:
        """Return what runs the model, as far as the provider tells, at the time of the call.

        Returns
        -------
        ServedBy
            Program, device and batch invariance. What is not known is empty, and nothing is raised.
        """
        return ServedBy()

    def close(self) -> None:
        """Free the provider's resources."""


def _check_prompt(prompt: Prompt) -> None:
    _check(bool(prompt), "prompt must be a string or a list of messages, and must not be empty.")
    if isinstance(prompt, str):
        return _check_texts(prompt)
    are_messages = all(isinstance(message, Message) for message in prompt)
    _check(are_messages, "prompt must be a string or a list of Message.")
    return _check_texts(*(message.content for message in prompt))


def _check_texts(*texts: str) -> None:
    """Refuse lone surrogates, which cannot be encoded as UTF-8 and so cannot be sent."""
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

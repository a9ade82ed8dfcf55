"""OpenAI-compatible HTTP: `vllm serve`, and any other server that speaks the same."""

from asyncio import Lock
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeGuard, TypeVar

from tiebreak.gateway import answers
from tiebreak.gateway.fanout import Ask, fan_out
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Message,
    Prompt,
    Sampled,
    SampleRequest,
)
from tiebreak.gateway.transport import Connection, Data, Limits, Reader, checked_address

Request = SampleRequest | LabelLogprobsRequest | AnswerLogprobRequest
A = TypeVar("A", bound=Request)
B = TypeVar("B")

# How many alternatives of a token servers tell at most.
TOP_LOGPROBS = 20
# What a model's own settings would put in silently: only temperature and top_p decide here.
PLAIN_DECODING: Data = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
ONE_TOKEN: Data = {"max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "seed": 0}
# Servers that have none of vLLM's own addresses say so in one of these ways.
ABSENT = frozenset({"unknown_model", "forbidden", "refused", "moved", "nonsense"})


class OpenAIServer:
    """One model of one server.

    Requests go out `concurrency` at a time and results come as they finish; at most twice as many
    requests are taken ahead. What may succeed later is asked again after a pause that doubles, with
    jitter, or after what ``Retry-After`` says, which then holds for all. Once the server refuses
    the key, does not know the model, answers with another, sends elsewhere, or fails `patience`
    requests one after another, nothing more is sent, and the rest fails with that error.

    On vLLM, text j of n has the seed s + j, and labels and answers are read by their tokens. Other
    servers are asked for the 20 likeliest next tokens (a label outside them is NaN) and for an
    echoed text; there, all n texts carry the one seed, and a chat's answers have no
    log-probability (``unsupported``).

    Parameters
    ----------
    base_url : str
        As OpenAI's clients take it, such as ``http://gpu1:8000/v1``.
    model : str
        The name that is asked for. An answer from any other is refused.
    api_key : str
        Sent as a bearer token if not empty; it stands in no message, repr or log of ours.
    allowed_hosts : collection of str
        Where requests may go, each as ``host:port``. Redirects are not followed, and no proxy is
        taken from the environment.
    concurrency : int
        Requests under way at once.
    timeout_s, connect_timeout_s : float
        Seconds for one attempt from end to end, and for its connection.
    attempts : int
        How often a request is made at most.
    first_pause_s : float
        The longest first pause, in seconds.
    patience : int
        Failed requests one after another until the server is given up.
    aliases : collection of str
        Further names that the server may give the model, such as a dated version.

    Raises
    ------
    GatewayError
        ``bad_settings``, ``host_not_allowed``.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "",
        allowed_hosts: Collection[str],
        concurrency: int = 32,
        timeout_s: float = 300.0,
        connect_timeout_s: float = 5.0,
        attempts: int = 5,
        first_pause_s: float = 1.0,
        patience: int = 20,
        aliases: Collection[str] = (),
    ) -> None:
        is_key = api_key.isascii() and api_key.isprintable() and " " not in api_key
        _check(bool(model), "Please name the model that the server is asked for.")
        _check(is_key, "The key of a model server has letters, digits and signs only.")
        whole = min(concurrency, attempts, patience)
        _check(whole >= 1, "concurrency, attempts and patience are at least 1.")
        shortest = min(timeout_s, connect_timeout_s, first_pause_s)
        _check(shortest > 0, "timeout_s, connect_timeout_s and first_pause_s are above 0 seconds.")
        self.model = model
        self._names = frozenset({model, *aliases})
        self._address = checked_address(base_url, allowed_hosts)
        self._api_key = api_key
        self._limits = Limits(
            concurrency=concurrency,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            attempts=attempts,
            first_pause_s=first_pause_s,
            patience=patience,
        )

    def __repr__(self) -> str:
        return f"OpenAIServer({self._address.api!r}, {self.model!r})"

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        """Draw texts, n in one request; messages go to the chat, texts are completed."""
        return self._fan_out(requests, _sample)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        """Log-probabilities of the labels as the next token."""
        return self._fan_out(requests, _label_logprobs)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        """Log-probabilities of given answers."""
        return self._fan_out(requests, _answer_logprob)

    def close(self) -> None:
        """Do nothing: each batch closes its own connections, also one that is left half-way."""

    def _fan_out(
        self, requests: Iterable[A], work: Callable[["_Server", A], Awaitable[B]]
    ) -> Iterator[B | Failed]:
        window = 2 * self._limits.concurrency
        return fan_out(requests, self._session(work), window=window)

    @asynccontextmanager
    async def _session(
        self, work: Callable[["_Server", A], Awaitable[B]]
    ) -> AsyncIterator[Ask[A, B | Failed]]:
        async with Connection(self._address, self._limits, self._api_key) as connection:
            yield partial(_asked, _Server(connection, self.model, self._names), work)


async def _asked(
    server: "_Server", work: Callable[["_Server", A], Awaitable[B]], request: A
) -> B | Failed:
    try:
        result = await work(server, request)
    except GatewayError as error:
        server.connection.note_failure(error)
        # A trace would hold on to the request, and to the key.
        return Failed(request.id, error.with_traceback(None))
    server.connection.note_success()
    return result


class _Server:
    """The server while one batch is made: what kind it is, and how it counts tokens."""

    def __init__(self, connection: Connection, model: str, names: frozenset[str]) -> None:
        self.connection = connection
        self.model = model
        self._names = names
        self._is_vllm: bool | None = None
        self._asking, self._looking_up = Lock(), Lock()
        self._label_ids: dict[str, int | None] = {}

    async def is_vllm(self) -> bool:
        """Whether the server lists its models as vLLM's; asked once."""
        async with self._asking:
            if self._is_vllm is None:
                self._is_vllm = await self._listed_as_vllm()
        return self._is_vllm

    async def _listed_as_vllm(self) -> bool:
        try:
            owners = await self.connection.get("/models", answers.model_names)
        except GatewayError as error:
            if error.code not in ABSENT:
                self.connection.stop(error)
                raise
            return False
        if "vllm" not in owners.values():
            return False
        if self.model not in owners:
            raise _unknown_model(self.model, list(owners))
        return True

    async def generate(self, prompt: Prompt | list[int], body: Data, reader: Reader[B]) -> B:
        """Ask for a completion, or for a chat's next message."""

        def checked(data: Data) -> B:
            answers.check_model(data, self._names)
            return reader(data)

        asked = {"messages": _messages(prompt)} if _is_chat(prompt) else {"prompt": prompt}
        path = "/chat/completions" if _is_chat(prompt) else "/completions"
        return await self.connection.post(path, {"model": self.model, **asked, **body}, checked)

    async def tokens(self, prompt: Prompt, answer: str = "") -> list[int] | None:
        """The tokens of a prompt, or of a prompt and its answer; None if the server tells none."""
        if isinstance(prompt, str):
            return await self._tokenize({"prompt": prompt + answer})
        begun = [*prompt, Message("assistant", answer)] if answer else prompt
        return await self._tokenize(
            {
                "messages": _messages(begun),
                "add_generation_prompt": not answer,
                "continue_final_message": bool(answer),
            }
        )

    async def label_ids(self, labels: Sequence[str]) -> dict[str, int | None] | None:
        """The one token that each label is; None for a label of several, or if none are told."""
        async with self._looking_up:
            for label in labels:
                if label not in self._label_ids:
                    ids = await self._tokenize({"prompt": label, "add_special_tokens": False})
                    if ids is None:
                        return None
                    self._label_ids[label] = ids[0] if len(ids) == 1 else None
        return {label: self._label_ids[label] for label in labels}

    async def _tokenize(self, body: Data) -> list[int] | None:
        if not await self.is_vllm():
            return None
        body = {"model": self.model, **body}
        try:
            return await self.connection.post_root("/tokenize", body, answers.token_ids)
        except GatewayError as error:
            if error.code not in ABSENT or self.connection.stopped_by is not None:
                raise
            return None


async def _sample(server: _Server, request: SampleRequest) -> Sampled:
    is_vllm = await server.is_vllm()
    body: Data = {
        "n": request.n,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if is_vllm:
        # A chat's answer carries the prompt's tokens once; a completion's would n times.
        body |= PLAIN_DECODING | {"return_token_ids": _is_chat(request.prompt)}

    def read(data: Data) -> Sampled:
        samples = answers.samples(data, request, has_seed_each=is_vllm)
        return Sampled(request.id, samples, str(data["model"]))

    return await server.generate(request.prompt, body, read)


async def _label_logprobs(server: _Server, request: LabelLogprobsRequest) -> LabelLogprobs:
    ids = await server.label_ids(request.labels)
    if ids is None:
        names = {label: label for label in request.labels}
        body = _likeliest_next(request.prompt)
    else:
        names = {label: "" if one is None else f"token_id:{one}" for label, one in ids.items()}
        body = _next_among(request.prompt, sorted({one for one in ids.values() if one is not None}))
    if not any(names.values()):
        return LabelLogprobs(request.id, answers.label_logprobs({}, names), server.model)

    def read(data: Data) -> LabelLogprobs:
        found = answers.next_token_logprobs(data)
        logprobs = answers.label_logprobs(found, names)
        return LabelLogprobs(request.id, logprobs, str(data["model"]))

    return await server.generate(request.prompt, {**ONE_TOKEN, **body}, read)


def _likeliest_next(prompt: Prompt) -> Data:
    if _is_chat(prompt):
        return {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return {"logprobs": TOP_LOGPROBS}


def _next_among(prompt: Prompt, ids: list[int]) -> Data:
    told: Data = {"logprobs": True} if _is_chat(prompt) else {"logprobs": len(ids)}
    own: Data = {"logprob_token_ids": ids, "return_tokens_as_token_ids": True}
    return PLAIN_DECODING | told | own


async def _answer_logprob(server: _Server, request: AnswerLogprobRequest) -> AnswerLogprob:
    prompt = await server.tokens(request.prompt)
    whole = await server.tokens(request.prompt, request.answer)
    if prompt is None or whole is None:
        return await _echoed(server, request)
    start = answers.common_length(prompt, whole)
    if start == 0:
        raise GatewayError(
            "unsupported",
            "The model joins this prompt and answer into one first token, which has no"
            " probability. Please give a longer prompt.",
        )

    def read(data: Data) -> AnswerLogprob:
        logprobs = answers.prompt_token_logprobs(data, whole, start)
        return answers.summed(request.id, logprobs, str(data["model"]))

    return await server.generate(whole, {**ONE_TOKEN, "prompt_logprobs": 0}, read)


async def _echoed(server: _Server, request: AnswerLogprobRequest) -> AnswerLogprob:
    prompt, answer = request.prompt, request.answer
    if not isinstance(prompt, str):
        raise GatewayError(
            "unsupported",
            "This model server tells no log-probabilities of an answer to messages. Please give"
            " the prompt as a text, or serve the model with vLLM.",
        )

    def read(data: Data) -> AnswerLogprob:
        logprobs = answers.echoed_logprobs(data, prompt, answer)
        return answers.summed(request.id, logprobs, str(data["model"]))

    body: Data = {"echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 1.0}
    return await server.generate(prompt + answer, body, read)


def _is_chat(prompt: Prompt | list[int]) -> TypeGuard[Sequence[Message]]:
    return not isinstance(prompt, str) and isinstance(prompt[0], Message)


def _messages(prompt: Sequence[Message]) -> list[Data]:
    return [{"role": one.role, "content": one.content} for one in prompt]


def _unknown_model(model: str, served: Sequence[str]) -> GatewayError:
    names = ", ".join(name[:100] for name in served[:5])
    return GatewayError(
        "unknown_model",
        f"The model server does not serve “{model}”, but {names}. Please enter one of these or"
        " start the server with the other model.",
    )


def _check(is_right: bool, sentence: str) -> None:
    if not is_right:
        raise GatewayError("bad_settings", sentence)

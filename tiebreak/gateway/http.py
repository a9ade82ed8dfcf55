"""OpenAI-compatible HTTP servers: `vllm serve` and others."""

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
from dataclasses import replace
from functools import partial
from typing import TypeGuard, TypeVar

from tiebreak.gateway import responses
from tiebreak.gateway.choices import choice_format, refused_choices
from tiebreak.gateway.fanout import Ask, fan_out, run_in_thread
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Message,
    Models,
    Prompt,
    Sampled,
    SampleRequest,
    ScoreRequest,
    ServedBy,
    TextScore,
)
from tiebreak.gateway.transport import Connection, JsonObject, Limits, Reader, parse_address

Request = SampleRequest | LabelLogprobsRequest | AnswerLogprobRequest | ScoreRequest
A = TypeVar("A", bound=Request)
B = TypeVar("B")

# So long a server may take to tell what it is.
FACTS_SECONDS = 20.0
# Servers return the log-probabilities of at most this many candidates per token.
MAX_TOP_LOGPROBS = 20
# Overrides the sampling defaults of the model's generation config so that only temperature and
# top_p apply.
PLAIN_DECODING: JsonObject = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
SINGLE_TOKEN: JsonObject = {"max_tokens": 1, "temperature": 1.0, "top_p": 1.0, "seed": 0}
# Codes of the errors from servers that lack vLLM's extensions of OpenAI's API.
UNSUPPORTED_ENDPOINT = frozenset({"unknown_model", "forbidden", "refused", "moved", "nonsense"})
# Codes of the errors from servers that do not know an option of the request.
REFUSED_OPTION = frozenset({"refused", "unsupported"})


class OpenAIServer(Models):
    """One model on an HTTP server with OpenAI's protocol.

    Up to `concurrency` requests are sent at a time, and at most twice as many are taken in advance.
    Results are returned as they finish. Requests that may succeed later are retried with
    exponential backoff and jitter, and a ``Retry-After`` header pauses all requests. If the server
    rejects the key, does not know the model, answers with another model, redirects, or fails
    `max_consecutive_failures` requests in a row, sending stops, and all remaining requests
    fail with the same error.

    Parameters
    ----------
    base_url : str
        Base URL of the API, such as ``http://gpu1:8000/v1``.
    model : str
        Name of the model. Answers from any other model are refused.
    api_key : str, default ""
        API key, which is sent as a bearer token unless it is empty. It appears in no message, repr
        or log.
    allowed_hosts : collection of str
        Hosts to which requests may be sent, each as ``host:port``. Redirects are not followed, and
        proxies that are set in the environment are ignored.
    concurrency : int, default 32
        Maximum number of simultaneous requests.
    timeout_s, connect_timeout_s : float, default 300.0 and 5.0
        Time limits in seconds for a whole attempt, and for connecting.
    max_attempts : int, default 5
        Maximum number of attempts per request, including the first.
    initial_backoff_s : float, default 1.0
        Longest pause before the first retry, in seconds.
    max_consecutive_failures : int, default 20
        Number of failed requests in a row after which sending stops.
    aliases : collection of str, default ()
        Other names by which the server may call the model, such as a dated version.
    device : str, default ""
        Accelerators on which the server runs, for servers that do not tell.
    batch_invariant : bool, optional
        Whether the server is batch-invariant, for servers that do not tell.

    Raises
    ------
    GatewayError
        ``bad_settings`` for an invalid argument, or ``host_not_allowed``.

    Notes
    -----
    Messages become chat completions, and strings completions. vLLM's ``/classify`` scores texts.

    A request for n texts has a seed s. vLLM draws text j with the seed s + j, and returns the
    log-probabilities of any tokens. Other servers draw all n texts with the seed s, and return only
    the 20 most probable next tokens, so the log-probability of any other label is NaN. For the
    log-probability of an answer, other servers must echo the prompt. They cannot echo messages,
    so requests with messages fail (``unsupported``).
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
        max_attempts: int = 5,
        initial_backoff_s: float = 1.0,
        max_consecutive_failures: int = 20,
        aliases: Collection[str] = (),
        device: str = "",
        batch_invariant: bool | None = None,
    ) -> None:
        is_key = api_key.isascii() and api_key.isprintable() and " " not in api_key
        _check(bool(model), "Enter the name of the model to request from the server.")
        _check(is_key, "The API key must consist of printable ASCII characters without spaces.")
        fewest = min(concurrency, max_attempts, max_consecutive_failures)
        _check(
            fewest >= 1,
            "concurrency, max_attempts and max_consecutive_failures must be at least 1.",
        )
        shortest = min(timeout_s, connect_timeout_s, initial_backoff_s)
        _check(
            shortest > 0,
            "timeout_s, connect_timeout_s and initial_backoff_s must be above 0.",
        )
        self.model = model
        self._names = frozenset({model, *aliases})
        self._address = parse_address(base_url, allowed_hosts)
        self._api_key = api_key
        self._declared = ServedBy("", device, batch_invariant)
        self._limits = Limits(
            concurrency=concurrency,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            max_attempts=max_attempts,
            initial_backoff_s=initial_backoff_s,
            max_consecutive_failures=max_consecutive_failures,
        )

    def __repr__(self) -> str:
        return f"OpenAIServer({self._address.api!r}, {self.model!r})"

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        return self._fan_out(requests, _sample)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        return self._fan_out(requests, _label_logprobs)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        return self._fan_out(requests, _answer_logprob)

    def scores(self, requests: Iterable[ScoreRequest]) -> Iterator[TextScore | Failed]:
        return self._fan_out(requests, _score)

    def model_names(self) -> list[str]:
        return run_in_thread(self._listed())

    async def _listed(self) -> list[str]:
        async with Connection(self._address, self._limits, self._api_key) as connection:
            return list(await connection.get("/models", responses.listed_models))

    def served_by(self) -> ServedBy:
        """Return what a vLLM server tells, and otherwise what was declared.

        Its version is from ``/version``. Device and batch invariance are from ``/server_info``, which
        vLLM has only in its development mode; what it tells there overrides the declaration.

        Returns
        -------
        ServedBy
            Program, device and batch invariance. What is not known is empty, and nothing is raised.
        """
        try:
            return run_in_thread(self._asked_what_it_is())
        except GatewayError:
            return self._declared

    async def _asked_what_it_is(self) -> ServedBy:
        limits = replace(self._limits, timeout_s=FACTS_SECONDS, max_attempts=1)
        async with Connection(self._address, limits, self._api_key) as connection:
            if not await _Server(connection, self.model, self._names).is_vllm():
                return self._declared
            version = await _told(connection, "/version", responses.server_version)
            told = await _told(connection, "/server_info", responses.device_and_invariance)
        device, is_invariant = told or ("", None)
        return ServedBy(
            f"vLLM {version}" if version else "vLLM",
            device or self._declared.device,
            self._declared.is_batch_invariant if is_invariant is None else is_invariant,
        )

    def close(self) -> None:
        """Do nothing, because each batch closes its own connections, even if it is not finished."""

    def _fan_out(
        self, requests: Iterable[A], handler: Callable[["_Server", A], Awaitable[B]]
    ) -> Iterator[B | Failed]:
        window = 2 * self._limits.concurrency
        return fan_out(requests, self._session(handler), window=window)

    @asynccontextmanager
    async def _session(
        self, handler: Callable[["_Server", A], Awaitable[B]]
    ) -> AsyncIterator[Ask[A, B | Failed]]:
        async with Connection(self._address, self._limits, self._api_key) as connection:
            yield partial(_handle, _Server(connection, self.model, self._names), handler)


async def _told(connection: Connection, path: str, reader: Reader[B]) -> B | None:
    """Return what a server tells at a path of vLLM, or None if it does not."""
    try:
        return await connection.get_root(path, reader)
    except GatewayError:
        return None


async def _handle(
    server: "_Server", handler: Callable[["_Server", A], Awaitable[B]], request: A
) -> B | Failed:
    try:
        result = await handler(server, request)
    except GatewayError as error:
        server.connection.note_failure(error)
        # The traceback's frames refer to the request and the key.
        return Failed(request.id, error.with_traceback(None))
    server.connection.note_success()
    return result


class _Server:
    """A server during one batch, which caches whether it is vLLM, and the token ids of labels."""

    def __init__(self, connection: Connection, model: str, names: frozenset[str]) -> None:
        self.connection = connection
        self.model = model
        self._names = names
        self._is_vllm: bool | None = None
        # Why it refuses to constrain answers, once it is known to answer freely.
        self.refused_choices: GatewayError | None = None
        self._roots: dict[str, str] = {}
        self._is_vllm_lock, self._label_ids_lock = Lock(), Lock()
        self._label_ids: dict[str, int | None] = {}

    async def is_vllm(self) -> bool:
        """Return whether ``/models`` names vLLM as an owner; ``/models`` is requested only once."""
        async with self._is_vllm_lock:
            if self._is_vllm is None:
                self._is_vllm = await self._detect_vllm()
        return self._is_vllm

    async def _detect_vllm(self) -> bool:
        try:
            models = await self.connection.get("/models", responses.listed_models)
        except GatewayError as error:
            if error.code not in UNSUPPORTED_ENDPOINT:
                self.connection.stop(error)
                raise
            return False
        self._roots = {name: model.root for name, model in models.items()}
        if all(model.owner != "vllm" for model in models.values()):
            return False
        if self.model not in models:
            raise _unknown_model(self.model, list(models))
        return True

    def revision(self, data: JsonObject) -> str:
        """Return what the server tells of the model: a fingerprint, or where its weights are from."""
        root = self._roots.get(self.model, "")
        # A folder says something about the server, and little about the model.
        is_folder = root.startswith(("/", ".", "~")) or "\\" in root
        return responses.fingerprint(data) or ("" if is_folder or root == self.model else root)

    async def generate(self, prompt: Prompt | list[int], body: JsonObject, reader: Reader[B]) -> B:
        """Request a chat completion of messages, or a completion of another prompt."""
        checked_reader = self._checked(reader)
        body = {"model": self.model, **body}
        if _is_chat(prompt):
            body["messages"] = _messages(prompt)
            return await self.connection.post("/chat/completions", body, checked_reader)
        body["prompt"] = prompt
        return await self.connection.post("/completions", body, checked_reader)

    async def classify(self, prompt: Prompt, reader: Reader[B]) -> B:
        """Request what a classifier makes of a text, without an activation."""
        text = {"messages": _messages(prompt)} if _is_chat(prompt) else {"input": prompt}
        body = {"model": self.model, "use_activation": False, **text}
        return await self.connection.post_root("/classify", body, self._checked(reader))

    def _checked(self, reader: Reader[B]) -> Reader[B]:
        def checked_reader(data: JsonObject) -> B:
            responses.check_model(data, self._names)
            return reader(data)

        return checked_reader

    async def tokens(self, prompt: Prompt, answer: str = "") -> list[int] | None:
        """Return the token ids of prompt and answer, or None if the server has no ``/tokenize``."""
        if isinstance(prompt, str):
            return await self._tokenize({"prompt": prompt + answer})
        messages = [*prompt, Message("assistant", answer)] if answer else prompt
        return await self._tokenize(
            {
                "messages": _messages(messages),
                "add_generation_prompt": not answer,
                "continue_final_message": bool(answer),
            }
        )

    async def label_ids(self, labels: Sequence[str]) -> dict[str, int | None] | None:
        """Return the token id of each label, which is None for a label of several tokens.

        If the server has no ``/tokenize``, return None.
        """
        async with self._label_ids_lock:
            for label in labels:
                if label not in self._label_ids:
                    ids = await self._tokenize({"prompt": label, "add_special_tokens": False})
                    if ids is None:
                        return None
                    self._label_ids[label] = ids[0] if len(ids) == 1 else None
        return {label: self._label_ids[label] for label in labels}

    async def _tokenize(self, body: JsonObject) -> list[int] | None:
        if not await self.is_vllm():
            return None
        body = {"model": self.model, **body}
        try:
            return await self.connection.post_root("/tokenize", body, responses.token_ids)
        except GatewayError as error:
            if error.code not in UNSUPPORTED_ENDPOINT or self.connection.stopped_by is not None:
                raise
            return None


async def _sample(server: _Server, request: SampleRequest) -> Sampled:
    is_vllm = await server.is_vllm()
    if not request.choices:
        return await _draw(server, request, is_vllm=is_vllm)
    error = server.refused_choices
    if error is None:
        try:
            return await _draw(server, request, is_vllm=is_vllm, is_constrained=True)
        except GatewayError as refusal:
            if refusal.code not in REFUSED_OPTION:
                raise
            error = refusal
    elif request.must_choose:
        raise error.copy()
    # If this fails as well, the request itself is at fault, not the choices.
    result = await _draw(server, request, is_vllm=is_vllm)
    server.refused_choices = server.refused_choices or refused_choices(error.message)
    if request.must_choose:
        raise server.refused_choices.copy()
    return result


async def _draw(
    server: _Server, request: SampleRequest, *, is_vllm: bool, is_constrained: bool = False
) -> Sampled:
    body: JsonObject = {
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
        # Ids tell how long each of several texts is. They come with those of the prompt: of a chat once,
        # and of a completion n times.
        wants_ids = request.n > 1 and _is_chat(request.prompt)
        body |= PLAIN_DECODING | {"return_token_ids": wants_ids}
    if is_constrained and is_vllm:
        body["structured_outputs"] = {"choice": list(request.choices)}
    elif is_constrained:
        body["response_format"] = choice_format(request.choices)

    def read(data: JsonObject) -> Sampled:
        samples = responses.samples(data, request, has_seed_per_text=is_vllm)
        tokens = responses.usage(data, "prompt_tokens")
        revision = server.revision(data)
        return Sampled(
            request.id, samples, str(data["model"]), tokens, revision, is_constrained=is_constrained
        )

    return await server.generate(request.prompt, body, read)


async def _label_logprobs(server: _Server, request: LabelLogprobsRequest) -> LabelLogprobs:
    ids = await server.label_ids(request.labels)
    if ids is None:
        tokens = {label: label for label in request.labels}
        # A chat asks for the tokens with a flag and a number, and a completion with the number.
        body = {"logprobs": MAX_TOP_LOGPROBS}
        if _is_chat(request.prompt):
            body = {"logprobs": True, "top_logprobs": MAX_TOP_LOGPROBS}
    else:
        tokens = {label: "" if i is None else f"token_id:{i}" for label, i in ids.items()}
        body = _logprobs_of(request.prompt, sorted({i for i in ids.values() if i is not None}))
    if not any(tokens.values()):
        return LabelLogprobs(request.id, responses.label_logprobs({}, tokens), server.model)

    def read(data: JsonObject) -> LabelLogprobs:
        token_logprobs = responses.next_token_logprobs(data)
        logprobs = responses.label_logprobs(token_logprobs, tokens)
        return LabelLogprobs(
            request.id,
            logprobs,
            str(data["model"]),
            prompt_tokens=responses.usage(data, "prompt_tokens"),
            tokens=responses.usage(data, "completion_tokens"),
            revision=server.revision(data),
        )

    return await server.generate(request.prompt, {**SINGLE_TOKEN, **body}, read)


def _logprobs_of(prompt: Prompt, ids: list[int]) -> JsonObject:
    """Return the options of vLLM that request the log-probabilities of these token ids."""
    return PLAIN_DECODING | {
        "logprobs": True if _is_chat(prompt) else len(ids),
        "logprob_token_ids": ids,
        "return_tokens_as_token_ids": True,
    }


async def _answer_logprob(server: _Server, request: AnswerLogprobRequest) -> AnswerLogprob:
    prompt_ids = await server.tokens(request.prompt)
    ids = await server.tokens(request.prompt, request.answer)
    if prompt_ids is None or ids is None:
        return await _answer_logprob_by_echo(server, request)
    start = responses.common_length(prompt_ids, ids)
    if start == 0:
        raise GatewayError(
            "unsupported",
            "The answer has no log-probability, because the model's first token spans both prompt and"
            " answer. Use a longer prompt.",
        )

    def read(data: JsonObject) -> AnswerLogprob:
        logprobs = responses.prompt_token_logprobs(data, ids, start)
        return responses.answer_logprob(request.id, logprobs, str(data["model"]))

    return await server.generate(ids, {**SINGLE_TOKEN, "prompt_logprobs": 0}, read)


async def _answer_logprob_by_echo(server: _Server, request: AnswerLogprobRequest) -> AnswerLogprob:
    prompt, answer = request.prompt, request.answer
    if not isinstance(prompt, str):
        raise GatewayError(
            "unsupported",
            "This model server cannot return the log-probability of an answer to messages. Use a"
            " string as the prompt, or serve the model with vLLM.",
        )

    def read(data: JsonObject) -> AnswerLogprob:
        logprobs = responses.echoed_logprobs(data, prompt, answer)
        return responses.answer_logprob(request.id, logprobs, str(data["model"]))

    body: JsonObject = {"echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 1.0}
    return await server.generate(prompt + answer, body, read)


async def _score(server: _Server, request: ScoreRequest) -> TextScore:
    def read(data: JsonObject) -> TextScore:
        return TextScore(request.id, responses.only_score(data), str(data["model"]))

    if not await server.is_vllm():
        raise GatewayError("unsupported", responses.NO_SCORES)
    try:
        return await server.classify(request.prompt, read)
    except GatewayError as error:
        if error.code != "unknown_model":
            raise
    # The server has the model, but no such address for it.
    raise GatewayError("unsupported", responses.NO_SCORES)


def _is_chat(prompt: Prompt | list[int]) -> TypeGuard[Sequence[Message]]:
    return not isinstance(prompt, str) and isinstance(prompt[0], Message)


def _messages(prompt: Sequence[Message]) -> list[JsonObject]:
    return [{"role": message.role, "content": message.content} for message in prompt]


def _unknown_model(model: str, served: Sequence[str]) -> GatewayError:
    names = ", ".join(name[:100] for name in served[:5])
    return GatewayError(
        "unknown_model",
        f"The model server does not serve “{model}”. It serves {names}. Enter one of these names, or"
        f" start the server with “{model}”.",
    )


def _check(is_valid: bool, message: str) -> None:
    if not is_valid:
        raise GatewayError("bad_settings", message)

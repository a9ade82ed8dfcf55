"""vLLM inside this process, for workers that have their own GPU."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import nan
from typing import Any, TypeVar

from tiebreak import optional
from tiebreak.gateway.http_errors import rejected
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Models,
    Prompt,
    Sample,
    Sampled,
    SampleRequest,
    ScoreRequest,
    ServedBy,
    TextScore,
)
from tiebreak.gateway.responses import ABORTED, common_length

Request = SampleRequest | LabelLogprobsRequest | AnswerLogprobRequest
A = TypeVar("A", bound=Request)
B = TypeVar("B")

# Options that could run code from a model's folder, or load weights that are not safetensors.
FORBIDDEN_OPTIONS = frozenset(
    {
        "trust_remote_code",
        "load_format",
        "model_loader_extra_config",
        "logits_processors",
        "worker_cls",
        "worker_extension_cls",
        "hf_overrides",
        "tokenizer_mode",
    }
)


class InProcessVLLM(Models):
    """One model in vLLM's engine, on this machine's accelerators.

    Weights must be safetensors, and code that comes with a model is never run. Prompts with the
    same beginning share its cache. Text j of a request with seed s has the seed s + j; requested
    alone with this seed, the text is the same unless vLLM's arithmetic depends on the batch.

    Parameters
    ----------
    model : str
        Folder of the model, or a name that vLLM can load.
    batch_size : int, default 256
        Number of requests that vLLM processes and returns together.
    **engine_options
        Settings of vLLM, such as ``tensor_parallel_size`` or ``max_model_len``.

    Raises
    ------
    MissingPackageError
        If vLLM is not installed.
    GatewayError
        ``bad_settings`` for an option that could run code from the model's folder, and
        ``engine_failed`` if vLLM does not start.
    """

    def __init__(self, model: str, *, batch_size: int = 256, **engine_options: Any) -> None:
        forbidden = sorted(FORBIDDEN_OPTIONS & engine_options.keys())
        if forbidden:
            raise GatewayError(
                "bad_settings",
                f"The setting {forbidden[0]} is not allowed, because it can run code from the model's"
                " folder. Remove it.",
            )
        if batch_size < 1:
            raise GatewayError("bad_settings", f"batch_size must be at least 1, not {batch_size}.")
        self.model = model
        self._batch_size = batch_size
        self._vllm = optional.load("vllm")
        self._engine = self._start({"enable_prefix_caching": True, **engine_options})

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        return self._in_batches(requests, self._prompt, self._sampling_params, self._sampled)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        return self._in_batches(requests, self._prompt, self._label_params, self._labels)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        return self._in_batches(
            requests, self._prompt_and_answer, self._answer_params, self._answer
        )

    def scores(self, requests: Iterable[ScoreRequest]) -> Iterator[TextScore | Failed]:
        """Refuse to score texts, which an engine that generates cannot do.

        Parameters
        ----------
        requests : iterable of ScoreRequest
            Texts.

        Yields
        ------
        Failed
            ``unsupported`` for each request.
        """
        for request in requests:
            yield Failed(
                request.id,
                GatewayError(
                    "unsupported",
                    "vLLM inside a worker generates texts and scores none. Serve the reward model with"
                    " “vllm serve”, and list that server.",
                ),
            )

    def model_names(self) -> list[str]:
        return [self.model]

    def served_by(self) -> ServedBy:
        """Return vLLM's version, its accelerator and its setting of batch invariance.

        Returns
        -------
        ServedBy
            Program, device and batch invariance; what this version of vLLM does not tell is empty.
        """
        version = getattr(self._vllm, "__version__", "")
        mode = getattr(getattr(self._vllm, "envs", None), "VLLM_BATCH_INVARIANT", None)
        return ServedBy(
            f"vLLM {version}" if version else "vLLM",
            _device(self._vllm),
            None if mode is None else bool(mode),
        )

    def close(self) -> None:
        """Stop the engine and its processes, which frees the accelerator's memory."""
        engine, self._engine = self._engine, None
        # Without this, vLLM waits for its engine process to end and then kills it.
        core = getattr(getattr(engine, "llm_engine", None), "engine_core", None)
        if core is not None:
            core.shutdown()

    def _start(self, options: dict[str, Any]) -> Any:
        try:
            return self._vllm.LLM(
                model=self.model, load_format="safetensors", trust_remote_code=False, **options
            )
        except Exception as error:
            raise GatewayError(
                "engine_failed",
                f"vLLM could not load the model “{self.model}”: {_summary(error)}. Check the log, the"
                " model's folder, the settings and the free memory.",
            ) from error

    def _in_batches(
        self,
        requests: Iterable[A],
        prompt: Callable[[A], list[int]],
        params: Callable[[A], Any],
        read: Callable[[A, Any], B],
    ) -> Iterator[B | Failed]:
        source = iter(requests)
        while batch := list(islice(source, self._batch_size)):
            yield from self._batch(batch, prompt, params, read)

    def _batch(
        self,
        batch: Sequence[A],
        prompt: Callable[[A], list[int]],
        params: Callable[[A], Any],
        read: Callable[[A, Any], B],
    ) -> Iterator[B | Failed]:
        """Run a batch in one call; if a request makes the call fail, run each half separately."""
        try:
            prompts = [{"prompt_token_ids": prompt(request)} for request in batch]
            sampling = [params(request) for request in batch]
            outputs = self._open_engine().generate(prompts, sampling, use_tqdm=False)
        except Exception as error:
            if len(batch) == 1 or not _is_request_fault(error):
                yield from (Failed(request.id, _gateway_error(error)) for request in batch)
                return
            middle = len(batch) // 2
            yield from self._batch(batch[:middle], prompt, params, read)
            yield from self._batch(batch[middle:], prompt, params, read)
        else:
            for request, output in zip(batch, outputs, strict=True):
                yield _read(request, output, read)

    def _open_engine(self) -> Any:
        if self._engine is None:
            raise GatewayError("engine_failed", "vLLM's engine is closed. Create the model again.")
        return self._engine

    def _prompt(self, request: SampleRequest | LabelLogprobsRequest) -> list[int]:
        return self._tokens(request.prompt)

    def _prompt_and_answer(self, request: AnswerLogprobRequest) -> list[int]:
        return self._tokens(request.prompt, request.answer)

    def _tokens(self, prompt: Prompt, answer: str = "") -> list[int]:
        tokenizer = self._open_engine().get_tokenizer()
        if isinstance(prompt, str):
            return list(tokenizer.encode(prompt + answer))
        messages = [{"role": message.role, "content": message.content} for message in prompt]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return list(tokenizer.encode(text + answer, add_special_tokens=False))

    def _sampling_params(self, request: SampleRequest) -> Any:
        return self._vllm.SamplingParams(
            n=request.n,
            seed=request.seed,
            temperature=request.temperature,
            top_p=request.top_p,
            max_tokens=request.max_tokens,
            stop=list(request.stop),
            **self._constraint(request),
        )

    def _constraint(self, request: SampleRequest) -> dict[str, Any]:
        if not request.choices:
            return {}
        params = optional.load("vllm.sampling_params").StructuredOutputsParams
        return {"structured_outputs": params(choice=list(request.choices))}

    def _sampled(self, request: SampleRequest, output: Any) -> Sampled:
        completions = sorted(output.outputs, key=lambda completion: completion.index)
        reasons = {completion.finish_reason for completion in completions}
        if len(completions) != request.n or not reasons.isdisjoint({None, *ABORTED}):
            raise GatewayError(
                "incomplete", "vLLM aborted the generation of a text. Try again.", is_retryable=True
            )
        samples = [
            Sample(
                text=completion.text,
                finish_reason=str(completion.finish_reason),
                seed=None if request.seed is None else request.seed + j,
                tokens=len(completion.token_ids),
            )
            for j, completion in enumerate(completions)
        ]
        return Sampled(
            request.id,
            tuple(samples),
            self.model,
            prompt_tokens=len(output.prompt_token_ids),
            revision=self._revision(),
            is_constrained=bool(request.choices),
        )

    def _revision(self) -> str:
        """Return the commit of the weights if vLLM fetched them by name, or the revision asked for."""
        config = getattr(getattr(self._engine, "llm_engine", None), "model_config", None)
        commit = getattr(getattr(config, "hf_config", None), "_commit_hash", None)
        return str(commit or getattr(config, "revision", None) or "")

    def _label_ids(self, labels: Sequence[str]) -> dict[str, int | None]:
        """Return the token id of each label, which is None for a label of several tokens."""
        encode = self._open_engine().get_tokenizer().encode
        ids = {label: list(encode(label, add_special_tokens=False)) for label in labels}
        return {label: i[0] if len(i) == 1 else None for label, i in ids.items()}

    def _label_params(self, request: LabelLogprobsRequest) -> Any:
        ids = {i for i in self._label_ids(request.labels).values() if i is not None}
        options = {"logprob_token_ids": sorted(ids)} if ids else {}
        return self._vllm.SamplingParams(max_tokens=1, temperature=1.0, seed=0, **options)

    def _labels(self, request: LabelLogprobsRequest, output: Any) -> LabelLogprobs:
        candidates = (output.outputs[0].logprobs or [{}])[0]
        logprobs = {
            label: float(candidates[i].logprob) if i in candidates else nan
            for label, i in self._label_ids(request.labels).items()
        }
        return LabelLogprobs(
            request.id,
            logprobs,
            self.model,
            prompt_tokens=len(output.prompt_token_ids),
            tokens=1,
            revision=self._revision(),
        )

    def _answer_params(self, _: AnswerLogprobRequest) -> Any:
        return self._vllm.SamplingParams(max_tokens=1, temperature=1.0, seed=0, prompt_logprobs=0)

    def _answer(self, request: AnswerLogprobRequest, output: Any) -> AnswerLogprob:
        ids = list(output.prompt_token_ids)
        start = common_length(self._tokens(request.prompt), ids)
        rows = list(zip(ids, output.prompt_logprobs, strict=True))[start:]
        if start == 0 or not rows:
            raise GatewayError(
                "unsupported",
                "The answer has no log-probability, because the model's first token spans both prompt"
                " and answer. Use a longer prompt.",
            )
        logprob = sum(float(row[token_id].logprob) for token_id, row in rows)
        return AnswerLogprob(request.id, logprob, len(rows), self.model)


def _read(request: A, output: Any, read: Callable[[A, Any], B]) -> B | Failed:
    try:
        return read(request, output)
    except GatewayError as error:
        return Failed(request.id, error.with_traceback(None))


def _gateway_error(error: Exception) -> GatewayError:
    if isinstance(error, GatewayError):
        return error.copy()
    if _is_request_fault(error):
        summary = _summary(error)
        return rejected(f"vLLM rejected the request: {summary}.", summary)
    return GatewayError(
        "engine_failed",
        f"vLLM failed: {_summary(error)}. Check its log and restart the worker.",
        is_retryable=True,
    )


def _is_request_fault(error: Exception) -> bool:
    """Return whether a request is at fault. Class names are compared, as vLLM moved the class."""
    bases = {base.__name__ for base in type(error).__mro__}
    return not bases.isdisjoint({"ValueError", "VLLMClientError"})


def _device(vllm: Any) -> str:
    """Return the name of vLLM's accelerator, or "" if it does not tell."""
    platform = getattr(getattr(vllm, "platforms", None), "current_platform", None)
    try:
        return str(platform.get_device_name()) if platform is not None else ""
    except Exception:  # a platform may have none
        return ""


def _summary(error: Exception) -> str:
    """Return the error's message on one line, shortened."""
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__

"""vLLM in this process: for a worker that has the GPU to itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import nan
from typing import Any, TypeVar

from tiebreak import optional
from tiebreak.gateway.answers import CUT_OFF, common_length
from tiebreak.gateway.protocol import (
    AnswerLogprob,
    AnswerLogprobRequest,
    Failed,
    GatewayError,
    LabelLogprobs,
    LabelLogprobsRequest,
    Prompt,
    Sample,
    Sampled,
    SampleRequest,
)

Request = SampleRequest | LabelLogprobsRequest | AnswerLogprobRequest
A = TypeVar("A", bound=Request)
B = TypeVar("B")

# These would run code that came with a model, or load weights of another format.
FORBIDDEN = frozenset(
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


class InProcessVLLM:
    """One model in vLLM's engine, on this machine's accelerators.

    Weights are safetensors, a model's own code is never run, and prompts share their beginnings in
    the cache. Text j of a request has the seed s + j, and comes out the same by itself as far as
    vLLM's arithmetic does not depend on the batch.

    Parameters
    ----------
    model : str
        A folder or a name that vLLM finds.
    batch_size : int
        Requests that are handed to vLLM, and come back, together.
    **engine_options
        vLLM's own settings, such as ``tensor_parallel_size`` or ``max_model_len``.

    Raises
    ------
    MissingPackageError
        Without vLLM.
    GatewayError
        ``bad_settings`` for an option that would run foreign code, and
        ``engine_failed`` where vLLM does not start.
    """

    def __init__(self, model: str, *, batch_size: int = 256, **engine_options: Any) -> None:
        forbidden = sorted(FORBIDDEN & engine_options.keys())
        if forbidden:
            raise GatewayError(
                "bad_settings",
                f"The setting {forbidden[0]} is not allowed for a model, because it can run code"
                " that came with it: please leave it out.",
            )
        if batch_size < 1:
            raise GatewayError("bad_settings", f"batch_size is at least 1, not {batch_size}.")
        self.model = model
        self._batch_size = batch_size
        self._vllm = optional.load("vllm")
        self._engine = self._started({"enable_prefix_caching": True, **engine_options})

    def sample(self, requests: Iterable[SampleRequest]) -> Iterator[Sampled | Failed]:
        """Draw texts, a batch of requests after the other."""
        return self._in_batches(requests, self._prompt, self._sampling, self._sampled)

    def label_logprobs(
        self, requests: Iterable[LabelLogprobsRequest]
    ) -> Iterator[LabelLogprobs | Failed]:
        """Log-probabilities of the labels; NaN for one that is not one token."""
        return self._in_batches(requests, self._prompt, self._labelling, self._labels)

    def answer_logprobs(
        self, requests: Iterable[AnswerLogprobRequest]
    ) -> Iterator[AnswerLogprob | Failed]:
        """Log-probabilities of given answers."""
        return self._in_batches(requests, self._whole, self._reading, self._answer)

    def close(self) -> None:
        """End the engine and its processes, which frees the accelerator's memory."""
        engine, self._engine = self._engine, None
        # Left to itself, vLLM waits for its process and then kills it.
        core = getattr(getattr(engine, "llm_engine", None), "engine_core", None)
        if core is not None:
            core.shutdown()

    def _started(self, options: dict[str, Any]) -> Any:
        try:
            return self._vllm.LLM(
                model=self.model, load_format="safetensors", trust_remote_code=False, **options
            )
        except Exception as error:
            raise GatewayError(
                "engine_failed",
                f"vLLM did not start with the model “{self.model}”: {_line(error)}. Please look at"
                " its log, and check the model's folder, the settings and the free memory.",
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
        """All at once, or in halves where one of them spoils it for the others."""
        try:
            prompts = [{"prompt_token_ids": prompt(one)} for one in batch]
            outputs = self._generated(prompts, [params(one) for one in batch])
        except Exception as error:
            if len(batch) == 1 or not _is_of_request(error):
                yield from (Failed(one.id, _failure(error)) for one in batch)
                return
            middle = len(batch) // 2
            yield from self._batch(batch[:middle], prompt, params, read)
            yield from self._batch(batch[middle:], prompt, params, read)
        else:
            for request, output in zip(batch, outputs, strict=True):
                yield _read(request, output, read)

    def _generated(self, prompts: list[Any], params: list[Any]) -> list[Any]:
        outputs: list[Any] = self._open_engine().generate(prompts, params, use_tqdm=False)
        return outputs

    def _open_engine(self) -> Any:
        if self._engine is None:
            raise GatewayError("engine_failed", "The engine was closed: please open it anew.")
        return self._engine

    def _prompt(self, request: SampleRequest | LabelLogprobsRequest) -> list[int]:
        return self._tokens(request.prompt)

    def _whole(self, request: AnswerLogprobRequest) -> list[int]:
        return self._tokens(request.prompt, request.answer)

    def _tokens(self, prompt: Prompt, answer: str = "") -> list[int]:
        tokenizer = self._open_engine().get_tokenizer()
        if isinstance(prompt, str):
            return list(tokenizer.encode(prompt + answer))
        turns = [{"role": one.role, "content": one.content} for one in prompt]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return list(tokenizer.encode(text + answer, add_special_tokens=False))

    def _sampling(self, request: SampleRequest) -> Any:
        return self._vllm.SamplingParams(
            n=request.n,
            seed=request.seed,
            temperature=request.temperature,
            top_p=request.top_p,
            max_tokens=request.max_tokens,
            stop=list(request.stop),
        )

    def _sampled(self, request: SampleRequest, output: Any) -> Sampled:
        texts = sorted(output.outputs, key=lambda one: one.index)
        if len(texts) != request.n or any(one.finish_reason in {None, *CUT_OFF} for one in texts):
            raise GatewayError(
                "incomplete", "vLLM gave up in mid-text. Please try again.", is_retryable=True
            )
        samples = [
            Sample(
                text=one.text,
                finish_reason=str(one.finish_reason),
                seed=None if request.seed is None else request.seed + j,
                tokens=len(one.token_ids),
            )
            for j, one in enumerate(texts)
        ]
        return Sampled(request.id, tuple(samples), self.model)

    def _label_ids(self, labels: Sequence[str]) -> dict[str, int | None]:
        encode = self._open_engine().get_tokenizer().encode
        ids = {label: list(encode(label, add_special_tokens=False)) for label in labels}
        return {label: one[0] if len(one) == 1 else None for label, one in ids.items()}

    def _labelling(self, request: LabelLogprobsRequest) -> Any:
        known = {one for one in self._label_ids(request.labels).values() if one is not None}
        asked = {"logprob_token_ids": sorted(known)} if known else {}
        return self._vllm.SamplingParams(max_tokens=1, temperature=1.0, seed=0, **asked)

    def _labels(self, request: LabelLogprobsRequest, output: Any) -> LabelLogprobs:
        found = (output.outputs[0].logprobs or [{}])[0]
        logprobs = {
            label: float(found[one].logprob) if one in found else nan
            for label, one in self._label_ids(request.labels).items()
        }
        return LabelLogprobs(request.id, logprobs, self.model)

    def _reading(self, _: AnswerLogprobRequest) -> Any:
        return self._vllm.SamplingParams(max_tokens=1, temperature=1.0, seed=0, prompt_logprobs=0)

    def _answer(self, request: AnswerLogprobRequest, output: Any) -> AnswerLogprob:
        ids = list(output.prompt_token_ids)
        start = common_length(self._tokens(request.prompt), ids)
        rows = list(zip(ids, output.prompt_logprobs, strict=True))[start:]
        if start == 0 or not rows:
            raise GatewayError(
                "unsupported",
                "The model joins this prompt and answer into one first token, which has no"
                " probability. Please give a longer prompt.",
            )
        logprob = sum(float(row[one].logprob) for one, row in rows)
        return AnswerLogprob(request.id, logprob, len(rows), self.model)


def _read(request: A, output: Any, read: Callable[[A, Any], B]) -> B | Failed:
    try:
        return read(request, output)
    except GatewayError as error:
        return Failed(request.id, error.with_traceback(None))


def _failure(error: Exception) -> GatewayError:
    if isinstance(error, GatewayError):
        return error.again()
    if _is_of_request(error):
        return GatewayError("refused", f"vLLM refused the request: {_line(error)}.")
    return GatewayError(
        "engine_failed",
        f"vLLM failed: {_line(error)}. Please look at its log and start the worker anew.",
        is_retryable=True,
    )


def _is_of_request(error: Exception) -> bool:
    """Anything else is the engine's own trouble. vLLM's base class moved between versions."""
    bases = {kind.__name__ for kind in type(error).__mro__}
    return not bases.isdisjoint({"ValueError", "VLLMClientError"})


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__

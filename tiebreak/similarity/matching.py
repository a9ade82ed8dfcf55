"""Greedy matching of tokens by the cosine of their vectors, all pairs of texts at once."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak import optional
from tiebreak.gateway.encoders import TokenEmbeddings
from tiebreak.similarity.measure import FloatArray

CPU_CELLS, DEVICE_CELLS = 2**24, 2**26  # cosines of two tokens held at once
Texts = Sequence[TokenEmbeddings]


def greedy_f1(texts: Texts) -> FloatArray:
    """F1 of greedy matching of all pairs of n texts, each with at least one counted token.

    Returns
    -------
    (n, n) float, symmetric, in [0, 1]
    """
    return greedy_f1_each([texts])[0]


def greedy_f1_each(groups: Sequence[Texts]) -> list[FloatArray]:
    """The same within each of several groups, on the device that their vectors are on."""
    first = next((texts[0].vectors for texts in groups if texts), None)
    is_here = first is None or isinstance(first, np.ndarray)
    precisions = map(_precision, groups) if is_here else _precisions_on_device(groups)
    return [_f1(np.clip(each, 0, 1)) for each in precisions]


def _f1(precision: FloatArray) -> FloatArray:
    """Recall is the precision of the other way round."""
    both = precision + precision.T
    f1: FloatArray = 2 * precision * precision.T / np.where(both > 0, both, 1)
    return f1


def _precision(texts: Texts) -> FloatArray:
    """Mean over each row text's tokens of the best cosine in each column text, (n, n).

    Texts lie end to end, so there is no padding: maxima are taken over the stretch of each.
    """
    if not texts:
        return np.zeros((0, 0))
    stacked = np.concatenate([each.vectors for each in texts])
    starts = np.cumsum([0, *(len(each.vectors) for each in texts[:-1])])
    counted = [each.is_counted / each.is_counted.sum() for each in texts]
    best = np.maximum(_best(stacked, starts), 0)
    weighted = np.add.reduceat(best * np.concatenate(counted), starts, axis=1)
    precision: FloatArray = weighted.T
    return precision


def _best(tokens: NDArray[np.float32], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """The best cosine of each of T tokens among those of each text: (n, T)."""
    rows = max(1, CPU_CELLS // len(tokens))
    if rows >= len(tokens):  # a product with itself costs numpy half
        return np.maximum.reduceat(tokens @ tokens.T, starts, axis=0)
    parts = (tokens[start : start + rows] for start in range(0, len(tokens), rows))
    return np.hstack([np.maximum.reduceat(tokens @ part.T, starts, axis=0) for part in parts])


def _precisions_on_device(groups: Sequence[Texts]) -> list[FloatArray]:
    """The same of each group: those of like size together, so that padding and launches are few."""
    found: dict[int, FloatArray] = {}
    for part in _parts(groups):
        padded = _padded_precisions([groups[index] for index in part]).double().cpu().numpy()
        for index, precision in zip(part, padded, strict=True):
            found[index] = precision[: len(groups[index]), : len(groups[index])]
    return [found[index] for index in range(len(groups))]


def _parts(groups: Sequence[Texts]) -> Iterator[list[int]]:
    """Indices of groups to pad together: as many as have `DEVICE_CELLS` when padded, or one."""
    sizes = [(len(texts), max((len(t.vectors) for t in texts), default=0)) for texts in groups]
    part: list[int] = []
    most = longest = 0
    for index in sorted(range(len(groups)), key=lambda each: sizes[each], reverse=True):
        wider = max(most, sizes[index][0]), max(longest, sizes[index][1])
        if part and (len(part) + 1) * (wider[0] * wider[1]) ** 2 > DEVICE_CELLS:
            yield part
            part, wider = [], sizes[index]
        part.append(index)
        most, longest = wider
    if part:
        yield part


def _padded_precisions(groups: Sequence[Texts]) -> Any:
    """(groups, n, n) for the largest n, by products of padded texts with masks."""
    torch = optional.load("torch")
    every = [each for texts in groups for each in texts]
    if not every:
        return torch.zeros(len(groups), 0, 0)
    device = every[0].vectors.device
    index, is_there, weights = (torch.from_numpy(each).to(device) for each in _layout(groups))
    vectors = torch.cat([each.vectors for each in every])[index]
    _, number, longest = index.shape
    rows = max(1, DEVICE_CELLS // (index.numel() * longest))
    found = []
    for start in range(0, number, rows):
        here = slice(start, start + rows)
        cosines = torch.einsum("gild,gjmd->giljm", vectors[:, here], vectors)
        best = cosines.masked_fill(~is_there[:, None, None], -1).amax(dim=4).clamp(min=0)
        found.append(torch.einsum("gilj,gil->gij", best, weights[:, here]))
    return torch.cat(found, dim=1)


def _layout(
    groups: Sequence[Texts],
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float32]]:
    """Where the tokens of texts end to end lie when padded to (groups, n, longest).

    Their places there, which of these are not padding, and what each weighs in its text.
    """
    every = [each for texts in groups for each in texts]
    sizes = np.array([len(texts) for texts in groups])
    is_text = np.arange(sizes.max()) < sizes[:, None]
    lengths, starts = np.zeros(is_text.shape, int), np.zeros(is_text.shape, int)
    lengths[is_text] = [len(each.vectors) for each in every]
    starts[is_text] = np.cumsum(lengths[is_text]) - lengths[is_text]
    place = np.arange(lengths.max())
    is_there = place < lengths[..., None]
    index = np.where(is_there, starts[..., None] + place, 0)
    weighs = np.concatenate([each.is_counted / each.is_counted.sum() for each in every])
    return index, is_there, np.where(is_there, weighs[index], 0).astype(np.float32)

"""BERTScore: tokens matched greedily by the cosine of their vectors, all pairs at once."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gateway.encoders import TextEncoder, TokenEmbeddings
from metrics.similarity.measure import FloatArray, Similarity, settled_by_emptiness
from metrics.similarity.words import words_13a

VERSION = 1  # of the definition below, stored with the scores
CPU_CELLS, GPU_CELLS = 2**24, 2**28  # cosines of two tokens held at once


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text: its tokens, and how many 13a words the whole of it has."""

    tokens: TokenEmbeddings
    words: int


class BertScore(Similarity):
    """BERTScore F1 without idf weights or baseline rescaling, as the bert-score package's.

    Each token of either text is matched to the likest of the other; precision and recall are
    the means of those cosines, a negative one counting 0; in [0, 1]. Opening and closing tokens
    can be matched and have no weight. A text without tokens is empty.

    Parameters
    ----------
    encoder : TextEncoder

    Source: Zhang et al. 2020, section 3.
    """

    name = "bertscore"

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def settings(self) -> Mapping[str, object]:
        """The encoder's settings beside the similarity's own."""
        return {**super().settings, "version": VERSION, **self.encoder.settings}

    def prepare(self, texts: Sequence[str]) -> list[Encoded]:
        """The tokens of each text, encoded once."""
        tokens = self.encoder.encode_tokens(texts)
        return [
            Encoded(each, len(words_13a(text))) for each, text in zip(tokens, texts, strict=True)
        ]

    def between(self, prepared: Sequence[Encoded]) -> FloatArray:
        """F1 of all pairs, (n, n)."""
        tokens = [each.tokens for each in prepared]
        is_empty = np.array([not each.is_counted.any() for each in tokens], dtype=bool)
        found = np.zeros((len(tokens), len(tokens)))
        full = np.flatnonzero(~is_empty)
        if len(full):
            found[np.ix_(full, full)] = greedy_f1([tokens[i] for i in full], self.encoder.device)
        return settled_by_emptiness(is_empty, found)

    def is_truncated(self, prepared: Encoded) -> bool:
        """The text was longer than the encoder's window."""
        return prepared.tokens.is_truncated


class LengthAdjustedBertScore(BertScore):
    """BERTScore F1 times exp(1 − longer/shorter), in 13a words of the whole texts; in [0, 1].

    Words are counted before any truncation. The published code of the length adjustment mixes
    characters and tokens and can exceed 1; this cannot.

    Source: Ghosh et al. 2024, section 3.
    """

    name = "bertscore_length_adjusted"

    def between(self, prepared: Sequence[Encoded]) -> FloatArray:
        """Length-adjusted F1 of all pairs, (n, n)."""
        words = np.array([each.words for each in prepared], dtype=float)
        adjusted: FloatArray = super().between(prepared) * length_penalty(words)
        return adjusted


def length_penalty(lengths: NDArray[np.floating[Any]]) -> FloatArray:
    """exp(1 − longer/shorter) of all pairs of lengths (n,): (n, n), in [0, 1].

    1 where both are 0, and 0 where one is.

    Examples
    --------
    >>> length_penalty(np.array([2.0, 4.0]))[0].round(4).tolist()
    [1.0, 0.3679]
    """
    longer = np.maximum.outer(lengths, lengths)
    shorter = np.minimum.outer(lengths, lengths)
    ratio = np.divide(longer, shorter, out=np.ones_like(longer), where=shorter > 0)
    return settled_by_emptiness(lengths == 0, np.exp(1 - ratio))


def greedy_f1(texts: Sequence[TokenEmbeddings], device: str = "cpu") -> FloatArray:
    """F1 of greedy matching of all pairs of n texts, each with at least one counted token.

    Returns
    -------
    (n, n) float, symmetric, in [0, 1]
    """
    precision = _precision(texts) if device == "cpu" else precision_on(texts, device)
    precision = np.clip(precision, 0, 1)
    both = precision + precision.T
    f1: FloatArray = 2 * precision * precision.T / np.where(both > 0, both, 1)
    return f1


def _precision(texts: Sequence[TokenEmbeddings]) -> FloatArray:
    """Mean over each row text's tokens of the best cosine in each column text, (n, n).

    Texts lie end to end, so there is no padding: maxima are taken over the stretch of each.
    """
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


def precision_on(texts: Sequence[TokenEmbeddings], device: str) -> FloatArray:
    """The same on a torch device: padded products with masks, several rows at a time."""
    torch: Any = importlib.import_module("torch")
    pad = torch.nn.utils.rnn.pad_sequence
    vectors = pad([torch.from_numpy(each.vectors) for each in texts], batch_first=True).to(device)
    present = pad([torch.ones(len(each.vectors)) for each in texts], batch_first=True).bool()
    counted = pad([torch.from_numpy(each.is_counted) for each in texts], batch_first=True)
    present, weights = present.to(device), counted.to(device).float()
    weights = weights / weights.sum(dim=1, keepdim=True)
    number, longest, _ = vectors.shape
    rows = max(1, GPU_CELLS // (number * longest * longest))
    found = []
    for start in range(0, number, rows):
        cosines = torch.einsum("ild,jmd->iljm", vectors[start : start + rows], vectors)
        best = cosines.masked_fill(~present, -1).amax(dim=3).clamp(min=0)
        found.append(torch.einsum("ilj,il->ij", best, weights[start : start + rows]))
    precision: FloatArray = torch.cat(found).double().cpu().numpy()
    return precision

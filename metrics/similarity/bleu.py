"""Sentence BLEU, made symmetric by the lengths of the texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from metrics.similarity.multisets import Multiset, multiset
from metrics.similarity.tokenless import tokenless_score
from metrics.similarity.types import Array, Indices

ORDER = 4
_tokenizer = Tokenizer13a()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class _Ngrams:
    """`by_order[n - 1]` holds the n-grams; `n_tokens` is their number for n = 1."""

    text: str
    n_tokens: int
    by_order: tuple[Multiset, ...]


class Bleu:
    """BLEU of the shorter text against the longer, on 0–1.

    13a tokens, orders 1 to 4, exponential smoothing, effective order: sacrebleu's sentence score
    divided by 100. The shorter is the one with fewer 13a tokens; with equal numbers BLEU is
    symmetric by itself, so that s(y, y') = s(y', y) always.

    Source: Papineni et al. 2002; smoothing as Chen and Cherry 2014, method 3.
    """

    def features(self, texts: Sequence[str]) -> list[_Ngrams]:
        return [_ngrams(text) for text in texts]

    def scores(self, features: list[_Ngrams], left: Indices, right: Indices) -> Array:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([_bleu(features[i], features[j]) for i, j in pairs], dtype=np.float64)


def _ngrams(text: str) -> _Ngrams:
    tokens = _tokenizer(text.rstrip()).split()
    windows = (zip(*(tokens[k:] for k in range(n)), strict=False) for n in range(1, ORDER + 1))
    return _Ngrams(text, len(tokens), tuple(multiset(window) for window in windows))


def _bleu(a: _Ngrams, b: _Ngrams) -> float:
    shorter, longer = (a, b) if a.n_tokens <= b.n_tokens else (b, a)
    if not shorter.n_tokens:
        return tokenless_score(a.text, b.text, both=not longer.n_tokens)
    pairs = zip(shorter.by_order, longer.by_order, strict=True)
    score = BLEU.compute_bleu(
        correct=[len(mine & theirs) for mine, theirs in pairs],
        total=[len(mine) for mine in shorter.by_order],
        sys_len=shorter.n_tokens,
        ref_len=longer.n_tokens,
        smooth_method="exp",
        effective_order=True,
    ).score
    # exp(mean of logs) may end a rounding error above 100.
    return min(float(score) / 100, 1.0)

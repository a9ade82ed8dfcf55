"""ROUGE-1 F1 with stemming."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rouge_score import tokenize
from rouge_score.tokenizers import porter

from metrics.similarity.multisets import Multiset, multiset
from metrics.similarity.tokenless import tokenless_score
from metrics.similarity.types import Array, Indices


class _Stemmer:
    """Porter's stemmer that works each word out once: words repeat far more than texts do."""

    def __init__(self) -> None:
        self.stem = lru_cache(maxsize=2**17)(porter.PorterStemmer().stem)


_STEMMER = _Stemmer()


@dataclass(frozen=True, slots=True)
class _Unigrams:
    text: str
    unigrams: Multiset


class Rouge1:
    """F1 of shared unigrams: 2 · overlap / (tokens of y + tokens of y').

    Lower-cased, stemmed runs of a–z and 0–9, as the rouge-score package has them with
    ``use_stemmer=True``; other scripts have no token here.

    Source: Lin 2004, ROUGE-N with N = 1.
    """

    def features(self, texts: Sequence[str]) -> list[_Unigrams]:
        return [_Unigrams(text, multiset(tokenize.tokenize(text, _STEMMER))) for text in texts]

    def scores(self, features: list[_Unigrams], left: Indices, right: Indices) -> Array:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([_f1(features[i], features[j]) for i, j in pairs], dtype=np.float64)


def _f1(a: _Unigrams, b: _Unigrams) -> float:
    if not a.unigrams or not b.unigrams:
        both = not a.unigrams and not b.unigrams
        return tokenless_score(a.text, b.text, both=both)
    return 2 * len(a.unigrams & b.unigrams) / (len(a.unigrams) + len(b.unigrams))

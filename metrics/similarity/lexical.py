"""Similarities from words: each text is tokenised once, however many pairs it is in."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from nltk.stem import porter
from numpy.typing import NDArray
from rouge_score import tokenize
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

MAX_ORDER = 4


class Similarity(ABC):
    """A symmetric similarity of two texts, computed from prepared ones."""

    @abstractmethod
    def prepare(self, text: str) -> Any:
        """What the similarity needs of one text, made once."""

    @abstractmethod
    def of_prepared(self, first: Any, second: Any) -> float:
        """The similarity of two prepared texts."""

    def __call__(self, first: str, second: str) -> float:
        return self.of_prepared(self.prepare(first), self.prepare(second))

    def matrix(self, rows: Sequence[Any], columns: Sequence[Any]) -> NDArray[np.float64]:
        """All pairs of prepared texts, (rows, columns)."""
        pairs = [[self.of_prepared(row, column) for column in columns] for row in rows]
        return np.array(pairs, dtype=float).reshape(len(rows), len(columns))


@dataclass(frozen=True)
class _Words:
    counts: Counter[str]
    length: int


class Rouge1(Similarity):
    """ROUGE-1 F1 with Porter stemming, as the rouge-score package computes it.

    Source: Lin 2004, section 2 (N = 1); F1 is symmetric, so neither text need be the reference.
    """

    def prepare(self, text: str) -> _Words:
        words = tokenize.tokenize(text, _stemmer())
        return _Words(Counter(words), len(words))

    def of_prepared(self, first: _Words, second: _Words) -> float:
        if first.length == 0 or second.length == 0:
            return float(first.length == second.length)
        fewer, more = sorted((first.counts, second.counts), key=len)
        overlap = sum(min(n, more[word]) for word, n in fewer.items() if word in more)
        precision, recall = overlap / second.length, overlap / first.length
        return 2 * precision * recall / (precision + recall) if overlap else 0.0


@dataclass(frozen=True)
class _Grams:
    length: int
    by_order: tuple[Counter[tuple[str, ...]], ...]


class Bleu(Similarity):
    """Sentence BLEU of the shorter against the longer text, 13a tokens, order 4, on 0–1.

    Exponential smoothing and effective order, as sacrebleu's `sentence_score`. Of two texts with
    equally many tokens the mean of both directions is taken, which keeps it symmetric.

    Source: Papineni et al. 2002, eq. 3; Chen and Cherry 2014, smoothing 3.
    """

    def prepare(self, text: str) -> _Grams:
        words = _tokenizer_13a()(text.strip()).split()
        grams = tuple(
            Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            for n in range(1, MAX_ORDER + 1)
        )
        return _Grams(len(words), grams)

    def of_prepared(self, first: _Grams, second: _Grams) -> float:
        if first.length == 0 or second.length == 0:
            return float(first.length == second.length)
        if first.length == second.length:
            return (_bleu(first, second) + _bleu(second, first)) / 2
        shorter, longer = sorted((first, second), key=lambda grams: grams.length)
        return _bleu(shorter, longer)


def _bleu(hypothesis: _Grams, reference: _Grams) -> float:
    logs, smoothing = [], 1.0
    for order, (grams, others) in enumerate(
        zip(hypothesis.by_order, reference.by_order, strict=True), start=1
    ):
        total = hypothesis.length - order + 1
        if total <= 0:
            break
        matched = sum(min(n, others[gram]) for gram, n in grams.items() if gram in others)
        if order == 1 and matched == 0:
            return 0.0
        if matched == 0:
            smoothing *= 2
            logs.append(math.log(1 / (smoothing * total)))
        else:
            logs.append(math.log(matched / total))
    brevity = min(0.0, 1 - reference.length / hypothesis.length)
    return math.exp(brevity + sum(logs) / len(logs))


@cache
def _stemmer() -> porter.PorterStemmer:
    return porter.PorterStemmer()


@cache
def _tokenizer_13a() -> Tokenizer13a:
    return Tokenizer13a()  # type: ignore[no-untyped-call]

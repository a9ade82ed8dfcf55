"""Lexical similarities: ROUGE-1 and BLEU."""

from collections.abc import Sequence

import numpy as np

from tiebreak.similarity.measure import FloatArray, Similarity, with_empty_texts
from tiebreak.similarity.words import (
    IntArray,
    Words,
    longer_grams,
    rouge_words,
    shared_counts,
    word_ids,
    words_13a,
)

MAX_ORDER = 4


class Rouge1(Similarity):
    """ROUGE-1 F1 with Porter stemming, in [0, 1].

    Notes
    -----
    F1 is twice the number of words that both texts share, divided by the sum of their numbers of
    words (Lin 2004, section 2, N = 1). Values equal those of the rouge-score package. F1 is
    symmetric, so neither text must be chosen as the reference. A text without a letter a–z or a
    digit counts as empty.

    Examples
    --------
    >>> Rouge1()("the cats sat", "a cat sat")
    0.6666666666666666
    """

    name = "rouge1"
    title = "ROUGE-1"
    is_parallel = True

    def prepare(self, texts: Sequence[str]) -> list[Words]:
        """Return the stemmed words of each text."""
        return [rouge_words(text) for text in texts]

    def between(self, prepared: Sequence[Words]) -> FloatArray:
        """Return the F1 of all pairs, in shape (texts, texts)."""
        length = np.array([len(words) for words in prepared])
        shared = shared_counts(*word_ids(prepared), len(prepared))
        f1: FloatArray = 2 * shared / np.maximum(length[:, None] + length, 1)
        return with_empty_texts(f1, length == 0)


class Bleu(Similarity):
    """Sentence BLEU of the shorter text against the longer one, in [0, 1].

    Notes
    -----
    BLEU (Papineni et al. 2002, eq. 3) up to 4-grams, with mteval's 13a tokeniser, exponential
    smoothing (Chen and Cherry 2014, smoothing 3) and effective order. Values equal those of
    sacrebleu's ``sentence_score``. If both texts have the same number of tokens, the similarity is
    the mean of both directions, so it is symmetric.

    Examples
    --------
    >>> Bleu()("the cat sat", "the cat sat")
    1.0
    """

    name = "bleu"
    title = "BLEU"
    is_parallel = True

    def prepare(self, texts: Sequence[str]) -> list[Words]:
        """Return the words of each text from the 13a tokeniser."""
        return [words_13a(text) for text in texts]

    def between(self, prepared: Sequence[Words]) -> FloatArray:
        """Return the BLEU of all pairs, in shape (texts, texts)."""
        length = np.array([len(words) for words in prepared], dtype=np.int64)
        directed = _directed_bleu(length, *word_ids(prepared))
        shorter = np.sign(length - length[:, None])  # 1 where the row's text is the shorter one
        bleu = ((1 + shorter) * directed + (1 - shorter) * directed.T) / 2
        return with_empty_texts(bleu, length == 0)


def _directed_bleu(length: IntArray, words: IntArray, text: IntArray) -> FloatArray:
    """Return the BLEU of each row's text against each column's text; 0 if they share no word."""
    logs = np.zeros((len(length), len(length)))
    halvings = np.zeros_like(logs)  # in smoothing 3, the k-th order without a match counts 1/2^k
    grams = words
    for order in range(1, MAX_ORDER + 1):
        grams = longer_grams(grams, words, order) if order > 1 else words
        total = (length - order + 1)[:, None]
        first, last = text[: len(grams)], text[order - 1 :]
        inside = first == last  # n-grams that do not span two texts
        shared = shared_counts(grams[inside], first[inside], len(length))
        if order == 1:
            is_disjoint = shared == 0
        halvings += (shared == 0) & (total > 0)
        smoothed = np.where(shared > 0, shared, 0.5**halvings)
        logs += np.where(total > 0, np.log(smoothed / np.maximum(total, 1)), 0)
    orders = np.clip(length, 1, MAX_ORDER)[:, None]
    brevity = np.minimum(0, 1 - length / np.maximum(length, 1)[:, None])
    return np.where(is_disjoint, 0.0, np.exp(brevity + logs / orders))

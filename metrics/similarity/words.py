"""Words of the two published tokenisers, and how many of them texts share."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from nltk.stem import porter
from numpy.typing import NDArray
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

Words = list[str]
IntArray = NDArray[np.int64]
ALPHANUMERIC = re.compile("[a-z0-9]+")
KEPT_STEMS = 2**16
UNSTEMMED = 3  # letters of the longest word that keeps its ending
ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def rouge_words(text: str) -> Words:
    """Words as the rouge-score package makes them: lower case, a–z and 0–9, Porter stems.

    Examples
    --------
    >>> rouge_words("The cats' 3 mats.")
    ['the', 'cat', '3', 'mat']
    """
    return [stem for word in ALPHANUMERIC.findall(text.lower()) if (stem := stem_of(word))]


@lru_cache(maxsize=KEPT_STEMS)
def stem_of(word: str) -> str:
    """The Porter stem of a word of more than three letters, as rouge-score has it."""
    return word if len(word) <= UNSTEMMED else str(_stemmer().stem(word))


def words_13a(text: str) -> Words:
    """Words as sacrebleu's default tokeniser, mteval's 13a, makes them.

    Examples
    --------
    >>> words_13a("Don't pay $3.50, now.")
    ["Don't", 'pay', '$', '3.50', ',', 'now', '.']
    """
    line = text.strip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for written, meant in ENTITIES:
            line = line.replace(written, meant)
    return _uncached_13a(f" {line} ").split()


def _uncached_13a(line: str) -> str:
    """sacrebleu's own rules, past its cache: a text is prepared once here, never again."""
    for pattern, replacement in _rules_13a():
        line = pattern.sub(replacement, line)
    return line


@cache
def _rules_13a() -> list[tuple[re.Pattern[str], str]]:
    return list(TokenizerRegexp()._re)  # type: ignore[no-untyped-call]


@cache
def _stemmer() -> porter.PorterStemmer:
    return porter.PorterStemmer()


def word_numbers(texts: Sequence[Words]) -> tuple[IntArray, IntArray]:
    """Each text's words as numbers from 0, end to end, and the text that each is of."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for words in texts for word in words]
    lengths = [len(words) for words in texts]
    return np.array(ids, dtype=np.int64), np.repeat(np.arange(len(texts)), lengths)


def shared_counts(numbers: IntArray, text: IntArray, texts: int) -> NDArray[np.float64]:
    """How many numbers each pair of texts has in common, as multisets: (texts, texts).

    A number that occurs c times in a text becomes c distinct ones, so that the size of the
    multiset intersection is a product of two 0–1 matrices.
    """
    kinds = int(numbers.max(initial=-1)) + 1
    counts = np.bincount(text * kinds + numbers, minlength=texts * kinds).reshape(texts, kinds)
    most = counts.max(axis=0, initial=0)
    kind = np.repeat(np.arange(kinds), most)
    occurrence = np.arange(len(kind)) - np.repeat(np.cumsum(most) - most, most)
    has = (counts[:, kind] > occurrence).astype(np.float32)
    shared: NDArray[np.float64] = (has @ has.T).astype(np.float64)
    return shared


def next_order(grams: IntArray, words: IntArray, text: IntArray, order: int) -> IntArray:
    """Numbers of the n-grams of `order` from those of one order less; those across texts fall out.

    `grams` has one number for each position in `words` where an (order − 1)-gram starts.
    """
    kinds = int(words.max(initial=0)) + 1
    joined = grams[: len(words) - order + 1] * kinds + words[order - 1 :]
    return np.unique(joined, return_inverse=True)[1]

"""The tokenisers of ROUGE and BLEU, and counts of words that texts share."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = list[str]
IntArray = NDArray[np.int64]
ALPHANUMERIC = re.compile("[a-z0-9]+")
STEM_CACHE_SIZE = 2**16
MAX_UNSTEMMED = 3  # rouge-score does not stem words of up to three letters
RULES_13A = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # mteval's character class also has the space, but spaces around a space change nothing.
        (r"([\{-\~\[-\`!-\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),  # a period or comma not preceded by a digit
        (r"([\.,])([^0-9])", r" \1 \2"),  # a period or comma not followed by a digit
        (r"([0-9])(-)", r"\1 \2 "),  # a dash preceded by a digit
    )
)
ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def rouge_words(text: str) -> Words:
    """Split a text like the rouge-score package: Porter stems of lower-case words of a–z and 0–9.

    Examples
    --------
    >>> rouge_words("The cats' 3 mats.")
    ['the', 'cat', '3', 'mat']
    """
    return [stem for word in ALPHANUMERIC.findall(text.lower()) if (stem := stem_of(word))]


@lru_cache(maxsize=STEM_CACHE_SIZE)
def stem_of(word: str) -> str:
    """Return the Porter stem; like in rouge-score, words of up to three letters stay unchanged."""
    return word if len(word) <= MAX_UNSTEMMED else str(_stemmer().stem(word))


def words_13a(text: str) -> Words:
    """Split a text like sacrebleu's default tokeniser, which is mteval's 13a.

    Examples
    --------
    >>> words_13a("Don't pay $3.50, now.")
    ["Don't", 'pay', '$', '3.50', ',', 'now', '.']
    """
    line = text.strip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, character in ENTITIES:
            line = line.replace(entity, character)
    return list(chain.from_iterable(map(_words_of_part, line.split())))


@lru_cache(maxsize=STEM_CACHE_SIZE)
def _words_of_part(part: str) -> Words:
    """Split a part of a text between white space, which none of the rules looks beyond."""
    line = f" {part} "
    for pattern, replacement in RULES_13A:
        line = pattern.sub(replacement, line)
    return line.split()


@cache
def _stemmer() -> Any:
    # Imported on first use, because importing nltk takes a second.
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415

    return PorterStemmer()


def word_ids(texts: Sequence[Words]) -> tuple[IntArray, IntArray]:
    """Return the ids (from 0) of all texts' words, concatenated, and the index of their texts."""
    vocabulary: dict[str, int] = {}
    ids = [vocabulary.setdefault(word, len(vocabulary)) for words in texts for word in words]
    lengths = [len(words) for words in texts]
    return np.array(ids, dtype=np.int64), np.repeat(np.arange(len(texts)), lengths)


def shared_counts(ids: IntArray, text: IntArray, n_texts: int) -> NDArray[np.float64]:
    """Return how many ids each pair of texts shares, in shape (n_texts, n_texts).

    A repeated id counts as often as it occurs in both texts. ``text`` is the index of each id's
    text. There is a column for the first occurrence of an id in a text, one for the second, and so
    on, so the counts are the product of two 0–1 matrices.
    """
    n_ids = int(ids.max(initial=-1)) + 1
    counts = np.bincount(text * n_ids + ids, minlength=n_texts * n_ids).reshape(n_texts, n_ids)
    max_count = counts.max(axis=0, initial=0)
    column_id = np.repeat(np.arange(n_ids), max_count)
    first_column = np.cumsum(max_count) - max_count
    occurrence = np.arange(len(column_id)) - np.repeat(first_column, max_count)
    has = (counts[:, column_id] > occurrence).astype(np.float32)
    shared: NDArray[np.float64] = (has @ has.T).astype(np.float64)
    return shared


def longer_grams(grams: IntArray, words: IntArray, order: int) -> IntArray:
    """Return the ids of the n-grams of ``order``, given those of one order less, by first word.

    Texts are concatenated, so some n-grams span two texts.
    """
    n_grams = max(0, len(words) - order + 1)
    codes = grams[:n_grams] * (int(words.max(initial=0)) + 1) + words[order - 1 :]
    ids: IntArray = np.unique(codes, return_inverse=True)[1]
    return ids

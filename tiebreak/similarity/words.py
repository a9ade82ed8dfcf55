"""The tokenisers of ROUGE and BLEU, and the numbers of words that texts share."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
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
        # mteval's class includes the space; padding a space with spaces changes nothing.
        (r"([\{-\~\[-\`!-\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),  # a period or comma not preceded by a digit
        (r"([\.,])([^0-9])", r" \1 \2"),  # or not followed by one
        (r"([0-9])(-)", r"\1 \2 "),  # a dash preceded by a digit
    )
)
ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def rouge_words(text: str) -> Words:
    """Words as the rouge-score package makes them: lower case, a–z and 0–9, Porter stems.

    Examples
    --------
    >>> rouge_words("The cats' 3 mats.")
    ['the', 'cat', '3', 'mat']
    """
    return [stem for word in ALPHANUMERIC.findall(text.lower()) if (stem := stem_of(word))]


@lru_cache(maxsize=STEM_CACHE_SIZE)
def stem_of(word: str) -> str:
    """The Porter stem of a word of more than three letters, as rouge-score has it."""
    return word if len(word) <= MAX_UNSTEMMED else str(_stemmer().stem(word))


def words_13a(text: str) -> Words:
    """Words as sacrebleu's default tokeniser, mteval's 13a, makes them.

    Examples
    --------
    >>> words_13a("Don't pay $3.50, now.")
    ["Don't", 'pay', '$', '3.50', ',', 'now', '.']
    """
    line = text.strip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, character in ENTITIES:
            line = line.replace(entity, character)
    line = f" {line} "
    for pattern, replacement in RULES_13A:
        line = pattern.sub(replacement, line)
    return line.split()


@cache
def _stemmer() -> Any:
    # Imported on first use, because importing nltk takes a second.
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415

    return PorterStemmer()


def word_ids(texts: Sequence[Words]) -> tuple[IntArray, IntArray]:
    """The words of all texts, concatenated, as ids from 0; and the index of each word's text."""
    vocabulary: dict[str, int] = {}
    ids = [vocabulary.setdefault(word, len(vocabulary)) for words in texts for word in words]
    lengths = [len(words) for words in texts]
    return np.array(ids, dtype=np.int64), np.repeat(np.arange(len(texts)), lengths)


def shared_counts(ids: IntArray, text: IntArray, n_texts: int) -> NDArray[np.float64]:
    """The size of the multiset intersection of each pair of texts' ids: (n_texts, n_texts).

    ``text`` is the index of each id's text. The c-th occurrence of an id in a text becomes a
    column of its own, so that the intersection is the product of two 0–1 matrices.
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
    """Ids of the n-grams of ``order``, from those of one order less, by their first word.

    Texts are concatenated, so some n-grams span two texts.
    """
    n_grams = max(0, len(words) - order + 1)
    codes = grams[:n_grams] * (int(words.max(initial=0)) + 1) + words[order - 1 :]
    ids: IntArray = np.unique(codes, return_inverse=True)[1]
    return ids

"""Words of the two published tokenisers, and how many of them texts share."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = list[str]
IntArray = NDArray[np.int64]
ALPHANUMERIC = re.compile("[a-z0-9]+")
KEPT_STEMS = 2**16
UNSTEMMED = 3  # letters of the longest word that keeps its ending
RULES_13A = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Its authors' class has the space too, which only makes more of it.
        (r"([\{-\~\[-\`!-\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),  # a period or comma not after a digit,
        (r"([\.,])([^0-9])", r" \1 \2"),  # not before one,
        (r"([0-9])(-)", r"\1 \2 "),  # and a dash after one
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
    line = f" {line} "
    for pattern, replacement in RULES_13A:
        line = pattern.sub(replacement, line)
    return line.split()


@cache
def _stemmer() -> Any:
    # Imported when the first word is stemmed: nltk takes a second to load all that it has.
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415

    return PorterStemmer()


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


def longer_grams(grams: IntArray, words: IntArray, order: int) -> IntArray:
    """Numbers of the n-grams of `order` from those of one order less, by where they start.

    Texts lie end to end, so some of them begin in one text and end in the next.
    """
    starts = max(0, len(words) - order + 1)
    joined = grams[:starts] * (int(words.max(initial=0)) + 1) + words[order - 1 :]
    numbers: IntArray = np.unique(joined, return_inverse=True)[1]
    return numbers

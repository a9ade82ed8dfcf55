"""Edits of a text, the places where they are possible, and draws that are the same everywhere."""

import hashlib
import random
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from tiebreak.errors import InvalidInput

T = TypeVar("T")
# All combining marks, which Python's regular expressions do not count as parts of words.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
# A letter with its combining marks, so no mark is left without its letter.
LETTER = re.compile(rf"[^\W\d_][{_MARKS}\u200d]*")
# A word may have signs inside, as in 1/2, 2,000, don't and well-known.
WORD = re.compile(rf"[^\W_](?:[\w{_MARKS}]|[-/.,:&'’](?=[^\W_]))*")
# Scripts that put no spaces between words.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
_ENDS = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？؟।]+[」』”’)]*|(?=\n)|$")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|No|Inc|Ltd|Co|Gen|Rep|Sen"
    r"|Gov|approx|[A-Z]\.[A-Z])\.$"
)
# What begins an item of a list: a number or a bullet point. It is no part of the item's sentence.
MARKER = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*+•–]|#{1,6})[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """A passage of a text that is replaced: where it begins, what it was, and what it became."""

    position: int
    before: str
    after: str

    @property
    def end(self) -> int:
        """Where the passage ended in the original."""
        return self.position + len(self.before)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made.

    Edits are in any order and have positions in the original. Raises `InvalidInput` if two of them
    overlap, or the text has another passage at an edit's position.

    Examples
    --------
    >>> edited("a cat", [Edit(2, "cat", "dog")])
    'a dog'
    """
    in_order = sorted(edits, key=lambda edit: edit.position)
    if any(later.position < earlier.end for earlier, later in pairwise(in_order)):
        raise InvalidInput("edits_overlap", "Two edits change the same passage of the text.")
    for edit in reversed(in_order):
        if text[edit.position : edit.end] != edit.before:
            raise InvalidInput(
                "edit_of_another_text",
                f"At position {edit.position} the text has no {edit.before!r}, so the edit belongs to"
                " another text.",
            )
        text = text[: edit.position] + edit.after + text[edit.end :]
    return text


class Draws:
    """Random choices that are the same on every machine and in every version of Python.

    Only `random.Random.random` is promised to give the same numbers for the same seed; `sample` and
    `shuffle` may change. So choices are made from these numbers alone.
    """

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.sha256("\0".join(map(str, seeds)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest)).random

    def below(self, n: int) -> int:
        """Return a whole number from 0 to ``n`` − 1."""
        return int(self._random() * n)

    def one(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def some(self, items: Sequence[T], n: int) -> list[T]:
        """Return ``n`` of the items, or all if there are fewer, in their own order."""
        return [items[i] for i in sorted(self.shuffled(range(len(items)))[:n])]


def share_of(n: int, share: float, *, least: int = 1) -> int:
    """Return how many of ``n`` places a share of them is, and at least ``least``."""
    return max(least, round(share * n))


def has_spaces(text: str) -> bool:
    """Whether the text's script puts spaces between words; decided by most of its letters."""
    letters = [c for c in text if c.isalpha()]
    unspaced = sum(unicodedata.name(c, "").startswith(UNSPACED) for c in letters)
    return 2 * unspaced <= len(letters)


def sentences(text: str) -> list[Edit]:
    """Return the sentences of a text, as passages that could be edited.

    A line break ends a sentence, so headings and items of lists count as sentences. A passage
    without letters, such as a bullet point, is none.
    """
    without_markers = MARKER.sub(lambda marker: " " * len(marker[0]), text)
    passages, start = [], 0
    for match in _ENDS.finditer(without_markers):
        passage = without_markers[start : match.end()]
        is_last = match.end() == len(text)
        if not is_last and match[0].startswith(".") and _ABBREVIATION.search(passage):
            continue
        sentence = passage.strip()
        if any(c.isalpha() for c in sentence):
            position = start + passage.index(sentence)
            passages.append(Edit(position, sentence, sentence))
        start = match.end()
    return passages


def words(text: str) -> list[Edit]:
    """Return the words of a text, as passages that could be edited, without the numbers of lists."""
    without_markers = MARKER.sub(lambda marker: " " * len(marker[0]), text)
    return [Edit(m.start(), m[0], m[0]) for m in WORD.finditer(without_markers)]

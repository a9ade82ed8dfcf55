"""Every similarity in a form that does not need weights, and texts that are hard to compare."""

import random

from tests.tiebreak.similarity.encoders import FakeEncoder
from tiebreak.similarity import SIMILARITIES, EntityJaccard, Similarity, similarity

WORDS = [
    "the",
    "a",
    "cat",
    "cats",
    "sat",
    "sitting",
    "on",
    "mat.",
    "mats,",
    "3.5",
    "U.S.",
    "don't",
    "&amp;",
    "—",
    "Größe",
    "漢字",
]

MIXED = [
    "",
    " \n\t",
    "plain words",
    "Größe in one code point",
    "Gro\u0308ße in two",
    "mojibake: GrÃ¶Ã\x9fe",
    "a lone \ud800 surrogate",
    "nothing\x00 but\x07 controls\x1b",
    "عربي and 漢字 and 🙂🏽",
    "carriage\r\nreturns\u2028and separators",
    "\ufeffa byte-order mark",
    "<skipped> and-\nhyphenated &lt;tags&gt;",
]


class CapitalisedWords:
    """A recogniser that takes every capitalised word for an entity."""

    settings = {"pipeline": "capitals"}

    def entities(self, texts):
        return [[word for word in text.split() if word.istitle()] for text in texts]


def measure(name: str, *, window: int = 512) -> Similarity:
    if name == "entities":
        return EntityJaccard(CapitalisedWords())
    return similarity(name, encoder=FakeEncoder(window=window))


def texts(n=40) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(1, 25))) for _ in range(n)]


NAMES = list(SIMILARITIES)

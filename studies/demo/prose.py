"""Reads a source text as sentences and, in a dialogue, their speakers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput

_TURN = re.compile(r"^([A-Z][\w'-]*): (.+)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”]?\s+(?=[\"“A-Z0-9])")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_DANGLING = re.compile(
    r"^(?:It|They|She|He|Her|His|Its|Their|That|This|Those|These|There is room)\b"
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    """One sentence. `turn` is the number of its line, and `speaker` is empty outside dialogues."""

    text: str
    turn: int
    speaker: str = ""
    addressee: str = ""

    @property
    def is_question(self) -> bool:
        return self.text.endswith("?")

    @property
    def is_dangling(self) -> bool:
        """Whether the sentence begins with a pronoun that refers to the sentence before it."""
        return _DANGLING.match(self.text) is not None


def words(text: str) -> list[str]:
    """Return the lower-case words of a text, including numbers."""
    return [word.lower() for word in _WORD.findall(text)]


def read_sentences(source: str) -> list[Sentence]:
    """Return the sentences of a source text in order. A turn is a line of the form `Name: text`."""
    turns = [_TURN.match(line) for line in source.splitlines() if line.strip()]
    if turns and all(turns):
        return _dialogue_sentences([(turn[1], turn[2]) for turn in turns if turn])
    return [Sentence(text, turn=0) for text in _split(" ".join(source.split()))]


def proper_names(sentences: Sequence[Sentence]) -> frozenset[str]:
    """Return the speakers and the words that are capitalised inside a sentence."""
    inner = (re.findall(r"(?<=[\w,] )[A-Z][\w-]*", sentence.text) for sentence in sentences)
    speakers = {sentence.speaker for sentence in sentences}
    return frozenset(speakers.union(*inner))


def uncapitalised(text: str, names: frozenset[str]) -> str:
    """Lower-case the first letter, unless the text begins with a name."""
    first = re.match(r"[\w-]*", text)
    if first is None or first[0] in names:
        return text
    return text[:1].lower() + text[1:]


def sample_order(
    scores: FloatArray, size: int, *, rng: np.random.Generator, temperature: float
) -> list[int]:
    """Draw `size` indices without replacement, with weights softmax(scores / temperature).

    The indices of the largest scores plus Gumbel noise are such a draw. With temperature 0, they
    are those of the best scores.
    """
    if temperature < 0:
        raise InvalidInput("out_of_range", f"temperature must be 0 or more; it is {temperature}.")
    noise = rng.gumbel(size=len(scores))
    # Round, because the last digits of a matrix product depend on the machine and could break ties.
    ranked = np.argsort(-(np.round(scores, 9) + temperature * noise), kind="stable")
    return [int(index) for index in ranked[:size]]


def _dialogue_sentences(turns: Sequence[tuple[str, str]]) -> list[Sentence]:
    return [
        Sentence(text, turn=number, speaker=speaker, addressee=_addressee(turns, number))
        for number, (speaker, turn) in enumerate(turns)
        for text in _split(turn)
    ]


def _addressee(turns: Sequence[tuple[str, str]], number: int) -> str:
    """Return a turn's addressee: a name at its start, or the last other speaker, or the next."""
    speaker, text = turns[number]
    others = [name for name, _ in (*reversed(turns[:number]), *turns[number:]) if name != speaker]
    called = [name for name in others if re.match(rf"{name}[,?]", text)]
    return (called or others or [""])[0]


def _split(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]

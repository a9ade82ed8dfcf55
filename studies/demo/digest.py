"""A system that rewrites the text: it samples facts, shortens them, and joins them."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from studies.demo.condensing import condense
from studies.demo.prose import (
    FloatArray,
    Sentence,
    proper_names,
    read_sentences,
    sample_order,
    uncapitalised,
    words,
)
from studies.demo.retelling import Clause, retell

KEEP_DETAIL = 0.35
OPENING = 0.4
JOIN = 0.5
LONGEST_JOINED = 26  # words
_AFTER_NOUN = "and|are|as|at|by|for|from|has|in|is|of|on|or|so|that|to|was|who|will|with"
_NOUN = re.compile(rf"\b(?:the|a|an|my|our|your) ([a-z]{{4,}})(?=[.,?!]| (?:{_AFTER_NOUN})\b)")
_NOT_TOPICS = frozenset(
    words(
        "last next other same small whole only door first short colour weather long corner time "
        "birthday "
        "neighbours brother evening morning space money main half back place month days"
    )
)
_SAYING = ("says that", "says that", "explains that", "points out that")
_LINKS = ("; ", ", and ")
_NUMBER = re.compile(r"\b\d[\d,:-]*")


def digest(source: str, *, rng: np.random.Generator, temperature: float) -> str:
    """Return a summary that is reported speech for a dialogue, and condensed sentences for news."""
    sentences = read_sentences(source)
    tell = _digest_dialogue if sentences[0].speaker else _digest_news
    return tell(sentences, rng, temperature)


def _digest_dialogue(
    sentences: Sequence[Sentence], rng: np.random.Generator, temperature: float
) -> str:
    clauses = [clause for clause in map(retell, sentences) if clause]
    if not clauses:
        return f"A few words from {_listed(_speakers(sentences))}."
    worth = np.array([clause.worth for clause in clauses])
    opening = _opening(sentences) if rng.random() < OPENING else []
    size = 3 if opening else int(rng.integers(3, 5))
    chosen = sample_order(worth, size, rng=rng, temperature=temperature)
    told = _told([clauses[index] for index in sorted(chosen)], proper_names(sentences), rng)
    return " ".join([*opening, *told])


def _opening(sentences: Sequence[Sentence]) -> list[str]:
    """Return a sentence on who talks about what, or nothing if no noun occurs twice."""
    nouns = Counter(noun for sentence in sentences for noun in _NOUN.findall(sentence.text))
    topics = [noun for noun, count in nouns.most_common() if count > 1 and noun not in _NOT_TOPICS]
    if not topics:
        return []
    people = _speakers(sentences)
    return [f"{_listed(people)} talk about {_listed([f'the {noun}' for noun in topics[:2]])}."]


def _speakers(sentences: Sequence[Sentence]) -> list[str]:
    return list(dict.fromkeys(sentence.speaker for sentence in sentences))


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _told(clauses: Sequence[Clause], names: frozenset[str], rng: np.random.Generator) -> list[str]:
    """Return one sentence per clause, or per two short neighbouring clauses of one speaker."""
    told: list[str] = []
    previous: Clause | None = None
    for clause in clauses:
        follows = previous is not None and previous.speaker == clause.speaker
        predicate = _predicate(clause, names, rng, adds=follows)
        if previous and follows and _can_join(previous, clause, told[-1], predicate):
            predicate = predicate.removeprefix("adds ") if previous.act == "states" else predicate
            told[-1] = f"{told[-1].rstrip('.')} and {predicate}."
            previous = None
        else:
            told.append(f"{clause.speaker} {predicate}.")
            previous = clause
    return told


def _can_join(previous: Clause, clause: Clause, sentence: str, predicate: str) -> bool:
    """Whether a predicate that follows "and" would still have the sentence's subject."""
    if previous.act == "asks" or (previous.act == "states" and clause.act != "states"):
        return False
    return "," not in sentence and _is_short(sentence, predicate)


def _is_short(*parts: str) -> bool:
    return sum(len(words(part)) for part in parts) <= LONGEST_JOINED


def _predicate(
    clause: Clause, names: frozenset[str], rng: np.random.Generator, *, adds: bool
) -> str:
    predicate = condense(clause.predicate, rng=rng, keep=KEEP_DETAIL)
    if clause.act != "states":
        return predicate
    saying = "adds that" if adds else _SAYING[int(rng.integers(len(_SAYING)))]
    return f"{saying} {uncapitalised(predicate, names)}"


def _digest_news(
    sentences: Sequence[Sentence], rng: np.random.Generator, temperature: float
) -> str:
    size = int(rng.integers(3, 5))
    drawn = sample_order(_news_worth(sentences), size, rng=rng, temperature=temperature)
    chosen = [
        index for index in sorted(drawn) if not sentences[index].is_dangling or index - 1 in drawn
    ]
    condensed = [
        condense(sentences[index].text, rng=rng, keep=KEEP_DETAIL).rstrip(".") for index in chosen
    ]
    return _joined(condensed, proper_names(sentences), rng)


def _news_worth(sentences: Sequence[Sentence]) -> FloatArray:
    """Score sentences: the first is worth most, then numbers, and quotations and remarks least."""
    return np.array(
        [
            min(len(_NUMBER.findall(sentence.text)), 2) * 0.6
            - 1.5 * ('"' in sentence.text)
            - 1.0 * (len(words(sentence.text)) < 8)
            + 2.2 * (index == 0)
            for index, sentence in enumerate(sentences)
        ]
    )


def _joined(sentences: Sequence[str], names: frozenset[str], rng: np.random.Generator) -> str:
    """Return the sentences as one text, in which two short neighbours may be joined once."""
    texts = [text[:1].upper() + text[1:] for text in sentences]
    short = [
        n for n, pair in enumerate(pairwise(texts)) if _is_short(*pair) and '"' not in "".join(pair)
    ]
    if short and rng.random() < JOIN:
        first = short[int(rng.integers(len(short)))]
        link = _LINKS[int(rng.integers(len(_LINKS)))]
        texts[first : first + 2] = [texts[first] + link + uncapitalised(texts[first + 1], names)]
    return " ".join(f"{text}." for text in texts)

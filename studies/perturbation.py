"""Spoilt copies of texts, so bad that anybody who reads can tell."""

import random
import re

# Below this there is too little to spoil.
MIN_WORDS = 8
KEPT = 0.7


def is_spoilable(text: str) -> bool:
    return len(text.split()) >= MIN_WORDS


def heavily_perturbed(text: str, rng: random.Random) -> str:
    """The text with its sentences and the words in them out of order, and three in ten missing."""
    sentences = [s for s in re.split(r"(?<=[.!?。])\s+", text.strip()) if s]
    rng.shuffle(sentences)
    return " ".join(_scrambled(sentence, rng) for sentence in sentences)


def _scrambled(sentence: str, rng: random.Random) -> str:
    words = sentence.split()
    kept = rng.sample(words, max(1, round(KEPT * len(words))))
    return " ".join(kept)

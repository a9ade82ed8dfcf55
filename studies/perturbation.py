"""Degraded copies of texts, which are obviously worse than the originals."""

import random
import re

# The degradation of a text with fewer words would not be visible.
MIN_WORDS = 8
KEPT = 0.7


def is_long_enough(text: str) -> bool:
    return len(text.split()) >= MIN_WORDS


def degraded_copy(text: str, rng: random.Random) -> str:
    """Shuffle the sentences, shuffle the words within each of them, and drop three words in ten."""
    sentences = [s for s in re.split(r"(?<=[.!?。])\s+", text.strip()) if s]
    rng.shuffle(sentences)
    return " ".join(_scrambled(sentence, rng) for sentence in sentences)


def _scrambled(sentence: str, rng: random.Random) -> str:
    words = sentence.split()
    kept = rng.sample(words, max(1, round(KEPT * len(words))))
    return " ".join(kept)

"""Degraded copies of texts, obviously worse than the original to any reader."""

import random
import re

# Shorter texts cannot be degraded visibly.
MIN_WORDS = 8
KEPT = 0.7


def is_long_enough(text: str) -> bool:
    return len(text.split()) >= MIN_WORDS


def degraded_copy(text: str, rng: random.Random) -> str:
    """Shuffle the sentences and the words in each, and drop three words in ten."""
    sentences = [s for s in re.split(r"(?<=[.!?。])\s+", text.strip()) if s]
    rng.shuffle(sentences)
    return " ".join(_scrambled(sentence, rng) for sentence in sentences)


def _scrambled(sentence: str, rng: random.Random) -> str:
    words = sentence.split()
    kept = rng.sample(words, max(1, round(KEPT * len(words))))
    return " ".join(kept)

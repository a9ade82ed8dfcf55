"""Shortens a sentence by leaving out clauses that it does not need."""

import re

import numpy as np

from studies.demo.prose import words

MIN_WORDS = 5
# Without any of these parts, the rest is still a whole sentence.
_ASIDES = (
    re.compile(r", (?:who|which|whose|of which)\b[^,.;]+,(?= )"),
    re.compile(r", (?:[A-Z][\w-]+ [A-Z][\w-]+|a [^,.]{4,60}|the \w+est [^,.]+),(?= )"),
    re.compile(r"^According to [^,]+, "),
    re.compile(r"(?<=\w), (?:who|which|whose|of which)\b[^,.;]+(?=\.?$)"),
)
_TAILS = re.compile(
    r"(?:,? (?:because|although|since|after which)|, (?:so|but|while|most of|down from|compared"
    r"|together|after|free|an?|the \w+est|fewer|more|as soon as))\b [^.;]+(?=\.?$)"
)
# The word "and" is in lists as often as before a clause, so it is cut only after the only comma.
_SECOND_CLAUSE = re.compile(r"^([^,]+), and\b [^,.;]+(?=\.?$)")
_CUTS = (*((pattern, "") for pattern in (*_ASIDES, _TAILS)), (_SECOND_CLAUSE, r"\1"))


def condense(text: str, *, rng: np.random.Generator, keep: float) -> str:
    """Return the sentence without its dispensable parts. Each stays with probability `keep`."""
    for pattern, rest in _CUTS:
        shorter = pattern.sub(rest, text, count=1)
        spared = rng.random() < keep
        if shorter != text and not spared and len(words(shorter)) >= MIN_WORDS:
            text = shorter
    return text

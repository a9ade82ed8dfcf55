"""Shortens a sentence by leaving out clauses that the rest can stand without."""

import re

import numpy as np

from studies.demo.prose import words

MIN_WORDS = 5
# Each leaves a whole sentence behind; only tails that the main clause does not need are cut.
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
# "and" ends a list as often as it opens a clause: only a sentence's one comma is cut there.
_SECOND_CLAUSE = re.compile(r"^([^,]+), and\b [^,.;]+(?=\.?$)")
_CUTS = (*((pattern, "") for pattern in (*_ASIDES, _TAILS)), (_SECOND_CLAUSE, r"\1"))


def condense(text: str, *, rng: np.random.Generator, keep: float) -> str:
    """The sentence with each dispensable part left out, unless a draw below `keep` spares it."""
    for pattern, rest in _CUTS:
        shorter = pattern.sub(rest, text, count=1)
        spared = rng.random() < keep
        if shorter != text and not spared and len(words(shorter)) >= MIN_WORDS:
            text = shorter
    return text

"""What texts without any token have in common: the same for each similarity on tokens."""

from math import nan


def tokenless_score(text: str, other: str, *, both: bool) -> float:
    """The similarity of two texts of which one, or `both`, have no token.

    Empty against non-empty is 0, both empty 1. Texts that hold characters of which the tokeniser
    sees none (a script it does not know) are equal or cannot be told apart: 1 or NaN.
    """
    if not both:
        return 0.0
    return 1.0 if text.strip() == other.strip() else nan

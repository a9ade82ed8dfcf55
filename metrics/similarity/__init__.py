"""Text similarities s(y, y′) and the alignment matrices of whole instances. No Django.

Each similarity is symmetric and lies in [0, 1]; the longer text, by its own tokens, is the
reference. Empty against non-empty is 0, both empty 1.
"""

from metrics.similarity.alignment import Alignments, align
from metrics.similarity.lexical import Bleu, Rouge1, Similarity

SIMILARITIES: dict[str, type[Similarity]] = {"rouge1": Rouge1, "bleu": Bleu}


def similarity(name: str) -> Similarity:
    """The similarity of that name; `ValueError` lists the ones there are."""
    if name not in SIMILARITIES:
        raise ValueError(f"{name!r} is not a similarity; there are {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]()


__all__ = ["SIMILARITIES", "Alignments", "Bleu", "Rouge1", "Similarity", "align", "similarity"]

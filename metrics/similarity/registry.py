"""Similarities by name. A new one is a module and a line here; encoders come in as others do."""

from typing import Any

from metrics.similarity.bleu import Bleu
from metrics.similarity.rouge import Rouge1
from metrics.similarity.types import Similarity

SIMILARITIES: dict[str, Similarity[Any]] = {"rouge1": Rouge1(), "bleu": Bleu()}


def similarity_named(name: str) -> Similarity[Any]:
    """Raise ValueError with the names that there are."""
    if name not in SIMILARITIES:
        known = ", ".join(SIMILARITIES)
        raise ValueError(f"The similarity {name!r} is not known. Take one of: {known}.")
    return SIMILARITIES[name]

"""The cosine of sentence embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiebreak.gateway.encoders import TextEncoder
from tiebreak.similarity.measure import FloatArray, Similarity, settled_by_emptiness

VERSION = 1  # of the definition below, stored with the scores


@dataclass(frozen=True, eq=False)
class Sentence:
    """One text's unit vector (D,), or none of use where the text is empty."""

    vector: NDArray[np.float32]
    is_empty: bool
    is_truncated: bool


class SentenceCosine(Similarity):
    """The cosine of two texts' sentence embeddings, as it is: in [−1, 1].

    A text of nothing but white space is empty.

    Parameters
    ----------
    encoder : TextEncoder
    """

    name = "sentence_cosine"
    title = "sentence cosine"

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def settings(self) -> Mapping[str, object]:
        """The encoder's settings beside the similarity's own."""
        return {**super().settings, "version": VERSION, **self.encoder.settings}

    def prepare(self, texts: Sequence[str]) -> list[Sentence]:
        """The vector of each text."""
        found = self.encoder.encode_sentences(texts)
        return [
            Sentence(vector, not text.strip(), bool(is_truncated))
            for vector, text, is_truncated in zip(
                found.vectors, texts, found.is_truncated, strict=True
            )
        ]

    def between(self, prepared: Sequence[Sentence]) -> FloatArray:
        """Cosines of all pairs, (n, n)."""
        if not prepared:
            return np.zeros((0, 0))
        vectors = np.stack([each.vector for each in prepared]).astype(float)
        cosines = np.clip(vectors @ vectors.T, -1, 1)
        is_empty = np.array([each.is_empty for each in prepared])
        return settled_by_emptiness(is_empty, (cosines + cosines.T) / 2)

    def is_truncated(self, prepared: Sentence) -> bool:
        """The text was longer than the encoder's window."""
        return prepared.is_truncated

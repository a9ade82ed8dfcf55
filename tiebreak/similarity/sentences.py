"""The cosine of sentence embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiebreak.gateway.encoders import TextEncoder
from tiebreak.similarity.measure import FloatArray, Similarity, with_empty_texts

VERSION = 1  # of this implementation; stored with the scores


@dataclass(frozen=True, eq=False)
class Sentence:
    """The unit vector of one text, which is meaningless if the text is empty."""

    vector: NDArray[np.float32]
    is_empty: bool
    is_truncated: bool


class SentenceCosine(Similarity):
    """Cosine of the sentence embeddings of two texts, in [−1, 1].

    Parameters
    ----------
    encoder : TextEncoder
        Encoder of the texts. A text that consists only of white space counts as empty.
    """

    name = "sentence_cosine"
    title = "sentence cosine"

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings of the similarity and of its encoder, ready for JSON."""
        return {**super().settings, "version": VERSION, **self.encoder.settings}

    def prepare(self, texts: Sequence[str]) -> list[Sentence]:
        """Return the vector of each text."""
        embeddings = self.encoder.encode_sentences(texts)
        return [
            Sentence(vector, not text.strip(), bool(is_truncated))
            for vector, text, is_truncated in zip(
                embeddings.vectors, texts, embeddings.is_truncated, strict=True
            )
        ]

    def between(self, prepared: Sequence[Sentence]) -> FloatArray:
        """Return the cosines of all pairs, in shape (texts, texts)."""
        if not prepared:
            return np.zeros((0, 0))
        vectors = np.stack([text.vector for text in prepared]).astype(float)
        cosines = np.clip(vectors @ vectors.T, -1, 1)
        is_empty = np.array([text.is_empty for text in prepared])
        return with_empty_texts((cosines + cosines.T) / 2, is_empty)

    def is_truncated(self, prepared: Sentence) -> bool:
        """Return whether the text was longer than the encoder's window."""
        return prepared.is_truncated

"""An encoder that needs no weights."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from tiebreak.gateway.encoders import FloatArray, SentenceEmbeddings, TokenEmbeddings, encodable


class FakeEncoder:
    """An encoder without weights, with unit vectors that depend only on a digest of each word.

    Words are separated by white space. Each text has an opening and a closing token, which are not
    counted.
    """

    name = "fake"
    revision = "1"
    device = "cpu"

    def __init__(self, *, dimension: int = 32, window: int = 512) -> None:
        self.dimension = dimension
        self.window = window

    @property
    def settings(self) -> dict[str, object]:
        """Settings that identify the encoder, ready for JSON."""
        return {
            "encoder": self.name,
            "revision": self.revision,
            "dimension": self.dimension,
            "window": self.window,
        }

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenEmbeddings]:
        """Return the words of each text between an opening and a closing token."""
        return [self._tokens(text.split()) for text in texts]

    def _tokens(self, words: list[str]) -> TokenEmbeddings:
        tokens = ["", *words[: self.window - 2], "\n"]
        vectors = np.stack([word_vector(token, self.dimension) for token in tokens])
        is_counted = np.array([False, *(True for _ in tokens[1:-1]), False])
        return TokenEmbeddings(vectors, is_counted, len(tokens) - 2 < len(words))

    def encode_sentences(self, texts: Sequence[str]) -> SentenceEmbeddings:
        """Return the direction of the sum of each text's word vectors."""
        tokens = self.encode_tokens(texts)
        sums = [text.vectors[text.is_counted].sum(axis=0) for text in tokens]
        vectors = np.reshape(sums, (len(texts), self.dimension)).astype(np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        is_truncated = np.array([text.is_truncated for text in tokens], dtype=bool)
        return SentenceEmbeddings(vectors / np.maximum(norms, 1e-12), is_truncated)


@lru_cache(maxsize=2**16)
def word_vector(word: str, dimension: int) -> FloatArray:
    """Return a random unit vector that is seeded with the digest of the word."""
    digest = blake2b(encodable(word).encode(), digest_size=8).digest()
    vector = np.random.default_rng(int.from_bytes(digest)).standard_normal(dimension)
    unit_vector: FloatArray = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit_vector

"""BERTScore: greedy matching of token vectors by cosine, for all pairs of texts together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.gateway.encoders import TextEncoder, TokenEmbeddings
from tiebreak.similarity.matching import greedy_f1_each
from tiebreak.similarity.measure import FloatArray, Similarity, with_empty_texts
from tiebreak.similarity.words import words_13a

VERSION = 1  # of this implementation; stored with the scores


@dataclass(frozen=True, eq=False)
class Encoded:
    """The token vectors of a text, and its number of words (13a tokeniser) before truncation."""

    tokens: TokenEmbeddings
    n_words: int


class BertScore(Similarity):
    """BERTScore F1, without idf weights or baseline rescaling, in [0, 1].

    Parameters
    ----------
    encoder : TextEncoder
        Encoder of the tokens.

    See Also
    --------
    LengthAdjustedBertScore : BERTScore with a penalty for texts of different length.

    Notes
    -----
    Each token of a text is matched to the most similar token of the other text. Precision and
    recall are the means of these cosines, where negative cosines count as 0 (Zhang et al. 2020,
    section 3). Values equal those of the bert-score package. Opening and closing tokens can be
    matched but have no weight. A text without other tokens counts as empty.
    """

    name = "bertscore"
    title = "BERTScore"

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings of the similarity and of its encoder, ready for JSON."""
        return {**super().settings, "version": VERSION, **self.encoder.settings}

    def prepare(self, texts: Sequence[str]) -> list[Encoded]:
        """Return the encoded tokens of each text."""
        tokens = self.encoder.encode_tokens(texts)
        return [
            Encoded(embeddings, len(words_13a(text)))
            for embeddings, text in zip(tokens, texts, strict=True)
        ]

    @property
    def is_on_device(self) -> bool:
        """Whether the encoder runs on a device other than the CPU."""
        return self.encoder.device != "cpu"

    def between(self, prepared: Sequence[Encoded]) -> FloatArray:
        """Return the F1 of all pairs, in shape (texts, texts)."""
        return self.between_each([prepared])[0]

    def between_each(self, groups: Sequence[Sequence[Encoded]]) -> list[FloatArray]:
        """Return the F1 of all pairs in each group; all groups are transferred in one step."""
        is_empty = [np.array([_is_empty(text) for text in group], dtype=bool) for group in groups]
        nonempty = [
            [text.tokens for text in compress(group, ~mask)]
            for group, mask in zip(groups, is_empty, strict=True)
        ]
        matrices = []
        for mask, f1 in zip(is_empty, greedy_f1_each(nonempty), strict=True):
            matrix = np.zeros((len(mask), len(mask)))
            matrix[np.ix_(~mask, ~mask)] = f1
            matrices.append(with_empty_texts(matrix, mask))
        return matrices

    def is_truncated(self, prepared: Encoded) -> bool:
        """Return whether the text was longer than the encoder's window."""
        return prepared.tokens.is_truncated


class LengthAdjustedBertScore(BertScore):
    """BERTScore F1 with a penalty for texts of different length, in [0, 1].

    Parameters
    ----------
    encoder : TextEncoder
        Encoder of the tokens.

    See Also
    --------
    length_penalty : Compute the penalty.

    Notes
    -----
    The similarity is F1 · exp(1 − longer / shorter), where lengths are numbers of words (13a
    tokeniser) before truncation (Ghosh et al. 2024, section 3). The authors' published code mixes
    characters and tokens, so its values can exceed 1; the values of this class cannot.
    """

    name = "bertscore_length_adjusted"
    title = "length-adjusted BERTScore"

    def between_each(self, groups: Sequence[Sequence[Encoded]]) -> list[FloatArray]:
        """Return the length-adjusted F1 of all pairs in each group."""
        lengths = [np.array([text.n_words for text in group], dtype=float) for group in groups]
        matrices = super().between_each(groups)
        return [f1 * length_penalty(length) for f1, length in zip(matrices, lengths, strict=True)]


def _is_empty(text: Encoded) -> bool:
    return not text.tokens.is_counted.any()


def length_penalty(lengths: NDArray[np.floating[Any]]) -> FloatArray:
    """Compute the length penalty of all pairs of texts.

    Parameters
    ----------
    lengths : ndarray of float, shape (n,)
        Length of each text.

    Returns
    -------
    ndarray of float, shape (n, n)
        Penalty exp(1 − longer / shorter), in [0, 1]. It is 1 if both lengths are 0, and 0 if only
        one of them is.

    Examples
    --------
    >>> length_penalty(np.array([2.0, 4.0]))[0].round(4).tolist()
    [1.0, 0.3679]
    """
    longer = np.maximum.outer(lengths, lengths)
    shorter = np.minimum.outer(lengths, lengths)
    ratio = np.divide(longer, shorter, out=np.ones_like(longer), where=shorter > 0)
    return with_empty_texts(np.exp(1 - ratio), lengths == 0)

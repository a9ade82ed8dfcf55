"""Alignment matrices: how alike a system's generations are to one another and to another's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.similarity.lexical import Similarity


@dataclass(frozen=True)
class Alignments:
    """Similarities of one instance: (K_A, K_A), (K_B, K_B) and (K_A, K_B)."""

    self_a: NDArray[np.float64]
    self_b: NDArray[np.float64]
    cross: NDArray[np.float64]


def align(texts_a: Sequence[str], texts_b: Sequence[str], similarity: Similarity) -> Alignments:
    """All pairs within and between two systems' generations.

    Each distinct text is prepared once, and each unordered pair of a self-alignment scored once.
    """
    prepared = {text: similarity.prepare(text) for text in {*texts_a, *texts_b}}
    a, b = [prepared[text] for text in texts_a], [prepared[text] for text in texts_b]
    return Alignments(_within(a, similarity), _within(b, similarity), similarity.matrix(a, b))


def _within(texts: Sequence[object], similarity: Similarity) -> NDArray[np.float64]:
    matrix = np.ones((len(texts), len(texts)))
    for i, first in enumerate(texts):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = similarity.of_prepared(first, texts[j])
    return matrix

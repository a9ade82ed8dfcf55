<<<<<<< HEAD
"""Alignment matrices: how alike a system's generations are to one another and to another's."""

from collections.abc import Sequence
=======
"""Alignment matrices: the similarities of two systems' generations, for many instances at once."""

from collections.abc import Iterable, Sequence
>>>>>>> origin/main
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

<<<<<<< HEAD
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
=======
from metrics.similarity.registry import similarity_named
from metrics.similarity.types import Array

Texts = Sequence[str | None]
_MISSING = -1


@dataclass(frozen=True, slots=True)
class AlignmentMatrices:
    """Similarities of one instance's generations.

    `self_a` (K_A, K_A), `self_b` (K_B, K_B), `cross` (K_A, K_B); NaN where a generation is missing
    or a similarity undefined. The diagonals of the first two hold s(y, y), which no mean counts.
    """

    self_a: Array
    self_b: Array
    cross: Array


def alignment_matrices(texts_a: Texts, texts_b: Texts, *, similarity: str) -> AlignmentMatrices:
    """The matrices of one instance; None stands for a missing generation.

    Examples
    --------
    >>> alignment_matrices(["a cat", "a dog"], ["a cat"], similarity="rouge1").cross
    array([[1. ],
           [0.5]])
    """
    return batched_alignment_matrices([(texts_a, texts_b)], similarity=similarity)[0]


def batched_alignment_matrices(
    instances: Iterable[tuple[Texts, Texts]], *, similarity: str
) -> list[AlignmentMatrices]:
    """The matrices of several instances, in their order.

    Parameters
    ----------
    instances : the generations of system A and of system B, for each instance
        None stands for a missing generation.
    similarity : a name of `SIMILARITIES`

    Features are made once for each distinct text, scores once for each distinct pair.

    Source: Ghosh et al. 2024 (SEPARABILITY), eqs. 1 and 2; every pair is scored, where the
    published code mirrors some.
    """
    position: dict[str, int] = {}
    rows = [(_positions(a, position), _positions(b, position)) for a, b in instances]
    keys = [_pair_keys(np.concatenate(row), len(position)) for row in rows]
    pairs = np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    pairs = pairs[pairs != _MISSING]
    left, right = np.divmod(pairs, max(len(position), 1))
    measure = similarity_named(similarity)
    scores = measure.scores(measure.features([*position]), left, right)
    return [_matrices(row, key, pairs, scores) for row, key in zip(rows, keys, strict=True)]


def _positions(texts: Texts, position: dict[str, int]) -> NDArray[np.int64]:
    places = [
        _MISSING if text is None else position.setdefault(text, len(position)) for text in texts
    ]
    return np.array(places, dtype=np.int64)


def _pair_keys(places: NDArray[np.int64], n_texts: int) -> NDArray[np.int64]:
    """One number for each pair, the same both ways round (n · n); −1 where a text is missing."""
    low = np.minimum.outer(places, places)
    high = np.maximum.outer(places, places)
    return np.where(low == _MISSING, _MISSING, low * n_texts + high).reshape(-1)


def _matrices(
    row: tuple[NDArray[np.int64], NDArray[np.int64]],
    keys: NDArray[np.int64],
    pairs: NDArray[np.int64],
    scores: Array,
) -> AlignmentMatrices:
    k_a, k = len(row[0]), len(row[0]) + len(row[1])
    padded = np.append(scores, np.nan)
    found = np.where(keys == _MISSING, len(pairs), np.searchsorted(pairs, keys))
    both = padded[found].reshape(k, k)
    return AlignmentMatrices(both[:k_a, :k_a], both[k_a:, k_a:], both[:k_a, k_a:])
>>>>>>> origin/main

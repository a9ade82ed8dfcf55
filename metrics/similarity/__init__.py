"""Similarities of texts and their alignment matrices. Knows no Django."""

from metrics.similarity.alignment import (
    AlignmentMatrices,
    alignment_matrices,
    batched_alignment_matrices,
)
from metrics.similarity.registry import SIMILARITIES, similarity_named
from metrics.similarity.types import Similarity

__all__ = [
    "SIMILARITIES",
    "AlignmentMatrices",
    "Similarity",
    "alignment_matrices",
    "batched_alignment_matrices",
    "similarity_named",
]

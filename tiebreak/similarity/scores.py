"""Scores of instances: the alignments of two systems' generations, and the separability δ of each."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tiebreak.similarity.alignment import Alignments, Instance, align_many
from tiebreak.similarity.measure import Similarity
from tiebreak.stats.core.results import none_if_nan
from tiebreak.stats.design.separability import (
    NormalisedSeparability,
    normalised_separability,
    separability,
)

Item = TypeVar("Item")


@dataclass(frozen=True)
class Score:
    """Separability of two systems on one instance, as it is stored: None where it is undefined."""

    self_alignment_a: float | None
    self_alignment_b: float | None
    cross_alignment: float | None
    delta: float | None
    delta_standard_error: float | None
    samples_a: int
    samples_b: int
    truncated: int

    @classmethod
    def of(cls, alignments: Alignments) -> "Score":
        result = separability(alignments.self_a, alignments.self_b, alignments.cross)
        return cls(
            self_alignment_a=none_if_nan(result.self_alignment_a),
            self_alignment_b=none_if_nan(result.self_alignment_b),
            cross_alignment=none_if_nan(result.cross_alignment),
            delta=none_if_nan(result.delta),
            delta_standard_error=none_if_nan(result.standard_error),
            samples_a=len(alignments.self_a),
            samples_b=len(alignments.self_b),
            truncated=alignments.truncated,
        )


def score_many(
    items: Iterable[tuple[Item, Instance]], measure: Similarity, *, workers: int = 1
) -> Iterator[tuple[Item, Score]]:
    """Yield each item with the score of its texts, in order.

    All texts go through one stream so that a device computes while scores are stored.
    """
    pending: deque[Item] = deque()

    def texts() -> Iterator[Instance]:
        for item, instance in items:
            pending.append(item)
            yield instance

    for alignments in align_many(texts(), measure, workers=workers):
        yield pending.popleft(), Score.of(alignments)


def normalised_by_pair(
    self_a: ArrayLike,
    self_b: ArrayLike,
    cross: ArrayLike,
    *,
    ends: tuple[float, float] | None = None,
) -> NormalisedSeparability:
    """Return separability (δ) from alignments that are min–max normalised over all of them.

    They belong to one pair of systems and one similarity, over the dataset.
    """
    scope = "one pair of systems on one dataset"
    return normalised_separability(self_a, self_b, cross, scope=scope, ends=ends)


def normalised_scores(
    alignments: Sequence[tuple[float | None, ...]], ends: tuple[float, float] | None = None
) -> list[tuple[float | None, str | None]]:
    """Return the normalised δ and the scenario of each instance, given its alignments as stored."""
    columns = np.array(alignments, dtype=float).reshape(-1, 3).T
    found = normalised_by_pair(*columns, ends=ends)
    return list(zip(map(none_if_nan, found.delta.tolist()), found.scenarios, strict=True))

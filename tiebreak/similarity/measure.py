"""The base class of similarities: prepare each text once, then compare all pairs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Similarity(ABC):
    """A symmetric similarity s(y, y′) of texts; 1 for a text and itself.

    Two empty texts have 1, an empty text and another 0.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # for display
    is_parallel: ClassVar[bool] = False  # cheap to create in every worker process

    @property
    def is_on_device(self) -> bool:
        """Computed elsewhere than on the processor, which can make ready what comes next."""
        return False

    @property
    def settings(self) -> Mapping[str, object]:
        """What must be stored beside the scores to make them again, ready for JSON."""
        return {"similarity": self.name}

    @abstractmethod
    def prepare(self, texts: Sequence[str]) -> list[Any]:
        """What the similarity needs of each text, made once however many pairs it is in."""

    @abstractmethod
    def between(self, prepared: Sequence[Any]) -> FloatArray:
        """All pairs of n prepared texts: (n, n), symmetric."""

    def between_each(self, groups: Sequence[Sequence[Any]]) -> list[FloatArray]:
        """All pairs within each of several groups of prepared texts."""
        return [self.between(group) for group in groups]

    def is_truncated(self, prepared: Any) -> bool:  # noqa: ARG002
        """Only the beginning of the text was read, for want of room."""
        return False

    def __call__(self, first: str, second: str) -> float:
        return float(self.between(self.prepare([first, second]))[0, 1])


def with_empty_texts(similarity: FloatArray, is_empty: NDArray[np.bool_]) -> FloatArray:
    """The (n, n) similarities, but 1 for two empty texts and 0 for one empty text."""
    matrix: FloatArray = np.where(is_empty[:, None] | is_empty, 0.0, similarity)
    matrix[np.ix_(is_empty, is_empty)] = 1.0
    return matrix

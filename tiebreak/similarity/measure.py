"""The base class of similarities, which prepare each text once and then compare all pairs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Similarity(ABC):
    """A symmetric similarity of texts.

    The similarity is 1 for two equal texts, including two empty texts, and 0 for an empty and a
    non-empty text. Each text is prepared once, and then all pairs are compared.

    Attributes
    ----------
    name : str
        Name of the similarity in `SIMILARITIES`.
    title : str
        Name for display.
    is_parallel : bool
        Whether the similarity is cheap to create in every worker process.
    is_on_device : bool
        Whether the similarity is computed on a device other than the CPU.
    settings : mapping of str to object
        Settings that are stored with the scores to reproduce them, ready for JSON.

    See Also
    --------
    tiebreak.similarity.similarity : Create a similarity by name.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    is_parallel: ClassVar[bool] = False

    @property
    def is_on_device(self) -> bool:
        """Whether the similarity is computed on a device other than the CPU."""
        return False

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings that are stored with the scores to reproduce them, ready for JSON."""
        return {"similarity": self.name}

    @abstractmethod
    def prepare(self, texts: Sequence[str]) -> list[Any]:
        """Prepare texts for comparison.

        Parameters
        ----------
        texts : sequence of str, length n
            Texts.

        Returns
        -------
        list of length n
            Prepared texts, for `between`.
        """

    @abstractmethod
    def between(self, prepared: Sequence[Any]) -> FloatArray:
        """Compare all pairs of prepared texts.

        Parameters
        ----------
        prepared : sequence of length n
            Texts as returned by `prepare`.

        Returns
        -------
        ndarray of float, shape (n, n)
            Symmetric matrix of similarities.
        """

    def between_each(self, groups: Sequence[Sequence[Any]]) -> list[FloatArray]:
        """Compare all pairs within each of several groups of prepared texts.

        Parameters
        ----------
        groups : sequence of sequences
            Groups of texts as returned by `prepare`.

        Returns
        -------
        list of ndarray of float, shape (n, n)
            Symmetric matrix of similarities for each group of n texts.
        """
        return [self.between(group) for group in groups]

    def is_truncated(self, prepared: Any) -> bool:  # noqa: ARG002
        """Check whether only the beginning of a text was read.

        Parameters
        ----------
        prepared : object
            Prepared text.

        Returns
        -------
        bool
            Whether the text is longer than the similarity can read.
        """
        return False

    def __call__(self, first: str, second: str) -> float:
        return float(self.between(self.prepare([first, second]))[0, 1])


def with_empty_texts(similarity: FloatArray, is_empty: NDArray[np.bool_]) -> FloatArray:
    """Set the similarity of two empty texts to 1, and of an empty and a non-empty text to 0."""
    if not is_empty.any():
        return similarity
    matrix: FloatArray = np.where(is_empty[:, None] | is_empty, 0.0, similarity)
    matrix[np.ix_(is_empty, is_empty)] = 1.0
    return matrix

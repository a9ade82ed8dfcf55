"""The base class of similarities: prepare each text once, then compare all pairs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Similarity(ABC):
    """Symmetric similarity of texts.

    A text and itself have similarity 1, as do two empty texts; an empty text and another have 0.
    Texts are prepared once, and then all pairs of them are compared.

    Attributes
    ----------
    name : str
        Name of the similarity in `SIMILARITIES`.
    title : str
        Name for display.
    is_parallel : bool
        Whether it is cheap to create in every worker process.
    is_on_device : bool
        Whether it is computed on a device other than the CPU.
    settings : mapping of str to object
        What must be stored with the scores to reproduce them, ready for JSON.

    See Also
    --------
    tiebreak.similarity.similarity : The similarity of a name.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # for display
    is_parallel: ClassVar[bool] = False  # cheap to create in every worker process

    @property
    def is_on_device(self) -> bool:
        """Whether it is computed on a device other than the CPU."""
        return False

    @property
    def settings(self) -> Mapping[str, object]:
        """What must be stored with the scores to reproduce them, ready for JSON."""
        return {"similarity": self.name}

    @abstractmethod
    def prepare(self, texts: Sequence[str]) -> list[Any]:
        """Compute what the similarity needs of each text.

        Parameters
        ----------
        texts : sequence of str, length n
            The texts.

        Returns
        -------
        list of length n
            The prepared texts, for `between`.
        """

    @abstractmethod
    def between(self, prepared: Sequence[Any]) -> FloatArray:
        """Compare all pairs of prepared texts.

        Parameters
        ----------
        prepared : sequence of length n
            What `prepare` returned.

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
            Groups of what `prepare` returned.

        Returns
        -------
        list of ndarray of float, shape (n, n)
            Symmetric matrix of each group.
        """
        return [self.between(group) for group in groups]

    def is_truncated(self, prepared: Any) -> bool:  # noqa: ARG002
        """Tell whether only the beginning of a text was read.

        Parameters
        ----------
        prepared : object
            Prepared text.

        Returns
        -------
        bool
            Whether it is longer than what the similarity reads.
        """
        return False

    def __call__(self, first: str, second: str) -> float:
        return float(self.between(self.prepare([first, second]))[0, 1])


def with_empty_texts(similarity: FloatArray, is_empty: NDArray[np.bool_]) -> FloatArray:
    """The (n, n) similarities, but 1 for two empty texts and 0 for one empty text."""
    matrix: FloatArray = np.where(is_empty[:, None] | is_empty, 0.0, similarity)
    matrix[np.ix_(is_empty, is_empty)] = 1.0
    return matrix

"""The ratings of humans and one machine on the same units."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.validation import (
    as_counts,
    as_unparsed,
)
from tiebreak.stats.raters.additive import Categories, label_number
from tiebreak.stats.raters.label_pairs import (
    Pairs,
    RandomPairs,
    central_weights,
    single_weights,
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Ratings by humans and one machine on the same units, reduced once for all statistics.

    Use `Comparison.of` to create a comparison.

    See Also
    --------
    human_machine : Compares the human majority with the machine's majority.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 1]])
    >>> comparison.patterns.n_units
    2
    """

    patterns: Patterns
    """Joint rows, which contain the human counts, the machine counts, the number of unparsed
    answers, and the split number."""
    labels: int
    """Number of labels in the scale."""

    @classmethod
    def of(
        cls,
        humans: npt.ArrayLike,
        machine: npt.ArrayLike,
        *,
        unparsed: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | None = None,
        split: npt.ArrayLike | None = None,
    ) -> Self:
        """Join the label counts of the humans and the machine.

        Parameters
        ----------
        humans, machine : array_like of int, shape (n_units, n_labels)
            Number of ratings that give each unit each label. Every run and every presentation order
            of the machine counts as a rating.
        unparsed : array_like of int, shape (n_units,), optional
            Number of machine answers for each unit that could not be read. If none of the answers
            for a unit could be read, the unit counts as a disagreement in percentage agreement,
            classification and leave-one-out agreement, and as missing in all other statistics.
        clusters : array_like, shape (n_units,), optional
            Instance of each unit. If units share an instance, whole instances are resampled.
        split : array_like of int, shape (n_units,), optional
            Number for each unit. Units with different numbers are never reduced to the same row, so
            strata can separate them.

        Returns
        -------
        Comparison
            The joint counts.

        Raises
        ------
        InvalidInput
            If the shapes differ, or the counts are not whole numbers.

        Examples
        --------
        >>> Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 0]], unparsed=[0, 1]).labels
        2
        """
        left, right = as_counts(humans, name="humans"), as_counts(machine, name="machine")
        if left.shape != right.shape:
            raise InvalidInput(
                "wrong_shape",
                "humans and machine must have the same shape, because they count the same units"
                f" and labels; their shapes are {left.shape} and {right.shape}.",
            )
        n_unparsed = as_unparsed(unparsed, len(left))
        code = np.zeros_like(n_unparsed) if split is None else split
        joint = np.column_stack([left, right, n_unparsed, code])
        return cls(Patterns.of(joint, clusters=clusters), left.shape[1])

    @property
    def humans(self) -> slice:
        """Columns of the joint rows that contain the human counts."""
        return slice(0, self.labels)

    @property
    def machine(self) -> slice:
        """Columns of the joint rows that contain the machine counts."""
        return slice(self.labels, 2 * self.labels)

    def pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with the machine's majority.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=partial(central_weights, level=level))

    def single_pairs(self, *, level: Level) -> Pairs:
        """Pair a random single human with the machine's majority.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=single_weights)

    def random_pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with uniformly random labels.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return RandomPairs(
            self.labels, level=level, human_weights=partial(central_weights, level=level)
        )

    def label_number(self, k: Categories) -> int:
        """Return the number of labels for Randolph's κ.

        Parameters
        ----------
        k : int, {"observed"} or None
            See `randolph_kappa`. ``"observed"`` counts the labels that humans or the machine gave.

        Returns
        -------
        int
            Number of labels.
        """
        both = self.patterns.rows[:, self.humans] + self.patterns.rows[:, self.machine]
        return label_number(both, k)

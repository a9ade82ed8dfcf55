"""Pairs of one human label and one machine label per unit.

A joint row is ``[human counts (L), machine counts (L), unparsed answers, …]``; what follows is
not read. Each side gives a unit
*entries*: weights over the labels that add to 1, or to 0 where the side has no label. A tie for
the majority enters once per mode with equal weights; both sides' weights multiply.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.agreement_statistics import (
    CERTAIN,
    ONE_LABEL,
    chance_corrected,
    cohen_value,
    has_pair,
    lower_medians,
    mean_value,
    metric_alpha,
    ordinal_alpha,
    randolph_value,
    squared_distances,
)
from tiebreak.stats.bootstrap import Statistic, ratio
from tiebreak.stats.leave_one_out import mode_credits, outer_credits
from tiebreak.stats.validation import FloatArray, IntArray

NO_OVERLAP = "No unit has labels of both humans and this machine."

Mask = npt.NDArray[np.bool_]
Entries = Callable[[IntArray], FloatArray]


def central_entries(counts: IntArray, *, level: Level) -> FloatArray:
    """Majority labels (U, L), from ordinal up the lower median: H^w and M^w."""
    if level == "nominal":
        return mode_credits(counts)
    chosen: FloatArray = np.eye(counts.shape[1])[lower_medians(counts)]
    chosen[counts.sum(axis=1) == 0] = 0
    return chosen


def single_entries(counts: IntArray) -> FloatArray:
    """A random single rating of each unit, in expectation: H′."""
    return ratio(counts.astype(np.float64), np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _any(counts: IntArray) -> Mask:
    found: Mask = counts.sum(axis=1) > 0
    return found


class Pairs:
    """How joint rows become pairs of entries, and the statistics of those pairs."""

    def __init__(self, labels: int, *, level: Level, humans: Entries) -> None:
        self.labels = labels
        self.level = level
        self.parsed = slice(labels, 2 * labels)
        self.answers = slice(labels, 2 * labels + 1)
        self._humans = humans

    def entries(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Entries of humans and machine (U, L), both zero where either has no label."""
        both = self.is_paired(rows)[:, None]
        return self.human_entries(rows) * both, self.machine_entries(rows) * both

    def machine_entries(self, rows: IntArray) -> FloatArray:
        return central_entries(self.machine_counts(rows), level=self.level)

    def machine_counts(self, rows: IntArray) -> IntArray:
        """How often the machine gave each label (U, L), over its runs and orders."""
        return rows[:, self.parsed]

    def human_entries(self, rows: IntArray) -> FloatArray:
        return self._humans(rows[:, : self.labels])

    def is_rated(self, rows: IntArray) -> Mask:
        return _any(rows[:, : self.labels])

    def is_compared(self, rows: IntArray) -> Mask:
        """Rated by humans, and answered by the machine, readably or not."""
        return self.is_rated(rows) & _any(rows[:, self.answers])

    def is_paired(self, rows: IntArray) -> Mask:
        """Rated by humans, with a readable answer of the machine."""
        return self.is_rated(rows) & _any(rows[:, self.parsed])

    def count(self, rows: IntArray) -> FloatArray:
        return self.is_paired(rows).astype(np.float64)

    def percentage_statistic(self) -> Statistic:
        """Share of units on which both agree; an unparsed answer agrees with nobody."""

        def features(rows: IntArray) -> FloatArray:
            human, machine = self.entries(rows)
            return np.column_stack([self.is_compared(rows), (human * machine).sum(axis=1)])

        return Statistic(2, features, mean_value, NO_OVERLAP, NO_OVERLAP)

    def randolph_statistic(self, k: int) -> Statistic:
        def value(sums: FloatArray) -> FloatArray:
            return randolph_value(mean_value(sums), k)

        return Statistic(2, self._parsed_agreement, value, NO_OVERLAP, CERTAIN)

    def _parsed_agreement(self, rows: IntArray) -> FloatArray:
        human, machine = self.entries(rows)
        return np.column_stack([self.count(rows), (human * machine).sum(axis=1)])

    def fleiss_statistic(self) -> Statistic:
        def features(rows: IntArray) -> FloatArray:
            return np.column_stack([self._parsed_agreement(rows), np.add(*self.entries(rows))])

        def value(sums: FloatArray) -> FloatArray:
            shares = ratio(sums[..., 2:], 2 * sums[..., :1])
            return chance_corrected(mean_value(sums), (shares**2).sum(axis=-1))

        return Statistic(2 + self.labels, features, value, NO_OVERLAP, ONE_LABEL)

    def cohen_statistic(self) -> Statistic:
        def features(rows: IntArray) -> FloatArray:
            return np.column_stack([self._parsed_agreement(rows), *self.entries(rows)])

        def value(sums: FloatArray) -> FloatArray:
            split = 2 + self.labels
            return cohen_value(mean_value(sums), sums[..., 2:split], sums[..., split:])

        return Statistic(2 + 2 * self.labels, features, value, NO_OVERLAP, ONE_LABEL)

    def alpha_statistic(self, *, values: npt.ArrayLike | None = None) -> Statistic:
        low, high = np.triu_indices(self.labels, k=1)
        squared = squared_distances(self.labels, level=self.level, values=values)

        def features(rows: IntArray) -> FloatArray:
            human, machine = self.entries(rows)
            if squared is None:
                apart = human[:, low] * machine[:, high] + human[:, high] * machine[:, low]
            else:
                apart = ((human @ squared) * machine).sum(axis=1, keepdims=True)
            return np.column_stack([self.count(rows), human + machine, apart])

        def value(sums: FloatArray) -> FloatArray:
            marginals, apart = sums[..., 1 : self.labels + 1], sums[..., self.labels + 1 :]
            if squared is None:
                return ordinal_alpha(apart, marginals)
            return metric_alpha(apart[..., 0], marginals, squared)

        width = 1 + self.labels + (len(low) if squared is None else 1)
        return Statistic(width, features, value, NO_OVERLAP, ONE_LABEL)

    def leave_one_out_statistic(self) -> Statistic:
        """The machine's label against the mode of each n − 1 subset of the humans."""

        def features(rows: IntArray) -> FloatArray:
            humans = rows[:, : self.labels]
            _, machine = self.entries(rows)
            compared = has_pair(humans) & self.is_compared(rows)
            return np.column_stack([compared, (outer_credits(humans) * machine).sum(axis=1)])

        reason = "No unit has two human ratings and an answer of this machine."
        return Statistic(2, features, mean_value, reason, reason)


class RandomPairs(Pairs):
    """The same humans against a labeller who answers each unit at random, in expectation.

    Source: Beyond Correlation, figure 2.
    """

    def machine_entries(self, rows: IntArray) -> FloatArray:
        return np.full((len(rows), self.labels), 1 / self.labels)

    def machine_counts(self, rows: IntArray) -> IntArray:
        return np.ones((len(rows), self.labels), dtype=np.int64)

    def is_paired(self, rows: IntArray) -> Mask:
        return self.is_compared(rows)

"""Pairs of a human label and a machine label for each unit.

A joint row contains the human count of each label, the machine count of each label, and the number
of unparsed answers, in this order; further columns are ignored. For each side (humans, machine), a
unit has one weight per label. The weights sum to 1, or to 0 if the side has not labelled the unit.
Tied modes share the weight equally. The weight of a pair of labels is the product of their weights.

Weights are arrays with one row for each unit and one column for each label.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import Mean, Statistic, ratio
from tiebreak.stats.core.validation import FloatArray, IntArray
from tiebreak.stats.raters.additive import (
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
    reason_without_ordinal_interval,
    squared_distances,
)
from tiebreak.stats.raters.leave_one_out import mode_credits, outer_credits

NO_OVERLAP = "No item has labels from both humans and this machine."

Mask = npt.NDArray[np.bool_]
LabelWeights = Callable[[IntArray], FloatArray]


def central_weights(counts: IntArray, *, level: Level) -> FloatArray:
    """Return weights for the majority label (nominal) or the lower median (otherwise)."""
    if level == "nominal":
        return mode_credits(counts)
    weights = np.zeros(counts.shape)
    rated = np.flatnonzero(counts.sum(axis=1) > 0)
    weights[rated, lower_medians(counts[rated])] = 1
    return weights


def single_weights(counts: IntArray) -> FloatArray:
    """Return the expected weights for one rating of each unit, drawn at random."""
    return ratio(counts.astype(np.float64), np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _has_any(counts: IntArray) -> Mask:
    has_any: Mask = counts.sum(axis=1) > 0
    return has_any


class Pairs:
    """Weights of both sides from joint rows, and the statistics of the resulting pairs."""

    mean: Mean | None = Mean()

    def __init__(self, labels: int, *, level: Level, human_weights: LabelWeights) -> None:
        self.labels = labels
        self.level = level
        self.parsed = slice(labels, 2 * labels)
        self.answers = slice(labels, 2 * labels + 1)
        self._human_weights = human_weights

    def weights(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights for humans and machine; both are 0 for units without a pair."""
        both = self.is_paired(rows)[:, None]
        return self.human_weights(rows) * both, self.machine_weights(rows) * both

    def machine_weights(self, rows: IntArray) -> FloatArray:
        return central_weights(self.machine_counts(rows), level=self.level)

    def machine_counts(self, rows: IntArray) -> IntArray:
        """Return how often the machine gave each label, over its runs and presentation orders."""
        return rows[:, self.parsed]

    def human_weights(self, rows: IntArray) -> FloatArray:
        return self._human_weights(rows[:, : self.labels])

    def is_rated(self, rows: IntArray) -> Mask:
        return _has_any(rows[:, : self.labels])

    def is_compared(self, rows: IntArray) -> Mask:
        """Return which units have a human rating and a machine answer, parsed or not."""
        return self.is_rated(rows) & _has_any(rows[:, self.answers])

    def is_paired(self, rows: IntArray) -> Mask:
        """Return which units have a human rating and a parsed machine answer."""
        return self.is_rated(rows) & _has_any(rows[:, self.parsed])

    def count(self, rows: IntArray) -> FloatArray:
        return self.is_paired(rows).astype(np.float64)

    def percentage_statistic(self) -> Statistic:
        """Return the share of units on which both agree; unparsed answers count as disagreement."""

        def features(rows: IntArray) -> FloatArray:
            human, machine = self.weights(rows)
            return np.column_stack([self.is_compared(rows), (human * machine).sum(axis=1)])

        return Statistic(2, features, mean_value, NO_OVERLAP, NO_OVERLAP, mean=self.mean)

    def randolph_statistic(self, k: int) -> Statistic:
        def value(sums: FloatArray) -> FloatArray:
            return randolph_value(mean_value(sums), k)

        return Statistic(2, self._parsed_agreement, value, NO_OVERLAP, CERTAIN)

    def _parsed_agreement(self, rows: IntArray) -> FloatArray:
        human, machine = self.weights(rows)
        return np.column_stack([self.count(rows), (human * machine).sum(axis=1)])

    def fleiss_statistic(self) -> Statistic:
        def features(rows: IntArray) -> FloatArray:
            return np.column_stack([self._parsed_agreement(rows), np.add(*self.weights(rows))])

        def value(sums: FloatArray) -> FloatArray:
            shares = ratio(sums[..., 2:], 2 * sums[..., :1])
            return chance_corrected(mean_value(sums), (shares**2).sum(axis=-1))

        return Statistic(2 + self.labels, features, value, NO_OVERLAP, ONE_LABEL)

    def cohen_statistic(self) -> Statistic:
        def features(rows: IntArray) -> FloatArray:
            return np.column_stack([self._parsed_agreement(rows), *self.weights(rows)])

        def value(sums: FloatArray) -> FloatArray:
            split = 2 + self.labels
            return cohen_value(mean_value(sums), sums[..., 2:split], sums[..., split:])

        return Statistic(2 + 2 * self.labels, features, value, NO_OVERLAP, ONE_LABEL)

    def alpha_statistic(self, *, values: npt.ArrayLike | None = None) -> Statistic:
        low, high = np.triu_indices(self.labels, k=1)
        squared = squared_distances(self.labels, level=self.level, values=values)

        def features(rows: IntArray) -> FloatArray:
            human, machine = self.weights(rows)
            if squared is None:
                disagreement = human[:, low] * machine[:, high] + human[:, high] * machine[:, low]
            else:
                disagreement = ((human @ squared) * machine).sum(axis=1, keepdims=True)
            return np.column_stack([self.count(rows), human + machine, disagreement])

        def value(sums: FloatArray) -> FloatArray:
            marginals, disagreement = sums[..., 1 : self.labels + 1], sums[..., self.labels + 1 :]
            if squared is None:
                return ordinal_alpha(disagreement, marginals)
            return metric_alpha(disagreement[..., 0], marginals, squared)

        width = 1 + self.labels + (len(low) if squared is None else 1)
        reason = reason_without_ordinal_interval(self.labels) if squared is None else None
        return Statistic(
            width, features, value, NO_OVERLAP, ONE_LABEL, reason_without_interval=reason
        )

    def leave_one_out_statistic(self) -> Statistic:
        """Return how often the machine's label is the mode of all human ratings except one."""

        def features(rows: IntArray) -> FloatArray:
            humans = rows[:, : self.labels]
            _, machine = self.weights(rows)
            compared = has_pair(humans) & self.is_compared(rows)
            return np.column_stack([compared, (outer_credits(humans) * machine).sum(axis=1)])

        reason = "No item has two human ratings and an answer from this machine."
        return Statistic(2, features, mean_value, reason, reason, mean=self.mean)


class RandomPairs(Pairs):
    """Pairs of the human labels with uniformly random labels, by expected values.

    Source: Elangovan et al. 2025 ("Beyond Correlation"), figure 2.
    """

    mean = None  # where every unit has the same expected value, it is known

    def machine_weights(self, rows: IntArray) -> FloatArray:
        return np.full((len(rows), self.labels), 1 / self.labels)

    def machine_counts(self, rows: IntArray) -> IntArray:
        return np.ones((len(rows), self.labels), dtype=np.int64)

    def is_paired(self, rows: IntArray) -> Mask:
        return self.is_compared(rows)

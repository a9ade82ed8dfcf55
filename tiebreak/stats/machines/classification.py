"""Accuracy, precision, recall and F1 of a machine that predicts the human majority."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tiebreak.stats.core.bootstrap import AnyStatistic, Statistic, ratio
from tiebreak.stats.core.results import Estimate, NamedEstimates
from tiebreak.stats.core.validation import FloatArray, IntArray
from tiebreak.stats.raters.label_pairs import NO_OVERLAP, Pairs


@dataclass(frozen=True)
class Classification(NamedEstimates):
    """Scores of a machine that predicts the human majority."""

    accuracy: Estimate
    """Share of units to which the machine gives the human majority label."""
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate
    """Means over the labels that the humans or the machine gave."""


def classification_statistics(pairs: Pairs) -> dict[str, AnyStatistic]:
    """Return the statistics for the fields of `Classification`, by field name."""
    return {
        "accuracy": pairs.percentage_statistic(),
        "macro_precision": _macro(pairs, lambda _true, predicted: predicted),
        "macro_recall": _macro(pairs, lambda true, _predicted: true),
        "macro_f1": _macro(pairs, lambda true, predicted: (true + predicted) / 2),
    }


# Maps the numbers of true and of predicted labels to the denominator of a score.
_Denominator = Callable[[FloatArray, FloatArray], FloatArray]


def _macro(pairs: Pairs, denominator: _Denominator) -> Statistic:
    """Return the mean over labels of hits divided by the denominator."""
    size = pairs.labels

    def features(rows: IntArray) -> FloatArray:
        human, machine = pairs.weights(rows)
        truth = pairs.human_weights(rows) * pairs.is_compared(rows)[:, None]
        return np.column_stack([pairs.is_compared(rows), human * machine, truth, machine])

    def value(sums: FloatArray) -> FloatArray:
        hits, true, predicted = np.split(sums[..., 1:], 3, axis=-1)
        occurs = (true + predicted) > 0
        scores = np.where(occurs, np.nan_to_num(ratio(hits, denominator(true, predicted))), 0.0)
        return ratio(scores.sum(axis=-1), occurs.sum(axis=-1).astype(np.float64))

    return Statistic(1 + 3 * size, features, value, NO_OVERLAP, NO_OVERLAP)

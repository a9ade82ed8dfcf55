"""The machine as a classifier of the human majority."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Unpack

import numpy as np

from metrics.stats.bootstrap import Resampling, RngFor, Statistic, estimate_each, ratio
from metrics.stats.human_machine import Comparison
from metrics.stats.pairs import NO_OVERLAP, Pairs
from metrics.stats.results import Estimate
from metrics.stats.scales import Level
from metrics.stats.validation import FloatArray, IntArray


@dataclass(frozen=True)
class Classification:
    accuracy: Estimate
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate

    def estimates(self) -> dict[str, Estimate]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def classification(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    rng_for: RngFor | None = None,
    **resampling: Unpack[Resampling],
) -> Classification:
    """Accuracy, and precision, recall and F1 averaged over the labels that either side gave.

    The human majority (lower median) is the truth; ties enter as in `human_machine`. An unparsed
    answer misses its unit's label and names none. A label without a denominator (never named by
    the machine, or never by humans) counts 0, as scikit-learn's macro average does.
    """
    pairs = comparison.pairs(level=level)
    statistics = {
        "accuracy": pairs.percentage_statistic(),
        "macro_precision": _macro(pairs, _named),
        "macro_recall": _macro(pairs, _true),
        "macro_f1": _macro(pairs, _mean),
    }
    found = estimate_each(statistics, comparison.patterns, rng_for=rng_for, **resampling)
    return Classification(**found)


_Totals = Callable[[FloatArray, FloatArray], FloatArray]


def _named(_true: FloatArray, named: FloatArray) -> FloatArray:
    return named


def _true(true: FloatArray, _named: FloatArray) -> FloatArray:
    return true


def _mean(true: FloatArray, named: FloatArray) -> FloatArray:
    return (true + named) / 2


def _macro(pairs: Pairs, total: _Totals) -> Statistic:
    """Mean over labels of hits / total: of the machine's, the humans', or both halved (F1)."""
    size = pairs.labels

    def features(rows: IntArray) -> FloatArray:
        human, machine = pairs.entries(rows)
        truth = pairs.human_entries(rows) * pairs.is_compared(rows)[:, None]
        return np.column_stack([pairs.is_compared(rows), human * machine, truth, machine])

    def value(sums: FloatArray) -> FloatArray:
        hits, true, named = np.split(sums[..., 1:], 3, axis=-1)
        seen = (true + named) > 0
        scores = np.where(seen, np.nan_to_num(ratio(hits, total(true, named))), 0.0)
        return ratio(scores.sum(axis=-1), seen.sum(axis=-1).astype(np.float64))

    return Statistic(1 + 3 * size, features, value, NO_OVERLAP, NO_OVERLAP)

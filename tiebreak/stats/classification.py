"""The machine as a classifier of the human majority."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from tiebreak.stats.bootstrap import AnyStatistic, Statistic, ratio
from tiebreak.stats.pairs import NO_OVERLAP, Pairs
from tiebreak.stats.results import Estimate
from tiebreak.stats.validation import FloatArray, IntArray


@dataclass(frozen=True)
class Classification:
    accuracy: Estimate
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate

    def estimates(self) -> dict[str, Estimate]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def classification_statistics(pairs: Pairs) -> dict[str, AnyStatistic]:
    """The four by the names of `Classification`'s fields, see `human_machine.classification`."""
    return {
        "accuracy": pairs.percentage_statistic(),
        "macro_precision": _macro(pairs, _named),
        "macro_recall": _macro(pairs, _true),
        "macro_f1": _macro(pairs, _mean),
    }


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

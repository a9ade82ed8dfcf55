"""Position and length bias of all human raters together, and of each machine."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import Criterion
from tiebreak.report.model import Bias, BiasSection
from tiebreak.stats import Estimate, two_way_mean
from tiebreak.stats.bias import length_bias, position_bias
from tiebreak.stats.independence import drop_unreliable_interval

# Presentation orders of a machine's pass: system A's text first, or system B's text first.
A_FIRST, B_FIRST = "ab", "ba"


def bias_section(criterion: Criterion) -> BiasSection:
    raters = criterion.rows["rater"]
    machines = {
        name: _biases(criterion, ~criterion.is_human & (raters == name))
        for name in criterion.machines
    }
    return BiasSection(**vars(_biases(criterion, criterion.is_human)), machines=machines)


def _biases(criterion: Criterion, mask: NDArray[np.bool_]) -> Bias:
    labelled = mask & (criterion.label >= 0)
    rows = criterion.rows.select(labelled)
    signs = np.nan_to_num(np.sign(criterion.strength[labelled]))
    first = first_shown(rows)
    longer = np.sign(
        _characters(rows["chars_b"], rows["text_b"]) - _characters(rows["chars_a"], rows["text_a"])
    )
    longer = np.nan_to_num(longer)
    instances = criterion.clusters[criterion.unit[labelled]]
    _, raters = np.unique(rows["rater"].astype(str), return_inverse=True)
    return Bias(
        position=_bias(position_bias, signs * first / 2, instances, raters),
        length=_bias(length_bias, signs * longer, instances, raters),
    )


def first_shown(rows: RatingTable) -> NDArray[np.int64]:
    """Return −1 for rows that showed system A first, 1 for system B first, and 0 if unknown.

    The side comes from the column ``side_a`` or, if that is empty, from a machine's presentation
    order.
    """
    side, order = rows["side_a"].astype(str), np.char.lower(rows["order"].astype(str))
    by_side = np.where(np.isin(side, ["left", "first"]), -1, np.isin(side, ["right", "second"]) * 1)
    by_order = np.where(order == A_FIRST, -1, (order == B_FIRST) * 1)
    return np.asarray(np.where(side != "", by_side, by_order), dtype=np.int64)


def _bias(
    statistic: Callable[[int, int], Estimate],
    values: NDArray[np.float64],
    instances: NDArray[np.int64],
    raters: NDArray[np.int64],
) -> Estimate:
    """Return the bias, the mean of values that are positive for ratings in the bias's direction.

    Ratings with the value 0 do not enter.
    """
    entered = values != 0
    values, instances, raters = values[entered], instances[entered], raters[entered]
    estimate = statistic(int((values > 0).sum()), int((values < 0).sum()))
    estimate = drop_unreliable_interval(estimate, len(np.unique(instances)))
    if not estimate.has_interval:
        return estimate
    most = float(np.abs(values).max())
    return two_way_mean(values, instances, raters, narrow=estimate, bounds=(-most, most))


def _characters(column: NDArray[Any], texts: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers of characters from a column, or the texts' lengths where it is empty."""
    counts = column.astype(float)
    lengths = np.array([len(text) if text else np.nan for text in texts], dtype=float)
    return np.where(np.isnan(counts), lengths, counts)

"""How the answers of humans change over the sequence of a rater's items."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.model.raters import FatigueSection
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import section
from tiebreak.stats import Estimate, position_slope
from tiebreak.stats.raters.leave_one_out import mode_credits

# Changes are told for so many items.
STEP = 10

Floats = NDArray[np.float64]


@section(
    "fatigue",
    "Changes over an annotator's items",
    question="raters",
    of_rated_items="they are about how the annotators change from item to item",
    takes=(),
    needs=has_labels,
)
def fatigue_section(criterion: Criterion) -> FatigueSection:
    """Return the changes for ten items more, within raters."""
    number = item_numbers(criterion)
    milliseconds = criterion.rows["duration_ms"].astype(float)
    with np.errstate(divide="ignore"):
        durations = np.where(milliseconds > 0, np.log(milliseconds), np.nan)
    agreement = _slope(criterion, agreement_with_others(criterion), number)
    duration = _slope(criterion, durations, number)
    return FatigueSection(
        n_ratings=int((~np.isnan(number)).sum()),
        agreement=_mapped(agreement, lambda slope: STEP * slope),
        # The slope is on the logarithmic scale, so this is the relative change.
        duration=_mapped(duration, lambda slope: math.expm1(STEP * slope)),
    )


def item_numbers(criterion: Criterion) -> Floats:
    """Return each human rating's number in its rater's sequence, from 1; NaN if it is unknown.

    Items of a task whose position in it is unknown share their mean number.
    """
    rows, numbers = criterion.rows, np.full(len(criterion.unit), np.nan)
    task, item = rows["hit_position"].astype(float), rows["position"].astype(float)
    known = criterion.is_human & ~(np.isnan(task) & np.isnan(item))
    moment = np.nan_to_num(task) * 1e6 + np.nan_to_num(item)
    _, rater = rows.ranked("rater")
    order = np.lexsort([moment, rater])
    order = order[known[order]]
    starts = np.flatnonzero(np.diff(rater[order], prepend=-1))
    for ratings in np.split(order, starts[1:]):
        numbers[ratings] = scipy.stats.rankdata(moment[ratings])
    return numbers


def agreement_with_others(criterion: Criterion) -> Floats:
    """Return the chance that each human rating equals the mode of its unit's other human ratings.

    It is NaN where nobody else gave a label.
    """
    credit = np.full(len(criterion.unit), np.nan)
    for column in range(criterion.humans.shape[1]):
        rows = np.flatnonzero(criterion.is_human & (criterion.column == column))
        modes = mode_credits(criterion.humans[criterion.unit[rows]], without=column)
        credit[rows] = np.where(modes.any(axis=1), modes[:, column], np.nan)
    return credit


def _slope(criterion: Criterion, values: Floats, number: Floats) -> Estimate:
    known = ~np.isnan(values) & ~np.isnan(number)
    return position_slope(
        values[known],
        number[known],
        criterion.rows.ranked("rater", known)[1],
        criterion.clusters[criterion.unit[known]],
    )


def _mapped(slope: Estimate, change: Callable[[float], float]) -> Estimate:
    """Return the estimate of an increasing function of the slope."""
    return replace(
        slope,
        value=change(slope.value),
        low=change(slope.low),
        high=change(slope.high),
        standard_error=math.nan,
        narrower=tuple(
            replace(inner, low=change(inner.low), high=change(inner.high))
            for inner in slope.narrower
        ),
    )

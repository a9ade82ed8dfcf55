"""Leave-one-out agreement, which compares a rating with the mode of the unit's other ratings."""

from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.bootstrap import Mean, Resampling, Statistic, estimate
from tiebreak.stats.core.counts import Patterns, as_patterns
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.core.validation import FloatArray, IntArray

NO_PAIR = "No item has two ratings."


def leave_one_out(
    counts: npt.ArrayLike | Patterns,
    *,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate leave-one-out agreement.

    Parameters
    ----------
    counts : array_like of int, shape (n_units, n_labels), or Patterns
        Number of ratings that give each unit each label. Missing ratings are not counted.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        Mean over units of the share of ratings that equal the mode of the unit's other ratings,
        from 0 to 1; undefined if no unit has two ratings.

    Raises
    ------
    InvalidInput
        If the counts are not whole numbers.

    Notes
    -----
    If the other ratings have k modes, a rating that equals one of them counts 1/k, which is the
    expected value of the random choice in the published algorithm. Units with fewer than two
    ratings are ignored. Source: Lyu et al. 2024 (HREF), algorithm 1, inner loop.

    Examples
    --------
    >>> leave_one_out([[0, 3, 1]]).value
    0.75
    """
    patterns = as_patterns(counts, clusters=clusters)
    return estimate(leave_one_out_statistic(), patterns, **resampling)


def leave_one_out_statistic() -> Statistic:
    def features(rows: IntArray) -> FloatArray:
        size, most = rows.sum(axis=1), rows.max(axis=1, initial=0)
        is_alone = (rows == most[:, None]).sum(axis=1) == 1
        # Only a rating of the only mode may equal a mode of the others, and then those one rating behind.
        behind = (rows == most[:, None] - 1).sum(axis=1)
        paired = size >= 2
        credit = is_alone * (most > 1) * most * (1 / (1 + behind))
        return np.stack([paired, paired * credit / np.maximum(size, 1)], axis=1).astype(np.float64)

    mean = Mean()
    return Statistic(2, features, mean.value, NO_PAIR, NO_PAIR, mean=mean)


def outer_credits(rows: IntArray) -> FloatArray:
    """Return the expected credit of each label if one of the unit's ratings is left out.

    A label's credit is 1 divided by the number of modes if it is a mode of the remaining ratings,
    and 0 otherwise. The expectation is over which rating is left out. The credit is 0 in units with
    fewer than two ratings. The shape is (units, labels). Source: HREF, algorithm 1, outer loop.
    """
    size = np.maximum(rows.sum(axis=1, keepdims=True), 1)
    credits = np.zeros(rows.shape)
    for label in range(rows.shape[1]):
        credits += rows[:, [label]] / size * mode_credits(rows, without=label)
    paired: FloatArray = credits * (rows.sum(axis=1, keepdims=True) >= 2)
    return paired


def mode_credits(rows: IntArray, *, without: int | None = None) -> FloatArray:
    """Return 1 divided by the number of modes for each unit's modes, and 0 for its other labels.

    In units with a rating of the label ``without``, one such rating is left out first. The shape is
    (units, labels).
    """
    counts = rows.copy()
    if without is not None:
        counts[:, without] = np.maximum(counts[:, without] - 1, 0)
    maximum = counts.max(axis=1, keepdims=True)
    modes = (counts == maximum) & (maximum > 0)
    credits: FloatArray = modes / np.maximum(modes.sum(axis=1, keepdims=True), 1)
    return credits

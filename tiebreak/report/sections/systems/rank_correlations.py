"""Spearman's rank correlation of systems' scores, for many splits of the instances at once."""

from collections.abc import Mapping

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.stats import RankSet

Numbers = NDArray[np.float64]
MIN_SYSTEMS = 3
TOO_FEW_SYSTEMS = (
    "A rank correlation needs three systems or more; two are in one order or the other."
)


def row_correlations(x: Numbers, y: Numbers) -> Numbers:
    """Return Spearman's ρ of each row of ``x`` with that of ``y``, both of shape (rows, systems).

    It is NaN where a score is missing, or where all scores of a row are equal.
    """
    # Sums of the same numbers in another order must not count as different scores.
    a, b = (scipy.stats.rankdata(np.round(one, 12), axis=1) for one in (x, y))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    length = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    defined = (length > 0) & ~np.isnan(length)
    rho = np.full(len(x), np.nan)
    np.divide((a * b).sum(axis=1), length, out=rho, where=defined)
    return rho


def possible_correlations(
    x: Mapping[str, RankSet], y: Mapping[str, RankSet]
) -> tuple[float, float]:
    """Return bounds of Spearman's ρ of two orders of the same systems, of which each has such ranks.

    With probability p that all sets of both hold, ρ of the true orders lies between them with at least p,
    however close systems are. A bootstrap of ρ has no such promise: chance parts two equal orders only ever
    further, so its intervals lie too low.
    """
    n = len(x)
    farthest = sum(max(x[s].worst - y[s].best, y[s].worst - x[s].best) ** 2 for s in x)
    nearest = sum(max(0, x[s].best - y[s].worst, y[s].best - x[s].worst) ** 2 for s in x)
    low, high = (1 - 6 * squares / (n**3 - n) for squares in (farthest, nearest))
    return max(-1.0, low), high

"""The number of independent clusters behind an estimate, and the minimum for an interval."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tiebreak.stats.results import NAN, Estimate

# With fewer independent instances, bootstrap intervals are so short that up to half of the studies
# in which systems do not differ would show a winner.
MIN_CLUSTERS = 10


def drop_unreliable_interval(
    estimate: Estimate, clusters: float, resampled: str = "instance"
) -> Estimate:
    """Remove the interval, and add a reason, if there are too few independent clusters.

    ``clusters`` is the number of clusters that entered, or their `effective_size` if they are
    weighted.

    >>> drop_unreliable_interval(Estimate(0.6, 0.5, 0.7, 0.05), 4).reason
    'There is no interval because it needs at least 10 independent instances; there are only 4.'
    """
    if clusters >= MIN_CLUSTERS or not estimate.is_defined:
        return estimate
    return replace(
        estimate,
        low=NAN,
        high=NAN,
        standard_error=NAN,
        reason=estimate.reason or too_few_clusters(clusters, resampled),
    )


def too_few_clusters(clusters: float, resampled: str = "instance") -> str:
    """Return the reason why there is no interval."""
    # Pages call a unit an item.
    resampled = "item" if resampled == "unit" else resampled
    if clusters == 1:
        return f"There is no interval because there is only one {resampled}."
    # The number is rounded down, so that an effective number of 9.96 is not shown as 10.
    number = f"only {int(clusters * 10) / 10:g}"
    if not float(clusters).is_integer():
        number += f" effective {resampled}s after weighting"
    return (
        f"There is no interval because it needs at least {MIN_CLUSTERS} independent {resampled}s;"
        f" there are {number}."
    )


def effective_size(weights: npt.ArrayLike) -> float:
    """Return the effective number of weighted observations, (Σ w)² / Σ w² (Kish 1965).

    >>> round(effective_size([1, 1, 2]), 4)
    2.6667
    """
    w = np.asarray(weights, dtype=np.float64)
    squares = float(w @ w)
    # The number is rounded so that ten equal weights give exactly 10.
    return round(float(w.sum()) ** 2 / squares, 9) if squares else 0.0

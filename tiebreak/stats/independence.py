"""How many independent instances a number rests on, and whether that is enough for an interval."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tiebreak.stats.results import NAN, Estimate

# Below so many independent instances intervals are far too short: of studies without any
# difference up to half would show a winner.
FEWEST_CLUSTERS = 10


def with_enough(estimate: Estimate, clusters: float, resampled: str = "instance") -> Estimate:
    """The estimate without its interval, and why, where too few independent clusters made it.

    ``clusters`` are those that entered: instances, or units where each has its own; effective
    ones (Kish) where they are weighted.

    >>> with_enough(Estimate(0.6, 0.5, 0.7, 0.05), 4).reason
    'No interval: it takes 10 independent instances, and there are 4.'
    """
    if clusters >= FEWEST_CLUSTERS or not estimate.is_defined:
        return estimate
    return replace(
        estimate,
        low=NAN,
        high=NAN,
        standard_error=NAN,
        reason=estimate.reason or too_few(clusters, resampled),
    )


def too_few(clusters: float, resampled: str = "instance") -> str:
    """Why there is no interval from so few."""
    if clusters == 1:
        return f"No interval: there is one {resampled} only."
    # Rounded down, so that 9.96 effective ones do not read as the 10 that it takes.
    there = f"{int(clusters * 10) / 10:g}"
    if not float(clusters).is_integer():
        there += " effective ones after weighting"
    return (
        f"No interval: it takes {FEWEST_CLUSTERS} independent {resampled}s, and there are {there}."
    )


def kish(weights: npt.ArrayLike) -> float:
    """Effective number of weighted instances: (Σ w)² / Σ w². Source: Kish 1965.

    >>> round(kish([1, 1, 2]), 4)
    2.6667
    """
    known = np.asarray(weights, dtype=np.float64)
    squares = float(known @ known)
    # Ten equal weights are ten, and not the last bit less.
    return round(float(known.sum()) ** 2 / squares, 9) if squares else 0.0

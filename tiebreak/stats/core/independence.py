"""Independent clusters: the minimum for an interval, and intervals of means over few of them."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.stats.core.results import NAN, Estimate

Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)

# With fewer independent instances, bootstrap intervals are so short that up to half of the studies
# in which systems do not differ would show a winner.
MIN_CLUSTERS = 10
# From so many effective clusters on, bootstrap percentiles of a mean contain the truth often enough.
MANY_CLUSTERS = 100
# How the scale is named in the method of an interval that stays within bounds.
LOGIT = " on the logit scale"
EXACT = "Clopper–Pearson"
_ROUNDING = 1e-9


def drop_unreliable_interval(
    estimate: Estimate, clusters: float, resampled: str = "instance"
) -> Estimate:
    """Remove the interval, and add a reason, if there are too few independent clusters.

    ``clusters`` is the number of clusters used, or their `effective_size` if they are
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
    # The number is rounded down so that an effective number of 9.96 is not shown as 10.
    number = f"only {int(clusters * 10) / 10:g}"
    if not float(clusters).is_integer():
        number += f" effective {resampled}s after weighting"
    verb = "is" if clusters == 1 else "are"
    return (
        f"There is no interval because it needs at least {MIN_CLUSTERS} independent {resampled}s;"
        f" there {verb} {number}."
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


def mean_estimate(
    point: Estimate, variance: float, size: float, bounds: Bounds, confidence_level: float
) -> Estimate:
    """Return a mean of bounded values with its interval over few clusters; its method has a gap.

    ``variance`` is the mean's, and ``size`` the effective number of clusters. The interval is
    Student's t on the logit scale or, if no cluster differs from another, Clopper and Pearson's (1934).

    >>> mean_estimate(Estimate(1.0, method="{}"), 0, 30, (0, 1), 0.95).method
    'Clopper–Pearson'
    """
    if not differs(variance, bounds):
        low, high = exact_interval(point.value, size, bounds, confidence_level)
        return replace(point, low=low, high=high, method=point.method.format(EXACT))
    error = sqrt(variance)
    half_width = float(scipy.special.stdtrit(size - 1, (1 + confidence_level) / 2)) * error
    low, high = logit_interval(point.value, half_width, bounds)
    method = point.method.format(f"t{LOGIT}")
    return replace(point, low=low, high=high, standard_error=error, method=method)


def differs(variance: float, bounds: Bounds = SHARE) -> bool:
    """Return whether the variance of a mean of bounded values is more than rounding."""
    return sqrt(variance) > _ROUNDING * (bounds[1] - bounds[0])


def logit_interval(value: float, half_width: float, bounds: Bounds) -> tuple[float, float]:
    """Return value ± half_width, made on the logit scale; the value is between the bounds."""
    low, width = bounds[0], bounds[1] - bounds[0]
    share = (value - low) / width
    logit, half_width = log(share / (1 - share)), half_width / (width * share * (1 - share))
    ends = _expit(logit - half_width), _expit(logit + half_width)
    return low + width * ends[0], low + width * ends[1]


def _expit(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit > 0 else exp(logit) / (1 + exp(logit))


def exact_interval(
    value: float, size: float, bounds: Bounds, confidence_level: float
) -> tuple[float, float]:
    """Return Clopper and Pearson's interval, as if each of ``size`` clusters were at one of the bounds.

    No values with this mean vary more. Neither number need be whole (Korn and Graubard 1998).
    """
    low, width, tail = bounds[0], bounds[1] - bounds[0], (1 - confidence_level) / 2
    failures = size * min(max((bounds[1] - value) / width, 0.0), 1.0)
    successes = size - failures
    quantile = scipy.special.betaincinv
    least = quantile(successes, failures + 1, tail) if successes > _ROUNDING else 0.0
    most = quantile(successes + 1, failures, 1 - tail) if failures > _ROUNDING else 1.0
    return low + width * float(least), low + width * float(most)

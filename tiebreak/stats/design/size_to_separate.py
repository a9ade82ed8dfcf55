"""How large a study would separate two systems, and what difference a study of this size can show."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt
from statistics import NormalDist

import numpy as np
import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.independence import MIN_CLUSTERS, too_few_clusters
from tiebreak.stats.core.results import NAN, NEW_INSTANCES, NEW_RATERS, Estimate, undefined
from tiebreak.stats.core.simultaneous import Joint, RatedMean, joint_level
from tiebreak.stats.core.validation import check_resampling, check_share

POWER = 0.8
SMALLEST = 1e-9  # differences below are rounding errors
METHOD = "two-way jackknife, t, max-t over {pairs} differences"
EQUAL = "The two are exactly equal so far, so no size can be determined that would separate them."
NO_VARIATION = "All instances say the same of the two, so there is no variance to go by."
ALL_ALIKE = (
    "All ratings prefer the same of the two systems, so how much they would vary if the systems were nearly equal"
    " is not known."
)
TOO_SMALL = (
    "Not even a system that always wins would be noticed often enough. Collect ratings of more"
    " instances by more annotators."
)


@dataclass(frozen=True)
class Neighbours:
    """Two adjacent systems in a ranking by their means."""

    ahead: str
    behind: str
    """The system with the higher mean, and the next one."""
    difference: Estimate
    """Difference of the means, with an interval that holds simultaneously with those of all pairs."""
    size: float = NAN
    """How many times as large as now the study must be for an interval that excludes 0, if the
    difference stays as it is; 1 or less if it already does. NaN with a reason in `reason`."""
    likely_size: float = NAN
    """The same for an interval that excludes 0 in four of five such studies, if the difference is
    the true one; in a study of `size`, this happens in about half."""
    least_size: float = NAN
    """The same as `size` if the true difference is at the far end of the interval."""
    reason: str | None = None
    """Why there are no sizes."""


def neighbours(
    means: Mapping[str, RatedMean], *, confidence_level: float = CONFIDENCE_LEVEL
) -> tuple[Neighbours, ...]:
    """Return each two adjacent systems, and what size of study would separate them.

    Parameters
    ----------
    means : mapping of str to RatedMean
        The ratings of each system, whose mean it is ranked by; higher is better.
    confidence_level : float, default 0.95
        Probability with which the intervals of all differences hold simultaneously, in (0, 1).

    Returns
    -------
    tuple of Neighbours
        One less than there are systems, best first; equal means are in alphabetical order.

    Raises
    ------
    InvalidInput
        If the vectors of a mean differ in length, or the level is not between 0 and 1.

    See Also
    --------
    rank_sets : Parts two systems by the same intervals.
    design_grid : Finds the size of a study of two systems.

    Notes
    -----
    An interval of the half-width h around a difference d has the half-width h / √m in a study that is
    m times as large, with m times as many instances and raters, who each rate as many items as
    now. So it excludes 0 from m = (h / d)² on, and with the probability 0.8 from ((h + 0.84 s) / d)²
    on, where s is the standard error. All three sizes rest on a difference and a variance that are
    themselves uncertain.

    Examples
    --------
    >>> instances, raters = list(range(100)), [-1] * 100
    >>> better = RatedMean([1] * 55 + [0] * 45, instances, raters)
    >>> other = RatedMean([0] * 55 + [1] * 45, instances, raters)
    >>> (pair,) = neighbours({"other": other, "better": better})
    >>> pair.ahead, round(pair.size, 1), round(pair.likely_size, 1)
    ('better', 3.9, 8.0)
    """
    check_resampling(0, confidence_level, None)
    if len(means) < 2:
        return ()
    names = list(means)
    joint = Joint.of(list(means.values()))
    order = sorted(range(len(names)), key=lambda k: (-joint.value[k], names[k]))
    pairs = list(combinations(order, 2))
    every = joint.differences(pairs)
    level = joint_level(every, confidence_level)
    half_widths = scipy.stats.t.ppf((1 + level) / 2, every.freedom) * np.sqrt(every.variance)
    of_pair = {pair: k for k, pair in enumerate(pairs)}
    following = [of_pair[pair] for pair in pairwise(order)]
    return tuple(
        _parted(names[pairs[k][0]], names[pairs[k][1]], every, k, float(half_widths[k]))
        for k in following
    )


def _parted(ahead: str, behind: str, joint: Joint, k: int, half_width: float) -> Neighbours:
    value, error = float(joint.value[k]), float(np.sqrt(joint.variance[k]))
    clusters = float(joint.n_instances[k])
    has_interval = clusters >= MIN_CLUSTERS and error > 0
    if not has_interval:
        reason = NO_VARIATION if clusters >= MIN_CLUSTERS else too_few_clusters(clusters)
        return Neighbours(ahead, behind, Estimate(value, reason=reason), reason=reason)
    difference = Estimate(
        value,
        value - half_width,
        value + half_width,
        error,
        round(clusters),
        METHOD.format(pairs=len(joint.value)),
        stated_scope=NEW_RATERS if np.isfinite(joint.n_raters[k]) else NEW_INSTANCES,
    )
    if abs(value) < SMALLEST:
        return Neighbours(ahead, behind, difference, reason=EQUAL)
    likely = half_width + NormalDist().inv_cdf(POWER) * error
    return Neighbours(
        ahead,
        behind,
        difference,
        size=(half_width / value) ** 2,
        likely_size=(likely / value) ** 2,
        least_size=(half_width / (value + half_width)) ** 2,
    )


def smallest_difference(rate: Estimate, *, power: float = POWER) -> Estimate:
    """Return the smallest difference of two systems that a study like this one would show.

    Parameters
    ----------
    rate : Estimate
        Win rate of one of two systems against the other, with an interval and a standard error.
    power : float, default 0.8
        Share of such studies that show it, in (0, 1).

    Returns
    -------
    Estimate
        Difference of the two win rates, from 0 to 1, without an interval. It is undefined if `rate` has no
        interval, if all ratings are alike, or if no difference would be shown so often.

    Raises
    ------
    InvalidInput
        If `power` is not a share.

    See Also
    --------
    neighbours : How large a study would show the difference that was observed.

    Notes
    -----
    With the standard error s of a win rate p and the quantile t of its interval, a system is shown to win
    with the given power from the rate ½ + (t + z) s √(¼ / p (1 − p)) on, where z is the normal quantile of
    the power. The last factor is that by which s is larger between systems that are nearly equal. The
    difference of the two rates is twice the excess over ½.

    Examples
    --------
    >>> rate = Estimate(0.5, 0.402, 0.598, standard_error=0.05, n=100)
    >>> round(smallest_difference(rate).value, 2)
    0.28
    """
    check_share(power, name="power")
    if not rate.is_defined or not rate.has_interval:
        return undefined(str(rate.reason or NO_VARIATION), n=rate.n)
    spread, error = rate.value * (1 - rate.value), rate.standard_error
    if not spread > 0 or not error > 0:
        return undefined(ALL_ALIKE, n=rate.n)
    half_width = (rate.high - rate.low) / 2
    if 0 < rate.low < rate.high < 1:  # intervals are made on the logit scale
        low, high = scipy.special.logit([rate.low, rate.high]).tolist()
        half_width = (high - low) / 2 * spread
    even = sqrt(0.25 / spread)
    least = 2 * (half_width + NormalDist().inv_cdf(power) * error) * even
    if least >= 1:
        return undefined(TOO_SMALL, n=rate.n)
    return Estimate(
        least, n=rate.n, method=f"power {power:g}, {rate.method}", stated_scope=rate.scope
    )

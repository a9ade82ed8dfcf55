"""Intervals that allow for two sources of sampling error, instances and raters.

Raters are left out one at a time. A bootstrap over raters would draw some raters twice and count
their agreement with themselves. Source: Cameron, Gelbach and Miller 2011, for the sum of variances.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Protocol, Unpack

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student_t

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, MAX_UNDEFINED_SHARE, Resampling
from tiebreak.stats.counts import count_matrix
from tiebreak.stats.independence import effective_size
from tiebreak.stats.results import (
    NAN,
    NEW_INSTANCES,
    NEW_RATERS,
    Estimate,
    NarrowerInterval,
)
from tiebreak.stats.validation import FloatArray, IntArray, as_codes, check_same_length

ONE_RATER = (
    "There is no interval because there is only one rater, so that the variation between raters is"
    " unknown."
)
UNDEFINED_WITHOUT = (
    "There is no interval because the statistic becomes undefined if certain raters are left out;"
    " the number of such raters is {lost}."
)


# The spread among two raters says next to nothing about others.
MIN_RATERS = 3
TWO_WAY = "jackknife over {instances} instances and {raters} raters, t on the logit scale"
ONE_WAY = "jackknife over {instances} instances, t on the logit scale"


class CountStatistic(Protocol):
    """Function of counts, such as `krippendorff_alpha`, or a partial of such a function."""

    def __call__(
        self,
        counts: npt.ArrayLike,
        *,
        clusters: npt.ArrayLike | None = None,
        **resampling: Unpack[Resampling],
    ) -> Estimate: ...


def two_way(
    statistic: CountStatistic,
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_units: int,
    n_raters: int,
    n_labels: int,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate a statistic with an interval that allows for other instances and other raters.

    Parameters
    ----------
    statistic : callable
        Function of counts, such as `krippendorff_alpha`, or a partial of such a function.
    units : array_like of int, shape (n_ratings,)
        Unit of each rating, from 0 to n_units − 1.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, from 0 to n_raters − 1. A rater may rate each unit only once.
    labels : array_like of int, shape (n_ratings,)
        Label of each rating, from 0 to n_labels − 1, or −1 if the rating is missing.
    n_units : int
        Number of units.
    n_raters : int
        Number of raters.
    n_labels : int
        Number of labels in the scale.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, whole instances are resampled.
    **resampling
        Options of the bootstrap: ``rng`` (omit it for no interval), ``replicates``,
        ``confidence_level`` and ``batch``. See `tiebreak.stats`.

    Returns
    -------
    Estimate
        The statistic. It has no interval if there is only one rater, or if for more than 5% of the
        raters the statistic becomes undefined when the rater is left out.

    Raises
    ------
    InvalidInput
        If a code is out of range or the vectors differ in length.

    See Also
    --------
    krippendorff_alpha, percentage_agreement, randolph_kappa, fleiss_kappa : Possible statistics.

    Notes
    -----
    The variance is the sum of the bootstrap variance over units or instances and the delete-one
    jackknife variance over raters (Cameron, Gelbach and Miller 2011). The interval is normal. A
    bootstrap over raters would draw some raters twice and count their agreement with themselves.
    The noise in single ratings enters both parts, so the interval is conservative.

    Examples
    --------
    >>> from tiebreak.stats import krippendorff_alpha
    >>> units, raters, labels = [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]
    >>> two_way(krippendorff_alpha, units, raters, labels, n_units=2, n_raters=2, n_labels=2).value
    1.0
    """
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    rater = as_codes(raters, below=n_raters, name="raters")
    unit = as_codes(units, below=n_units, name="units")
    counts = count_matrix(unit, label, n_units=n_units, n_labels=n_labels)
    estimate = statistic(counts, clusters=clusters, **resampling)
    if not estimate.has_interval:
        return estimate
    masks = (rater == code for code in np.unique(rater[label >= 0]))
    parts = (count_matrix(unit[m], label[m], n_units=n_units, n_labels=n_labels) for m in masks)
    leave_one_out = np.array([statistic(counts - part).value for part in parts])
    return _widened(estimate, leave_one_out, resampling.get("confidence_level", CONFIDENCE_LEVEL))


def _widened(estimate: Estimate, leave_one_out: FloatArray, confidence_level: float) -> Estimate:
    """Return the estimate with the jackknife variance over raters added to its variance."""
    point = replace(estimate, low=NAN, high=NAN, standard_error=NAN)
    n_raters = len(leave_one_out)
    if n_raters < 2:
        return replace(point, reason=ONE_RATER)
    defined = leave_one_out[~np.isnan(leave_one_out)]
    n_undefined = n_raters - len(defined)
    if n_undefined > MAX_UNDEFINED_SHARE * n_raters:
        return replace(point, reason=UNDEFINED_WITHOUT.format(lost=n_undefined))
    rater_variance = (len(defined) - 1) * float(defined.var())
    standard_error = sqrt(estimate.standard_error**2 + rater_variance)
    half_width = NormalDist().inv_cdf((1 + confidence_level) / 2) * standard_error
    method = f"{estimate.method}, and jackknife over {n_raters} raters, z"
    return replace(
        estimate,
        low=estimate.value - half_width,
        high=estimate.value + half_width,
        standard_error=standard_error,
        method=method,
        stated_scope=NEW_RATERS,
    )


def two_way_mean(
    values: npt.ArrayLike,
    instances: npt.ArrayLike,
    raters: npt.ArrayLike,
    *,
    narrow: Estimate,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Give a mean over ratings the widest interval that its ratings support.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating, within `bounds`.
    instances : array_like of int, shape (n_ratings,)
        Instance of each rating, as codes from 0.
    raters : array_like of int, shape (n_ratings,)
        Rater of each rating, as codes from 0, or −1 if it is unknown.
    narrow : Estimate
        The mean with an interval for these raters, which stays beside the wider one.
    bounds : (float, float), default (0, 1)
        Least and greatest possible value.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        The same value. With three raters or more the interval holds for new raters and new
        instances, with that of `narrow`, which is never longer, in ``narrower``. With fewer, it
        holds for new instances. If `narrow` has no interval, or already holds for as much, it is
        returned as it is.

    Raises
    ------
    InvalidInput
        If the vectors differ in length, or a value is out of bounds.

    See Also
    --------
    two_way : The same for statistics that compare ratings, such as α.

    Notes
    -----
    A mean changes by −Σᵣ/(n − nᵣ) if a group r of ratings is left out, where Σᵣ is the sum of the
    group's deviations from the mean. Three such jackknife variances are combined: instances + raters
    − cells of an instance and a rater (Cameron, Gelbach and Miller 2011, eq. 2.11), and the result is
    not allowed below the part of the instances. The degrees of freedom are Satterthwaite's (1946),
    in which groups of unequal size count as their effective number (Kish 1965). The interval is
    computed on the logit scale, where it stays within the bounds.

    Examples
    --------
    >>> narrow = Estimate(0.5, 0.3, 0.7, n=12)
    >>> values, instances, raters = [0, 0, 1, 1] * 6, [k // 2 for k in range(24)], [0, 1, 2] * 8
    >>> wide = two_way_mean(values, instances, raters, narrow=narrow)
    >>> wide.scope.raters, wide.narrower[0].high
    ('new', 0.7)
    """
    value, instance = np.asarray(values, dtype=np.float64), np.asarray(instances, dtype=np.int64)
    rater = np.asarray(raters, dtype=np.int64)
    check_same_length(values=value, instances=instance, raters=rater)
    low, high = bounds
    if value.size and not (low <= value.min() and value.max() <= high):
        raise InvalidInput("out_of_range", f"values must be from {low:g} to {high:g}.")
    if not narrow.has_interval:
        return narrow
    spread = _Spread.of((value - low) / (high - low), instance, rater)
    scope = NEW_RATERS if spread is not None and spread.has_raters else NEW_INSTANCES
    if spread is None or scope == narrow.scope:
        return narrow
    ends = spread.interval((narrow.value - low) / (high - low), confidence_level)
    wide = [low + (high - low) * end for end in ends]
    stays = NarrowerInterval(narrow.low, narrow.high, narrow.scope, narrow.method)
    return replace(
        narrow,
        low=min(wide[0], narrow.low),
        high=max(wide[1], narrow.high),
        standard_error=sqrt(spread.variance) * (high - low),
        method=spread.method,
        stated_scope=scope,
        narrower=(stays,) if spread.has_raters else (),
    )


@dataclass(frozen=True)
class _Spread:
    """Variance of a mean over ratings, its degrees of freedom, and how it was computed."""

    variance: float
    freedom: float
    method: str
    has_raters: bool

    @classmethod
    def of(cls, value: FloatArray, instance: IntArray, rater: IntArray) -> "_Spread | None":
        """Return the spread, or None if nothing wider than these instances can be said."""
        deviation = value - value.mean()
        by_instance, n_instances = _jackknife(deviation, instance)
        if not by_instance > 0 or n_instances <= 1:
            return None
        used = len(np.unique(rater))
        if used < MIN_RATERS or (rater < 0).any():
            method = ONE_WAY.format(instances=len(np.unique(instance)))
            return cls(by_instance, n_instances - 1, method, has_raters=False)
        by_rater, n_raters = _jackknife(deviation, rater)
        cells = instance * (int(rater.max()) + 1) + rater
        by_cell, _ = _jackknife(deviation, np.unique(cells, return_inverse=True)[1])
        variance = by_instance + max(0.0, by_rater - by_cell)
        parts = by_instance**2 / (n_instances - 1) + by_rater**2 / (n_raters - 1)
        method = TWO_WAY.format(instances=len(np.unique(instance)), raters=used)
        return cls(variance, max(1.0, variance**2 / parts), method, has_raters=True)

    def interval(self, share: float, confidence_level: float) -> tuple[float, float]:
        """Return the interval around a share strictly between 0 and 1."""
        quantile = float(student_t.ppf((1 + confidence_level) / 2, self.freedom))
        half_width = quantile * sqrt(self.variance) / (share * (1 - share))
        logit = log(share / (1 - share))
        return _expit(logit - half_width), _expit(logit + half_width)


def _jackknife(deviation: FloatArray, group: IntArray) -> tuple[float, float]:
    """Return the delete-one-group variance of a mean, and the effective number of groups."""
    sizes = np.bincount(group)
    rest = len(deviation) - sizes[sizes > 0]
    change = np.bincount(group, deviation)[sizes > 0] / np.maximum(rest, 1)
    n = len(rest)
    return (n - 1) / n * float(change @ change), effective_size(sizes[sizes > 0])


def _expit(logit: float) -> float:
    return 1 / (1 + exp(-logit)) if logit > 0 else exp(logit) / (1 + exp(logit))

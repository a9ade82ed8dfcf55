"""Intervals that allow for two sources of sampling error, instances and raters.

Raters are left out one at a time. A bootstrap over raters would draw some raters twice and count
their agreement with themselves. Source: Cameron, Gelbach and Miller 2011, for the sum of variances.
"""

from dataclasses import replace
from math import sqrt
from statistics import NormalDist
from typing import Protocol, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, MAX_UNDEFINED_SHARE, Resampling
from tiebreak.stats.counts import count_matrix
from tiebreak.stats.results import NAN, Estimate, Scope
from tiebreak.stats.validation import FloatArray, as_codes

ONE_RATER = (
    "There is no interval because there is only one rater, so that the variation between raters is"
    " unknown."
)
UNDEFINED_WITHOUT = (
    "There is no interval because the statistic becomes undefined if certain raters are left out;"
    " the number of such raters is {lost}."
)


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
        stated_scope=Scope("new", "new"),
    )

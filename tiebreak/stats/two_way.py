"""Intervals that see two sources of chance: which instances were drawn, and which raters.

A bootstrap over raters would let a rater who is drawn twice agree with themselves; leaving raters
out one at a time does not. Source: Cameron, Gelbach and Miller 2011, for the sum of variances.
"""

from dataclasses import replace
from math import sqrt
from statistics import NormalDist
from typing import Protocol, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, MOST_UNDEFINED, Resampling
from tiebreak.stats.counts import count_matrix
from tiebreak.stats.results import NAN, Estimate, Scope
from tiebreak.stats.validation import FloatArray, as_codes

ONE_RATER = "No interval: one rater tells nothing of how raters differ."
UNDEFINED_WITHOUT = "No interval: undefined without {lost} of the raters."


class CountStatistic(Protocol):
    """A function of counts, such as `krippendorff_alpha`, or a partial of one."""

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
    """A statistic with an interval for other instances *and* other raters.

    ``units``, ``raters``, ``labels`` are aligned vectors of codes, one row a rating; −1 (missing)
    is passed over. Variance = bootstrap over units (or instances, ``clusters``) + delete-one
    jackknife over raters, and a z interval from it. The rating's own noise is in both parts, so
    that the interval is on the wide side. No interval with one rater, or where the statistic is
    undefined without more than 5% of the raters.

    >>> from tiebreak.stats import krippendorff_alpha
    >>> found = two_way(krippendorff_alpha, [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], n_units=2, n_raters=2, n_labels=2)
    >>> found.value
    1.0
    """
    label = as_codes(labels, below=n_labels, name="labels", missing=True)
    rater = as_codes(raters, below=n_raters, name="raters")
    unit = as_codes(units, below=n_units, name="units")
    counts = count_matrix(unit, label, n_units=n_units, n_labels=n_labels)
    whole = statistic(counts, clusters=clusters, **resampling)
    if np.isnan(whole.low):
        return whole
    who = np.unique(rater[label >= 0])
    own = (rater == code for code in who)
    given = (count_matrix(unit[r], label[r], n_units=n_units, n_labels=n_labels) for r in own)
    without = np.array([statistic(counts - each).value for each in given])
    return _widened(whole, without, resampling.get("confidence_level", CONFIDENCE_LEVEL))


def _widened(whole: Estimate, without: FloatArray, confidence_level: float) -> Estimate:
    bare = replace(whole, low=NAN, high=NAN, standard_error=NAN)
    if len(without) < 2:
        return replace(bare, reason=ONE_RATER)
    defined = without[~np.isnan(without)]
    lost = len(without) - len(defined)
    if lost > MOST_UNDEFINED * len(without):
        return replace(bare, reason=UNDEFINED_WITHOUT.format(lost=lost))
    of_raters = (len(defined) - 1) * float(defined.var())
    error = sqrt(whole.standard_error**2 + of_raters)
    reach = NormalDist().inv_cdf((1 + confidence_level) / 2) * error
    method = f"{whole.method}, and jackknife over {len(without)} raters, z"
    return replace(
        whole,
        low=whole.value - reach,
        high=whole.value + reach,
        standard_error=error,
        method=method,
        stated_scope=Scope("new", "new"),
    )

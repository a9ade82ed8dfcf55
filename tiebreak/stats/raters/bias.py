"""Preferences for a text's position or length rather than its content."""

from math import sqrt

import numpy as np

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.proportions import WILSON, wilson_interval
from tiebreak.stats.core.results import THESE, Estimate, undefined
from tiebreak.stats.core.validation import FloatArray, IntArray

NO_POSITION = "No rating prefers a text whose position is known."
_ROUNDING = 1e-9
NO_LENGTH = "No rating prefers one of two texts whose lengths are known and differ."


def position_bias(
    first: int, second: int, *, confidence_level: float = CONFIDENCE_LEVEL
) -> Estimate:
    """Estimate position bias from numbers of ratings.

    Parameters
    ----------
    first, second : int
        Numbers of ratings that prefer the text shown first and the text shown second. Ties do not
        count.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        P(first preferred) − ½, from −½ to ½; undefined if there are no ratings.

    Raises
    ------
    InvalidInput
        If a number is negative.

    Notes
    -----
    The interval is Wilson's score interval (1927). It assumes independent ratings, and therefore
    applies only to these raters and these instances.

    Examples
    --------
    >>> round(position_bias(60, 40).value, 4)
    0.1
    """
    n = first + second
    if n == 0:
        return undefined(NO_POSITION)
    low, high = wilson_interval(first, n, confidence_level=confidence_level)
    share = first / n
    error = sqrt(share * (1 - share) / n)
    return Estimate(
        (first - second) / (2 * n), low - 0.5, high - 0.5, error, n, WILSON, stated_scope=THESE
    )


def length_bias(
    longer: int, shorter: int, *, confidence_level: float = CONFIDENCE_LEVEL
) -> Estimate:
    """Estimate length bias from numbers of ratings.

    Parameters
    ----------
    longer, shorter : int
        Numbers of ratings that prefer the longer text and the shorter text. Ties and texts of equal
        length do not count.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        P(longer preferred) − P(shorter preferred), from −1 to 1; undefined if there are no ratings.

    Raises
    ------
    InvalidInput
        If a number is negative.

    Notes
    -----
    The interval is Wilson's score interval (1927). It assumes independent ratings, and therefore
    applies only to these raters and these instances.

    Examples
    --------
    >>> length_bias(60, 40).value
    0.2
    """
    n = longer + shorter
    if n == 0:
        return undefined(NO_LENGTH)
    low, high = wilson_interval(longer, n, confidence_level=confidence_level)
    share = longer / n
    error = 2 * sqrt(share * (1 - share) / n)
    return Estimate(
        (longer - shorter) / n, 2 * low - 1, 2 * high - 1, error, n, WILSON, stated_scope=THESE
    )


def effect_within(
    outcome: FloatArray, condition: FloatArray, groups: IntArray, weights: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the effect of a condition with groups held equal, what each rating adds, and its information.

    ``outcome`` and ``condition`` are −1 or 1. The effect is half the difference between the mean
    outcomes of the two conditions in each group, averaged with the weights of Mantel and Haenszel: the
    slope of a regression with an intercept for each group. It is the mean of outcome × condition where
    both conditions are equally frequent in every group, and NaN where no group has both.

    Contributions add up to 0, and allow for the means that were estimated. Their weights in
    `two_way_interval` are the information: a rating whose condition is rare in its group has much, so
    few such ratings count as few.
    """
    code = np.unique(groups, return_inverse=True)[1]

    def centred(values: FloatArray) -> FloatArray:
        means = np.bincount(code, weights * values) / np.bincount(code, weights)
        return np.asarray(values - means[code])

    x, y = centred(condition), centred(outcome)
    information = weights * x**2
    total = float(information.sum())
    slope = float(weights @ (x * y)) / total if total > _ROUNDING else float("nan")
    n, means = len(x), int(code.max()) + 1
    lost = sqrt((n - 1) / max(n - means, 1))
    return slope, lost * weights * x * (y - slope * x), information

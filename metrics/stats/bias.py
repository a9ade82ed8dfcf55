"""What a rater prefers that is not the text: the position it stood in, or its length."""

import numpy as np

from metrics.stats.bootstrap import normal_quantile
from metrics.stats.results import Estimate, undefined


def position_bias(first: int, second: int, *, confidence_level: float = 0.95) -> Estimate:
    """P(first shown preferred) − ½, with a Wilson interval; ties do not count.

    Source: Wilson 1927 for the interval of a share.

    Examples
    --------
    >>> position_bias(60, 40).value
    0.1
    """
    n = first + second
    if n == 0:
        return undefined("no rating prefers a text whose position is known")
    low, high = wilson_interval(first, n, confidence_level)
    share = first / n
    error = float(np.sqrt(share * (1 - share) / n))
    return Estimate(round(share - 0.5, 15), low - 0.5, high - 0.5, error, n, "Wilson")


def length_bias(longer: int, shorter: int, *, confidence_level: float = 0.95) -> Estimate:
    """P(longer preferred) − P(shorter preferred); texts of one length and ties do not count."""
    n = longer + shorter
    if n == 0:
        return undefined("no rating prefers one of two texts of known, different length")
    low, high = wilson_interval(longer, n, confidence_level)
    return Estimate((longer - shorter) / n, 2 * low - 1, 2 * high - 1, n=n, method="Wilson")


def wilson_interval(successes: int, n: int, confidence_level: float) -> tuple[float, float]:
    """The Wilson score interval of a share."""
    z = normal_quantile(confidence_level)
    centre = (successes + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    return float(centre - half), float(centre + half)

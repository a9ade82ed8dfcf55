"""The interval of a proportion."""

import scipy

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.validation import check_at_least, check_resampling

# Wilson's interval treats ratings as independent, so it does not generalise to other instances or
# raters.
WILSON = "Wilson score interval"


def wilson_interval(
    successes: int, n: int, *, confidence_level: float = CONFIDENCE_LEVEL
) -> tuple[float, float]:
    """Return the score interval of the share ``successes`` / ``n`` (Wilson 1927)."""
    check_at_least(successes, 0, name="successes")
    check_at_least(n, max(successes, 1), name="n")
    check_resampling(0, confidence_level, None)
    low, high = scipy.stats.binomtest(successes, n).proportion_ci(confidence_level, method="wilson")
    return float(low), float(high)

"""How much two systems differ, and within which margin they are shown to be equally good."""

from dataclasses import dataclass, replace

from tiebreak.stats.core.results import NAN, Estimate


@dataclass(frozen=True)
class SystemDifference:
    """Difference of two systems' win rates against each other, and what its interval rules out.

    See Also
    --------
    system_difference : Computes it.
    """

    difference: Estimate
    """Win rate of the first system minus that of the second, from −1 to 1."""
    equivalent_within: float = NAN
    """Both systems are shown to be equally good within any larger margin; NaN without an interval."""
    first_not_worse_by: float = NAN
    second_not_worse_by: float = NAN
    """The system is shown not to be worse by any larger margin (non-inferiority); 0 if it is shown
    to be better; NaN without an interval."""


def system_difference(rate: Estimate) -> SystemDifference:
    """Return the difference of two systems, and the margins of equivalence and non-inferiority.

    Parameters
    ----------
    rate : Estimate
        Win rate of the first system against the second, where a tie counts as half a win.

    Returns
    -------
    SystemDifference
        The difference, undefined if the rate is, and the smallest margins that its interval supports.

    See Also
    --------
    win_rates : Estimates the rate.
    smallest_difference : What difference such a study would show.

    Notes
    -----
    The two rates add up to 1, so their difference is 2 p − 1, with the interval (l, h). Two one-sided tests
    (Schuirmann 1987) show that the systems differ by less than a margin m if −m < l and h < m: from
    m = max(abs(l), abs(h)) on. One test shows that the first is not worse by m: from m = max(0, −l) on. Each
    one-sided test has half the error of the interval: 2.5% for a 95% interval. A margin should be chosen
    before it is known which one is reached; then it is read off whether it is larger.

    Examples
    --------
    >>> found = system_difference(Estimate(0.52, 0.48, 0.56, n=400))
    >>> [round(float(m), 2) for m in (found.equivalent_within, found.first_not_worse_by)]
    [0.12, 0.04]
    """
    if not rate.is_defined:
        return SystemDifference(rate)
    narrower = tuple(
        replace(one, low=2 * one.low - 1, high=2 * one.high - 1) for one in rate.narrower
    )
    low, high = 2 * rate.low - 1, 2 * rate.high - 1
    difference = replace(
        rate,
        value=2 * rate.value - 1,
        low=low,
        high=high,
        standard_error=2 * rate.standard_error,
        narrower=narrower,
    )
    if not rate.has_interval:
        return SystemDifference(difference)
    return SystemDifference(difference, max(abs(low), abs(high)), max(0.0, -low), max(0.0, high))

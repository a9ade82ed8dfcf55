"""Drawing more of the instances that machine raters doubt, without losing much where that is wrong.

Each instance has a doubt from machine labels. A pilot says how far annotators depart from the
prediction at each doubt, and a bound keeps every instance's chance close to that of a uniform draw.
"""

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.validation import (
    FloatArray,
    as_numbers,
    as_shares,
    check_same_length,
    check_share,
)

MIN_DENSITY = 0.9


def pooled_doubts(predictions: npt.ArrayLike) -> FloatArray:
    """Compute how much machine raters together doubt each instance.

    Parameters
    ----------
    predictions : array_like of float, shape (n_instances, n_machines)
        Share of each machine's labels by which the first system wins, from 0 to 1, where ties count
        as half; or a probability of that. NaN is a missing label.

    Returns
    -------
    ndarray of float, shape (n_instances,)
        √(p (1 − p)) of the machines' mean p, from 0 (all say that the same system wins) to ½; NaN
        where no machine has a label.

    Raises
    ------
    InvalidInput
        If there is no column for each machine, or a share is not from 0 to 1.

    See Also
    --------
    expected_deviations : Converts doubts to what a pilot says about them.

    Notes
    -----
    This is the standard deviation of a label that is 1 with probability p and otherwise 0.

    Examples
    --------
    >>> pooled_doubts([[1, 1], [1, 0], [0.5, 1]]).round(3).tolist()
    [0.0, 0.5, 0.433]
    """
    array = np.asarray(predictions, dtype=np.float64)
    if array.ndim != 2:
        raise InvalidInput("wrong_shape", "predictions must have a column for each machine.")
    shares = as_shares(array.ravel(), name="predictions", missing=True).reshape(array.shape)
    labels = (~np.isnan(shares)).sum(axis=1)
    sums = np.nansum(shares, axis=1)
    mean = np.divide(sums, labels, out=np.full(len(array), np.nan), where=labels > 0)
    return np.asarray(np.sqrt(mean * (1 - mean)))


def expected_deviations(
    residuals: npt.ArrayLike, doubts: npt.ArrayLike, wanted: npt.ArrayLike
) -> FloatArray:
    """Estimate how far labels depart from their predictions at each doubt, from a pilot.

    Parameters
    ----------
    residuals : array_like of float, shape (n,)
        Label minus prediction of each instance of the pilot, centred at 0.
    doubts : array_like of float, shape (n,)
        Doubt of the same instances; see `pooled_doubts`.
    wanted : array_like of float, shape (N,)
        Doubts of the instances to draw from.

    Returns
    -------
    ndarray of float, shape (N,)
        Expected standard deviation of the residual of each instance to draw from. All are equal if
        the pilot does not show that residuals vary with doubts.

    Raises
    ------
    InvalidInput
        If residuals and doubts differ in length.

    See Also
    --------
    bounded_densities : Converts deviations to a draw.

    Notes
    -----
    The variance is a line in the squared doubt, fitted by least squares to squared residuals. Its
    slope b, with the heteroscedasticity-robust standard error s, is shrunk by the positive part of
    1 − (s/b)², as James and Stein (1961) shrink, so the doubts of a machine that guesses mostly
    count for nothing. The slope may be negative: where machines are sure of what annotators deny,
    such instances are drawn more often.

    Examples
    --------
    >>> residuals, doubts = [0.1, -0.1, 0.2, 0.6, -0.5, 0.4] * 5, [0, 0, 0, 0.5, 0.5, 0.5] * 5
    >>> expected_deviations(residuals, doubts, [0, 0.5]).round(2).tolist()
    [0.15, 0.51]
    """
    squares = as_numbers(residuals, name="residuals") ** 2
    doubt = as_numbers(doubts, name="doubts") ** 2
    check_same_length(residuals=squares, doubts=doubt)
    others = as_numbers(wanted, name="wanted") ** 2
    if len(squares) < 3:
        return np.ones(len(others))
    x = doubt - doubt.mean()
    slope = _shrunk_slope(x, squares)
    variances = squares.mean() + slope * (others - doubt.mean())
    return np.asarray(np.sqrt(np.maximum(variances, 0)))


def _shrunk_slope(x: FloatArray, y: FloatArray) -> float:
    """Return the least-squares slope, shrunk by its standard error, given a centred x."""
    spread = float(x @ x)
    if not spread > np.finfo(float).eps * len(x):
        return 0.0
    slope = float(x @ y) / spread
    rest = y - y.mean() - slope * x
    error = float(x**2 @ rest**2) / spread**2 * len(x) / (len(x) - 2)
    return slope * max(0.0, 1 - error / slope**2) if slope else 0.0


def bounded_densities(deviations: npt.ArrayLike, *, min_density: float = MIN_DENSITY) -> FloatArray:
    """Compute weights for a draw in proportion to deviations, none far below those of a uniform draw.

    Parameters
    ----------
    deviations : array_like of float, shape (n_instances,)
        Expected standard deviation of each instance's residual, 0 or above.
    min_density : float, default 0.9
        Least weight τ, in (0, 1], relative to that of a uniform draw.

    Returns
    -------
    ndarray of float, shape (n_instances,)
        Weight r of each instance, with the mean 1; all 1 if all deviations are 0.

    Raises
    ------
    InvalidInput
        If a deviation is below 0 or not finite, or τ is not above 0 and at most 1.

    See Also
    --------
    select : Draws with these weights.
    active_design : Computes deviations from a pilot, and what the draw would gain.

    Notes
    -----
    r = max(τ, c s) for deviations s, where c makes the mean 1. Of all weights that are nowhere below
    τ it minimises Σ s² / r, to which the variance of a weighted mean is proportional (Neyman 1934,
    with a lower bound). A draw of n of N instances in proportion to r has π ≥ τ n / N: instances that
    would be drawn with a probability above 1 are drawn with certainty, which only raises the
    probabilities of the others. The variance of a Hájek or prediction-powered mean with the residuals
    e is Σ e² / (N² π) for instances drawn with replacement, as `hajek_estimate` computes it. Whatever
    the residuals, that is at most 1/τ times Σ e² / (N n), the variance of a uniform draw. So with
    τ = 0.9, a draw based on doubts that say nothing, or the opposite of the truth, is worth at least 0.9
    times as many instances drawn at random. For draws without replacement, both variances are
    smaller. If residuals are unrelated to doubts, their ratio is also at most 1/τ: Σ (1/π − 1) is
    largest where every π is τ n / N or 1, and is then 1/τ times that of a uniform draw. For the worst
    residuals it is at most (1 − τ n / N) / (τ (1 − n / N)). Both apply to independent draws with
    these probabilities, and within 3% and 10% to the draws of `select` in populations of 4 to 6
    instances, by exact calculation over all of their orders.

    Examples
    --------
    >>> bounded_densities([0.1, 0.1, 0.1, 0.5]).round(3).tolist()
    [0.9, 0.9, 0.9, 1.3]
    """
    s = as_numbers(deviations, name="deviations")
    check_share(min_density, name="min_density")
    if not min_density > 0 or (s < 0).any():
        raise InvalidInput(
            "out_of_range", "deviations must be 0 or above, and min_density above 0 and at most 1."
        )
    is_least = np.zeros(len(s), dtype=np.bool_)
    densities = np.ones(len(s))
    while s[~is_least].sum() > 0:
        rest = len(s) - min_density * is_least.sum()
        densities = np.where(is_least, min_density, s * (rest / s[~is_least].sum()))
        is_below = ~is_least & (densities < min_density)
        if not is_below.any():
            break
        is_least |= is_below
    return densities

"""Hájek estimates for unequal inclusion probabilities, and the instances that the draw saves.

Source: Särndal, Swensson and Wretman 1992, section 5.7 (the ratio of Hájek's estimators). Each
instance has a total v, a size s, and an inclusion probability π.
"""

from dataclasses import dataclass, replace
from math import exp, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL, NO_WIDTH
from tiebreak.stats.core.independence import (
    MANY_CLUSTERS,
    MIN_CLUSTERS,
    Bounds,
    differs,
    drop_unreliable_interval,
    effective_size,
    mean_estimate,
)
from tiebreak.stats.core.results import NAN, Estimate, Scope, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    as_numbers,
    check_resampling,
    check_same_length,
)

Mask = npt.NDArray[np.bool_]

_ROUNDING = 1e-9
OF_EVERY, OF_SELECTED = "every instance", "selected instances only"
NOTHING = "No instance was selected."
ONE = "There is no interval because there is only one instance."
NO_CONTROL = (
    "No instance in a control sample has ratings that count, so there is nothing to compare with."
)
FEW_CONTROLS = (
    "The comparison needs at least {minimum} instances in the control sample with ratings that"
    " count; the sample has only {number}."
)
NO_ERRORS = "The saving is undefined because both estimates need a standard error above 0."
ALL_CONTROL = "Only the control sample has ratings that count, so there is nothing to compare."


def hajek_estimate(
    values: npt.ArrayLike,
    inclusion: npt.ArrayLike,
    *,
    sizes: npt.ArrayLike | None = None,
    covers: bool = True,
    bounds: Bounds | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Estimate a mean or ratio from instances drawn with unequal probabilities.

    Parameters
    ----------
    values : array_like of float, shape (n_instances,)
        Total v of each drawn instance, such as its number of wins, with ties as half wins.
    inclusion : array_like of float, shape (n_instances,)
        Inclusion probability π of each drawn instance, above 0 and at most 1.
    sizes : array_like of float, shape (n_instances,), optional
        Size s of each drawn instance, above 0, such as its number of ratings; 1 by default. The
        weighted sum of the totals is divided by the weighted sum of the sizes.
    covers : bool, default True
        Whether every instance in the dataset could have been drawn; see `Selection.covers`. If not,
        the scope is only the selected instances.
    bounds : (float, float), optional
        Least and greatest possible value, such as (0, 1) for a share. With fewer than 100 effective
        instances, the interval stays within them.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        Σ(v / π) / Σ(s / π). It is undefined if there are no instances, and has no interval if there
        are fewer than 10 effective instances.

    Raises
    ------
    InvalidInput
        If a probability or size is out of range, or the vectors differ in length.

    See Also
    --------
    select : Draws the instances.
    instances_saved : Estimates how many instances the draw has saved.

    Notes
    -----
    The estimate is a ratio of Hájek's estimators (Särndal, Swensson and Wretman 1992, eq. 5.7.2).
    The interval is normal; within `bounds`, it is Student's t on the logit scale or, if no instance
    differs from another, Clopper and Pearson's for the effective number of instances. It uses the variance of the linearised ratio as if instances were drawn
    with replacement, which includes the noise in ratings and is conservative if a large part of the
    dataset is drawn. The effective number of instances is Kish's, (Σ 1/π)² / Σ 1/π².

    Examples
    --------
    >>> round(hajek_estimate([1, 0, 1], [0.5, 1, 0.5]).value, 4)
    0.8
    """
    check_resampling(0, confidence_level, None)
    totals = as_numbers(values, name="values")
    probability = as_numbers(inclusion, name="inclusion")
    size = np.ones(len(totals)) if sizes is None else as_numbers(sizes, name="sizes")
    check_same_length(values=totals, inclusion=probability, sizes=size)
    _check_ranges(probability, size)
    n = len(totals)
    if n == 0:
        return undefined(NOTHING)
    n_effective = effective_size(1 / probability)
    method = f"Hájek, {{}}, over instances; {OF_EVERY if covers else OF_SELECTED}"
    scope = Scope("dataset" if covers else "selected")
    sums = _Sums.of(totals / probability, size / probability)
    point = Estimate(float(sums.ratio), n=n, method=method, stated_scope=scope)
    if n == 1:
        return replace(point, reason=ONE, method=method.format("z"))
    variance = float(sums.variance)
    if bounds is not None and (n_effective < MANY_CLUSTERS or not differs(variance, bounds)):
        bounded = mean_estimate(point, variance, n_effective, bounds, confidence_level)
        error = bounded.standard_error
        return replace(drop_unreliable_interval(bounded, n_effective), standard_error=error)
    point, error = replace(point, method=method.format("z")), sqrt(variance)
    if error <= _ROUNDING * max(1.0, abs(point.value)):
        return drop_unreliable_interval(replace(point, reason=NO_WIDTH), n_effective)
    half_width = NormalDist().inv_cdf((1 + confidence_level) / 2) * error
    estimate = replace(point, low=point.value - half_width, high=point.value + half_width)
    return replace(drop_unreliable_interval(estimate, n_effective), standard_error=error)


def _check_ranges(probability: npt.NDArray[np.float64], size: npt.NDArray[np.float64]) -> None:
    if ((probability <= 0) | (probability > 1)).any():
        raise InvalidInput(
            "out_of_range",
            "inclusion must contain probabilities above 0 and at most 1, because these instances"
            f" were drawn; it ranges from {probability.min():g} to {probability.max():g}.",
        )
    if (size <= 0).any():
        raise InvalidInput(
            "out_of_range",
            f"sizes must be above 0; the smallest is {size.min():g}. Leave out instances without"
            " ratings.",
        )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums for a Hájek estimate.

    With a = v / π and b = s / π, ``sums`` contains Σa, Σb, Σa², Σab and Σb²; ``n`` is the number of
    instances. An instance can be left out by subtraction.
    """

    n: npt.NDArray[np.float64]
    sums: FloatArray

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray) -> Self:
        return cls(np.array(float(len(a))), _products(a, b).sum(axis=1))

    def without(self, a: FloatArray, b: FloatArray) -> "_Sums":
        """Return the sums that remain if each of these instances in turn is left out."""
        return _Sums(self.n - np.ones(len(a)), self.sums[:, None] - _products(a, b))

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        return np.asarray(self.sums[0] / self.sums[1])

    @property
    def variance(self) -> npt.NDArray[np.float64]:
        """Variance of the linearised ratio for instances drawn with replacement."""
        _, sum_b, sum_aa, sum_ab, sum_bb = self.sums
        residual = sum_aa - 2 * self.ratio * sum_ab + self.ratio**2 * sum_bb
        return np.asarray(self.n / (self.n - 1) * np.maximum(residual, 0) / sum_b**2)


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack([a, b, a * a, a * b, b * b])


def ratings_saved(chosen: Estimate, control: Estimate) -> Estimate:
    """Estimate how many instances a draw has saved, from two estimates.

    Parameters
    ----------
    chosen : Estimate
        The `hajek_estimate` from all drawn instances.
    control : Estimate
        The `hajek_estimate` from the uniform control sample alone.

    Returns
    -------
    Estimate
        Number of additional instances that a uniform draw would have needed for the same standard
        error as `chosen`; negative if the draw reduced precision. Multiply it by the number of
        ratings per instance to get the number of ratings saved. There is no interval.

    See Also
    --------
    instances_saved : Estimates the same number with an interval.

    Notes
    -----
    The estimate is n_control · (SE_control / SE_chosen)² − n_chosen, where SE is the standard
    error. It is too noisy to be reported as a finding without an interval.

    Examples
    --------
    >>> chosen = Estimate(0.5, standard_error=0.05, n=50)
    >>> control = Estimate(0.5, standard_error=0.1, n=20)
    >>> ratings_saved(chosen, control).value
    30.0
    """
    errors = chosen.standard_error, control.standard_error
    if not all(np.isfinite(errors)) or 0 in errors:
        return undefined(NO_ERRORS, chosen.n)
    needed = control.n * (control.standard_error / chosen.standard_error) ** 2
    return Estimate(needed - chosen.n, n=chosen.n, method="variance ratio to the control sample")


def instances_saved(
    values: npt.ArrayLike,
    inclusion: npt.ArrayLike,
    in_control: npt.ArrayLike,
    *,
    sizes: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Estimate how many instances a draw has saved, with an interval.

    Parameters
    ----------
    values, inclusion : array_like of float, shape (n_instances,)
        See `hajek_estimate`.
    in_control : array_like of bool, shape (n_instances,)
        Whether each instance is in the uniform control sample.
    sizes : array_like of float, shape (n_instances,), optional
        See `hajek_estimate`.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        See `ratings_saved`. It is undefined if fewer than 10 instances are in the control sample,
        or if no instance is outside the control sample.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    hajek_estimate : Computes the estimates whose standard errors are compared.

    Notes
    -----
    The interval is a Student's t interval of the logarithm of the ratio of the number of instances
    needed to the number drawn. Its standard error comes from a jackknife over instances, separately
    for the control sample and the rest, because the control sample enters both variances.

    Examples
    --------
    >>> values, in_control = [0, 1] * 10 + [0, 1] * 5, [True] * 20 + [False] * 10
    >>> inclusion = [0.5] * 30
    >>> instances_saved(values, inclusion, in_control).n
    30
    """
    totals, probability = as_numbers(values, name="values"), as_numbers(inclusion, name="inclusion")
    size = np.ones(len(totals)) if sizes is None else as_numbers(sizes, name="sizes")
    control = np.asarray(in_control, dtype=np.bool_)
    check_same_length(values=totals, inclusion=probability, sizes=size, in_control=control)
    if not MIN_CLUSTERS <= control.sum() < len(control):
        return undefined(_reason_without_saving(control), len(control))
    selected = hajek_estimate(totals, probability, sizes=size)
    uniform = hajek_estimate(totals[control], np.ones(int(control.sum())), sizes=size[control])
    point = ratings_saved(selected, uniform)
    if not point.is_defined:
        return point
    error, df = _log_saving_error(totals / probability, size / probability, totals, size, control)
    if not (np.isfinite(error) and error > 0):
        return replace(point, reason=NO_WIDTH)
    n, half_width = point.n, float(scipy.stats.t.ppf((1 + confidence_level) / 2, df)) * error
    low, high = ((point.value + n) * exp(end) - n for end in (-half_width, half_width))
    method = f"{point.method}, t of the log ratio, jackknife over instances by phase"
    return replace(point, low=low, high=high, method=method, stated_scope=Scope("dataset"))


def _reason_without_saving(control: Mask) -> str:
    if control.all():
        return ALL_CONTROL
    number = int(control.sum())
    return FEW_CONTROLS.format(minimum=MIN_CLUSTERS, number=number) if number else NO_CONTROL


def _log_saving_error(
    a: FloatArray, b: FloatArray, totals: FloatArray, sizes: FloatArray, control: Mask
) -> tuple[float, float]:
    """Return the jackknife standard error of log(n_c · V_c / V), and its degrees of freedom.

    V is the variance from all drawn instances. V_c is the variance from the n_c instances in the
    control sample.
    """
    sums, control_sums = _Sums.of(a, b), _Sums.of(totals[control], sizes[control])
    selected = sums.without(a, b).variance * (sums.n - 1)
    uniform = np.full(len(a), float(control_sums.variance * control_sums.n))
    without = control_sums.without(totals[control], sizes[control])
    uniform[control] = without.variance * (control_sums.n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(uniform) - np.log(selected)
    n = np.array([control.sum(), (~control).sum()])
    variances = np.array(
        [(k - 1) * logs[mask].var() for k, mask in zip(n, (control, ~control), strict=True)]
    )
    total = float(variances.sum())
    # The degrees of freedom are Welch and Satterthwaite's.
    df = total**2 / float((variances**2 / np.maximum(n - 1, 1)).sum()) if total > 0 else 1.0
    return sqrt(total) if np.isfinite(total) else NAN, df

"""What a pilot study shows that other designs would gain, with a lower bound."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_resampling,
    check_same_length,
    check_share,
)
from tiebreak.stats.machines.active_sampling import (
    MIN_DENSITY,
    bounded_densities,
    expected_deviations,
    pooled_doubts,
)
from tiebreak.stats.machines.stacked_prediction import cross_fitted_slopes, folds_of

NO_REPEATS = "No gain can be computed because fewer than two items have two ratings."
NO_DIFFERENCE = (
    "There is no interval because the gain is the same without any one item, so the interval would have"
    " no width."
)
NONE_LEFT_OUT = (
    "There is no interval because the gain cannot be computed if any one item is left out: the other"
    " ratings do not vary, or are too few."
)
NO_SPREAD = "No gain can be computed because the ratings of the pilot do not vary."
ALL_ALIKE = (
    "The pilot does not show that annotators depart from the machine raters more at some doubts than"
    " at others, so every instance would have the same chance."
)
AT_RANDOM = "This is a draw at random."
LEFT_OUT = (
    "Some instances could not be drawn, so such a draw says nothing about the whole dataset. Add a control"
    " sample."
)
NO_LABELS = (
    "No gain can be computed because fewer than two instances have human and machine labels."
)


def mixed_gain(
    values: npt.ArrayLike,
    *,
    units: npt.ArrayLike,
    share: float = 0.15,
    ratings: int = 2,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Estimate the gain of rating most units once, instead of all units the same number of times.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating of the pilot.
    units : array_like, shape (n_ratings,)
        Unit of each rating.
    share : float, default 0.15
        Share of units with `ratings` ratings in the mixed design; the others have one.
    ratings : int, default 2
        Number of ratings of all units in the design to compare with.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        How many times as many ratings the equal design needs for the same variance. It is undefined
        if fewer than two units have two ratings or the ratings do not vary.

    Raises
    ------
    InvalidInput
        If the vectors differ in length or the share is not from 0 to 1.

    See Also
    --------
    stack_gain : Estimates the gain of machine labels.
    design_grid : Plans with the variance components.

    Notes
    -----
    With a variance b between units and w within them, a unit with r ratings has the variance b + w/r
    and costs r. The mixed design with a share s has b + w (s/r + 1 − s) and costs 1 + s (r − 1). The
    variances come from a one-way analysis of variance (Searle, Casella and McCulloch 1992, section
    3.6), in which b is not below 0; the interval from a jackknife over units on the log scale, with t.
    Differences between raters are not in it: they weigh the same in both designs if the same raters
    do the same number of ratings.

    Examples
    --------
    >>> values, units = [1, 1, 0, 0, 1, 1, 0, 1] * 5, [k // 2 for k in range(40)]
    >>> round(mixed_gain(values, units=units).value, 2)
    1.34
    """
    check_resampling(0, confidence_level, None)
    check_share(share, name="share")
    y = as_numbers(values, name="values")
    unit = as_groups(units, length=len(y), name="units")
    sums = np.stack([np.bincount(unit, w) for w in (np.ones(len(y)), y, y**2)]).astype(float)
    if (sums[0] > 1).sum() < 2:
        return undefined(NO_REPEATS, len(y))
    parts = np.stack([np.ones(sums.shape[1]), *sums[:2], sums[1] ** 2 / sums[0], sums[2]])
    parts = np.concatenate([parts, [sums[0] ** 2]])
    total = parts.sum(axis=1)
    value = _mixed(total, share, ratings)
    if not np.isfinite(value):
        return undefined(NO_SPREAD, len(y))
    left_out = _mixed(total[:, None] - parts, share, ratings)
    return _with_jackknife(float(value), np.asarray(left_out), confidence_level)


def stack_gain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> Estimate:
    """Estimate the gain of correcting labels by stacked machine labels of all units.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Mean human label of each unit of the pilot.
    predictions : array_like of float, shape (n, n_machines)
        Machine labels of these units.
    clusters : array_like, shape (n,), optional
        Instance of each unit; by default, every unit is one.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        Variance of instances' labels without machines, divided by the variance with them, if the
        machines label the whole dataset.

    Raises
    ------
    InvalidInput
        If the lengths differ.

    See Also
    --------
    stacked_mean : Estimates with machines.
    mixed_gain : Estimates the gain of rating most units once.

    Notes
    -----
    The weights are cross-fitted, so machines that guess show a gain just below 1. The interval is
    a jackknife over instances on the log scale, with t, and with the weights as they are.

    Examples
    --------
    >>> y = [0, 1, 1, 0, 1, 0] * 10
    >>> stack_gain(y, [[0.3 + 0.4 * label] for label in y[:30]] + [[0.5]] * 30).value > 1
    True
    """
    check_resampling(0, confidence_level, None)
    y, f = as_numbers(labels, name="labels"), np.asarray(predictions, dtype=np.float64)
    if f.ndim != 2:
        raise InvalidInput("wrong_shape", "predictions must have a column for each machine.")
    check_same_length(labels=y, predictions=f)
    names = np.arange(len(y)) if clusters is None else clusters
    group = as_groups(names, length=len(y), name="clusters")
    if n_distinct(group) < 2:
        return undefined(NO_SPREAD, len(y))
    f = f - f.mean(axis=0)
    slopes = cross_fitted_slopes(y, f, weights=np.ones(len(y)), clusters=group)
    both = np.stack([y, y - (slopes * f).sum(axis=1)])
    sums = np.stack([np.bincount(group, row - row.mean()) for row in both])
    squares = sums**2
    total = squares.sum(axis=1)
    if not total.min() > 0:
        return undefined(NO_SPREAD, len(y))
    left_out = (total[0] - squares[0]) / (total[1] - squares[1])
    return _with_jackknife(float(total[0] / total[1]), left_out, confidence_level)


@dataclass(frozen=True, eq=False)
class ActiveDesign:
    """A draw of the instances that machines doubt, and what a pilot shows about it."""

    instances: npt.NDArray[np.generic]
    """The instances, in order; shape (n_instances,)."""
    densities: FloatArray
    """Weight of each instance in the draw, relative to that of a uniform
    draw; shape (n_instances,)."""
    labelled: int
    """Number of instances with human and machine labels, from which the gain comes."""
    gain: Estimate
    """How many times as many instances a uniform draw needs for the same variance."""


def active_design(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    min_density: float = MIN_DENSITY,
    control_share: float = 0.0,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> ActiveDesign:
    """Design a draw of instances that machines doubt, and estimate its gain from a pilot.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Mean human label of each unit of the pilot, from 0 to 1; NaN where no human labelled it.
    predictions : array_like of float, shape (n, n_machines)
        Machine labels of these units, from 0 to 1; NaN is a missing label.
    clusters : array_like, shape (n,), optional
        Instance of each unit; by default, every unit is one. An instance has the mean of its units.
    min_density : float, default 0.9
        Least weight τ of an instance; see `bounded_densities`.
    control_share : float, default 0
        Share of the draw that is a uniform control sample, which the gain takes into account.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    ActiveDesign
        A weight for each instance, and the variance with a uniform draw divided by that with this
        one, both of the mean that is corrected by the stacked machine labels of the whole dataset.
        The gain is undefined if fewer than two instances have labels of both kinds, and 1 without
        an interval if the pilot does not show that residuals vary with doubts.

    Raises
    ------
    InvalidInput
        If the lengths differ, or a number is out of range.

    See Also
    --------
    stack_gain : Estimates the gain of the stack itself.
    select : Draws with the densities as weights.

    Notes
    -----
    The residuals come from `stacked_mean`, and the deviations from `expected_deviations`. The
    gain is Σ e² / Σ (e² / r), where r is the instance's weight from the other four fifths of the
    pilot (from all others under 50 instances): a weight that is fitted to the residual that it is
    judged by would flatter the draw. The interval is a jackknife over instances on the log scale,
    with t, and with the weights as they are. It applies to as many ratings of an item as in the pilot,
    and to instances drawn with replacement, as intervals are computed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sure = rng.integers(0, 2, 200)
    >>> p = np.where(rng.random(200) < 0.7, sure, 0.5)
    >>> y = np.where(p == 0.5, rng.integers(0, 2, 200), p)
    >>> design = active_design(y, p[:, None])
    >>> bool(design.gain.low > 1), design.densities.min().round(2).item()
    (True, 0.9)
    """
    check_resampling(0, confidence_level, None)
    check_share(control_share, name="control_share")
    y, f = as_numbers(labels, name="labels", missing=True), np.asarray(predictions, np.float64)
    doubts = pooled_doubts(f)
    check_same_length(labels=y, predictions=f)
    names = np.arange(len(y)) if clusters is None else np.asarray(clusters)
    group = as_groups(names, length=len(y), name="clusters")
    instances = np.unique(names)
    y, doubt = (_instance_means(values, group) for values in (y, doubts))
    machines = [_instance_means(column, group) for column in f.T]
    doubt = np.where(np.isnan(doubt), _mean(doubt), doubt)
    known = np.flatnonzero(~np.isnan(y) & ~np.isnan(np.array(machines)).all(axis=0))
    if len(known) < 2:
        gain = undefined(NO_LABELS, len(known))
        return ActiveDesign(instances, np.ones(len(instances)), len(known), gain)
    residuals = _stack_residuals(y[known], np.stack(machines, axis=1), known)
    deviations = expected_deviations(residuals, doubt[known], doubt)
    densities = bounded_densities(deviations, min_density=min_density)
    gain = Estimate(1.0, n=len(known), reason=ALL_ALIKE)
    if np.ptp(densities):
        crossed = _crossed_densities(residuals, doubt, known, min_density)
        mixed = control_share + (1 - control_share) * crossed
        gain = _ratio_of_squares(residuals**2, residuals**2 / mixed, confidence_level)
    return ActiveDesign(instances, densities, len(known), gain)


def draw_gain(
    labels: npt.ArrayLike, densities: npt.ArrayLike, *, confidence_level: float = CONFIDENCE_LEVEL
) -> Estimate:
    """Estimate from a pilot how many times the instances a draw at random needs, compared with another.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Mean human label of each instance of the pilot, which was drawn at random.
    densities : array_like of float, shape (n,)
        Probability of each of them in the other draw, divided by that in a draw at random of as many
        instances.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Estimate
        Variance of the mean after a draw at random, divided by that after the other draw; below 1 if
        the other draw needs more instances. Undefined if it leaves out instances; 1 without an
        interval for a draw at random.

    Raises
    ------
    InvalidInput
        If the lengths differ.

    See Also
    --------
    active_design : Estimates the gain of a draw for means that machine labels correct.

    Notes
    -----
    The gain is Σ e² / Σ (e² / r) for deviations e from the mean and densities r, as in `active_design`,
    with the jackknife over instances on the log scale.

    Examples
    --------
    >>> round(draw_gain([0, 1, 0.4, 0.6] * 10, [1.5, 1.5, 0.5, 0.5] * 10).value, 2)
    1.39
    """
    y, r = as_numbers(labels, name="labels"), as_numbers(densities, name="densities")
    check_same_length(labels=y, densities=r)
    check_resampling(0, confidence_level, None)
    if (r <= 0).any():
        return undefined(LEFT_OUT, len(y))
    if np.allclose(r, 1):
        return Estimate(1.0, n=len(y), reason=AT_RANDOM)
    squares = (y - y.mean()) ** 2
    return _ratio_of_squares(squares, squares / r, confidence_level)


def _crossed_densities(
    residuals: FloatArray, doubts: FloatArray, known: IntArray, min_density: float
) -> FloatArray:
    """Return the densities of the instances of a pilot, each based on the others."""
    densities, fold = np.ones(len(known)), folds_of(np.arange(len(known)))
    for number in np.unique(fold):
        kept, left = fold != number, known[fold == number]
        deviations = expected_deviations(residuals[kept], doubts[known[kept]], doubts)
        densities[~kept] = bounded_densities(deviations, min_density=min_density)[left]
    return densities


def _instance_means(values: FloatArray, group: IntArray) -> FloatArray:
    """Return the mean of each instance's values that are not missing; NaN without any."""
    known = ~np.isnan(values)
    sizes = np.bincount(group, known)
    sums = np.bincount(group, np.where(known, values, 0))
    return np.asarray(np.divide(sums, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0))


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _stack_residuals(y: FloatArray, machines: FloatArray, known: IntArray) -> FloatArray:
    """Return labels minus their stacked predictions, centred; missing predictions say nothing."""
    f = np.stack([column - _mean(column) for column in machines.T], axis=1)
    f = np.nan_to_num(f)[known]
    slopes = cross_fitted_slopes(y, f, weights=np.ones(len(y)), clusters=np.arange(len(y)))
    residuals = y - (slopes * f).sum(axis=1)
    return np.asarray(residuals - residuals.mean())


def _ratio_of_squares(first: FloatArray, second: FloatArray, confidence_level: float) -> Estimate:
    """Return Σ first / Σ second, with an interval from leaving out each row of both."""
    if not second.sum() > 0:
        return undefined(NO_SPREAD, len(first))
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = (first.sum() - first) / (second.sum() - second)
    return _with_jackknife(float(first.sum() / second.sum()), left_out, confidence_level)


def explained_share(gain: Estimate, between: float, variance: float) -> float:
    """Compute the share of the variance between units that machine labels explain.

    Parameters
    ----------
    gain : Estimate
        What `stack_gain` returned.
    between : float
        Variance between units, including that between their instances.
    variance : float
        Variance of units' mean labels in the pilot, which includes the noise of ratings.

    Returns
    -------
    float
        (1 − 1 / gain) × variance / between, from 0 to 1; 0 if the lower bound of the gain does not
        exceed 1, because the pilot then does not show that machines help.

    See Also
    --------
    design_grid : Plans with this share.

    Notes
    -----
    Machine labels cannot explain the noise of single ratings, so all the variance that they
    explain lies between units.

    Examples
    --------
    >>> explained_share(Estimate(1.5, 1.2, 1.9), between=0.1, variance=0.15)
    0.5
    """
    if not gain.low > 1 or not between > 0:
        return 0.0
    return round(min(1.0, (1 - 1 / gain.value) * variance / between), 12)


def _mixed(sums: FloatArray, share: float, ratings: int) -> FloatArray:
    """Return the gain, given Σ1 over units, Σn, Σy, Σ(unit total)²/n, Σy² and Σn²."""
    units, n, y, between, squares, sizes = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        within = np.maximum(squares - between, 0) / (n - units)
        spread = (between - y**2 / n - (units - 1) * within) / (n - sizes / n)
        spread = np.maximum(spread, 0)
        equal = ratings * (spread + within / ratings)
        mixed = spread + within * (share / ratings + 1 - share)
        return np.asarray(equal / (mixed * (1 + share * (ratings - 1))))


def _with_jackknife(value: float, left_out: FloatArray, confidence_level: float) -> Estimate:
    """Return the value with an interval on the log scale from the values without each cluster."""
    n = len(left_out)
    logs = np.log(left_out[np.isfinite(left_out) & (left_out > 0)])
    if not len(logs):
        return Estimate(value, n=n, reason=NONE_LEFT_OUT)
    error = float(np.sqrt((n - 1) / n * np.sum((logs - logs.mean()) ** 2)))
    if not error > 0:
        return Estimate(value, n=n, reason=NO_DIFFERENCE)
    half_width = float(scipy.stats.t.ppf((1 + confidence_level) / 2, n - 1)) * error
    estimate = Estimate(
        value,
        value * np.exp(-half_width),
        value * np.exp(half_width),
        value * error,
        n=n,
        method=f"jackknife over {n} clusters, t on the log scale",
    )
    return drop_unreliable_interval(replace(estimate), n)

"""Prediction-powered inference, which corrects the mean of many machine labels by few human labels.

The machine labels all units. Its error is estimated on the units that humans labelled. The labelled
and the unlabelled units are random samples from the same population.
"""

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, ratio
from tiebreak.stats.results import NAN, Estimate, undefined
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_groups,
    as_numbers,
    check_ddof,
    check_resampling,
    check_same_length,
    check_share,
)

NO_LABEL = "No item has a human label."
NO_PAIR = "No item has both a human and a machine label."
NO_UNLABELLED = "No item without a human label has a machine label."
ONE_INSTANCE = (
    "There is no interval because a standard error needs at least two independent items or"
    " instances."
)
NO_VARIATION = (
    "There is no interval because the labels do not vary, so the interval would have zero width."
)
_ROUNDING = 1e-12
_FOLDS = 5


@dataclass(frozen=True)
class PredictionPowered:
    """Mean human label, with and without the help of machine labels.

    Attributes
    ----------
    estimate : Estimate
        The prediction-powered estimate.
    classical : Estimate
        Mean of all human labels.
    lam : float
        Weight λ of the machine labels, from 0 to 1.
    n_labelled, n_unlabelled : int
        Numbers of units with and without a human label that entered the estimate.
    unparsed_labelled, unparsed_unlabelled : int
        Numbers of units with and without a human label that were ignored because the machine label
        is missing.
    """

    estimate: Estimate
    classical: Estimate
    lam: float
    n_labelled: int
    n_unlabelled: int
    unparsed_labelled: int
    unparsed_unlabelled: int


def prediction_powered_mean(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    unlabelled: npt.ArrayLike,
    *,
    lam: float | None = None,
    ddof: int = 0,
    clusters: npt.ArrayLike | None = None,
    unlabelled_clusters: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> PredictionPowered:
    """Estimate the mean human label from few human labels and many machine labels.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Human labels y.
    predictions : array_like of float, shape (n,)
        Machine labels f of the same units. Use NaN for an answer that could not be read; the unit
        is then ignored.
    unlabelled : array_like of float, shape (N,)
        Machine labels of the units without a human label.
    lam : float, optional
        Weight λ of the machine labels, from 0 to 1; tuned to the data by default. With 1, the
        machine labels have full weight; with 0, the estimate is the classical mean.
    ddof : {0, 1}, default 0
        Whether variances are divided by n (0) or by n − 1 (1).
    clusters, unlabelled_clusters : array_like, shape (n,) and (N,), optional
        Instances of the units with and without a human label; pass both or neither. Units of the
        same instance are treated as dependent, also across the two sets.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    PredictionPowered
        The estimate, the classical mean for comparison, and λ. There is no interval if there is
        only one unit or instance, or if the labels do not vary. Intervals may extend beyond the
        range of the labels.

    Raises
    ------
    InvalidInput
        If `lam` or `ddof` has a value that is not allowed, or the vectors differ in length.

    See Also
    --------
    prediction_powered_win_rate : Estimates win rates from counts.

    Notes
    -----
    The estimate is λ · mean(f unlabelled) + mean(y − λ f). By default,
    λ = cov(y, f) / ((1 + n/N) var(f)), clipped to the range from 0 to 1 (Angelopoulos et al. 2023,
    PPI++, Example 1). The covariance is divided by n, the variance is pooled over both sets and
    divided by n + N − 1, and λ is 0 if f is constant. If units share instances, λ is the value that
    minimises the variance. ARES (Saad-Falcon et al. 2024) uses ``lam=1``, and its `unlabelled` may
    repeat the labelled units as if they were independent. The interval is normal; with clusters,
    its standard error comes from sums over instances.

    Examples
    --------
    >>> means = prediction_powered_mean([1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 1, 1, 0], lam=1)
    >>> round(means.estimate.value, 4), means.classical.value
    (0.9167, 0.75)
    """
    check_resampling(0, confidence_level, None)
    check_ddof(ddof)
    if lam is not None:
        check_share(lam, name="lam")
    sample = _Sample.of(labels, predictions, unlabelled, clusters, unlabelled_clusters)
    parsed = sample.parsed()
    estimate, tuned = _rectified(parsed, lam, ddof, confidence_level)
    return PredictionPowered(
        estimate,
        _classical(sample, ddof, confidence_level),
        tuned,
        n_labelled=len(parsed.labels),
        n_unlabelled=len(parsed.unlabelled),
        unparsed_labelled=len(sample.labels) - len(parsed.labels),
        unparsed_unlabelled=len(sample.unlabelled) - len(parsed.unlabelled),
    )


def prediction_powered_win_rate(
    humans: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    lam: float | None = None,
    ddof: int = 0,
    clusters: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> PredictionPowered:
    """Estimate the win rate of system A from few human ratings and many machine ratings.

    Parameters
    ----------
    humans, machine : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B. A
        unit without human ratings counts as unlabelled; a unit without machine ratings counts as
        unparsed.
    lam : float, optional
        See `prediction_powered_mean`.
    ddof : {0, 1}, default 0
        See `prediction_powered_mean`.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. If units share an instance, whole instances are resampled.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    PredictionPowered
        Estimates of the mean over units of P(A preferred) + ½ P(tie) in human ratings.

    Raises
    ------
    InvalidInput
        If the counts do not have three columns, or if their lengths differ.

    See Also
    --------
    win_rate : Estimates the win rate from human ratings alone.

    Notes
    -----
    A unit's label is the mean of its ratings, where a win of A is 1, a tie is ½ and a loss is 0.
    Every unit therefore has the same weight, whereas in `win_rate` every rating has the same
    weight.

    Examples
    --------
    >>> humans = [[2, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]]
    >>> machine = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> prediction_powered_win_rate(humans, machine, lam=1).estimate.value
    0.375
    """
    rated, predicted = _win_scores(humans, name="humans"), _win_scores(machine, name="machine")
    check_same_length(humans=rated, machine=predicted)
    labelled = ~np.isnan(rated)
    groups = None if clusters is None else as_groups(clusters, length=len(rated), name="clusters")
    return prediction_powered_mean(
        rated[labelled],
        predicted[labelled],
        predicted[~labelled],
        lam=lam,
        ddof=ddof,
        clusters=None if groups is None else groups[labelled],
        unlabelled_clusters=None if groups is None else groups[~labelled],
        confidence_level=confidence_level,
    )


def cross_fitted_slopes(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    weights: npt.ArrayLike,
    clusters: npt.ArrayLike,
) -> FloatArray:
    """Compute the weight λ that machine labels get beside each human label of drawn instances.

    Parameters
    ----------
    labels, predictions : array_like of float, shape (n,)
        Human labels y, and machine labels f of the same units.
    weights : array_like of float, shape (n,)
        Inverse inclusion probability of each label's instance.
    clusters : array_like, shape (n,)
        Instance of each label.

    Returns
    -------
    ndarray of float, shape (n,)
        Weight λ of each label, from 0 to 1; 0 where the machine labels of the other instances do not
        vary.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    hajek_estimate : Estimates the mean of labels that were corrected by λ (f − mean of all f).

    Notes
    -----
    λ = Σ w² (y − ȳ)(f − f̄) / Σ w² (f − f̄)² minimises the variance of the weighted mean of y − λ f. It
    comes from four fifths of the instances, without those of the label itself, so that the same
    ratings do not choose λ and are then corrected by it.

    Examples
    --------
    >>> y, f = [0, 1] * 10, [0.1, 0.9] * 10
    >>> slopes = cross_fitted_slopes(y, f, weights=[2.0] * 20, clusters=range(20))
    >>> bool((slopes == 1).all())
    True
    """
    y, f = as_numbers(labels, name="labels"), as_numbers(predictions, name="predictions")
    weight = as_numbers(weights, name="weights")
    check_same_length(labels=y, predictions=f, weights=weight)
    fold = as_groups(clusters, length=len(y), name="clusters") % _FOLDS
    slopes = np.zeros(len(y))
    for number in range(_FOLDS):
        kept = fold != number
        slopes[fold == number] = _weighted_slope(y[kept], f[kept], weight[kept])
    return slopes


def _weighted_slope(y: FloatArray, f: FloatArray, weight: FloatArray) -> float:
    if len(y) == 0:
        return 0.0
    y, f = y - np.average(y, weights=weight), f - np.average(f, weights=weight)
    variance = float(weight**2 @ f**2)
    magnitude = float(weight**2 @ np.ones_like(f))
    if variance <= _ROUNDING * magnitude:
        return 0.0
    return float(np.clip(weight**2 @ (y * f) / variance, 0, 1))


def _win_scores(counts: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return the mean rating of each unit (win 1, tie ½, loss 0); NaN if it has no ratings."""
    rows = as_counts(counts, name=name)
    if rows.shape[1] != 3:
        raise InvalidInput(
            "wrong_shape",
            f"{name} must have three columns (A preferred, tie, B preferred); it has"
            f" {rows.shape[1]}.",
        )
    return ratio(rows @ np.array([1.0, 0.5, 0.0]), rows.sum(axis=1).astype(np.float64))


@dataclass(frozen=True, eq=False)
class _Sample:
    """Labels and predictions of labelled units, predictions of unlabelled units, and instances."""

    labels: FloatArray
    predictions: FloatArray
    unlabelled: FloatArray
    groups: IntArray
    unlabelled_groups: IntArray

    @classmethod
    def of(
        cls,
        labels: npt.ArrayLike,
        predictions: npt.ArrayLike,
        unlabelled: npt.ArrayLike,
        clusters: npt.ArrayLike | None,
        unlabelled_clusters: npt.ArrayLike | None,
    ) -> Self:
        human = as_numbers(labels, name="labels")
        machine = as_numbers(predictions, name="predictions", missing=True)
        other = as_numbers(unlabelled, name="unlabelled", missing=True)
        check_same_length(labels=human, predictions=machine)
        n, total = len(human), len(human) + len(other)
        groups = np.arange(total)
        if clusters is not None and unlabelled_clusters is not None:
            groups = _joint_groups(clusters, unlabelled_clusters, n, len(other))
        elif clusters is not None or unlabelled_clusters is not None:
            raise InvalidInput(
                "clusters_of_one_only",
                "Pass both clusters and unlabelled_clusters, or neither of them.",
            )
        return cls(human, machine, other, groups[:n], groups[n:])

    def parsed(self) -> "_Sample":
        """Return the sample without the units whose machine label is missing."""
        parsed, other_parsed = ~np.isnan(self.predictions), ~np.isnan(self.unlabelled)
        return _Sample(
            self.labels[parsed],
            self.predictions[parsed],
            self.unlabelled[other_parsed],
            self.groups[parsed],
            self.unlabelled_groups[other_parsed],
        )

    @property
    def is_clustered(self) -> bool:
        groups = np.concatenate([self.groups, self.unlabelled_groups])
        return len(np.unique(groups)) < len(groups)

    def instance_sums(self, labelled: FloatArray, unlabelled: FloatArray) -> FloatArray:
        groups = np.concatenate([self.groups, self.unlabelled_groups])
        values = np.concatenate([labelled, unlabelled])
        return np.bincount(groups, weights=values).astype(np.float64)


def _joint_groups(
    clusters: npt.ArrayLike, unlabelled_clusters: npt.ArrayLike, n: int, others: int
) -> IntArray:
    first = as_groups(clusters, length=n, name="clusters")
    second = as_groups(unlabelled_clusters, length=others, name="unlabelled_clusters")
    if not len(first) or not len(second):
        return np.concatenate([first, second])
    names = np.concatenate([np.asarray(clusters), np.asarray(unlabelled_clusters)])
    return as_groups(names, length=n + others, name="clusters")


def _rectified(
    sample: _Sample, lam: float | None, ddof: int, confidence_level: float
) -> tuple[Estimate, float]:
    """Return the prediction-powered estimate and its λ."""
    n, others = len(sample.labels), len(sample.unlabelled)
    if n == 0 or others == 0:
        return undefined(NO_UNLABELLED if n else NO_PAIR, n), NAN if lam is None else lam
    tuned = _tuned(sample) if lam is None else float(lam)
    rectifier = sample.labels - tuned * sample.predictions
    value = float(tuned * sample.unlabelled.mean() + rectifier.mean())
    is_single = len(np.unique(sample.groups)) < 2
    is_single |= tuned > 0 and len(np.unique(sample.unlabelled_groups)) < 2
    error = NAN
    if not is_single:
        error = _standard_error(sample, rectifier, tuned * sample.unlabelled, ddof)
    how = ("given" if lam is not None else "power-tuned") + f" λ = {tuned:.4g}"
    if sample.is_clustered:
        how += ", errors from instance sums"
    magnitude = max(np.abs(sample.labels).max(), np.abs(sample.predictions).max())
    point = Estimate(value, standard_error=error, n=n, method=f"z, {how}")
    return _z_interval(point, magnitude=magnitude, confidence_level=confidence_level), tuned


def _classical(sample: _Sample, ddof: int, confidence_level: float) -> Estimate:
    """Return the mean of all human labels, with its interval."""
    n = len(sample.labels)
    if n == 0:
        return undefined(NO_LABEL)
    is_single = len(np.unique(sample.groups)) < 2
    zeros = np.zeros(len(sample.unlabelled))
    error = NAN if is_single else _standard_error(sample, sample.labels, zeros, ddof)
    how = ", errors from instance sums" if len(np.unique(sample.groups)) < n else ""
    magnitude = float(np.abs(sample.labels).max())
    value, method = float(sample.labels.mean()), f"z, human labels alone{how}"
    point = Estimate(value, standard_error=error, n=n, method=method)
    return _z_interval(point, magnitude=magnitude, confidence_level=confidence_level)


def _tuned(sample: _Sample) -> float:
    """Return the λ that minimises the variance, clipped to [0, 1]; 0 for constant predictions."""
    n, others = len(sample.labels), len(sample.unlabelled)
    pooled = np.concatenate([sample.predictions, sample.unlabelled])
    if pooled.min() == pooled.max():
        return 0.0
    human, machine = _centred(sample.labels), _centred(sample.predictions)
    if not sample.is_clustered:
        lam = (human @ machine / n) / ((1 + n / others) * pooled.var(ddof=1))
        return float(np.clip(lam, 0, 1))
    first = sample.instance_sums(human / n, np.zeros(others))
    second = sample.instance_sums(machine / n, -_centred(sample.unlabelled) / others)
    variance = float(second @ second)
    return float(np.clip(first @ second / variance, 0, 1)) if variance > 0 else 0.0


def _standard_error(
    sample: _Sample, labelled: FloatArray, unlabelled: FloatArray, ddof: int
) -> float:
    """Return the standard error of mean(labelled) + mean(unlabelled), from sums over instances."""
    sides = (labelled, sample.groups), (unlabelled, sample.unlabelled_groups)
    first, second = (_influence(values, groups, ddof) for values, groups in sides)
    sums = sample.instance_sums(first, second)
    return float(np.sqrt(sums @ sums))


def _influence(values: FloatArray, groups: IntArray, ddof: int) -> FloatArray:
    """Return the influence of each unit on the mean, times √(G / (G − ddof)) for G instances."""
    if len(values) == 0:
        return values
    n_instances = len(np.unique(groups))
    correction = np.sqrt(n_instances / max(n_instances - ddof, 1))
    influence: FloatArray = _centred(values) / len(values) * correction
    return influence


def _centred(values: FloatArray) -> FloatArray:
    centred: FloatArray = values - values.mean()
    return centred


def _z_interval(point: Estimate, *, magnitude: float, confidence_level: float) -> Estimate:
    """Return the point estimate with its interval, or with the reason why there is no interval."""
    if np.isnan(point.standard_error):
        return replace(point, reason=ONE_INSTANCE)
    if point.standard_error <= _ROUNDING * magnitude:
        return replace(point, standard_error=NAN, reason=NO_VARIATION)
    half_width = NormalDist().inv_cdf((1 + confidence_level) / 2) * point.standard_error
    return replace(point, low=point.value - half_width, high=point.value + half_width)

"""Prediction-powered inference with several machines, weighted by cross-fitting.

Weights that are fitted to the same labels that they correct make intervals too short. Each instance
is therefore corrected with weights from other instances.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_resampling,
    check_same_length,
)
from tiebreak.stats.machines.labelled_sample import (
    LabelledSample,
    bounded_weights,
    centred,
    classical_mean,
    normal_interval,
)
from tiebreak.stats.machines.prediction_powered import NO_PAIR, NO_UNLABELLED, win_scores

FOLDS = 5
# With fewer labelled instances, four fifths are too few to fit weights to.
FEW_LABELS = 50


@dataclass(frozen=True)
class StackedMean:
    """Mean human label, with and without the help of several machines' labels."""

    estimate: Estimate
    """The prediction-powered estimate."""
    classical: Estimate
    """Mean of all human labels."""
    weights: tuple[float, ...]
    """Weight of each machine, averaged over the labels; from 0 to 1, and together at most 1."""
    n_labelled: int
    n_unlabelled: int
    """Numbers of units with and without a human label."""

    @property
    def gain(self) -> float:
        """How many times as many labels the classical mean would need for the same error."""
        return effective_sample_size(1, self.classical, self.estimate)


def effective_sample_size(size: float, classical: Estimate, powered: Estimate) -> float:
    """Compute how many human labels an estimate with the help of machines is worth.

    Parameters
    ----------
    size : float
        Number of human labels.
    classical : Estimate
        Estimate from these labels alone.
    powered : Estimate
        Estimate of the same mean from these labels and machine labels.

    Returns
    -------
    float
        Size × classical variance / powered variance; NaN if either has no standard error.

    See Also
    --------
    stacked_mean : Estimates a mean with the help of several machines.

    Notes
    -----
    The variance of a mean is taken to be inversely proportional to the number of labels, spread over
    instances and raters as they are.

    Examples
    --------
    >>> human, both = Estimate(0.6, standard_error=0.04), Estimate(0.6, standard_error=0.02)
    >>> effective_sample_size(100, human, both)
    400.0
    """
    if np.isnan(classical.standard_error) or not powered.standard_error > 0:
        return NAN
    return float(size * (classical.standard_error / powered.standard_error) ** 2)


def stacked_mean(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    unlabelled: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    unlabelled_clusters: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> StackedMean:
    """Estimate the mean human label from few human labels and the labels of several machines.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Human labels y.
    predictions : array_like of float, shape (n, n_machines)
        Machine labels f of the same units. NaN is a missing label; the mean of the machine's other
        labels takes its place.
    unlabelled : array_like of float, shape (N, n_machines)
        Machine labels of the units without a human label.
    clusters, unlabelled_clusters : array_like, shape (n,) and (N,), optional
        Instances of the units with and without a human label; pass both or neither. Units of the
        same instance are treated as dependent, including across the two sets, and are in the same fold.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    StackedMean
        The estimate, the classical mean for comparison, and the machines' weights. It is undefined
        without a labelled or an unlabelled unit; there is no interval with only one instance, or if
        labels do not vary.

    Raises
    ------
    InvalidInput
        If the shapes do not fit each other.

    See Also
    --------
    prediction_powered_mean : Uses one machine, with one weight for all labels.
    effective_sample_size : Says how many labels the result is worth.

    Notes
    -----
    The estimate is the mean of y − w'(f − F) over labelled units, where F is the machines' mean over
    unlabelled units. The weights w minimise the variance as λ of `prediction_powered_mean` does, but
    come from the other four fifths of the labelled instances (cross-prediction: Zrnic and Candès
    2024). They are not negative and add up to at most 1 (Breiman 1996, stacked regressions), and
    from two machines on a ridge shrinks them. With fewer than 50 labelled instances they come from
    all other instances (predict, then debias). The interval uses t with one degree of freedom less
    than there are labelled instances, and variances are divided by n − 1. The percentile bootstrap
    with weights from all labels (Kluger et al. 2025) covered 81–94% of 12 to 49 labels in
    simulations, and this interval 92–97%.

    Examples
    --------
    >>> y, judge, random = [1, 0, 1, 0] * 15, [1, 0, 0, 0] * 15, [0, 0, 1, 1] * 15
    >>> stack = stacked_mean(y, list(zip(judge, random)), [[1, 0], [0, 1], [0, 0], [0, 1]] * 25)
    >>> round(stack.estimate.value, 2), stack.weights[0] > 0.3, stack.gain > 1
    (0.5, True, True)
    """
    check_resampling(0, confidence_level, None)
    sample = LabelledSample.of(labels, predictions, unlabelled, clusters, unlabelled_clusters)
    if sample.predictions.shape[1] != sample.unlabelled.shape[1]:
        raise InvalidInput(
            "wrong_shape", "predictions and unlabelled must have a column for each machine."
        )
    n, n_instances = len(sample.labels), n_distinct(sample.groups)
    quantile = float(scipy.stats.t.ppf((1 + confidence_level) / 2, max(n_instances - 1, 1)))
    classical = classical_mean(sample, 1, quantile, "t")
    estimate, weights = _stacked(sample, quantile)
    return StackedMean(estimate, classical, weights, n, len(sample.unlabelled))


def stacked_win_rate(
    humans: npt.ArrayLike,
    machines: Sequence[npt.ArrayLike],
    *,
    clusters: npt.ArrayLike | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> StackedMean:
    """Estimate the win rate of system A from few human ratings and those of several machines.

    Parameters
    ----------
    humans : array_like of int, shape (n_units, 3)
        For each unit, the numbers of ratings that prefer A, that are ties, and that prefer B. A
        unit without human ratings counts as unlabelled.
    machines : sequence of array_like of int, shape (n_units, 3)
        The same counts for each machine.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    StackedMean
        Estimates of the mean over units of P(A preferred) + ½ P(tie) in human ratings.

    Raises
    ------
    InvalidInput
        If there is no machine, the counts do not have three columns, or their lengths differ.

    See Also
    --------
    prediction_powered_win_rate : Uses one machine.

    Notes
    -----
    See `stacked_mean`. A unit without any machine rating is kept, with the machines' means.

    Examples
    --------
    >>> humans = [[1, 0, 0], [0, 0, 1]] * 10 + [[0, 0, 0]] * 20
    >>> judge = [[1, 0, 0], [0, 0, 1]] * 20
    >>> round(stacked_win_rate(humans, [judge, judge]).estimate.value, 4)
    0.5
    """
    if not machines:
        raise InvalidInput("too_few", "machines must contain the counts of at least one machine.")
    rated = win_scores(humans, name="humans")
    predicted = [win_scores(machine, name="machines") for machine in machines]
    for scores in predicted:
        check_same_length(humans=rated, machines=scores)
    labelled, columns = ~np.isnan(rated), np.stack(predicted, axis=1)
    groups = np.arange(len(rated))
    if clusters is not None:
        groups = as_groups(clusters, length=len(rated), name="clusters")
    return stacked_mean(
        rated[labelled],
        columns[labelled],
        columns[~labelled],
        clusters=groups[labelled],
        unlabelled_clusters=groups[~labelled],
        confidence_level=confidence_level,
    )


def cross_fitted_slopes(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    weights: npt.ArrayLike,
    clusters: npt.ArrayLike,
) -> FloatArray:
    """Compute the weight that machine labels get relative to each human label of drawn instances.

    Parameters
    ----------
    labels : array_like of float, shape (n,)
        Human labels y.
    predictions : array_like of float, shape (n,) or (n, n_machines)
        Labels f of the same units by one machine, or a column for each of several.
    weights : array_like of float, shape (n,)
        Inverse inclusion probability of each label's instance.
    clusters : array_like, shape (n,)
        Instance of each label.

    Returns
    -------
    ndarray of float, shape (n,) or (n, n_machines)
        Weight λ of each label, from 0 to 1; the weights of several machines add up to at most 1. 0 where
        the machine labels of the other instances do not vary.

    Raises
    ------
    InvalidInput
        If the vectors differ in length.

    See Also
    --------
    hajek_estimate : Estimates the mean of labels that were corrected by λ (f − mean of all f).
    stacked_mean : Does the same where no instances were drawn.

    Notes
    -----
    λ = Σ w² (y − ȳ)(f − f̄) / Σ w² (f − f̄)² minimises the variance of the weighted mean of y − λ f; for
    several machines, sum and quotient are matrix operations. It comes from four fifths of
    the instances, without the label's own, so the same ratings do not choose λ and
    are then corrected by it. With fewer than 50 instances, it comes from all others.

    Examples
    --------
    >>> y, f = [0, 1] * 30, [0.1, 0.9] * 30
    >>> slopes = cross_fitted_slopes(y, f, weights=[2.0] * 60, clusters=range(60))
    >>> bool((slopes == 1).all())
    True
    """
    y, f = as_numbers(labels, name="labels"), np.asarray(predictions, dtype=np.float64)
    columns = as_numbers(f.ravel(), name="predictions").reshape(len(f), -1 if f.size else 1)
    weight = as_numbers(weights, name="weights")
    check_same_length(labels=y, predictions=columns, weights=weight)
    group = as_groups(clusters, length=len(y), name="clusters")
    fold, slopes = folds_of(group), np.zeros(columns.shape)
    for number in np.unique(fold):
        kept = fold != number
        slopes[fold == number] = _weighted_slopes(y[kept], columns[kept], weight[kept], group[kept])
    return slopes.reshape(f.shape)


def folds_of(group: IntArray) -> IntArray:
    """Return the fold of each label: one of five, or that of its instance where they are few."""
    _, instance = np.unique(group, return_inverse=True)
    number = int(instance.max(initial=-1)) + 1
    return np.asarray(instance % FOLDS if number >= FEW_LABELS else instance)


def _weighted_slopes(
    y: FloatArray, f: FloatArray, weight: FloatArray, group: IntArray
) -> FloatArray:
    if len(y) == 0:
        return np.zeros(f.shape[1])
    y, f = centred(y, weight), centred(f, weight)
    squares = weight**2
    instances = n_distinct(group)
    return bounded_weights((f * squares[:, None]).T @ f, (squares * y) @ f, instances)


def _stacked(sample: LabelledSample, quantile: float) -> tuple[Estimate, tuple[float, ...]]:
    """Return the estimate and the machines' average weights."""
    n, others, machines = len(sample.labels), len(sample.unlabelled), sample.predictions.shape[1]
    if n == 0 or others == 0 or machines == 0:
        return undefined(NO_UNLABELLED if n else NO_PAIR, n), (NAN,) * machines
    filled, fold = sample.filled(), folds_of(sample.groups)
    weights = _cross_fitted(filled, fold)
    deviation = filled.predictions - filled.unlabelled.mean(axis=0)
    corrected = filled.labels - (weights * deviation).sum(axis=1)
    mean_weights = weights.mean(axis=0)
    groups = np.unique(sample.groups), np.unique(sample.unlabelled_groups)
    error = NAN
    if len(groups[0]) > 1 and (len(groups[1]) > 1 or not mean_weights.any()):
        error = filled.standard_error(corrected, filled.unlabelled @ mean_weights, 1)
    how = "weights from all other instances" if len(groups[0]) < FEW_LABELS else "cross-fitted"
    point = Estimate(float(corrected.mean()), standard_error=error, n=n)
    point = replace(point, method=f"t, {machines} machine raters, {how}")
    interval = normal_interval(point, magnitude=filled.magnitude, quantile=quantile)
    return interval, tuple(mean_weights.tolist())


def _cross_fitted(sample: LabelledSample, fold: IntArray) -> FloatArray:
    """Return the machines' weights for each label, from the units of other folds' instances."""
    weights = np.zeros(sample.predictions.shape)
    for number in np.unique(fold):
        in_fold = np.unique(sample.groups[fold == number])
        part = sample.of_units(fold != number, ~np.isin(sample.unlabelled_groups, in_fold))
        if len(part.labels) and len(part.unlabelled):
            weights[fold == number] = part.tuned_weights()
    return weights

"""Prediction-powered inference, which corrects the mean of many machine labels by few human labels.

The machine labels all units. Its error is estimated on the units that humans labelled. The labelled
and the unlabelled units are random samples from the same population.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL, ratio
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    as_counts,
    as_groups,
    check_ddof,
    check_resampling,
    check_same_length,
    check_share,
)
from tiebreak.stats.machines.labelled_sample import (
    LabelledSample,
    classical_mean,
    normal_interval,
    normal_quantile,
)
from tiebreak.stats.rankings.comparisons import check_outcomes

NO_PAIR = "No item has both a human and a machine label."
NO_UNLABELLED = "No item without a human label has a machine label."


@dataclass(frozen=True)
class PredictionPowered:
    """Mean human label, with and without the help of machine labels."""

    estimate: Estimate
    """The prediction-powered estimate."""
    classical: Estimate
    """Mean of all human labels."""
    lam: float
    """Weight λ of the machine labels, from 0 to 1."""
    n_labelled: int
    n_unlabelled: int
    """Numbers of units with and without a human label that the estimate uses."""
    unparsed_labelled: int
    unparsed_unlabelled: int
    """Numbers of units with and without a human label that were ignored because the
    machine label is missing."""


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
        same instance are treated as dependent, including across the two sets.
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
    minimises the variance, and 0 if all unlabelled units come from one instance. ARES (Saad-Falcon et al. 2024) uses ``lam=1``, and its `unlabelled` may
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
    sample = LabelledSample.of(labels, predictions, unlabelled, clusters, unlabelled_clusters)
    parsed = sample.parsed()
    estimate, tuned = _rectified(parsed, lam, ddof, confidence_level)
    return PredictionPowered(
        estimate,
        classical_mean(sample, ddof, normal_quantile(confidence_level)),
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
    rated, predicted = win_scores(humans, name="humans"), win_scores(machine, name="machine")
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


def win_scores(counts: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return the mean rating of each unit (win 1, tie ½, loss 0); NaN if it has no ratings."""
    rows = as_counts(counts, name=name)
    check_outcomes(rows.shape[1], name=name)
    return ratio(rows @ np.array([1.0, 0.5, 0.0]), rows.sum(axis=1).astype(np.float64))


def _rectified(
    sample: LabelledSample, lam: float | None, ddof: int, confidence_level: float
) -> tuple[Estimate, float]:
    """Return the prediction-powered estimate and its λ."""
    n, others = len(sample.labels), len(sample.unlabelled)
    if n == 0 or others == 0:
        return undefined(NO_UNLABELLED if n else NO_PAIR, n), NAN if lam is None else lam
    tuned = float(sample.tuned_weights()[0]) if lam is None else float(lam)
    rectifier = sample.labels - tuned * sample.predictions[:, 0]
    others_part = tuned * sample.unlabelled[:, 0]
    value = float(others_part.mean() + rectifier.mean())
    is_single = n_distinct(sample.groups) < 2
    is_single |= tuned > 0 and n_distinct(sample.unlabelled_groups) < 2
    error = NAN if is_single else sample.standard_error(rectifier, others_part, ddof)
    how = ("given" if lam is not None else "power-tuned") + f" λ = {tuned:.4g}"
    if sample.is_clustered:
        how += ", errors from instance sums"
    point = Estimate(value, standard_error=error, n=n, method=f"z, {how}")
    return normal_interval(
        point, magnitude=sample.magnitude, quantile=normal_quantile(confidence_level)
    ), tuned

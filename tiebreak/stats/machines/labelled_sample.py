"""A sample of units of which people labelled some, and machines labelled all."""

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.results import NAN, Estimate, undefined
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_same_length,
)

NO_LABEL = "No item has a human label."
ONE_INSTANCE = (
    "There is no interval because a standard error needs at least two independent items or"
    " instances."
)
NO_VARIATION = (
    "There is no interval because the labels do not vary, so the interval would have zero width."
)
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Labels and predictions of labelled units, predictions of unlabelled units, and instances.

    `predictions` and `unlabelled` have a column for each machine.
    """

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
        """Check the arguments of one machine (vectors) or of several (a column for each)."""
        human = as_numbers(labels, name="labels")
        machine = _columns(predictions, name="predictions")
        other = _columns(unlabelled, name="unlabelled")
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

    def of_units(self, labelled: npt.ArrayLike, unlabelled: npt.ArrayLike) -> "LabelledSample":
        """Return the sample of some labelled and some unlabelled units."""
        kept, other_kept = np.asarray(labelled, dtype=bool), np.asarray(unlabelled, dtype=bool)
        return LabelledSample(
            self.labels[kept],
            self.predictions[kept],
            self.unlabelled[other_kept],
            self.groups[kept],
            self.unlabelled_groups[other_kept],
        )

    def parsed(self) -> "LabelledSample":
        """Return the sample without the units of which a machine label is missing."""
        missing, other_missing = np.isnan(self.predictions), np.isnan(self.unlabelled)
        return self.of_units(~missing.any(axis=1), ~other_missing.any(axis=1))

    def filled(self) -> "LabelledSample":
        """Return the sample with a machine's mean in place of its missing labels."""
        both = np.concatenate([self.predictions, self.unlabelled])
        known = ~np.isnan(both)
        means = np.where(known, both, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        both = np.where(known, both, means)
        n = len(self.labels)
        return replace(self, predictions=both[:n], unlabelled=both[n:])

    @property
    def is_clustered(self) -> bool:
        """Whether units share instances."""
        groups = np.concatenate([self.groups, self.unlabelled_groups])
        return n_distinct(groups) < len(groups)

    @property
    def magnitude(self) -> float:
        """The largest absolute label, human or machine, relative to which rounding errors are judged."""
        both = np.concatenate([self.labels, self.predictions.ravel()])
        return float(np.abs(both).max())

    def instance_sums(self, labelled: FloatArray, unlabelled: FloatArray) -> FloatArray:
        """Return the sums of values of labelled and unlabelled units over each instance."""
        groups = np.concatenate([self.groups, self.unlabelled_groups])
        values = np.concatenate([labelled, unlabelled])
        return np.bincount(groups, weights=values).astype(np.float64)

    def tuned_weights(self) -> FloatArray:
        """Return the weights of the machines that minimise the variance, within their bounds.

        They are 0 if all units without a human label come from one instance: nothing then shows how
        far its mean is from that of others.
        """
        n, others = len(self.labels), len(self.unlabelled)
        human, machine = centred(self.labels), centred(self.predictions)
        if not self.is_clustered:
            pooled = centred(np.concatenate([self.predictions, self.unlabelled]))
            variance = (1 + n / others) * (pooled.T @ pooled / (n + others - 1))
            return bounded_weights(variance, human @ machine / n, n)
        if n_distinct(self.unlabelled_groups) < 2:
            return np.zeros(machine.shape[1])
        other = centred(self.unlabelled)
        first = self.instance_sums(human / n, np.zeros(others))
        columns = zip(machine.T / n, -other.T / others, strict=True)
        second = np.stack([self.instance_sums(*both) for both in columns], axis=1)
        return bounded_weights(second.T @ second, first @ second, n_distinct(self.groups))

    def standard_error(self, labelled: FloatArray, unlabelled: FloatArray, ddof: int) -> float:
        """Return the standard error of mean(labelled) + mean(unlabelled), from instance sums."""
        sides = (labelled, self.groups), (unlabelled, self.unlabelled_groups)
        first, second = (_influence(values, groups, ddof) for values, groups in sides)
        sums = self.instance_sums(first, second)
        return float(np.sqrt(sums @ sums))


def bounded_weights(variance: FloatArray, covariance: FloatArray, labels: int) -> FloatArray:
    """Return the weights w that minimise w'Vw − 2w'c, none below 0 and together at most 1.

    V is the covariance matrix of the machines' labels and c their covariance with human labels, at
    the same scale. With J machines, the diagonal of V is increased by (J − 1)/`labels` so that few
    labels do not set machines against each other that nearly agree; one machine has w = c/V.
    """
    weights, varies = np.zeros(len(covariance)), np.diag(variance) > 0
    if varies.sum() == 1:
        weights[varies] = np.maximum(covariance[varies] / np.diag(variance)[varies], 0)
    elif varies.any():
        scale = np.sqrt(np.diag(variance)[varies])
        correlation = variance[np.ix_(varies, varies)] / np.outer(scale, scale)
        ridge = (len(scale) - 1) / max(labels, 1) * np.eye(len(scale))
        values, vectors = np.linalg.eigh(correlation + ridge)
        root = np.sqrt(np.maximum(values, ROUNDING))
        target = vectors.T @ (covariance[varies] / scale) / root
        weights[varies] = scipy.optimize.nnls(root[:, None] * vectors.T, target)[0] / scale
    return np.asarray(weights / max(1.0, weights.sum()))


def classical_mean(
    sample: LabelledSample, ddof: int, quantile: float, distribution: str = "z"
) -> Estimate:
    """Return the mean of all human labels, with its interval from a quantile of a distribution."""
    n = len(sample.labels)
    if n == 0:
        return undefined(NO_LABEL)
    is_single = n_distinct(sample.groups) < 2
    zeros = np.zeros(len(sample.unlabelled))
    error = NAN if is_single else sample.standard_error(sample.labels, zeros, ddof)
    how = ", errors from instance sums" if n_distinct(sample.groups) < n else ""
    magnitude = float(np.abs(sample.labels).max())
    value, method = float(sample.labels.mean()), f"{distribution}, human labels alone{how}"
    point = Estimate(value, standard_error=error, n=n, method=method)
    return normal_interval(point, magnitude=magnitude, quantile=quantile)


def normal_quantile(confidence_level: float) -> float:
    """Return the half-width of a normal interval in standard errors."""
    return NormalDist().inv_cdf((1 + confidence_level) / 2)


def normal_interval(point: Estimate, *, magnitude: float, quantile: float) -> Estimate:
    """Return the point estimate with its interval, or with the reason why there is no interval."""
    if np.isnan(point.standard_error):
        return replace(point, reason=ONE_INSTANCE)
    if point.standard_error <= ROUNDING * magnitude:
        return replace(point, standard_error=NAN, reason=NO_VARIATION)
    half_width = quantile * point.standard_error
    return replace(point, low=point.value - half_width, high=point.value + half_width)


def _columns(numbers: npt.ArrayLike, *, name: str) -> FloatArray:
    """Return a column of numbers for each machine; a vector is one machine."""
    array = np.asarray(numbers, dtype=np.float64)
    if array.ndim != 2:
        return as_numbers(array, name=name, missing=True)[:, None]
    checked = as_numbers(array.ravel(), name=name, missing=True)
    return checked.reshape(array.shape)


def _joint_groups(
    clusters: npt.ArrayLike, unlabelled_clusters: npt.ArrayLike, n: int, others: int
) -> IntArray:
    first = as_groups(clusters, length=n, name="clusters")
    second = as_groups(unlabelled_clusters, length=others, name="unlabelled_clusters")
    if not len(first) or not len(second):
        return np.concatenate([first, second])
    names = np.concatenate([np.asarray(clusters), np.asarray(unlabelled_clusters)])
    return as_groups(names, length=n + others, name="clusters")


def _influence(values: FloatArray, groups: IntArray, ddof: int) -> FloatArray:
    """Return the influence of each unit on the mean, times √(G / (G − ddof)) for G instances."""
    if len(values) == 0:
        return values
    n_instances = n_distinct(groups)
    correction = np.sqrt(n_instances / max(n_instances - ddof, 1))
    influence: FloatArray = centred(values) / len(values) * correction
    return influence


def centred(values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return values minus their mean, which are exactly 0 where they do not vary."""
    if len(values) == 0:
        return values
    differences: FloatArray = values - np.average(values, axis=0, weights=weights)
    return np.where(np.ptp(values, axis=0) > 0, differences, 0.0)

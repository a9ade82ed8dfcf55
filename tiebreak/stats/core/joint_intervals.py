"""Intervals of parameters that are fitted together, such as the strengths of systems.

The error of such parameters is about a linear function of the scores (the derivatives of the
log-likelihood) of the ratings. Its variance is that of sums over instances, over raters, and over cells
of an instance and a rater, as in `tiebreak.stats.core.two_way`, but for all parameters together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import numpy as np
import scipy

from tiebreak.stats.core.counts import Resampled
from tiebreak.stats.core.independence import drop_unreliable_interval
from tiebreak.stats.core.results import THESE, Estimate
from tiebreak.stats.core.two_way import MIN_RATERS, Spread
from tiebreak.stats.core.validation import FloatArray, IntArray

OF_INSTANCES = "linearised, over {instances} {resampled}s, t{{scale}}"
OF_BOTH = "linearised, over {instances} {resampled}s and {raters} raters, t{{scale}}"
NO_SPREAD = (
    "There is no interval because the instances do not differ, so the interval would have no width."
)
_ROUNDING = 1e-9


def sparse_rows(
    entries: Sequence[tuple[IntArray, FloatArray]], columns: int
) -> "scipy.sparse.csr_array":
    """Return a sparse matrix from entries, each of which has a column and a value for each row."""
    number, n_rows = len(entries), len(entries[0][0])
    column, value = (np.stack(parts, axis=1).ravel() for parts in zip(*entries, strict=True))
    starts = np.arange(0, number * n_rows + 1, number)
    return scipy.sparse.csr_array((value, column, starts), shape=(n_rows, columns))


@dataclass(frozen=True, eq=False)
class Linearised:
    """Parameters and what each rating contributes to their errors.

    ``scores @ influence`` has the contribution of each rating to each parameter, and ``enters`` says,
    by the weights of ratings, which of them concern the parameter directly. ``scores`` and ``enters``
    are sparse, with a row for each rating. ``instance`` and ``rater`` are codes from 0; ``rater`` is
    None if the raters are not known.
    """

    values: FloatArray
    scores: "scipy.sparse.csr_array"
    influence: FloatArray
    enters: "scipy.sparse.csr_array"
    instance: IntArray
    rater: IntArray | None = None
    resampled: Resampled = "instance"

    def estimate(
        self,
        parameter: int,
        *,
        n: int,
        confidence_level: float,
        bounds: tuple[float, float] | None = None,
    ) -> Estimate:
        """Return a parameter with its interval for new raters, or for these if they are too few."""
        value = float(self.values[parameter])
        instances = int(self._instances.numbers[parameter])
        point = drop_unreliable_interval(Estimate(value, n=n), instances, self.resampled)
        if point.reason:
            return point
        variance = self._instances.covariance[parameter, parameter]
        if not sqrt(variance) > _ROUNDING * max(1.0, abs(value)):
            return replace(point, reason=NO_SPREAD)
        names = {"instances": instances, "resampled": self.resampled}
        size = self._instances.sizes[parameter]
        inner = Spread(variance, size - 1, OF_INSTANCES.format(**names), has_raters=False)
        point = replace(point, low=value, high=value, stated_scope=THESE)
        narrow = inner.widened(point, bounds, confidence_level)
        if not self._has_raters[parameter]:
            return narrow
        method = OF_BOTH.format(**names, raters=int(self._raters.numbers[parameter]))
        parts = [by.covariance[parameter, parameter] for by in self._groupings]
        spread = Spread.of_parts(
            (parts[0], parts[1], parts[2]), (size, self._raters.sizes[parameter]), method
        )
        return spread.widened(narrow, bounds, confidence_level)

    def draws(self, number: int, rng: np.random.Generator, *, new_raters: bool) -> FloatArray:
        """Draw parameters from their joint t distribution, shape (``number``, parameters).

        ``new_raters`` says whether the draws also vary over raters.
        """
        covariance, sizes = self._instances.covariance, self._instances.sizes
        if new_raters:
            sizes = np.minimum(sizes, self._raters.sizes)
            by_instance, by_rater, by_cell = (by.covariance for by in self._groupings)
            covariance = _positive(by_instance + by_rater - by_cell, np.diag(by_instance))
        eigenvalues, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0))
        freedom = max(1.0, float(sizes.min()) - 1)
        scale = np.sqrt(rng.chisquare(freedom, size=(number, 1)) / freedom)
        normal = rng.standard_normal((number, len(covariance)))
        return np.asarray(self.values + normal @ root.T / scale)

    @property
    def speaks_of_new_raters(self) -> bool:
        """Whether each parameter has enough raters for an interval that applies to new raters."""
        return bool(self._has_raters.all())

    @property
    def covariances(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Covariances by instance, rater and cell; the last two are 0 if raters are too few."""
        if self.speaks_of_new_raters:
            by_instance, by_rater, by_cell = (by.covariance for by in self._groupings)
            return by_instance, by_rater, by_cell
        none = np.zeros_like(self._instances.covariance)
        return self._instances.covariance, none, none

    @property
    def sizes(self) -> tuple[FloatArray, FloatArray]:
        """Effective numbers of instances and of raters of each parameter."""
        instances = self._instances.sizes
        many = np.full(len(instances), np.inf)
        return instances, self._raters.sizes if self.speaks_of_new_raters else many

    @cached_property
    def _has_raters(self) -> FloatArray:
        if self.rater is None:
            return np.zeros(len(self.values))
        return np.asarray(self._raters.numbers >= MIN_RATERS)

    @cached_property
    def _instances(self) -> "_Grouping":
        return _Grouping.of(self, self.instance)

    @cached_property
    def _raters(self) -> "_Grouping":
        assert self.rater is not None
        return _Grouping.of(self, self.rater)

    @cached_property
    def _groupings(self) -> tuple["_Grouping", "_Grouping", "_Grouping"]:
        assert self.rater is not None
        cells = self.instance * (int(self.rater.max(initial=0)) + 1) + self.rater
        codes = np.unique(cells, return_inverse=True)[1]
        return self._instances, self._raters, _Grouping.of(self, codes)


@dataclass(frozen=True, eq=False)
class _Grouping:
    """Covariance matrix of the parameters if only these groups of ratings are independent.

    For each parameter, ``numbers`` has the number of groups with a rating that concerns it, and
    ``sizes`` the effective number.
    """

    covariance: FloatArray
    numbers: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, fitted: Linearised, group: IntArray) -> "_Grouping":
        sums, weights = fitted.scores, fitted.enters
        if group.max(initial=-1) + 1 < len(group):
            rows = np.arange(len(group))
            shape = (int(group.max()) + 1, len(group))
            member = scipy.sparse.csr_array((np.ones(len(group)), (group, rows)), shape=shape)
            sums, weights = member @ sums, member @ weights
        total, squares = weights.sum(axis=0), weights.power(2).sum(axis=0)
        sizes = np.round(total**2 / np.maximum(squares, np.finfo(float).tiny), 9)
        # Kish's number of groups; a parameter's groups are fewer than all groups.
        factor = np.sqrt(sizes / np.maximum(sizes - 1, 1e-9))
        spread = fitted.influence.T @ (sums.T @ sums).toarray() @ fitted.influence
        return cls(spread * np.outer(factor, factor), (weights > 0).sum(axis=0), sizes)


def _positive(covariance: FloatArray, least: FloatArray) -> FloatArray:
    """Return the nearest covariance matrix whose variances are not below the least ones."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    projected = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
    variance = np.diag(projected)
    scale = np.sqrt(np.maximum(least, variance) / np.where(variance > 0, variance, 1))
    return np.asarray(projected * np.outer(scale, scale))

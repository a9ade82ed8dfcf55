"""The composite rater: the best machine rater of each category, chosen on other items."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import ratio
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.validation import FloatArray, IntArray, as_groups, as_unit_weights

FOLDS = 10
# Replicates tell a standard error; more of them would hardly change it.
MAX_REPLICATES = 1_000
# Numbers that are held at once, of all replicates that are computed together.
_AT_ONCE = 2_000_000
# Sums of credits that are the same to so many decimals are equal: they are sums of fractions.
_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Composite:
    """Which rater a composite uses for each unit.

    See Also
    --------
    cross_validated_composite : Chooses the raters.
    """

    rater: IntArray
    """Index of the rater that is used for each unit, or the first of those that share it; shape
    (n_units,). It was chosen on units of other folds."""
    fold: IntArray
    """Fold of each unit, from 0; shape (n_units,)."""
    chosen: IntArray
    """Index of the rater that is used for the units of a category, in the order of
    the sorted categories, and a fold; −1 if the fold has no unit of the category;
    shape (n_categories, n_folds)."""
    shares: FloatArray
    """Share of each rater in each unit: 1 for the chosen one, equal parts for equally good ones;
    shape (n_units, n_raters)."""


def cross_validated_composite(
    credits: npt.ArrayLike,
    categories: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    folds: int = FOLDS,
    rng: np.random.Generator,
) -> Composite:
    """Choose the best rater of each category, for each unit on the units of other folds.

    Parameters
    ----------
    credits : array_like of float, shape (n_units, n_raters)
        How well each rater did on each unit, such as its leave-one-out agreement with people. More
        is better. Every rater must have a credit for every unit.
    categories : array_like, shape (n_units,)
        Category of each unit.
    clusters : array_like, shape (n_units,), optional
        Instance of each unit. Units that share an instance are in the same fold.
    weights : array_like of float, shape (n_units,), optional
        How many units each represents in the choice, such as the inverse of its inclusion
        probability; 1 by default.
    folds : int, default 10
        Number of folds; fewer if there are fewer instances.
    rng : numpy.random.Generator
        Generator for dividing the instances at random into folds of nearly equal size. Each
        category is spread over as many folds as it can be.

    Returns
    -------
    Composite
        The rater of each unit.

    Raises
    ------
    InvalidInput
        If a credit is missing, if there are fewer than two instances, or fewer than two folds, or
        if a weight is negative or missing.

    Notes
    -----
    The mean credit of the chosen raters estimates how a composite does on new units if its raters
    are chosen on 1 − 1 / `folds` as many units. The mean credit of the raters that are best on all
    units would be too high, because some of them are best by chance there. Source: the composite of
    Lyu et al. 2024 (HREF), which is chosen per category; the folds and weights are not theirs.

    In a category without units in other folds, the rater is used that is best over all their units.
    Of raters with the same mean, the one whose credits vary less is used, as its mean has the smaller
    error; those that are still equal share the units.

    Examples
    --------
    >>> credits = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> categories = ["chat", "chat", "news", "news"]
    >>> rng = np.random.default_rng(0)
    >>> cross_validated_composite(credits, categories, folds=2, rng=rng).rater.tolist()
    [0, 0, 1, 1]
    """
    table = _credits(credits)
    units = len(table)
    category = as_groups(categories, length=units, name="categories")
    cluster = (
        np.arange(units) if clusters is None else as_groups(clusters, length=units, name="clusters")
    )
    number = min(folds, n_distinct(cluster) if units else 0)
    if number < 2:
        raise InvalidInput(
            "one_fold",
            "A composite needs at least two folds and two instances to be divided into them.",
        )
    fold = _folds(category, cluster, number, rng)
    weight = as_unit_weights(weights, length=units)
    shares = _Sums.of(table, weight[None], category, fold).shares[0]
    has_units = np.zeros(shares.shape[:2], dtype=np.bool_)
    has_units[category, fold] = True
    chosen = np.where(has_units, shares.argmax(axis=2), -1)
    of_units = shares[category, fold]
    return Composite(chosen[category, fold], fold, chosen, of_units)


def composite_shares(
    credits: npt.ArrayLike,
    categories: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    of: npt.ArrayLike,
) -> FloatArray:
    """Choose the best rater of each category, for new units.

    Parameters
    ----------
    credits : array_like of float, shape (n_units, n_raters)
        As in `cross_validated_composite`, of the units to choose by.
    categories : array_like, shape (n_units,)
        Their categories.
    weights : array_like of float, shape (n_units,), optional
        Their weights.
    of : array_like, shape (n_new_units,)
        Category of each new unit.

    Returns
    -------
    numpy.ndarray of float, shape (n_new_units, n_raters)
        Share of each rater in each new unit, by the same rule. In a category without units to choose
        by, the rater is used that is best over all of them.

    Raises
    ------
    InvalidInput
        If there is no unit to choose by, a credit is missing, or a weight is negative or missing.

    See Also
    --------
    cross_validated_composite : Chooses for the units that have credits themselves.

    Examples
    --------
    >>> credits, categories = [[1, 0], [0, 1], [0, 1]], ["chat", "news", "news"]
    >>> composite_shares(credits, categories, of=["chat", "poems"]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    table, new = _credits(credits), np.asarray(of)
    if not len(table):
        raise InvalidInput("no_units", "There is no unit to choose the raters by.")
    # New units have no credits, so they change no sum; they stand in a fold of their own.
    every = np.concatenate([np.asarray(categories), new])
    category = as_groups(every, length=len(table) + len(new), name="categories")
    fold = np.repeat([0, 1], [len(table), len(new)])
    weight = np.concatenate([as_unit_weights(weights, length=len(table)), np.zeros(len(new))])
    padded = np.concatenate([table, np.zeros((len(new), table.shape[1]))])
    of_new: FloatArray = _Sums.of(padded, weight[None], category, fold).shares[0]
    of_each: FloatArray = of_new[category[len(table) :], 1]
    return of_each


def composite_variances(
    credits: npt.ArrayLike,
    composite: Composite,
    categories: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    replicates: int = MAX_REPLICATES,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the variance of a composite's mean credit over all units, and in each sorted category.

    The arguments are those of `cross_validated_composite`. Replicates choose the raters anew, because
    the choices as they were made vary less than those of another study: where raters are about equally
    good, the standard error would be up to a third too small. A replicate draws half as many instances
    with replacement, each of which stays in its fold, so that no copy of a unit has a say in its own
    rater. As many instances as there are would give up to a quarter too much, because a choice jumps
    (Bickel, Götze and van Zwet 1997). Raters that share a unit count by their mean credit.
    """
    table = _credits(credits)
    category = as_groups(categories, length=len(table), name="categories")
    cluster = as_groups(clusters, length=len(table), name="clusters")
    weight, instances = as_unit_weights(weights, length=len(table)), n_distinct(cluster)
    held = len(table) + int(category.max() + 1) * n_distinct(composite.fold) * 6 * table.shape[1]
    sizes = np.diff([*range(0, replicates, max(1, _AT_ONCE // held)), replicates])
    even, drawn = np.full(instances, 1 / instances), instances // 2
    means = [
        _Sums.of(
            table, rng.multinomial(drawn, even, n)[:, cluster] * weight, category, composite.fold
        ).means()
        for n in sizes
    ]
    variances: FloatArray = np.nanvar(np.concatenate(means), axis=0, ddof=1) * drawn / instances
    return variances


def _credits(credits: npt.ArrayLike) -> FloatArray:
    table = np.asarray(credits, dtype=np.float64)
    if table.ndim != 2 or not table.shape[1] or not np.isfinite(table).all():
        raise InvalidInput(
            "missing_credit", "credits must have a finite number for every unit and rater."
        )
    return table


def _folds(
    category: IntArray, cluster: IntArray, number: int, rng: np.random.Generator
) -> IntArray:
    """Deal the instances out to folds in a random order, one category after the other."""
    _, first = np.unique(cluster, return_index=True)
    order = np.lexsort([rng.permutation(len(first)), category[first]])
    fold = np.empty(len(first), dtype=np.int64)
    fold[order] = np.arange(len(first)) % number
    return fold[cluster]


class _Sums(NamedTuple):
    """Weighted sums over the units of each category and fold, for one weighting or several.

    `moments` has the credits of each rater and then their squares, `weight` the weights, and `n` counts
    the units with a weight; shapes (n_weightings, n_categories, n_folds, ...).
    """

    moments: FloatArray
    weight: FloatArray
    n: FloatArray

    @classmethod
    def of(
        cls, table: FloatArray, weight: FloatArray, category: IntArray, fold: IntArray
    ) -> "_Sums":
        shape = (len(weight), int(category.max()) + 1, int(fold.max()) + 1)
        moments = np.concatenate([table, table**2], axis=1)
        sums = cls(np.zeros((*shape, moments.shape[1])), np.zeros(shape), np.zeros(shape))
        for at in np.unique(np.stack([category, fold], axis=1), axis=0).tolist():
            units = np.flatnonzero((category == at[0]) & (fold == at[1]))
            of_units, cell = weight[:, units], (slice(None), *at)
            sums.moments[cell] = of_units @ moments[units]
            sums.weight[cell] = of_units.sum(axis=1)
            sums.n[cell] = (of_units > 0).sum(axis=1)
        return sums

    @property
    def shares(self) -> FloatArray:
        """Share of each rater in the units of a category and fold, chosen on the other folds."""
        others = self.moments.sum(axis=2, keepdims=True) - self.moments
        anywhere = np.broadcast_to(others.sum(axis=1, keepdims=True), others.shape)
        is_alone = self.n.sum(axis=2, keepdims=True) == self.n
        basis = np.where(is_alone[..., None], anywhere, others).round(_DECIMALS)
        # Of equal sums, the smaller sum of squares has the smaller variance.
        means, squares = np.split(basis, 2, axis=-1)
        best = means == means.max(axis=-1, keepdims=True)
        squares = np.where(best, squares, np.inf)
        best &= squares == squares.min(axis=-1, keepdims=True)
        shares: FloatArray = best / best.sum(axis=-1, keepdims=True)
        return shares

    def means(self) -> FloatArray:
        """Return the mean credit over all units and in each category, by weighting."""
        credits, _ = np.split(self.moments, 2, axis=-1)
        parts = [(self.shares * credits).sum(axis=(2, 3)), self.weight.sum(axis=2)]
        sums, weights = (np.column_stack([part.sum(axis=1), part]) for part in parts)
        return ratio(sums, weights)

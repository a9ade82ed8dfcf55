"""The composite rater: the best machine rater of each category, chosen on other items."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.core.validation import FloatArray, IntArray, as_groups, as_unit_weights

FOLDS = 10
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
    """Index of the rater that is used for each unit; shape (n_units,). It was
    chosen on units of other folds."""
    fold: IntArray
    """Fold of each unit, from 0; shape (n_units,)."""
    chosen: IntArray
    """Index of the rater that is used for the units of a category, in the order of
    the sorted categories, and a fold; −1 if the fold has no unit of the category;
    shape (n_categories, n_folds)."""


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
    Of equally good raters, the first is used.

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
    chosen = _chosen(table * weight[:, None], category, fold, number)
    return Composite(chosen[category, fold], fold, chosen)


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


def _chosen(table: FloatArray, category: IntArray, fold: IntArray, number: int) -> IntArray:
    shape = (int(category.max()) + 1, number)
    sums, n = np.zeros((*shape, table.shape[1])), np.zeros(shape, dtype=np.int64)
    np.add.at(sums, (category, fold), table)
    np.add.at(n, (category, fold), 1)
    others = sums.sum(axis=1, keepdims=True) - sums
    anywhere = np.broadcast_to(others.sum(axis=0), others.shape)
    is_alone = n.sum(axis=1, keepdims=True) == n
    basis = np.where(is_alone[..., None], anywhere, others)
    best: IntArray = basis.round(_DECIMALS).argmax(axis=2)
    return np.where(n > 0, best, -1)

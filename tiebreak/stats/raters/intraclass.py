"""Intraclass correlations: how much of the variance of ratings lies between units."""

from collections.abc import Callable
from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.stats.core.bootstrap import Resampling, Statistic, estimate, ratio
from tiebreak.stats.core.counts import Patterns, distinct_rows
from tiebreak.stats.core.results import Estimate, undefined
from tiebreak.stats.core.unit_weights import UnitWeights, weighted, with_codes
from tiebreak.stats.core.validation import FloatArray, IntArray, as_scores, check_choice

Form = Literal["1", "A", "C"]
FORMS: tuple[Form, ...] = ("1", "A", "C")
NO_PAIR = "No item has two ratings."
NO_VARIATION = "The ratings do not vary, or there is only one item with two ratings."
NOT_CROSSED = (
    "This correlation needs ratings of the same raters for every item; some raters did not rate some"
    " of the items with two or more ratings."
)


def intraclass_correlation(
    scores: npt.ArrayLike,
    *,
    form: Form = "1",
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate the intraclass correlation of single ratings.

    Parameters
    ----------
    scores : array_like of float, shape (n_units, n_raters)
        Score that each rater gave each unit; NaN if the rating is missing. For the form ``"1"`` the
        order of a unit's scores has no meaning.
    form : {"1", "A", "C"}, default "1"
        ``"1"``: each unit may have its own raters; ``"A"``: the same raters rated all units, and
        their levels count as disagreement (absolute agreement); ``"C"``: the same raters rated all
        units, and their levels do not count (consistency).
    weights : array_like of float, shape (n_units,), optional
        Weight of each unit, above 0, as in `tiebreak.stats`; 1 by default.
    clusters, **resampling : optional
        Instance of each unit, and options of the bootstrap, as in `tiebreak.stats`.

    Returns
    -------
    Estimate
        The correlation, at most 1; it may be negative. It is undefined if fewer than two units have
        two ratings, if the ratings do not vary, or, for the forms ``"A"`` and ``"C"``, if a rating
        is missing in a unit with two ratings or more.

    Raises
    ------
    InvalidInput
        If a score is infinite, the scores are no matrix, the form is unknown, or a weight is not above
        0.

    See Also
    --------
    krippendorff_alpha : With the level "interval", nearly the same as the form "1".

    Notes
    -----
    With the mean squares of an analysis of variance between units (R), raters (C), and of the rest
    (E, or W within units), k raters and n units: ICC(1) = (R − W) / (R + (k − 1)W),
    ICC(A) = (R − E) / (R + (k − 1)E + k(C − E)/n), ICC(C) = (R − E) / (R + (k − 1)E) (McGraw and
    Wong 1996, table 4). Units with fewer than two ratings are ignored. If the units have unequal
    numbers of ratings, k in ICC(1) is (N − Σ k²/N) / (n − 1), where N is the number of ratings.
    With weights, all sums are weighted, as if a unit were there as many times, and scaled such that n
    is the effective number of units (Σw)² / Σw² (Kish 1965), which the mean squares divide by.

    Examples
    --------
    >>> round(intraclass_correlation([[1, 2], [3, 3], [5, 4]], form="C").value, 4)
    0.8
    """
    check_choice(form, allowed=FORMS, name="form")
    matrix = as_scores(scores, name="scores")
    rated = ~np.isnan(matrix)
    if form == "1":
        centred = matrix - _centre(matrix[rated])
        number, total = rated.sum(axis=1), np.nansum(centred, axis=1)
        return one_way_correlation(
            number,
            total,
            np.nansum(centred**2, axis=1),
            weights=weights,
            clusters=clusters,
            **resampling,
        )
    return _two_way_correlation(matrix, form, weights, clusters, **resampling)


def one_way_correlation(
    number: npt.ArrayLike,
    total: npt.ArrayLike,
    squares: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Return ICC(1), given each unit's number of scores, their sum and the sum of their squares.

    Scores must be centred, since sums of squares of large numbers lose digits. Units have weights as in
    `intraclass_correlation`.
    """
    sums = np.column_stack([number, total, squares]).astype(np.float64)
    n, x, x2 = sums.T
    paired = n > 1
    size = np.maximum(n, 1)
    features = np.column_stack([np.ones(len(n)), n, n**2, x, x2, x**2 / size]) * paired[:, None]
    return _estimate(features, _one_way_value, weights, clusters, **resampling)


def _two_way_correlation(
    matrix: FloatArray,
    form: Form,
    weights: npt.ArrayLike | None,
    clusters: npt.ArrayLike | None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    rated = ~np.isnan(matrix)
    matrix = matrix[:, rated.any(axis=0)]
    rated = ~np.isnan(matrix)
    paired = rated.sum(axis=1) > 1
    if not rated[paired].all():
        return undefined(NOT_CROSSED, int(paired.sum()))
    raters = matrix.shape[1]
    scores = np.where(paired[:, None], matrix - _centre(matrix[paired]), 0.0)
    total, squares = scores.sum(axis=1), (scores**2).sum(axis=1)
    features = np.column_stack([paired, total**2, squares, scores])

    def value(sums: FloatArray) -> FloatArray:
        return _two_way_value(sums, raters, form)

    return _estimate(features, value, weights, clusters, **resampling)


def _centre(scores: FloatArray) -> float:
    """Return a score to subtract from all others: equal scores then are exactly 0."""
    return float(scores.flat[0]) if scores.size else 0.0


def _one_way_value(sums: FloatArray) -> FloatArray:
    n, ratings, ratings_squared, x, x2, between = np.moveaxis(sums, -1, 0)
    mean_between = ratio(between - ratio(x**2, ratings), n - 1)
    mean_within = ratio(x2 - between, ratings - n)
    k = ratio(ratings - ratio(ratings_squared, ratings), n - 1)
    return ratio(mean_between - mean_within, mean_between + (k - 1) * mean_within)


def _two_way_value(sums: FloatArray, k: int, form: Form) -> FloatArray:
    n, totals_squared, squares = (sums[..., column] for column in range(3))
    by_rater = sums[..., 3:]
    whole = ratio(by_rater.sum(axis=-1) ** 2, n * k)
    between_units = totals_squared / k - whole
    between_raters = ratio((by_rater**2).sum(axis=-1), n) - whole
    rest = squares - whole - between_units - between_raters
    units, raters = ratio(between_units, n - 1), between_raters / max(k - 1, 1)
    error = ratio(rest, (n - 1) * (k - 1))
    denominator = units + (k - 1) * error
    if form == "A":
        denominator = denominator + k * ratio(raters - error, n)
    return ratio(units - error, denominator)


def _estimate(
    features: FloatArray,
    value: Callable[[FloatArray], FloatArray],
    weights: npt.ArrayLike | None,
    clusters: npt.ArrayLike | None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Return a statistic of features that are known for each unit; rows are codes of features."""
    distinct, code, _, _ = distinct_rows(features)

    def features_of(rows: IntArray) -> FloatArray:
        return distinct[rows[:, 0]]

    statistic = Statistic(features.shape[1], features_of, value, NO_PAIR, NO_VARIATION)
    of_units = None if weights is None else UnitWeights.of(weights)
    patterns = Patterns.of(with_codes(code[:, None], of_units), clusters=clusters)
    return estimate(weighted({"": statistic}, of_units)[""], patterns, **resampling)

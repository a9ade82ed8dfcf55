"""Rating sets, which are one rater's ratings of one instance, and their consistency.

In this module, r is a rating. It is negative if system A is preferred, 0 for a tie and positive if
system B is preferred; ``|r|`` is the strength of the preference. Source: Ghosh et al. 2024, eqs. 4 and
7, figures 6–8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import (
    Mean,
    Resampling,
    Statistic,
    estimate_each,
    estimate_strata,
)
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.independence import SHARE
from tiebreak.stats.core.ranges import RANGES, range_edges, range_of
from tiebreak.stats.core.results import NAN, Estimate
from tiebreak.stats.core.unit_weights import UnitWeights, relative, weighted, with_codes
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_at_least,
    check_same_length,
)
from tiebreak.stats.raters.additive import mean_value

NO_SET = "There is no complete rating set."


@dataclass(frozen=True, eq=False)
class RatingSets:
    """Complete rating sets, each with one rater's ratings of all units of one instance."""

    totals: IntArray
    """Total strength of the preferences for system A, total strength of those for system B, and
    number of ratings; shape (n_sets, 3)."""
    instances: npt.NDArray[np.generic]
    """Instance of each set; shape (n_sets,)."""
    max_strength: int
    """Maximum strength of a preference on the scale."""
    n_incomplete: int
    """Number of incomplete sets, which are left out."""

    @property
    def consistency(self) -> FloatArray:
        """Consistency of each set."""
        return _consistency(self.totals, self.max_strength)

    @property
    def preference_strength(self) -> FloatArray:
        """Mean rating of each set, from −1 (system A) to 1 (system B)."""
        return _strength(self.totals, self.max_strength)


@dataclass(frozen=True)
class RatingSetSummary:
    """Means over complete rating sets."""

    n: int
    """Number of complete sets."""
    n_incomplete: int
    """Number of incomplete sets, which are left out."""
    consistency: Estimate
    """Mean consistency."""
    zero: Estimate
    """Share of sets with consistency 0, which is the sum of `contradictory` and `all_ties`."""
    contradictory: Estimate
    """Share of sets in which each system is preferred at least once. They compare different texts
    of the systems, so this is not a contradiction: pages call such sets mixed."""
    mixed_by_coin: float
    """The same share if a fair coin without ties gave all answers: 1 − 2^(1 − n) in a set of n."""
    all_ties: Estimate
    """Share of sets that contain only ties."""
    perfect: Estimate
    """Share of sets with consistency 1."""
    preference_strength: Estimate
    """Mean rating, from −1 (system A) to 1 (system B)."""


@dataclass(frozen=True)
class SeparabilityRange:
    """Means over the rating sets in one range of separability."""

    low: float
    high: float
    """Ends of the range."""
    n: int
    """Number of sets."""
    consistency: Estimate
    zero: Estimate
    perfect: Estimate
    preference_strength: Estimate
    """As in `RatingSetSummary`."""


def consistency(ratings: npt.ArrayLike, *, max_strength: int = 1) -> float:
    """Compute the consistency of one rating set.

    Parameters
    ----------
    ratings : array_like of int, shape (n_ratings,)
        One rater's ratings r of one instance: negative if A is preferred, 0 for a tie, positive if
        B is preferred.
    max_strength : int, default 1
        Maximum of ``|r|`` on the scale.

    Returns
    -------
    float
        0 if each system was preferred at least once, otherwise the mean of ``|r|`` / max_strength; NaN
        if there are no ratings.

    Raises
    ------
    InvalidInput
        If a rating is not finite.

    See Also
    --------
    summarise_rating_sets : Estimates means over many sets.

    Notes
    -----
    Source: Ghosh et al. 2024, eq. 4. A set that contains only ties also has consistency 0.

    Examples
    --------
    >>> consistency([1, 0, 1, 1, 0]), consistency([1, -1, 1]), consistency([0, 0])
    (0.6, 0.0, 0.0)
    """
    r = as_numbers(ratings, name="ratings")
    if len(r) == 0:
        return float("nan")
    totals = np.array([[-r[r < 0].sum(), r[r > 0].sum(), len(r)]]).astype(np.int64)
    return float(_consistency(totals, max_strength)[0])


def collect_rating_sets(
    labels: npt.ArrayLike,
    *,
    instances: npt.ArrayLike,
    raters: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    set_size: int | None = None,
    max_strength: int = 1,
) -> RatingSets:
    """Collect rating sets from a long table of ratings of one criterion.

    Parameters
    ----------
    labels : array_like of float, shape (n_ratings,)
        Ratings r as whole numbers: negative if A is preferred, 0 for a tie, positive if B is
        preferred; NaN if the rating is missing.
    instances, raters : array_like, shape (n_ratings,)
        Names of the instance and the rater of each rating.
    units : array_like, shape (n_ratings,), optional
        Unit of each rating. A set is complete if it has a rating for every unit of its instance.
    set_size : int, optional
        Number of ratings in a complete set; an alternative to `units`.
    max_strength : int, default 1
        Maximum of ``|r|`` on the scale: 1, 2 or 3.

    Returns
    -------
    RatingSets
        The complete sets.

    Raises
    ------
    InvalidInput
        If both `units` and `set_size` are omitted, or if a label is not on the scale.

    See Also
    --------
    summarise_rating_sets : Estimates means over the sets.

    Examples
    --------
    >>> sets = collect_rating_sets([1, 1, 0], instances=["i"] * 3, raters=["r"] * 3, set_size=3)
    >>> sets.totals.tolist(), sets.consistency.round(4).tolist()
    ([[0, 2, 3]], [0.6667])
    """
    r = as_numbers(labels, name="labels", missing=True)
    names = np.asarray(instances)
    instance = as_groups(names, length=len(r), name="instances")
    rater = as_groups(raters, length=len(r), name="raters")
    required = _required_sizes(instance, units, set_size)
    known = ~np.isnan(r)
    strength = np.where(known, r, 0.0)
    off_scale = (strength != np.round(strength)) | (np.abs(strength) > max_strength)
    if off_scale.any():
        raise InvalidInput(
            "out_of_range",
            f"labels must be whole numbers from -{max_strength} to {max_strength}, or NaN for a"
            f" missing rating; {strength[off_scale][0]:g} is not allowed.",
        )
    key = instance * (rater.max(initial=0) + 1) + rater
    _, first, set_index = np.unique(key, return_index=True, return_inverse=True)
    sums = [
        np.bincount(set_index, weights=weights, minlength=len(first))
        for weights in (np.maximum(-strength, 0), np.maximum(strength, 0), known)
    ]
    totals = np.column_stack(sums).astype(np.int64).reshape(len(first), 3)
    complete = totals[:, 2] >= required[instance[first]]
    n_incomplete = int((~complete).sum())
    return RatingSets(totals[complete], names[first][complete], max_strength, n_incomplete)


def summarise_rating_sets(
    sets: RatingSets,
    *,
    weights: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> RatingSetSummary:
    """Estimate means over rating sets.

    Parameters
    ----------
    sets : RatingSets
        Complete rating sets.
    weights : array_like of float, shape (n_sets,), optional
        Weight of each set, above 0, as in `tiebreak.stats`; 1 by default.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    RatingSetSummary
        Mean consistency and preference strength, and the shares of sets with extreme consistency;
        undefined if there are no sets.

    Raises
    ------
    InvalidInput
        If there is not one weight for each set, or a weight is not above 0.

    See Also
    --------
    collect_rating_sets : Collects sets from a long table of ratings.
    consistency_by_separability : Estimates means in each range of separability.

    Notes
    -----
    Whole instances are resampled with all their sets. Weighted means are Hájek's, Σ wx / Σ w (Särndal
    et al. 1992, eq. 5.7.2). Source: Ghosh et al. 2024, eqs. 4 and 7.

    Examples
    --------
    >>> labels, instances = [1, 1, 1, -1], ["i", "i", "j", "j"]
    >>> sets = collect_rating_sets(labels, instances=instances, raters=["r"] * 4, set_size=2)
    >>> summary = summarise_rating_sets(sets)
    >>> summary.consistency.value, summary.contradictory.value
    (0.5, 0.5)
    """
    of_sets = None if weights is None else UnitWeights.of(weights)
    patterns = Patterns.of(with_codes(sets.totals, of_sets), clusters=sets.instances)
    statistics = {name: _mean_statistic(name, sets.max_strength) for name in _SET_VALUES}
    estimates = estimate_each(weighted(statistics, of_sets), patterns, **resampling)
    n, weight = len(sets.totals), relative(weights, length=len(sets.totals))
    mixed = weight * (1 - 0.5 ** (sets.totals[:, 2] - 1))
    by_coin = float(mixed.sum() / weight.sum()) if n else NAN
    return RatingSetSummary(n=n, n_incomplete=sets.n_incomplete, mixed_by_coin=by_coin, **estimates)


def consistency_by_separability(
    sets: RatingSets,
    separability: npt.ArrayLike,
    *,
    ranges: int = RANGES,
    edges: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> tuple[SeparabilityRange, ...]:
    """Estimate means over rating sets in each range of separability.

    Parameters
    ----------
    sets : RatingSets
        Complete rating sets.
    separability : array_like of float, shape (n_sets,)
        Separability δ of each set's instance. Sets whose δ is NaN are left out of all ranges.
    ranges : int, default 4
        Number of ranges of equal width between the smallest and the largest δ.
    edges : array_like of float, shape (n_ranges + 1,), optional
        Edges of the ranges; an alternative to `ranges`.
    weights : array_like of float, shape (n_sets,), optional
        Weight of each set, above 0, as in `tiebreak.stats`; 1 by default.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    tuple of SeparabilityRange
        One entry for each range, including empty ranges.

    Raises
    ------
    InvalidInput
        If `separability` or `weights` does not have one number for each set, or a weight is not above 0.

    See Also
    --------
    range_edges : Computes edges of ranges of equal width.

    Notes
    -----
    Instances are resampled, and all ranges use the same replicates. Weighted means are Hájek's, as in
    `summarise_rating_sets`. Source: Ghosh et al. 2024, figures 6–8.

    Examples
    --------
    >>> labels, instances = [1, 1, 1, -1], ["i", "i", "j", "j"]
    >>> sets = collect_rating_sets(labels, instances=instances, raters=["r"] * 4, set_size=2)
    >>> by_range = consistency_by_separability(sets, [0.9, 0.1], ranges=2)
    >>> [(entry.low, entry.high, entry.consistency.value) for entry in by_range]
    [(0.1, 0.5, 0.0), (0.5, 0.9, 1.0)]
    """
    delta = as_numbers(separability, name="separability", missing=True)
    check_same_length(separability=delta, sets=sets.totals)
    bounds = range_edges(delta, ranges=ranges) if edges is None else as_numbers(edges, name="edges")
    range_index = range_of(delta, bounds)
    of_sets = None if weights is None else UnitWeights.of(weights)
    rows = with_codes(np.column_stack([sets.totals, range_index + 1]), of_sets)
    patterns = Patterns.of(rows, clusters=sets.instances)
    n_ranges = max(len(bounds) - 1, 0)
    masks = [patterns.rows[:, 3] == index + 1 for index in range(n_ranges)]
    statistics = {name: _mean_statistic(name, sets.max_strength) for name in _RANGE_VALUES}
    estimates = estimate_strata(weighted(statistics, of_sets), patterns, masks, **resampling)
    return tuple(
        SeparabilityRange(
            float(bounds[index]),
            float(bounds[index + 1]),
            int((range_index == index).sum()),
            **by_name,
        )
        for index, by_name in enumerate(estimates)
    )


def _required_sizes(
    instance: IntArray, units: npt.ArrayLike | None, set_size: int | None
) -> IntArray:
    """Return the number of ratings in a complete set, for each instance."""
    n_instances = int(instance.max(initial=-1)) + 1
    if set_size is not None:
        check_at_least(set_size, 1, name="set_size")
        return np.full(n_instances, set_size, dtype=np.int64)
    if units is None:
        raise InvalidInput(
            "no_set_size",
            "Pass units or set_size, because one of them is needed to tell when a set is complete.",
        )
    unit = as_groups(units, length=len(instance), name="units")
    distinct = np.unique(np.column_stack([instance, unit]), axis=0)
    return np.bincount(distinct[:, 0], minlength=n_instances)


# Maps the totals of the sets and the maximum strength on the scale to one value for each set.
_SetValue = Callable[[IntArray, int], FloatArray]


def _consistency(totals: IntArray, max_strength: int) -> FloatArray:
    consistency: FloatArray = totals[:, :2].max(axis=1) / (totals[:, 2] * max_strength)
    return np.where(_contradictory(totals, max_strength) > 0, 0.0, consistency)


def _strength(totals: IntArray, max_strength: int) -> FloatArray:
    strength: FloatArray = (totals[:, 1] - totals[:, 0]) / (totals[:, 2] * max_strength)
    return strength


def _contradictory(totals: IntArray, _strongest: int) -> FloatArray:
    return np.asarray((totals[:, 0] > 0) & (totals[:, 1] > 0), dtype=np.float64)


def _all_ties(totals: IntArray, _strongest: int) -> FloatArray:
    return np.asarray((totals[:, 0] == 0) & (totals[:, 1] == 0), dtype=np.float64)


_SET_VALUES: dict[str, _SetValue] = {
    "consistency": _consistency,
    "zero": lambda totals, strongest: (
        _contradictory(totals, strongest) + _all_ties(totals, strongest)
    ),
    "contradictory": _contradictory,
    "all_ties": _all_ties,
    "perfect": lambda totals, strongest: np.asarray(
        _consistency(totals, strongest) == 1, dtype=np.float64
    ),
    "preference_strength": _strength,
}
_RANGE_VALUES = ("consistency", "zero", "perfect", "preference_strength")


def _mean_statistic(name: str, max_strength: int) -> Statistic:
    value_of = _SET_VALUES[name]

    def features(totals: IntArray) -> FloatArray:
        return np.column_stack([np.ones(len(totals)), value_of(totals, max_strength)])

    bounds = (-1.0, 1.0) if name == "preference_strength" else SHARE
    return Statistic(2, features, mean_value, NO_SET, NO_SET, mean=Mean(bounds=bounds))

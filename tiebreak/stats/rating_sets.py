"""Rating sets: one rater's ratings of one instance, and how consistent they are.

Source: Ghosh et al. 2024, eqs. 4 and 7, figures 6–8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.agreement_statistics import mean_value
from tiebreak.stats.bootstrap import Resampling, Statistic, estimate_each, estimate_strata
from tiebreak.stats.counts import Patterns
from tiebreak.stats.results import Estimate
from tiebreak.stats.separability import RANGES, range_edges, range_of
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_at_least,
    check_same_length,
)

NO_SET = "There is no complete rating set."


@dataclass(frozen=True, eq=False)
class RatingSets:
    """Complete rating sets (S,): strength for each system, size, and the instance of each.

    ``totals`` (S, 3): the sum of |r| for system A, the same for B, and the number of ratings.
    ``instances`` (S,) are the names as they were given. ``max_strength`` is the scale's largest |r|.
    """

    totals: IntArray
    instances: npt.NDArray[np.generic]
    max_strength: int
    n_incomplete: int

    @property
    def consistency(self) -> FloatArray:
        """Consistency of each set (S,)."""
        return _consistency(self.totals, self.max_strength)

    @property
    def preference_strength(self) -> FloatArray:
        """Mean rating of each set (S,), from −1 (system A) to 1 (system B)."""
        return _strength(self.totals, self.max_strength)


@dataclass(frozen=True)
class RatingSetSummary:
    """Means over complete rating sets; ``zero`` = ``contradictory`` + ``all_ties``."""

    n: int
    n_incomplete: int
    consistency: Estimate
    zero: Estimate
    contradictory: Estimate
    all_ties: Estimate
    perfect: Estimate
    preference_strength: Estimate


@dataclass(frozen=True)
class SeparabilityRange:
    """Rating sets whose instance lies in one range of separability, as in `RatingSetSummary`."""

    low: float
    high: float
    n: int
    consistency: Estimate
    zero: Estimate
    perfect: Estimate
    preference_strength: Estimate


def consistency(ratings: npt.ArrayLike, *, max_strength: int = 1) -> float:
    """Consistency of one rating set: 0 if both systems were preferred, else the mean of |r|.

    ``max_strength`` is the largest |r| of the scale. Source: Ghosh et al. 2024, eq. 4.

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
    """Rating sets from long ratings of one criterion.

    Parameters
    ----------
    labels : (ratings,) whole preferences, negative for system A, positive for B; NaN is missing
    instances, raters : (ratings,) names
    units : (ratings,) names; a set is complete with all units of its instance
    set_size : or the number N of ratings that completes a set
    max_strength : the largest |r| of the scale, 1, 2 or 3
    """
    r = as_numbers(labels, name="labels", missing=True)
    names = np.asarray(instances)
    instance = as_groups(names, length=len(r), name="instances")
    rater = as_groups(raters, length=len(r), name="raters")
    required = _required_sizes(instance, units, set_size)
    known = ~np.isnan(r)
    strength = np.where(known, r, 0.0)
    if (strength != np.round(strength)).any() or (np.abs(strength) > max_strength).any():
        raise InvalidInput(
            "out_of_range",
            f"labels must be whole numbers from -{max_strength} to {max_strength}, or NaN.",
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


def summarise_rating_sets(sets: RatingSets, **resampling: Unpack[Resampling]) -> RatingSetSummary:
    """Consistency, its zeros and ones, and preference strength; instances are resampled."""
    patterns = Patterns.of(sets.totals, clusters=sets.instances)
    statistics = {
        name: _mean_statistic(value_of, sets.max_strength) for name, value_of in _SET_VALUES.items()
    }
    estimates = estimate_each(statistics, patterns, **resampling)
    return RatingSetSummary(n=len(sets.totals), n_incomplete=sets.n_incomplete, **estimates)


def consistency_by_separability(
    sets: RatingSets,
    separability: npt.ArrayLike,
    *,
    ranges: int = RANGES,
    edges: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> tuple[SeparabilityRange, ...]:
    """Consistency, its zeros and ones and preference strength per range, instances resampled.

    ``separability`` (S,) is δ of each set's instance, NaN where unknown: such sets are in no
    range. Ranges are ``ranges`` equal widths of the observed support, or between given ``edges``.
    Source: Ghosh et al. 2024, figure 8.
    """
    delta = as_numbers(separability, name="separability", missing=True)
    check_same_length(separability=delta, sets=sets.totals)
    bounds = range_edges(delta, ranges=ranges) if edges is None else as_numbers(edges, name="edges")
    range_index = range_of(delta, bounds)
    rows = np.column_stack([sets.totals, range_index + 1])
    patterns = Patterns.of(rows, clusters=sets.instances)
    n_ranges = max(len(bounds) - 1, 0)
    masks = [patterns.rows[:, 3] == index + 1 for index in range(n_ranges)]
    statistics = {
        name: _mean_statistic(_SET_VALUES[name], sets.max_strength) for name in _RANGE_VALUES
    }
    estimates = estimate_strata(statistics, patterns, masks, **resampling)
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
    """The number of ratings in a complete set of each instance."""
    n_instances = int(instance.max(initial=-1)) + 1
    if set_size is not None:
        check_at_least(set_size, 1, name="set_size")
        return np.full(n_instances, set_size, dtype=np.int64)
    if units is None:
        raise InvalidInput(
            "no_set_size", "Give units or set_size: one of them says when a set is complete."
        )
    unit = as_groups(units, length=len(instance), name="units")
    distinct = np.unique(np.column_stack([instance, unit]), axis=0)
    return np.bincount(distinct[:, 0], minlength=n_instances)


# A value of each set (S,), from the totals (S, 3) and the maximal |r| of the scale.
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


def _zero(totals: IntArray, max_strength: int) -> FloatArray:
    return _contradictory(totals, max_strength) + _all_ties(totals, max_strength)


def _perfect(totals: IntArray, max_strength: int) -> FloatArray:
    return np.asarray(_consistency(totals, max_strength) == 1, dtype=np.float64)


_SET_VALUES: dict[str, _SetValue] = {
    "consistency": _consistency,
    "zero": _zero,
    "contradictory": _contradictory,
    "all_ties": _all_ties,
    "perfect": _perfect,
    "preference_strength": _strength,
}
_RANGE_VALUES = ("consistency", "zero", "perfect", "preference_strength")


def _mean_statistic(value_of: _SetValue, max_strength: int) -> Statistic:
    def features(totals: IntArray) -> FloatArray:
        return np.column_stack([np.ones(len(totals)), value_of(totals, max_strength)])

    return Statistic(2, features, mean_value, NO_SET, NO_SET)

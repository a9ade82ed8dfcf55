"""Rating sets: one rater's ratings on one instance, and how far they point one way.

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
    ``instances`` (S,) are the names as they were given. ``strongest`` is the scale's largest |r|.
    """

    totals: IntArray
    instances: npt.NDArray[np.generic]
    strongest: int
    n_incomplete: int

    @property
    def consistency(self) -> FloatArray:
        """Consistency of each set (S,)."""
        return _consistency(self.totals, self.strongest)

    @property
    def preference_strength(self) -> FloatArray:
        """Mean rating of each set (S,), from −1 (system A) to 1 (system B)."""
        return _strength(self.totals, self.strongest)


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


def consistency(ratings: npt.ArrayLike, *, strongest: int = 1) -> float:
    """Consistency of one rating set: 0 if both systems were preferred, else the mean of |r|.

    ``strongest`` is the largest |r| of the scale. Source: Ghosh et al. 2024, eq. 4.

    >>> consistency([1, 0, 1, 1, 0]), consistency([1, -1, 1]), consistency([0, 0])
    (0.6, 0.0, 0.0)
    """
    r = as_numbers(ratings, name="ratings")
    if len(r) == 0:
        return float("nan")
    totals = np.array([[-r[r < 0].sum(), r[r > 0].sum(), len(r)]]).astype(np.int64)
    return float(_consistency(totals, strongest)[0])


def collect_rating_sets(
    labels: npt.ArrayLike,
    *,
    instances: npt.ArrayLike,
    raters: npt.ArrayLike,
    units: npt.ArrayLike | None = None,
    set_size: int | None = None,
    strongest: int = 1,
) -> RatingSets:
    """Rating sets from long ratings of one criterion.

    Parameters
    ----------
    labels : (ratings,) whole preferences, negative for system A, positive for B; NaN is missing
    instances, raters : (ratings,) names
    units : (ratings,) names; a set is complete with all units of its instance
    set_size : or the number N of ratings that completes a set
    strongest : the largest |r| of the scale, 1, 2 or 3
    """
    r = as_numbers(labels, name="labels", missing=True)
    named = np.asarray(instances)
    place = as_groups(named, length=len(r), name="instances")
    rater = as_groups(raters, length=len(r), name="raters")
    needed = _needed(place, units, set_size)
    known = ~np.isnan(r)
    strength = np.where(known, r, 0.0)
    if (strength != np.round(strength)).any() or (np.abs(strength) > strongest).any():
        raise InvalidInput(
            "out_of_range",
            f"labels must be whole numbers from -{strongest} to {strongest}, or NaN.",
        )
    key = place * (rater.max(initial=0) + 1) + rater
    _, first, of_set = np.unique(key, return_index=True, return_inverse=True)
    sums = [
        np.bincount(of_set, weights=weights, minlength=len(first))
        for weights in (np.maximum(-strength, 0), np.maximum(strength, 0), known)
    ]
    totals = np.column_stack(sums).astype(np.int64).reshape(len(first), 3)
    complete = totals[:, 2] >= needed[place[first]]
    return RatingSets(totals[complete], named[first][complete], strongest, int((~complete).sum()))


def summarise_rating_sets(sets: RatingSets, **resampling: Unpack[Resampling]) -> RatingSetSummary:
    """Consistency, its zeros and ones, and preference strength; instances are resampled."""
    patterns = Patterns.of(sets.totals, clusters=sets.instances)
    statistics = {name: _mean_statistic(of_set, sets.strongest) for name, of_set in _OF_SET.items()}
    found = estimate_each(statistics, patterns, **resampling)
    return RatingSetSummary(n=len(sets.totals), n_incomplete=sets.n_incomplete, **found)


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
    place = range_of(delta, bounds)
    patterns = Patterns.of(np.column_stack([sets.totals, place + 1]), clusters=sets.instances)
    number = max(len(bounds) - 1, 0)
    inside = [patterns.rows[:, 3] == index + 1 for index in range(number)]
    statistics = {name: _mean_statistic(_OF_SET[name], sets.strongest) for name in _OF_RANGE}
    found = estimate_strata(statistics, patterns, inside, **resampling)
    return tuple(
        SeparabilityRange(
            float(bounds[index]),
            float(bounds[index + 1]),
            int((place == index).sum()),
            **each,
        )
        for index, each in enumerate(found)
    )


def _needed(place: IntArray, units: npt.ArrayLike | None, set_size: int | None) -> IntArray:
    """Ratings that complete a set, for each instance."""
    instances = int(place.max(initial=-1)) + 1
    if set_size is not None:
        check_at_least(set_size, 1, name="set_size")
        return np.full(instances, set_size, dtype=np.int64)
    if units is None:
        raise InvalidInput(
            "no_set_size", "Give units or set_size: one of them says when a set is complete."
        )
    unit = as_groups(units, length=len(place), name="units")
    distinct = np.unique(np.column_stack([place, unit]), axis=0)
    return np.bincount(distinct[:, 0], minlength=instances)


_OfSet = Callable[[IntArray, int], FloatArray]


def _consistency(totals: IntArray, strongest: int) -> FloatArray:
    one_way: FloatArray = totals[:, :2].max(axis=1) / (totals[:, 2] * strongest)
    return np.where(_contradictory(totals, strongest) > 0, 0.0, one_way)


def _strength(totals: IntArray, strongest: int) -> FloatArray:
    strength: FloatArray = (totals[:, 1] - totals[:, 0]) / (totals[:, 2] * strongest)
    return strength


def _contradictory(totals: IntArray, _strongest: int) -> FloatArray:
    return np.asarray((totals[:, 0] > 0) & (totals[:, 1] > 0), dtype=np.float64)


def _all_ties(totals: IntArray, _strongest: int) -> FloatArray:
    return np.asarray((totals[:, 0] == 0) & (totals[:, 1] == 0), dtype=np.float64)


def _zero(totals: IntArray, strongest: int) -> FloatArray:
    return _contradictory(totals, strongest) + _all_ties(totals, strongest)


def _perfect(totals: IntArray, strongest: int) -> FloatArray:
    return np.asarray(_consistency(totals, strongest) == 1, dtype=np.float64)


_OF_SET: dict[str, _OfSet] = {
    "consistency": _consistency,
    "zero": _zero,
    "contradictory": _contradictory,
    "all_ties": _all_ties,
    "perfect": _perfect,
    "preference_strength": _strength,
}
_OF_RANGE = ("consistency", "zero", "perfect", "preference_strength")


def _mean_statistic(of_set: _OfSet, strongest: int) -> Statistic:
    def features(totals: IntArray) -> FloatArray:
        return np.column_stack([np.ones(len(totals)), of_set(totals, strongest)])

    return Statistic(2, features, mean_value, NO_SET, NO_SET)

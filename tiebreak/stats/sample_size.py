"""How many instances a study needs, from the variance components of a pilot."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL, ratio
from tiebreak.stats.resampling import replicate_weights
from tiebreak.stats.validation import (
    FloatArray,
    IntArray,
    as_groups,
    as_numbers,
    check_at_least,
    check_resampling,
)

EVEN = 0.5
MOST_INSTANCES = 20_000
STUDIES = 200
REPLICATES = 400
NO_UNITS = "No instance of the pilot has two units: their variance is part of the instances'."
NO_RATERS = "No rater of the pilot rated two instances: their variance is part of the ratings'."
TOO_MANY = "{most} instances are not enough."
FEWEST = 8
NO_INSTANCES = "The pilot has one instance only: no variance between instances is known."
NO_REPEATS = "No unit of the pilot has two ratings: a rating's own variance is not known."


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of a rating's value between instances, units of one instance (generations),
    raters, and ratings; ``notes`` say what could not be told apart.
    """

    mean: float
    instance: float
    unit: float
    rater: float
    rating: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedStudy:
    """A simulated design of ``instances``: mean width of its interval, how often the interval
    excludes ½ (power), and how often it holds the pilot's mean (coverage).
    """

    instances: int
    width: float
    power: float
    coverage: float


@dataclass(frozen=True)
class SampleSize:
    """The smallest number of instances that meets the target; None, with a reason, where none
    does. ``tried`` are all designs that were simulated, by size.
    """

    instances: int | None
    ratings: int | None
    tried: tuple[PlannedStudy, ...]
    reason: str | None = None


def variance_components(
    values: npt.ArrayLike,
    *,
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    instances: npt.ArrayLike | None = None,
) -> VarianceComponents:
    """Variance components of a pilot by the method of moments, for any unbalanced design.

    Parameters
    ----------
    values : (ratings,) such as 1 for a win, ½ for a tie, 0 for a loss
    units, raters, instances : (ratings,) names; units are in one instance each (their own,
        where no instances are given)

    Half the mean squared difference of two ratings is the sum of the variances of what they do
    not share; the four kinds of pairs (same unit; same instance, other unit; same rater, other
    instance; nothing) give four equations. Negative solutions are cut at 0.
    Source: Searle, Casella and McCulloch 1992, section 5.2 (differences in place of squares).

    >>> found = variance_components([1, 1, 0, 0, 1, 0], units=[0, 0, 1, 1, 2, 2], raters=[0, 1, 0, 1, 0, 1])
    >>> round(found.instance, 4), round(found.rating, 4)
    (0.1667, 0.1667)
    """
    y = as_numbers(values, name="values")
    if len(y) < 2:
        raise InvalidInput("too_few", "values must hold two ratings or more.")
    unit = as_groups(units, length=len(y), name="units")
    rater = as_groups(raters, length=len(y), name="raters")
    own = unit if instances is None else as_groups(instances, length=len(y), name="instances")
    if len(np.unique(np.column_stack([unit, own]), axis=0)) > unit.max() + 1:
        raise InvalidInput("units_span_instances", "units must lie in one instance each.")
    together = rater * (own.max() + 1) + own
    alike = {"unit": unit, "instance": own, "rater": rater, "both": together, "any": 0 * unit}
    pairs = {name: _pairs(y, groups) for name, groups in alike.items()}
    other_rater = pairs["instance"] - pairs["unit"] - pairs["both"]
    other_instance = pairs["rater"] - pairs["both"]
    nothing = pairs["any"] - pairs["instance"] - other_instance
    kinds = np.array([pairs["unit"], other_rater, other_instance, nothing])
    return _solved(float(y.mean()), *ratio(kinds[:, 0], kinds[:, 1]).tolist())


def _pairs(y: FloatArray, groups: IntArray) -> FloatArray:
    """Half the sum of squared differences over all pairs within groups, and how many there are."""
    n, total, squares = (np.bincount(groups, w) for w in (None, y, y**2))
    return np.array([(n * squares - total**2).sum() / 2, (n * (n - 1)).sum() / 2])


def _solved(
    mean: float, in_unit: float, other_rater: float, other_instance: float, nothing: float
) -> VarianceComponents:
    """Half squared differences: rater + rating; + unit; all but rater; all."""
    notes = []
    if np.isnan(in_unit):
        raise InvalidInput("no_repeats", NO_REPEATS)
    if np.isnan(nothing):
        raise InvalidInput("no_other_instances", NO_INSTANCES)
    rater = nothing - other_instance
    if np.isnan(rater):
        notes.append(NO_RATERS)
        rater = 0.0
    unit = other_rater - in_unit
    if np.isnan(unit):
        notes.append(NO_UNITS)
        unit = 0.0
    rater = max(rater, 0.0)
    unit = max(unit, 0.0)
    rating = max(in_unit - rater, 0.0)
    instance = max(nothing - in_unit - unit, 0.0)
    return VarianceComponents(mean, instance, unit, rater, rating, tuple(notes))


def sample_size(
    pilot: VarianceComponents,
    *,
    rng: np.random.Generator,
    target_width: float | None = None,
    power: float | None = None,
    units: int = 1,
    ratings: int = 3,
    units_per_rater: int = 50,
    most: int = MOST_INSTANCES,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> SampleSize:
    """Smallest number of instances for a width of the interval, or for power against ½.

    Parameters
    ----------
    target_width : mean width of the interval of the mean value (win rate) over instances
    power : probability that the interval excludes ½, if the pilot's mean is the truth
        One of the two.
    units, ratings : comparisons of an instance, ratings of a comparison
    units_per_rater : how many comparisons one rater does; fewer raters, more of their variance

    Studies are simulated from the components (normal), and each has the report's interval: a
    percentile bootstrap over instances. That interval does not see the variance of raters, who
    rate many instances: ``coverage`` of the tried designs says what this costs. Sizes double
    until the target is met, then halve the gap, to 2% of the size. Simulation error of power is
    up to 3.5 points.

    >>> pilot = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    >>> found = sample_size(pilot, target_width=0.1, rng=np.random.default_rng(0))
    >>> 110 < found.instances < 135
    True
    """
    check_resampling(0, confidence_level, None)
    check_at_least(units, 1, name="units")
    check_at_least(ratings, 1, name="ratings")
    check_at_least(units_per_rater, 1, name="units_per_rater")
    check_at_least(most, 2, name="most")
    _check_one_target(target_width=target_width, power=power)
    seed = int(rng.integers(2**63))
    tried: dict[int, PlannedStudy] = {}

    def is_enough(n: int) -> bool:
        own = np.random.default_rng([seed, n])
        raters = max(ratings, ceil(n * units * ratings / units_per_rater))
        means = _instance_means(pilot, n, units=units, ratings=ratings, raters=raters, rng=own)
        tried[n] = _study(means, pilot.mean, confidence_level, own)
        if target_width is not None:
            return tried[n].width <= target_width
        return power is not None and tried[n].power >= power

    found = _smallest(is_enough, most)
    in_order = tuple(tried[n] for n in sorted(tried))
    if found is None:
        return SampleSize(None, None, in_order, TOO_MANY.format(most=most))
    return SampleSize(found, found * units * ratings, in_order)


def _check_one_target(**targets: float | None) -> None:
    given = {name: share for name, share in targets.items() if share is not None}
    if len(given) != 1:
        raise InvalidInput("not_one_of_two", "Give target_width or power, one of the two.")
    for name, share in given.items():
        if not 0 < share < 1:
            raise InvalidInput("out_of_range", f"{name} must lie between 0 and 1.")


def _smallest(is_enough: Callable[[int], bool], most: int) -> int | None:
    below, enough = 1, FEWEST
    while not is_enough(enough):
        if enough == most:
            return None
        below, enough = enough, min(2 * enough, most)
    while enough - below > max(1, enough // 50):
        middle = (below + enough) // 2
        below, enough = (below, middle) if is_enough(middle) else (middle, enough)
    return enough


def _instance_means(
    pilot: VarianceComponents,
    n: int,
    *,
    units: int,
    ratings: int,
    raters: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Mean value of each instance (n, studies) in as many simulated studies."""
    rated = units * ratings
    own = pilot.instance + pilot.unit / units + pilot.rating / rated
    means = pilot.mean + sqrt(own) * rng.standard_normal((n, STUDIES))
    if pilot.rater == 0:
        return means
    severity = sqrt(pilot.rater) * rng.standard_normal((raters, STUDIES))
    # Ratings of a unit go to as many raters, and raters to instances in a random order.
    turns = rng.permutation(n * rated).reshape(n, rated) if raters > ratings else None
    for k in range(rated):
        who = turns[:, k] % raters if turns is not None else np.full(n, k % raters)
        means += severity[who] / rated
    return means


def _study(
    means: FloatArray, truth: float, confidence_level: float, rng: np.random.Generator
) -> PlannedStudy:
    n = len(means)
    blocks = replicate_weights(np.ones(n, dtype=np.int64), REPLICATES, rng, width=n)
    drawn = np.concatenate([weights @ means for weights in blocks]) / n
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    decided = (low > EVEN) | (high < EVEN)
    held = (low <= truth) & (truth <= high)
    return PlannedStudy(n, float((high - low).mean()), float(decided.mean()), float(held.mean()))

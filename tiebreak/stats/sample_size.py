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
MAX_INSTANCES = 20_000
STUDIES = 200
REPLICATES = 400
NO_UNITS = "No instance of the pilot has two units: their variance is part of the instances'."
NO_RATERS = "No rater of the pilot rated two instances: their variance is part of the ratings'."
TOO_MANY = "{number} instances are not enough."
MIN_INSTANCES = 8
NO_INSTANCES = "The pilot has one instance only: no variance between instances is known."
NO_REPEATS = "No unit of the pilot has two ratings: a rating's own variance is not known."


@dataclass(frozen=True)
class VarianceComponents:
    """Variance components of a rating's value.

    Attributes
    ----------
    mean : float
        Mean value.
    instance : float
        Variance between instances.
    unit : float
        Variance between units of one instance, which are generations.
    rater : float
        Variance between raters.
    rating : float
        Variance of a single rating.
    notes : tuple of str
        What could not be told apart.
    """

    mean: float
    instance: float
    unit: float
    rater: float
    rating: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedStudy:
    """A design that was simulated.

    Attributes
    ----------
    instances : int
        Number of instances.
    width : float
        Mean width of the interval.
    power : float
        How often the interval excludes ½.
    coverage : float
        How often it holds the mean that was simulated.
    """

    instances: int
    width: float
    power: float
    coverage: float


@dataclass(frozen=True)
class SampleSize:
    """Number of instances that a study needs.

    Attributes
    ----------
    instances : int or None
        Smallest number of instances that meets the target; None if none does.
    ratings : int or None
        Number of ratings of such a study.
    tried : tuple of PlannedStudy
        All designs that were simulated, by size.
    reason : str or None
        Why there is no number.
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
    """Estimate the variance components of a pilot by the method of moments.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating, such as 1 for a win, ½ for a tie and 0 for a loss.
    units, raters : array_like, shape (n_ratings,)
        Unit and rater of each rating, by any names.
    instances : array_like, shape (n_ratings,), optional
        Instance of each rating's unit; by default each unit is an instance of its own.

    Returns
    -------
    VarianceComponents
        The components; negative solutions are 0.

    Raises
    ------
    InvalidInput
        If no unit has two ratings, there is one instance only, or a unit lies in two instances.

    See Also
    --------
    sample_size : Number of instances from these components.

    Notes
    -----
    Half the mean squared difference of two ratings is the sum of the variances of what they do not
    share. Four kinds of pairs (of one unit; of one instance and two units; of one rater and two
    instances; of nothing in common) give four equations, for any unbalanced design (Searle, Casella
    and McCulloch 1992, section 5.2, with differences in place of squares).

    Examples
    --------
    >>> values, units, raters = [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]
    >>> found = variance_components(values, units=units, raters=raters)
    >>> round(found.instance, 4), round(found.rating, 4)
    (0.1667, 0.1667)
    """
    y = as_numbers(values, name="values")
    if len(y) < 2:
        raise InvalidInput("too_few", "values must contain at least two ratings.")
    unit = as_groups(units, length=len(y), name="units")
    rater = as_groups(raters, length=len(y), name="raters")
    instance = unit if instances is None else as_groups(instances, length=len(y), name="instances")
    if len(np.unique(np.column_stack([unit, instance]), axis=0)) > unit.max() + 1:
        raise InvalidInput("units_span_instances", "units must belong to one instance each.")
    both = rater * (instance.max() + 1) + instance
    groupings = {"unit": unit, "instance": instance, "rater": rater, "both": both, "all": 0 * unit}
    pairs = {name: _pair_sums(y, groups) for name, groups in groupings.items()}
    # Pairs of ratings by what they share: the unit; only the instance; only the rater; nothing.
    same_instance = pairs["instance"] - pairs["unit"] - pairs["both"]
    same_rater = pairs["rater"] - pairs["both"]
    unrelated = pairs["all"] - pairs["instance"] - same_rater
    sums = np.array([pairs["unit"], same_instance, same_rater, unrelated])
    return _solve(float(y.mean()), *ratio(sums[:, 0], sums[:, 1]).tolist())


def _pair_sums(y: FloatArray, groups: IntArray) -> FloatArray:
    """Half the sum of squared differences of all pairs within groups, and the number of pairs."""
    n, total, squares = (np.bincount(groups, w) for w in (None, y, y**2))
    return np.array([(n * squares - total**2).sum() / 2, (n * (n - 1)).sum() / 2])


def _solve(
    mean: float, same_unit: float, same_instance: float, same_rater: float, unrelated: float
) -> VarianceComponents:
    """The components from half the mean squared differences of the four kinds of pairs.

    Their expectations are rater + rating; unit + rater + rating; all components but the rater's;
    and all components.
    """
    notes = []
    if np.isnan(same_unit):
        raise InvalidInput("no_repeats", NO_REPEATS)
    if np.isnan(unrelated):
        raise InvalidInput("no_other_instances", NO_INSTANCES)
    rater = unrelated - same_rater
    if np.isnan(rater):
        notes.append(NO_RATERS)
        rater = 0.0
    unit = same_instance - same_unit
    if np.isnan(unit):
        notes.append(NO_UNITS)
        unit = 0.0
    rater = max(rater, 0.0)
    unit = max(unit, 0.0)
    rating = max(same_unit - rater, 0.0)
    instance = max(unrelated - same_unit - unit, 0.0)
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
    max_instances: int = MAX_INSTANCES,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> SampleSize:
    """Find the number of instances for a width of the interval, or for a power.

    Parameters
    ----------
    pilot : VarianceComponents
        Components of a pilot, or assumed ones.
    rng : numpy.random.Generator
        Source of the simulations.
    target_width : float, optional
        Mean width of the interval of the mean value, in (0, 1).
    power : float, optional
        Probability that the interval excludes ½ if the pilot's mean is the truth, in (0, 1). Give
        this or `target_width`.
    units : int, default 1
        Number of units of an instance.
    ratings : int, default 3
        Number of ratings of a unit.
    units_per_rater : int, default 50
        Number of units that a rater rates. Fewer raters let through more of their variance.
    max_instances : int, default 20000
        Largest number of instances to try.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    SampleSize
        The number of instances, and the designs that were tried.

    Raises
    ------
    InvalidInput
        If both targets are given or neither, or a number is out of range.

    See Also
    --------
    variance_components : Components of a pilot.

    Notes
    -----
    Studies are simulated from normal components, and each has a percentile bootstrap interval over
    instances. That interval does not see the variance of raters; `PlannedStudy.coverage` says what
    this costs. Sizes double until the target is met, and then halve the gap to 2% of the size. The
    simulation error of power is up to 3.5 points.

    Examples
    --------
    >>> pilot = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    >>> found = sample_size(pilot, target_width=0.1, rng=np.random.default_rng(0))
    >>> 110 < found.instances < 135
    True
    """
    check_resampling(0, confidence_level, None)
    check_at_least(units, 1, name="units")
    check_at_least(ratings, 1, name="ratings")
    check_at_least(units_per_rater, 1, name="units_per_rater")
    check_at_least(max_instances, 2, name="max_instances")
    _check_one_target(target_width=target_width, power=power)
    seed = int(rng.integers(2**63))
    tried: dict[int, PlannedStudy] = {}

    def is_enough(n: int) -> bool:
        size_rng = np.random.default_rng([seed, n])
        raters = max(ratings, ceil(n * units * ratings / units_per_rater))
        means = _instance_means(pilot, n, units=units, ratings=ratings, raters=raters, rng=size_rng)
        tried[n] = _evaluate(means, pilot.mean, confidence_level, size_rng)
        if target_width is not None:
            return tried[n].width <= target_width
        return power is not None and tried[n].power >= power

    instances = _smallest(is_enough, max_instances)
    studies = tuple(tried[n] for n in sorted(tried))
    if instances is None:
        return SampleSize(None, None, studies, TOO_MANY.format(number=max_instances))
    return SampleSize(instances, instances * units * ratings, studies)


def _check_one_target(**targets: float | None) -> None:
    chosen = {name: share for name, share in targets.items() if share is not None}
    if len(chosen) != 1:
        raise InvalidInput("not_one_of_two", "Give either target_width or power.")
    for name, share in chosen.items():
        if not 0 < share < 1:
            raise InvalidInput("out_of_range", f"{name} must lie between 0 and 1.")


def _smallest(is_enough: Callable[[int], bool], maximum: int) -> int | None:
    """The smallest sufficient number, to 2%, by doubling and bisection; None above ``maximum``."""
    below, enough = 1, MIN_INSTANCES
    while not is_enough(enough):
        if enough == maximum:
            return None
        below, enough = enough, min(2 * enough, maximum)
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
    """Mean value of each instance in simulated studies (n, `STUDIES`)."""
    n_ratings = units * ratings
    variance = pilot.instance + pilot.unit / units + pilot.rating / n_ratings
    means = pilot.mean + sqrt(variance) * rng.standard_normal((n, STUDIES))
    if pilot.rater == 0:
        return means
    severity = sqrt(pilot.rater) * rng.standard_normal((raters, STUDIES))
    # Each rating of a unit is by another rater; raters are assigned to instances at random.
    order = rng.permutation(n * n_ratings).reshape(n, n_ratings) if raters > ratings else None
    for k in range(n_ratings):
        rater = order[:, k] % raters if order is not None else np.full(n, k % raters)
        means += severity[rater] / n_ratings
    return means


def _evaluate(
    means: FloatArray, truth: float, confidence_level: float, rng: np.random.Generator
) -> PlannedStudy:
    """Width, power and coverage of the bootstrap intervals of simulated studies."""
    n = len(means)
    batches = replicate_weights(np.ones(n, dtype=np.int64), REPLICATES, rng, width=n)
    bootstrap_values = np.concatenate([weights @ means for weights in batches]) / n
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(bootstrap_values, [tail, 1 - tail], axis=0)
    is_significant = (low > EVEN) | (high < EVEN)
    covers = (low <= truth) & (truth <= high)
    width, power, coverage = (float(x.mean()) for x in (high - low, is_significant, covers))
    return PlannedStudy(n, width, power, coverage)

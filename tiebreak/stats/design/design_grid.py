"""How many instances a study needs, by the number of units per instance and ratings per unit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import ceil, isfinite

import numpy as np
import scipy

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.two_way import pooled_variance
from tiebreak.stats.core.validation import FloatArray, check_at_least, check_resampling, check_share
from tiebreak.stats.design.sample_size import (
    EVEN,
    MAX_INSTANCES,
    MIN_INSTANCES,
    TOO_MANY,
    VarianceComponents,
    check_one_target,
)

# With fewer, the spread among raters is known too badly to promise a width for others.
MIN_RATERS = 8
ASSURANCE, LOG_STUDIES = 0.8, 9
NEAR_A_BOUND, NO_VARIATION = 1e-3, 1e-12
NO_DIFFERENCE = "The expected win rate is ½, which no number of instances can exclude."
TOO_FEW_RATERS = (
    "An interval for new annotators is too uncertain with fewer than 8 of them. Recruit at least 8{load},"
    " or plan for these annotators."
)
LOAD = ", who each rate at most {most} items (the limit is {limit})"


@dataclass(frozen=True)
class DesignOption:
    """A design that reaches a target."""

    units: int
    """Number of units per instance."""
    ratings: int
    """Number of ratings per unit."""
    instances: int | None = None
    """Smallest number of instances that reaches the target; None if there is none."""
    total: int | None = None
    """Number of ratings in all."""
    raters: int | None = None
    """Number of raters with which it reaches the target."""
    reason: str | None = None
    code: str | None = None
    """Why there is no number of instances; "no_difference", "out_of_reach" or "too_few_raters"."""
    further_share: float = 0.0
    """Share of instances whose units get additional ratings."""


def further_tasks(share: float, tasks: int) -> int:
    """Return how many of the tasks get additional ratings: at least the share of them.

    >>> further_tasks(0.15, 19), further_tasks(0.15, 20)
    (3, 3)
    """
    return ceil(round(share * tasks, 6))


def design_grid(
    pilot: VarianceComponents,
    *,
    target_width: float | None = None,
    power: float | None = None,
    units: Sequence[int] = (1,),
    ratings: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8),
    further_share: float = 0.0,
    further_ratings: int = 1,
    units_per_rater: int = 50,
    raters: int | None = None,
    new_raters: bool = True,
    explained: float = 0.0,
    assurance: float = ASSURANCE,
    max_instances: int = MAX_INSTANCES,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> tuple[DesignOption, ...]:
    """Find the number of instances for each number of units per instance and ratings per unit.

    Parameters
    ----------
    pilot : VarianceComponents
        Variance components from a pilot study, or assumed components.
    target_width : float, optional
        Width, in (0, 1), that the report's interval has at most in a share `assurance` of studies.
    power : float, optional
        Share of studies, in (0, 1), whose interval excludes ½ if the pilot's mean is the true mean.
        Pass either `power` or `target_width`.
    units : sequence of int, default (1,)
        Numbers of units per instance.
    ratings : sequence of int, default 1 to 8
        Numbers of ratings per unit.
    further_share : float, default 0
        Share of instances, from 0 to 1, whose units get additional ratings in a mixed design. They are
        drawn at random, at least so many.
    further_ratings : int, default 1
        Number of additional ratings of each of their units.
    units_per_rater : int, default 50
        Greatest number of units that a rater rates, which gives the number of raters.
    raters : int, optional
        Number of raters, at least as many as ratings of a unit; it replaces `units_per_rater`.
    new_raters : bool, default True
        Whether the interval is to apply to new raters. Without, it applies to those who rate.
    explained : float, default 0
        Share of the variance between units and instances that stacked machine labels of the whole
        dataset explain, from 0 to 1; see `explained_share`.
    assurance : float, default 0.8
        Share of studies that reach the width.
    max_instances : int, default 20000
        Maximum number of instances.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    tuple of DesignOption
        One option for each pair of numbers, those with fewer units per instance first. No option
        has fewer than 10 instances, because there would be no interval.

    Raises
    ------
    InvalidInput
        If both targets or neither of them are passed, if a number is out of range, or if `raters` are
        fewer than 8 for new raters.

    See Also
    --------
    two_way_mean : The interval of the report.

    Notes
    -----
    The three variances of the report's interval are drawn for 512 studies (a Sobol sequence): those of
    instances and raters as scaled χ² with one degree of freedom less than there are groups
    (Wilson and Hilferty 1931), around what the components give for raters drawn at random for each instance,
    all of whose units they rate (Searle, Casella and McCulloch 1992, section 4.3); the one of cells as
    its expected value. Variance, degrees of freedom and logit scale are then the report's, around a
    normal mean. Instances are found by bisection. With an explained share e, instance + unit/N is
    multiplied by 1 − e. The report's win rate is a mean over ratings, so in a mixed design an instance
    weighs as much as it has ratings: r is their mean, and instance + unit/N counts E r²/(E r)² times,
    by which the effective number of instances is smaller (Kish 1965).

    Examples
    --------
    >>> pilot = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    >>> [(o.ratings, o.instances) for o in design_grid(pilot, target_width=0.1, ratings=(1, 3))]
    [(1, 451), (3, 168)]
    """
    check_resampling(0, confidence_level, None)
    check_one_target(target_width=target_width, power=power)
    for name, numbers in {"units": units, "ratings": ratings}.items():
        for number in numbers:
            check_at_least(number, 1, name=name)
    check_at_least(max_instances, MIN_INSTANCES, name="max_instances")
    check_share(explained, name="explained")
    check_share(further_share, name="further_share")
    check_at_least(further_ratings, 1, name="further_ratings")
    check_share(assurance, name="assurance")
    _check_components(pilot)
    check_at_least(units_per_rater, 1, name="units_per_rater")
    if new_raters and raters is not None and raters < MIN_RATERS:
        raise InvalidInput("too_few_raters", TOO_FEW_RATERS.format(load=""))
    pairs = [(n, r) for n in units for r in ratings]
    if power is not None and pilot.mean == EVEN:
        none = DesignOption(0, 0, None, None, None, NO_DIFFERENCE, "no_difference", further_share)
        return tuple(replace(none, units=n, ratings=r) for n, r in pairs)
    of_units, of_ratings = np.array(pairs, dtype=np.float64).reshape(-1, 2).T[:, :, None]
    further = further_share, further_ratings
    designs = _Designs(
        pilot, of_units, of_ratings, units_per_rater, raters, new_raters, explained, further
    )

    def is_enough(n: FloatArray) -> FloatArray:
        low, high = designs.intervals(n, (1 + confidence_level) / 2)
        if target_width is not None:
            return np.asarray((high - low <= target_width).mean(axis=1) >= assurance)[:, None]
        return np.asarray(((low > EVEN) | (high < EVEN)).mean(axis=1) >= power)[:, None]

    found = _smallest(is_enough, len(pairs), max_instances)
    found_raters = designs.load(found).ravel().tolist()
    sizes = zip(pairs, found.ravel().tolist(), found_raters, strict=True)
    return tuple(designs.option(pair, int(n), int(j), max_instances) for pair, n, j in sizes)


def _check_components(pilot: VarianceComponents) -> None:
    for name in ("mean", "instance", "unit", "rater", "rating"):
        value = getattr(pilot, name)
        if not isfinite(value) or value < 0:
            raise InvalidInput("out_of_range", f"{name} must be at least 0; it is {value}.")


def _smallest(
    is_enough: Callable[[FloatArray], FloatArray], designs: int, maximum: int
) -> FloatArray:
    """Return the smallest sufficient number of each design by bisection; more than the maximum if none."""
    below, enough = (np.full((designs, 1), n) for n in (MIN_INSTANCES - 1.0, maximum + 1.0))
    while (enough - below > 1).any():
        middle = (below + enough) // 2
        reached = is_enough(middle)
        below, enough = np.where(reached, below, middle), np.where(reached, middle, enough)
    return enough


@cache
def _scores() -> FloatArray:
    """Return normal scores of the studies: of their variances by instance and rater, and their means."""
    points = scipy.stats.qmc.Sobol(3, rng=np.random.default_rng(0)).random_base2(LOG_STUDIES)
    return np.asarray(scipy.special.ndtri(points).T)


def _chi_square(freedom: FloatArray, score: FloatArray) -> FloatArray:
    """Return quantiles of χ² divided by its degrees of freedom (Wilson and Hilferty 1931)."""
    return np.maximum(1 - 2 / (9 * freedom) + score * np.sqrt(2 / (9 * freedom)), 0) ** 3


@dataclass(frozen=True, eq=False)
class _Designs:
    """Several designs together; their numbers have the shape (designs, 1), studies are columns."""

    pilot: VarianceComponents
    units: FloatArray
    ratings: FloatArray
    units_per_rater: int
    raters: int | None
    new_raters: bool
    explained: float
    further: tuple[float, int]

    def load(self, n: FloatArray) -> FloatArray:
        """Return how many raters the limit of units per rater asks for."""
        share, more = self.further
        mean, most = self.ratings + share * more, self.ratings + (more if share else 0)
        by_load = np.ceil(n * self.units * mean / self.units_per_rater)
        return np.maximum(by_load if self.raters is None else self.raters, most)

    def intervals(self, n: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the interval in each study with n instances."""
        pilot, (share, more) = self.pilot, self.further
        r = self.ratings + share * more
        unequal = 1 + share * (1 - share) * (more / r) ** 2  # E r²/(E r)²
        raters = np.maximum(self.load(n), MIN_RATERS if self.new_raters else 1)
        raters /= 1 + (raters - r * unequal) / (n * r)  # the effective number, for random loads
        of_instances, of_raters, of_mean = _scores()
        between = (pilot.instance + pilot.unit / self.units) * (1 - self.explained)
        single = pilot.rating / (self.units * r)
        shared = 1 / r - 1 / raters  # of the raters of an instance, what differs between instances
        whole = between * unequal + single
        expected = np.maximum((whole + pilot.rater * shared) / n, NO_VARIATION)
        instances = n / unequal
        variance = expected * _chi_square(instances - 1, of_instances)
        freedom, true = instances - 1, expected
        if self.new_raters:
            by_rater = pilot.rater / raters + (between * shared + single) / n
            by_cell = (between / r + single + pilot.rater * (1 - 1 / raters) / r) / n
            by_rater = by_rater * _chi_square(raters - 1, of_raters)
            true = whole / n + pilot.rater / raters
            variance, freedom = pooled_variance((variance, by_rater, by_cell), (instances, raters))
        value = np.clip(pilot.mean + np.sqrt(true) * of_mean, NEAR_A_BOUND, 1 - NEAR_A_BOUND)
        quantile = scipy.special.stdtrit(freedom, level)
        half_width = quantile * np.sqrt(variance) / (value * (1 - value))
        expit, logit = scipy.special.expit, scipy.special.logit(value)
        return expit(logit - half_width), expit(logit + half_width)

    def option(self, pair: tuple[int, int], n: int, raters: int, maximum: int) -> DesignOption:
        share, more = self.further
        design = partial(DesignOption, *pair, further_share=share)
        total = pair[0] * (n * pair[1] + further_tasks(share, n) * more)
        if n > maximum:
            return design(reason=TOO_MANY.format(number=maximum), code="out_of_reach")
        if self.new_raters and raters < MIN_RATERS:
            most = LOAD.format(most=max(1, total // MIN_RATERS), limit=self.units_per_rater)
            return design(reason=TOO_FEW_RATERS.format(load=most), code="too_few_raters")
        return design(instances=n, total=total, raters=raters)

"""How many instances a study needs, by the number of units per instance and ratings per unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from scipy.stats import norm

from tiebreak.errors import InvalidInput
from tiebreak.stats.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.sample_size import (
    EVEN,
    MAX_INSTANCES,
    MIN_INSTANCES,
    TOO_MANY,
    VarianceComponents,
    check_one_target,
)
from tiebreak.stats.validation import check_at_least, check_resampling, check_share

NO_DIFFERENCE = "The expected win rate is ½, which no number of instances can exclude."


@dataclass(frozen=True)
class DesignOption:
    """A design that reaches a target.

    Attributes
    ----------
    units : int
        Number of units per instance.
    ratings : int
        Number of ratings per unit; of the repeated units if others have one.
    instances : int or None
        Smallest number of instances that reaches the target; None if there is none.
    total : int or None
        Number of ratings in all.
    reason : str or None
        Why there is no number of instances.
    repeated : float
        Share of units with `ratings` ratings; the others have one.
    """

    units: int
    ratings: int
    instances: int | None
    total: int | None
    reason: str | None = None
    repeated: float = 1.0


def design_grid(
    pilot: VarianceComponents,
    *,
    target_width: float | None = None,
    power: float | None = None,
    units: Sequence[int] = (1,),
    ratings: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8),
    units_per_rater: int = 50,
    repeated: float = 1.0,
    explained: float = 0.0,
    max_instances: int = MAX_INSTANCES,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> tuple[DesignOption, ...]:
    """Find the number of instances for each number of units per instance and ratings per unit.

    Parameters
    ----------
    pilot : VarianceComponents
        Variance components from a pilot study, or assumed components.
    target_width : float, optional
        Required width of the interval for new instances and new raters, in (0, 1).
    power : float, optional
        Required probability, in (0, 1), that the interval excludes ½ if the pilot's mean is the
        true mean. Pass either `power` or `target_width`.
    units : sequence of int, default (1,)
        Numbers of units per instance.
    ratings : sequence of int, default 1 to 8
        Numbers of ratings per unit.
    units_per_rater : int, default 50
        Number of units that a rater rates. The fewer raters, the more their variance counts.
    repeated : float, default 1
        Share of units that get the number of ratings; the others get one. Without at least 15%,
        agreement and consistency cannot be told.
    explained : float, default 0
        Share of the variance between units and instances that stacked machine labels of the whole
        dataset explain, from 0 to 1; see `explained_share`.
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
        If both targets or neither of them are passed, or if a number is out of range.

    See Also
    --------
    sample_size : Finds the number of instances for one design by simulation.

    Notes
    -----
    The variance of a mean over n instances with N units and R ratings each is approximately
    (instance + unit/N + rating/(N·R))/n + rater/J, with J = max(R, n·N·R/units_per_rater) raters
    (Searle, Casella and McCulloch 1992, section 4.3, for a balanced design). If only a share s of
    units is repeated, s/R + 1 − s takes the place of 1/R, and 1 + s (R − 1) that of R in J; with an
    explained share e, instance + unit/N is multiplied by 1 − e. The interval is normal.

    Examples
    --------
    >>> pilot = VarianceComponents(0.6, instance=0.04, unit=0, rater=0, rating=0.12)
    >>> [(o.ratings, o.instances) for o in design_grid(pilot, target_width=0.1, ratings=(1, 3))]
    [(1, 246), (3, 123)]
    """
    check_resampling(0, confidence_level, None)
    check_one_target(target_width=target_width, power=power)
    for name, numbers in {"units": units, "ratings": ratings}.items():
        for number in numbers:
            check_at_least(number, 1, name=name)
    check_at_least(units_per_rater, 1, name="units_per_rater")
    check_at_least(max_instances, MIN_INSTANCES, name="max_instances")
    check_share(repeated, name="repeated")
    check_share(explained, name="explained")
    _check_components(pilot)
    design = _Design(units_per_rater, repeated, explained, max_instances)
    error = _standard_error(pilot, target_width, power, confidence_level)
    return tuple(_option(pilot, n, r, error, design) for n in units for r in ratings)


def _check_components(pilot: VarianceComponents) -> None:
    for name in ("mean", "instance", "unit", "rater", "rating"):
        value = getattr(pilot, name)
        if not isfinite(value) or value < 0:
            raise InvalidInput("out_of_range", f"{name} must be at least 0; it is {value}.")


def _standard_error(
    pilot: VarianceComponents,
    target_width: float | None,
    power: float | None,
    confidence_level: float,
) -> float:
    """Return the largest standard error that reaches the target."""
    z = float(norm.ppf((1 + confidence_level) / 2))
    if target_width is not None:
        return target_width / (2 * z)
    assert power is not None
    return abs(pilot.mean - EVEN) / (z + float(norm.ppf(power)))


@dataclass(frozen=True)
class _Design:
    """What all options have in common."""

    units_per_rater: int
    repeated: float
    explained: float
    max_instances: int


def _option(
    pilot: VarianceComponents, units: int, ratings: int, error: float, design: _Design
) -> DesignOption:
    share = design.repeated
    if error <= 0:
        return DesignOption(units, ratings, None, None, NO_DIFFERENCE, share)
    per_unit = 1 + share * (ratings - 1)
    between = (pilot.instance + pilot.unit / units) * (1 - design.explained)
    per_instance = between + pilot.rating * (share / ratings + 1 - share) / units
    many_raters = per_instance + pilot.rater * design.units_per_rater / (units * per_unit)
    n = ceil(many_raters / error**2 - 1e-9)
    # With so few units that one group of raters can do all, there are as many raters as ratings.
    left = error**2 - pilot.rater / ratings
    few_raters = ceil(per_instance / left - 1e-9) if left > 0 else None
    if few_raters is not None and few_raters * units <= design.units_per_rater:
        n = min(n, few_raters)
    n = max(n, MIN_INSTANCES)
    if n > design.max_instances:
        reason = TOO_MANY.format(number=design.max_instances)
        return DesignOption(units, ratings, None, None, reason, share)
    repeated = ceil(share * n * units - 1e-9)
    return DesignOption(units, ratings, n, n * units + repeated * (ratings - 1), None, share)

"""The variance components of a pilot study, from which the next one is planned."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.stats.core.bootstrap import ratio
from tiebreak.stats.core.groups import numbered, pair_sums
from tiebreak.stats.core.validation import as_groups, as_numbers

EVEN = 0.5
MAX_INSTANCES = 20_000
NO_UNITS = (
    "No instance in the pilot has two units, so the variance between units is included in the"
    " variance between instances."
)
NO_RATERS = (
    "No rater in the pilot rated two instances, so the variance between raters is included in the"
    " variance of a single rating."
)
TOO_MANY = (
    "Even the maximum of {number} instances is not enough: choose a wider target or more raters."
)
# With fewer, reports have no interval.
MIN_INSTANCES = 10
NO_INSTANCES = (
    "The variance between instances cannot be estimated because the pilot has only one instance."
    " Use a pilot with at least two instances."
)
NO_REPEATS = (
    "The variance of a single rating cannot be estimated because no unit in the pilot has two"
    " ratings. Use a pilot in which some units have several ratings."
)


@dataclass(frozen=True)
class VarianceComponents:
    """Variance components of ratings."""

    mean: float
    """Mean value of a rating."""
    instance: float
    """Variance between instances."""
    unit: float
    """Variance between units of the same instance, which differ in their generations."""
    rater: float
    """Variance between raters."""
    rating: float
    """Variance of a single rating."""
    notes: tuple[str, ...] = ()
    """Sentences that say which components could not be separated."""


def variance_components(
    values: npt.ArrayLike,
    *,
    units: npt.ArrayLike,
    raters: npt.ArrayLike,
    instances: npt.ArrayLike | None = None,
) -> VarianceComponents:
    """Estimate the variance components of a pilot study by the method of moments.

    Parameters
    ----------
    values : array_like of float, shape (n_ratings,)
        Value of each rating, such as 1 for a win, ½ for a tie and 0 for a loss.
    units, raters : array_like, shape (n_ratings,)
        Names of the unit and the rater of each rating.
    instances : array_like, shape (n_ratings,), optional
        Name of the instance of each rating's unit; by default, every unit is a separate instance.

    Returns
    -------
    VarianceComponents
        The components; negative solutions are replaced with 0.

    Raises
    ------
    InvalidInput
        If no unit has two ratings, there is only one instance, or a unit is in two instances.

    See Also
    --------
    design_grid : Finds the number of instances from these components.

    Notes
    -----
    Half the mean squared difference between two ratings is the sum of the variances of everything
    that the two ratings do not share. There are four kinds of pairs of ratings: same unit; same
    instance but different units and raters; same rater but different instances; nothing in common.
    They give four equations, for any unbalanced design (Searle, Casella and McCulloch 1992, section
    5.2, with differences instead of squares).

    Examples
    --------
    >>> values, units, raters = [1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]
    >>> components = variance_components(values, units=units, raters=raters)
    >>> round(components.instance, 4), round(components.rating, 4)
    (0.1667, 0.1667)
    """
    y = as_numbers(values, name="values")
    if len(y) < 2:
        raise InvalidInput(
            "too_few", f"values must contain at least two ratings; it contains {len(y)}."
        )
    unit = as_groups(units, length=len(y), name="units")
    rater = as_groups(raters, length=len(y), name="raters")
    instance = unit if instances is None else as_groups(instances, length=len(y), name="instances")
    instance_of = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.int64)
    instance_of[unit] = instance
    if (instance_of[unit] != instance).any():
        raise InvalidInput(
            "units_span_instances",
            "Each name in units must belong to only one instance; some units have ratings under"
            " several instances.",
        )
    both = numbered(instance * (rater.max() + 1) + rater)
    groupings = {"unit": unit, "instance": instance, "rater": rater, "both": both, "all": 0 * unit}
    pairs = {name: pair_sums(y, groups) for name, groups in groupings.items()}
    # Pairs of ratings can share the unit, only the instance, only the rater, or nothing.
    same_instance = pairs["instance"] - pairs["unit"] - pairs["both"]
    same_rater = pairs["rater"] - pairs["both"]
    unrelated = pairs["all"] - pairs["instance"] - same_rater
    sums = np.array([pairs["unit"], same_instance, same_rater, unrelated])
    return _solve(float(y.mean()), *ratio(sums[:, 0], sums[:, 1]).tolist())


def _solve(
    mean: float, same_unit: float, same_instance: float, same_rater: float, unrelated: float
) -> VarianceComponents:
    """Return the components, given half the mean squared differences of the four kinds of pairs.

    Their expected values are rater + rating (same unit), unit + rater + rating (same instance),
    instance + unit + rating (same rater), and the sum of all components (unrelated).
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


def check_one_target(**targets: float | None) -> None:
    chosen = {name: share for name, share in targets.items() if share is not None}
    if len(chosen) != 1:
        raise InvalidInput(
            "not_one_of_two",
            f"Pass either target_width or power; {'both' if chosen else 'neither'} of them"
            f" {'were' if chosen else 'was'} passed.",
        )
    for name, share in chosen.items():
        if not 0 < share < 1:
            raise InvalidInput("out_of_range", f"{name} must be between 0 and 1; it is {share}.")

"""Sections of a report about drawn instances, and about planning."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Proportion, ProportionOrNaN
from tiebreak.stats import Estimate


@dataclass(frozen=True)
class PairSelection:
    """Win rates of one pair of systems on drawn instances."""

    systems: tuple[str, str]
    """The two systems. Win rates are the first system's."""
    instances: int
    """Number of rated instances with a preference or tie."""
    control: int
    """Number of these instances that are in the control sample."""
    without_preference: int
    """Number of instances that are left out, because no rating says which system is better."""
    win_rate: Estimate
    """Win rate in which instances are weighted by their inverse inclusion probability."""
    win_rate_control: Estimate
    """Win rate in the control sample."""
    instances_saved: Estimate
    """Number of instances saved in comparison with a uniform draw."""
    ratings_saved: Estimate
    """Number of ratings saved in comparison with a uniform draw."""


@dataclass(frozen=True, kw_only=True)
class PairComponents:
    """Variance components of the ratings of a pair of systems, from which to plan a study."""

    systems: tuple[str, str]
    """The two systems, in alphabetical order."""
    ratings: int
    """Number of human ratings with a preference or tie."""
    mean: ProportionOrNaN
    """Mean share of the ratings that the first system wins, where a tie counts as half a win."""
    instance: ProportionOrNaN
    unit: ProportionOrNaN
    rater: ProportionOrNaN
    rating: ProportionOrNaN
    """Variance between instances, between units of an instance, between raters, and of a single
    rating; NaN if they cannot be estimated."""
    notes: tuple[str, ...] = ()
    """Which components could not be separated."""
    reason: str | None = None
    """Why there are no components."""
    mixed: Estimate | None = None
    """Gain in ratings if 15% of units get two ratings and the others one, instead of two for all."""
    stack: Estimate | None = None
    """Gain in instances if machines rate the whole dataset; None without machine ratings."""
    explained: Proportion = 0.0
    """Share of the variance between units and instances that the machines explain; 0 if the lower
    bound of `stack` does not exceed 1."""
    active: Estimate | None = None
    """Additional gain in instances, on top of that of `stack`, if instances that machines doubt are
    drawn more often, with at least 0.9 times the probability of a uniform draw and a control sample
    of a fifth; None without machine ratings."""

"""Sections of a report about rankings of systems, and how firm they are."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates, ProportionOrNaN
from tiebreak.stats import Estimate, Robustness, Triads
from tiebreak.stats.core.results import Instances


@dataclass(frozen=True)
class BradleyTerryFit:
    """How far the win rates of pairs are from those of Bradley and Terry's model.

    Attributes
    ----------
    p : Estimate
        p-value of the hypothesis that one strength for each system explains all win rates.
    difference : float
        Root mean square of the differences between observed and fitted win rates of pairs.
    pair : tuple of str
        The pair whose win rate differs most from the fitted one; empty without a fit.
    observed : float
        Win rate of the first system of this pair.
    fitted : float
        Its win rate by the model.
    """

    p: Estimate
    difference: ProportionOrNaN
    pair: tuple[str, ...]
    observed: ProportionOrNaN
    fitted: ProportionOrNaN


@dataclass(frozen=True)
class TransitivitySection:
    """Whether the systems can be put in one order.

    Attributes
    ----------
    triads : Triads
        Cyclic triads: three systems of which each beats the next.
    fit : BradleyTerryFit
        Fit of Bradley and Terry's model.
    """

    triads: Triads
    fit: BradleyTerryFit


@dataclass(frozen=True)
class DavidsonSection:
    """Strengths of systems in Davidson's model, in which a tie is an outcome of its own.

    Attributes
    ----------
    systems : dict of str to Estimate
        Log-strengths.
    tie : Estimate
        Probability that a comparison of two equally strong systems is a tie.
    """

    systems: Estimates
    tie: Estimate


@dataclass(frozen=True)
class RobustnessSection:
    """How few ratings decide the ranking.

    Attributes
    ----------
    top : Robustness
        Ratings whose removal makes another system first by Bradley–Terry strength.
    top_by_win_rate : Robustness
        Ratings whose removal makes another system first by win rate.
    pairs : dict of str to Robustness
        Ratings whose removal turns the order of two systems in their direct comparisons.
    findings : dict of str to Robustness
        Ratings whose removal makes the interval of a pair's win rate include ½, for pairs where it
        excludes ½.
    """

    top: Robustness
    top_by_win_rate: Robustness
    pairs: dict[str, Robustness]
    findings: dict[str, Robustness]


@dataclass(frozen=True)
class NextPair:
    """Two systems adjacent by win rate, and how large a study would separate them.

    Numbers of instances and ratings are those of either system, in all its comparisons. Each is for a
    study with as many more raters, each of whom rates as much as now.

    Attributes
    ----------
    ahead, behind : str
        The system with the higher win rate, and the next one.
    difference : Estimate
        Difference of the win rates, with an interval that holds at once with those of all pairs.
    instances, ratings : int
        Present numbers.
    needed_instances, needed_ratings : int or None
        Numbers from which on the interval excludes 0 if the difference and the variance stay as they
        are. At most the present ones if it already does. None with a reason in `reason`.
    likely_instances : int or None
        Instances at which four of five studies part the systems if the difference is the true one;
        at `needed_instances`, about half do.
    least_instances : int or None
        `needed_instances` if the true difference is at the far end of its interval.
    reason : str, optional
        Why the numbers cannot be told.
    """

    ahead: str
    behind: str
    difference: Estimate
    instances: int
    ratings: int
    needed_instances: int | None
    needed_ratings: int | None
    likely_instances: int | None
    least_instances: int | None
    reason: str | None = None


@dataclass(frozen=True)
class LeaderboardSection:
    """Win rates of the systems by different accounts, and what would separate those that are close.

    Attributes
    ----------
    win_rate : dict of str to Estimate
        Win rate of each system over all its comparisons, where a tie counts half.
    held_equal : tuple of str
        What is held equal in `controlled`.
    categories : dict of str to dict
        Win rate of each system in each category of the units; empty without several categories. They
        describe: no interval allows for the number of categories.
    categories_left_out : int
        Number of further categories, which have fewer units.
    next_pairs : tuple of NextPair
        Each two systems that follow each other, best first.
    controlled : dict of str to Estimate, optional
        The win rates with length, Markdown and position held equal, as far as they are known.
    controlled_reason : str, optional
        Why there are no controlled win rates.
    """

    win_rate: Estimates
    held_equal: tuple[str, ...]
    categories: dict[str, Estimates]
    categories_left_out: int
    next_pairs: tuple[NextPair, ...]
    controlled: Estimates | None = None
    controlled_reason: str | None = None


@dataclass(frozen=True)
class BaselineChange:
    """Win rates against one baseline.

    Attributes
    ----------
    win_rates : dict of str to float
        Expected win rate of each system against the baseline; its own is ½. A system that was never
        compared with it is left out.
    correlation : float, optional
        Spearman's ρ of these win rates and those against all systems.
    reason : str, optional
        Why there is no correlation.
    """

    win_rates: dict[str, float]
    correlation: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SplitHalves:
    """Rank correlation of systems' win rates between an open and a hidden half of the instances.

    Attributes
    ----------
    instances, splits : int
        Number of instances, and of random splits with a correlation.
    median, low, high : float, optional
        Median, 2.5% and 97.5% quantiles of Spearman's ρ over splits.
    same_first : float, optional
        Share of splits in which both halves have the same first system, or the same ones.
    reason : str, optional
        Why there is no correlation.
    """

    instances: int
    splits: int
    median: float | None = None
    low: float | None = None
    high: float | None = None
    same_first: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class NamedPart:
    """Rank correlation of systems' win rates between a named part of the instances and the rest.

    Attributes
    ----------
    instances, other_instances : int
        Number of instances of the part, and of the rest.
    correlation : float, optional
        Spearman's ρ of the win rates in the part and in the rest.
    splits : int
        Number of random parts of the same size with a correlation, of 1,000.
    median, low : float, optional
        Median and 2.5% quantile of Spearman's ρ over these random parts.
    p : float, optional
        p-value of the hypothesis that the part is a random one: share of the random parts, and of the
        part itself, whose correlation with the rest is as low or lower.
    p_rates : float, optional
        The same with the sum of squared differences between win rates in the part and in the rest,
        which is as large or larger. It also notices what turns no ranks.
    p_adjusted, p_rates_adjusted : float, optional
        The p-values times the number of tested parts (Bonferroni), at most 1.
    rest : str, optional
        Name of the rest, if it has one name.
    reason : str, optional
        Why there is no correlation.
    """

    instances: int
    other_instances: int
    correlation: float | None = None
    splits: int = 0
    median: float | None = None
    low: float | None = None
    p: float | None = None
    p_rates: float | None = None
    p_adjusted: float | None = None
    p_rates_adjusted: float | None = None
    rest: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class NamedParts:
    """All parts of the instances that the category names.

    Attributes
    ----------
    parts : dict of str to NamedPart
        Each part beside the rest. Of two parts that are all instances, one; the other is its rest.
    left_out : int
        Number of further parts, which have fewer instances.
    reason : str, optional
        Why there is no part.
    """

    parts: dict[str, NamedPart]
    left_out: int
    reason: str | None = None


@dataclass(frozen=True)
class RankStabilitySection:
    """How a ranking changes with the baseline, and between parts of the instances.

    Attributes
    ----------
    systems : tuple of str
        The systems.
    baselines : dict of str to BaselineChange
        Win rates with each system as the baseline.
    halves : SplitHalves
        What the ranking of one half says of the other.
    speaks_of : str
        Instances that the win rates describe: ``"these"``; after a draw, with weights, ``"dataset"``,
        or ``"selected"`` if the drawn instances do not represent it.
    parts : NamedParts, optional
        What the ranking of each part that the category names says of the rest.
    """

    systems: tuple[str, ...]
    baselines: dict[str, BaselineChange]
    halves: SplitHalves
    speaks_of: Instances = "these"
    parts: NamedParts | None = None

"""Sections of a report about rankings of systems, and how firm they are."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates, ProportionOrNaN
from tiebreak.stats import Estimate, RankSet, Robustness, Triads
from tiebreak.stats.core.results import Instances


@dataclass(frozen=True)
class BradleyTerryFit:
    """How far the win rates of pairs are from those of Bradley and Terry's model."""

    p: Estimate
    """p-value of the hypothesis that one strength for each system explains all win rates."""
    difference: ProportionOrNaN
    """Root mean square of the differences between observed and fitted win rates of pairs."""
    pair: tuple[str, ...]
    """The pair whose win rate differs most from the fitted one; empty without a fit."""
    observed: ProportionOrNaN
    """Win rate of the first system of this pair."""
    fitted: ProportionOrNaN
    """Its win rate by the model."""


@dataclass(frozen=True)
class TransitivitySection:
    """Whether the systems can be put in one order."""

    triads: Triads
    """Cyclic triads: three systems of which each beats the next."""
    fit: BradleyTerryFit
    """Fit of Bradley and Terry's model."""


@dataclass(frozen=True)
class DavidsonSection:
    """Strengths of systems in Davidson's model, in which a tie is an outcome of its own."""

    systems: Estimates
    """Log-strengths."""
    tie: Estimate
    """Probability that a comparison of two equally strong systems is a tie."""


@dataclass(frozen=True)
class RobustnessSection:
    """How few ratings decide the ranking."""

    top: Robustness
    """Ratings whose removal makes another system first by Bradley–Terry strength."""
    top_by_win_rate: Robustness
    """Ratings whose removal makes another system first by win rate."""
    pairs: dict[str, Robustness]
    """Ratings whose removal turns the order of two systems in their direct comparisons."""
    findings: dict[str, Robustness]
    """Ratings whose removal makes the interval of a pair's win rate include ½, for
    pairs where it excludes ½."""


@dataclass(frozen=True)
class NextPair:
    """Two systems adjacent by win rate, and how large a study would separate them.

    Numbers of instances and ratings are those of either system, in all its comparisons. Each is for a
    study with as many more raters, each of whom rates as much as now.
    """

    ahead: str
    behind: str
    """The system with the higher win rate, and the next one."""
    difference: Estimate
    """Difference of the win rates, with an interval that holds at once with those of all pairs."""
    instances: int
    ratings: int
    """Present numbers."""
    needed_instances: int | None
    needed_ratings: int | None
    """Numbers from which on the interval excludes 0 if the difference and the variance stay as they
    are. At most the present ones if it already does. None with a reason in `reason`."""
    likely_instances: int | None
    """Instances at which four of five studies part the systems if the difference is the true one;
    at `needed_instances`, about half do."""
    least_instances: int | None
    """`needed_instances` if the true difference is at the far end of its interval."""
    reason: str | None = None
    """Why the numbers cannot be told."""


@dataclass(frozen=True)
class Foretold:
    """How well a machine's board and annotators' board of other instances agree, as Spearman's ρ."""

    of_hidden: Estimate
    """Of the machine's win rates on public instances and annotators' on hidden ones."""
    of_public: Estimate
    """Of the machine's win rates on hidden instances and annotators' on public ones."""


@dataclass(frozen=True)
class HiddenPart:
    """The part of the instances whose ratings by annotators a board does not use."""

    share: float
    """Probability with which an instance is hidden, in (0, 1)."""
    seed: int
    """Seed of the draw."""
    fixed_at: str
    """When share and seed were fixed, in ISO 8601; empty if not known."""
    instances: int
    hidden: int
    """Number of compared instances, and of those that are hidden."""
    machines: dict[str, Foretold]
    """Rank correlations by machine."""


@dataclass(frozen=True)
class LeaderboardSection:
    """Win rates of systems by different accounts, and what would separate those that are close."""

    win_rate: Estimates
    """Win rate of each system over all its comparisons, where a tie counts half."""
    held_equal: tuple[str, ...]
    """What is held equal in `controlled`."""
    categories: dict[str, Estimates]
    """Win rate of each system in each category of the units; empty without several categories. They
    describe: no interval allows for the number of categories."""
    categories_left_out: int
    """Number of further categories, which have fewer units."""
    next_pairs: tuple[NextPair, ...]
    """Each two systems that follow each other, best first."""
    controlled: Estimates | None = None
    """The win rates with length, Markdown and position held equal, as far as they are known."""
    controlled_reason: str | None = None
    """Why there are no controlled win rates."""
    rank_sets: dict[str, RankSet] | None = None
    """Ranks that each system may have, as in `SystemsSection`."""
    powered: Estimates | None = None
    """Prediction-powered win rates with all machines stacked, as in `SystemsSection`."""
    machines: dict[str, Estimates] | None = None
    """Win rate of each system by each machine's own ratings, of the units that people rated, too."""
    machines_only: dict[str, Estimates] | None = None
    """Win rate, by each machine's own ratings, of each system that people rated nowhere."""
    licensed: tuple[str, ...] | None = None
    """Machines with a licence in force for all items. Only a server knows them."""
    hidden: HiddenPart | None = None
    """The part whose ratings by annotators nothing else here uses; None if nothing is hidden."""


@dataclass(frozen=True)
class BaselineChange:
    """Win rates against one baseline."""

    win_rates: dict[str, float]
    """Expected win rate of each system against the baseline; its own is ½. A system that was never
    compared with it is left out."""
    correlation: float | None = None
    """Spearman's ρ of these win rates and those against all systems."""
    reason: str | None = None
    """Why there is no correlation."""


@dataclass(frozen=True)
class SplitHalves:
    """Rank correlation of systems' win rates between an open and a hidden half of the instances."""

    instances: int
    splits: int
    """Number of instances, and of random splits with a correlation."""
    median: float | None = None
    low: float | None = None
    high: float | None = None
    """Median, 2.5% and 97.5% quantiles of Spearman's ρ over splits."""
    same_first: float | None = None
    """Share of splits in which both halves have the same first system, or the same ones."""
    reason: str | None = None
    """Why there is no correlation."""


@dataclass(frozen=True)
class NamedPart:
    """Rank correlation of systems' win rates between a named part of the instances and the rest."""

    instances: int
    other_instances: int
    """Number of instances of the part, and of the rest."""
    correlation: float | None = None
    """Spearman's ρ of the win rates in the part and in the rest."""
    splits: int = 0
    """Number of random parts of the same size with a correlation, of 1,000."""
    median: float | None = None
    low: float | None = None
    """Median and 2.5% quantile of Spearman's ρ over these random parts."""
    p: float | None = None
    """p-value of the hypothesis that the part is a random one: share of the random parts, and of
    the part itself, whose correlation with the rest is as low or lower."""
    p_rates: float | None = None
    """The same with the sum of squared differences between win rates in the part and in the rest,
    which is as large or larger. It also notices what turns no ranks."""
    p_adjusted: float | None = None
    p_rates_adjusted: float | None = None
    """The p-values times the number of tested parts (Bonferroni), at most 1."""
    rest: str | None = None
    """Name of the rest, if it has one name."""
    reason: str | None = None
    """Why there is no correlation."""


@dataclass(frozen=True)
class NamedParts:
    """All parts of the instances that the category names."""

    parts: dict[str, NamedPart]
    """Each part beside the rest. Of two parts that are all instances, one; the other is its rest."""
    left_out: int
    """Number of further parts, which have fewer instances."""
    reason: str | None = None
    """Why there is no part."""


@dataclass(frozen=True)
class RankStabilitySection:
    """How a ranking changes with the baseline, and between parts of the instances."""

    systems: tuple[str, ...]
    """The systems."""
    baselines: dict[str, BaselineChange]
    """Win rates with each system as the baseline."""
    halves: SplitHalves
    """What the ranking of one half says of the other."""
    speaks_of: Instances = "these"
    """Instances that the win rates describe: ``"these"``; after a draw, with weights,
    ``"dataset"``, or ``"selected"`` if the drawn instances do not represent it."""
    parts: NamedParts | None = None
    """What the ranking of each part that the category names says of the rest."""

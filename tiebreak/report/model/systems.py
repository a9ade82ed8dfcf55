"""Sections of a report about the systems that were compared."""

from dataclasses import dataclass
from typing import Annotated, Literal

from tiebreak.report.model.fields import (
    CountOrNaN,
    Estimates,
    Proportion,
    ProportionOrNaN,
    Stratifier,
)
from tiebreak.report.model.success import KnownOrder
from tiebreak.stats import EloConstants, Estimate, RankSet, SystemDifference
from tiebreak.stats.core.results import NAN

RankedBy = Literal["win_rate", "bradley_terry", "nothing"]


@dataclass(frozen=True)
class PairCounts:
    """Human ratings of one pair of systems, by what they prefer."""

    systems: tuple[str, ...]
    """The two systems, in alphabetical order."""
    units: int
    """Number of rated units that compare them."""
    instances: int
    """Number of instances that these units belong to."""
    raters: int
    """Number of people who rated them."""
    ratings: int
    """Number of ratings."""
    first: int
    """Number of ratings that prefer the first system, however strongly."""
    ties: int
    """Number of ratings without a preference."""
    second: int
    """Number of ratings that prefer the second system, however strongly."""
    bad: int
    """Number of ratings by which both texts are bad."""


@dataclass(frozen=True)
class PairDifference(SystemDifference):
    """Difference of the two systems of a pair, and the smallest margins that its interval shows."""

    equivalent_within: ProportionOrNaN = NAN
    first_not_worse_by: ProportionOrNaN = NAN
    second_not_worse_by: ProportionOrNaN = NAN


@dataclass(frozen=True)
class SimultaneousSection:
    """Win rates with intervals that hold all at once, which findings about systems rest on.

    If many systems are equally good, the 95% interval of one of them often excludes ½ by chance. Here,
    in at most 5% of studies any interval misses the true value.
    """

    win_rate: Estimates
    """Win rate of each system."""
    pairs: Estimates
    """Win rate of the first system of each pair."""
    n_win_rates: int
    """Number of intervals that hold at once in `win_rate`, over all criteria with preferences."""
    n_pairs: int
    """The same number for `pairs`."""


@dataclass(frozen=True)
class PoweredSystem:
    """A system's win rate without machine raters, with the best one, and with all of them stacked.

    All three are of the same ratings. Units have equal weight, or after a draw the weight of their
    instance.
    """

    human: Estimate
    """Win rate by human ratings alone."""
    best: Estimate
    """Prediction-powered win rate with the machine whose interval is shortest."""
    best_machine: str
    """The name of this machine; empty if no machine's estimate has an interval."""
    stack: Estimate
    """Prediction-powered win rate with all machines, whose weights come from other instances."""
    weights: dict[str, ProportionOrNaN]
    """Weight of each machine in the stack, averaged over the human ratings."""
    ratings: int
    """Number of human ratings."""
    effective_best: CountOrNaN
    effective_stack: CountOrNaN
    """Number of human ratings that would give the interval of `best` or `stack` without
    machines; NaN without an interval."""
    effective_by_machine: dict[str, CountOrNaN] | None = None
    """The same number for the prediction-powered win rate with each machine alone."""


@dataclass(frozen=True)
class SystemsSection:
    """Rankings of the systems by human ratings; without systems, there are only empty win rates."""

    win_rate: Estimates
    """Win rate of each system over all its comparisons, where a tie counts half."""
    pairs: Estimates
    """Win rate of the first system of each pair."""
    bradley_terry: Estimates | None = None
    """Bradley–Terry strengths."""
    bradley_terry_rank: Estimates | None = None
    """Ranks by Bradley–Terry strength."""
    elo: Estimates | None = None
    """Elo ratings, if they were asked for."""
    sep_elo: Estimates | None = None
    """Elo ratings weighted by separability, if they were asked for."""
    elo_constants: EloConstants | None = None
    """The constants of these Elo ratings."""
    prediction_powered: dict[str, Estimates] | None = None
    """Prediction-powered win rates for each machine that also rated units without human ratings.
    With fewer than 100 instances rated by humans, only if they were asked for."""
    counts: dict[str, PairCounts] | None = None
    """How often each system of a pair was preferred, by the names of `pairs`."""
    simultaneous: SimultaneousSection | None = None
    """The same win rates with intervals that hold for all systems, or all pairs, at once."""
    win_or_tie: Estimates | None = None
    """Share of its comparisons that each system does not lose, so that a tie counts as much as a
    win, if they were asked for."""
    shared_ranks: dict[str, int] | None = None
    """1 plus the number of systems whose whole interval of the win rate lies above that of the
    system, as in table 5 of Lyu et al. (2024). Systems without an interval have none, and neither
    have those that win rates do not rank. Only if they were asked for; only a reproduction:
    intervals that overlap do not show that systems are equally good."""
    prediction_powered_lambda_1: dict[str, Estimates] | None = None
    """The same as `prediction_powered`, where the machine's ratings have their full weight."""
    rank_sets: dict[str, RankSet] | None = None
    """Ranks that each system may have, by what `ranked_by` says. With a probability of
    95%, all sets in all criteria with preferences contain the true ranks at once. None if
    no win rate has an interval."""
    ranked_by: RankedBy = "win_rate"
    """What ranks the systems: win rates if every system met every other one equally often, and
    otherwise Bradley–Terry strengths, unless there are none."""
    powered: dict[str, PoweredSystem] | None = None
    """What machines add to the win rate of each system, one by one and stacked."""
    machine_win_rates: dict[str, Estimates] | None = None
    """Win rate of each system by each machine's own ratings, of all units that it rated; each order
    and run counts. They say what the machine prefers, and nothing about humans."""
    known_order: KnownOrder | None = None
    """Agreement of the win rates of each kind with a known order of the systems, if there is one."""
    differences: dict[str, PairDifference] | None = None
    """Difference of the two systems of each pair, from the intervals that hold for all at once."""


@dataclass(frozen=True)
class ControlledWinRateSection:
    """Win rates with the length, Markdown and position of texts held equal."""

    win_rate: Estimates
    """Win rate of each system over all its comparisons, where a tie counts half."""
    controlled: Estimates
    """Expected win rate over the same comparisons if both texts were equal in every covariate."""
    strengths: Estimates
    """Bradley–Terry strengths with the covariates in the model."""
    effects: Estimates
    """Change of the log odds of winning by covariate; undefined for those that were left out."""


@dataclass(frozen=True)
class PValuePoint:
    """p-values of a paired t-test in random subsets of one size."""

    instances: int
    """Number of instances in each subset."""
    median: Proportion
    """Median of the p-values."""
    low: Proportion
    """5th percentile of the p-values."""
    high: Proportion
    """95th percentile of the p-values."""
    significant: Proportion
    """Share of p-values below 0.05."""


@dataclass(frozen=True)
class PairedTests:
    """Tests of whether instances prefer one of two systems."""

    systems: tuple[str, str]
    """The two systems."""
    instances: int
    """Number of instances with a preference or tie."""
    difference: Annotated[float, {"type": ["number", "null"], "minimum": -1, "maximum": 1}]
    """Mean over instances of the share of ratings that prefer the first system minus the share that
    prefers the second; NaN without instances."""
    t_test: Estimate
    """p-value of the paired t-test over instances."""
    permutation_test: Estimate
    """p-value of the test that flips the sign of each instance's difference at random."""
    curve: tuple[PValuePoint, ...]
    """p-values of the paired t-test by number of instances."""
    reason: str | None = None
    """Why there is no curve."""


@dataclass(frozen=True)
class WinRateStratum:
    """Win rates in one class of units."""

    stratifier: Stratifier
    """Name of the classification."""
    stratum: str
    """Name of the class."""
    n_units: int
    """Number of units in the class."""
    share: Proportion
    """Share of all units that are in the class."""
    humans: Estimates
    """Win rates of the systems by annotators. In classes that were made from their ratings, they
    speak of these annotators."""
    machines: dict[str, Estimates]
    """Win rates of the systems by each machine, of the units that it rated."""


@dataclass(frozen=True)
class WinRateStrata:
    """Win rates by annotators and by each machine in classes of units."""

    strata: tuple[WinRateStratum, ...]
    """The classes that have units."""
    left_out: dict[str, int]
    """Number of further classes, which have fewer units, by classification, if there are any."""
